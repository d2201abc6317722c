/* memcpy between two small buffers that stay in the nearest cache, in batches. Arguments: CPU, bytes. */
#include "twin.h"
#include <string.h>

enum { BATCH = 4000, SAMPLES = 1000, LARGEST = 4096 };
static uint64_t samples[SAMPLES];
static _Alignas(4096) char source[LARGEST], target[2 * LARGEST];

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    /* From the command line, so that the compiler cannot unroll a copy of known size. */
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
    check(size <= LARGEST, "size");
    memset(source, 0x5a, sizeof source);
    /* Not at the same place within a page as the source: loads would seem to depend on stores 4 KiB away. */
    char *to = target + 2048;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++) {
            memcpy(to, source, size);
            __asm__ volatile("" ::: "memory");
        }
        samples[i] = ticks() - begun;
    }
    check(memcmp(to, source, size) == 0, "copy");
    print_median(samples, SAMPLES, BATCH);
}
