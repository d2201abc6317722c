/* Two readings of the clock back to back, fenced as somebody would who times a stretch of code. Arguments: CPU. */
#include "twin.h"

enum { SAMPLES = 100000 };
static uint64_t samples[SAMPLES];

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    unsigned cpu;
    for (int i = 0; i < SAMPLES; i++) {
        _mm_lfence();
        uint64_t begun = __rdtsc();
        _mm_lfence();
        uint64_t ended = __rdtscp(&cpu);
        _mm_lfence();
        samples[i] = ended - begun;
    }
    print_median(samples, SAMPLES, 1);
}
