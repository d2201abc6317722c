/*
 * A byte through a pipe to another process, and its echo through a second pipe. Every round trip is a sample.
 * Arguments: the caller's CPU, the server's CPU; the same one twice for a round trip on one core.
 */
#include "twin.h"

enum { SAMPLES = 1500 };
static uint64_t samples[SAMPLES];

int main(int argc, char **argv)
{
    int to[2], from[2];
    check(pipe(to) == 0 && pipe(from) == 0, "pipe");
    if (fork_onto(cpu_of(argc, argv, 2)) == 0) {
        unsigned char byte;
        close(to[1]);
        close(from[0]);
        while (read(to[0], &byte, 1) == 1)
            check(write(from[1], &byte, 1) == 1, "write");
        _exit(0);
    }
    close(to[0]);
    close(from[1]);
    pin(cpu_of(argc, argv, 1));
    for (int i = 0; i < SAMPLES; i++) {
        unsigned char asked = (unsigned char)i, answered = (unsigned char)~i;
        uint64_t begun = ticks();
        ssize_t sent = write(to[1], &asked, 1);
        ssize_t got = read(from[0], &answered, 1);
        samples[i] = ticks() - begun;
        check(sent == 1 && got == 1 && answered == asked, "round trip");
    }
    print_median(samples, SAMPLES, 1);
}
