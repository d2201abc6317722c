/*
 * A request of 64 bytes and its reply as datagrams of a Unix socket of type SOCK_SEQPACKET, with a header of 8 bytes that says what
 * it is and how long. Each word of the reply is that of the request plus one. Arguments: the caller's CPU, the server's CPU; the same
 * one twice for a round trip on one core.
 */
#include "twin.h"
#include <string.h>
#include <sys/socket.h>

enum { BATCH = 256, SAMPLES = 120, WORDS = 8 };
static uint64_t samples[SAMPLES];

struct message {
    uint16_t tag, reserved;
    uint32_t length;
    uint64_t words[WORDS];
};

static void transmit(int socket, const struct message *message)
{
    size_t size = sizeof *message - sizeof message->words + message->length;
    check(send(socket, message, size, MSG_NOSIGNAL) == (ssize_t)size, "send");
}

/* Whether a message came that is as long as it says. */
static int receive(int socket, struct message *message)
{
    ssize_t size = recv(socket, message, sizeof *message, MSG_TRUNC);
    if (size <= 0)
        return 0;
    check(size == (ssize_t)(sizeof *message - sizeof message->words + message->length), "length");
    return 1;
}

int main(int argc, char **argv)
{
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
    struct message request = { .length = sizeof request.words }, reply;
    if (fork_onto(cpu_of(argc, argv, 2)) == 0) {
        close(ends[0]);
        while (receive(ends[1], &request)) {
            reply = request;
            for (int w = 0; w < WORDS; w++)
                reply.words[w]++;
            transmit(ends[1], &reply);
        }
        _exit(0);
    }
    close(ends[1]);
    pin(cpu_of(argc, argv, 1));
    uint64_t number = 0;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++, number++) {
            for (int w = 0; w < WORDS; w++)
                request.words[w] = number + w;
            transmit(ends[0], &request);
            check(receive(ends[0], &reply), "recv");
            uint64_t differs = reply.length ^ sizeof reply.words;
            for (int w = 0; w < WORDS; w++)
                differs |= reply.words[w] ^ (number + w + 1);
            check(differs == 0, "round trip");
        }
        samples[i] = ticks() - begun;
    }
    print_median(samples, SAMPLES, BATCH);
}
