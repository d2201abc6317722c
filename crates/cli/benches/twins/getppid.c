/* The cheapest system call: getppid through the C library, in batches. Arguments: CPU. */
#include "twin.h"

enum { BATCH = 200, SAMPLES = 2000 };
static uint64_t samples[SAMPLES];

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    pid_t parent = getppid();
    for (int i = 0; i < SAMPLES; i++) {
        int wrong = 0;
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++)
            wrong += getppid() != parent;
        samples[i] = ticks() - begun;
        check(wrong == 0, "getppid");
    }
    print_median(samples, SAMPLES, BATCH);
}
