/*
 * 64 bytes through a Unix socket of type SOCK_STREAM to another process, and their echo. Every round trip is a sample.
 * Arguments: the caller's CPU, the server's CPU.
 */
#include "twin.h"
#include <string.h>
#include <sys/socket.h>

enum { SAMPLES = 1500, BYTES = 64 };
static uint64_t samples[SAMPLES];

int main(int argc, char **argv)
{
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
    unsigned char asked[BYTES], answered[BYTES];
    if (fork_onto(cpu_of(argc, argv, 2)) == 0) {
        close(ends[0]);
        while (recv(ends[1], asked, BYTES, MSG_WAITALL) == BYTES)
            check(send(ends[1], asked, BYTES, MSG_NOSIGNAL) == BYTES, "send");
        _exit(0);
    }
    close(ends[1]);
    pin(cpu_of(argc, argv, 1));
    for (int i = 0; i < SAMPLES; i++) {
        memset(asked, i, BYTES);
        uint64_t begun = ticks();
        ssize_t sent = send(ends[0], asked, BYTES, MSG_NOSIGNAL);
        ssize_t got = recv(ends[0], answered, BYTES, MSG_WAITALL);
        samples[i] = ticks() - begun;
        check(sent == BYTES && got == BYTES && memcmp(asked, answered, BYTES) == 0, "round trip");
    }
    print_median(samples, SAMPLES, 1);
}
