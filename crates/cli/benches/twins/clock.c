/* clock_gettime(CLOCK_MONOTONIC) as the C library does it, by the vDSO, in batches. Arguments: CPU. */
#include "twin.h"
#include <time.h>

enum { BATCH = 500, SAMPLES = 2000 };
static uint64_t samples[SAMPLES];

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    struct timespec before = {0}, now;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++)
            clock_gettime(CLOCK_MONOTONIC, &now);
        samples[i] = ticks() - begun;
        check(now.tv_sec > before.tv_sec || (now.tv_sec == before.tv_sec && now.tv_nsec > before.tv_nsec), "clock");
        before = now;
    }
    print_median(samples, SAMPLES, BATCH);
}
