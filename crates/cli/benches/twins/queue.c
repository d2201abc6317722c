/*
 * 64 bytes through a POSIX message queue to another process, and their echo through a second one. Every round trip is a sample.
 * Arguments: the caller's CPU, the server's CPU.
 */
#include "twin.h"
#include <fcntl.h>
#include <mqueue.h>
#include <string.h>

enum { SAMPLES = 1500, BYTES = 64 };
static uint64_t samples[SAMPLES];

static mqd_t queue(const char *way)
{
    char name[64];
    struct mq_attr attributes = { .mq_maxmsg = 1, .mq_msgsize = BYTES };
    snprintf(name, sizeof name, "/tollway-twin-%d-%s", getpid(), way);
    mqd_t queue = mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes);
    check(queue != (mqd_t)-1 && mq_unlink(name) == 0, "mq_open");
    return queue;
}

int main(int argc, char **argv)
{
    mqd_t to = queue("to"), from = queue("from");
    char asked[BYTES], answered[BYTES];
    if (fork_onto(cpu_of(argc, argv, 2)) == 0)
        for (;;) {
            check(mq_receive(to, asked, BYTES, NULL) == BYTES, "mq_receive");
            check(mq_send(from, asked, BYTES, 0) == 0, "mq_send");
        }
    pin(cpu_of(argc, argv, 1));
    for (int i = 0; i < SAMPLES; i++) {
        memset(asked, i, BYTES);
        uint64_t begun = ticks();
        int sent = mq_send(to, asked, BYTES, 0);
        ssize_t got = mq_receive(from, answered, BYTES, NULL);
        samples[i] = ticks() - begun;
        check(sent == 0 && got == BYTES && memcmp(asked, answered, BYTES) == 0, "round trip");
    }
    print_median(samples, SAMPLES, 1);
}
