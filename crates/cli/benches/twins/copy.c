/*
 * The C library's memcpy between two small buffers that stay in the nearest cache, in batches. Arguments: CPU, bytes.
 *
 * Eight calls stand in a row: a loop around a single one takes 2.9 to 5 ticks for 64 bytes by how it happens to be
 * aligned, a loop around eight takes 2.4 a call wherever it lies.
 */
#include "twin.h"
#include <string.h>

enum { BATCH = 4000, SAMPLES = 1000, PAGE = 4096 };
static uint64_t samples[SAMPLES];

/* The compiler may not leave out a copy that the next one overwrites. */
#define COPY do { memcpy(target, source, size); __asm__ volatile("" ::: "memory"); } while (0)

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    /* From the command line: for a size that it knows something of, the compiler would copy by instructions of its own. */
    size_t size = argc > 2 ? strtoul(argv[2], NULL, 10) : 64;
    size_t pages = (size + PAGE - 1) / PAGE * PAGE;
    /* The target begins half a page further: else each load would seem to depend on the store 4 KiB away from it. */
    char *source = aligned_alloc(PAGE, pages), *target = aligned_alloc(PAGE, pages + PAGE);
    check(source && target, "aligned_alloc");
    target += PAGE / 2;
    memset(source, 0x5a, size);
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k += 8) {
            COPY; COPY; COPY; COPY; COPY; COPY; COPY; COPY;
        }
        samples[i] = ticks() - begun;
    }
    check(memcmp(target, source, size) == 0, "copy");
    print_median(samples, SAMPLES, BATCH);
}
