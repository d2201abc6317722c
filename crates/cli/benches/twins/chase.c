/*
 * A load from memory whose address the load before it brings: pointers around a random cycle of cache lines.
 * Arguments: CPU, KiB of the cycle.
 */
#include "twin.h"
#include <sys/mman.h>

enum { BATCH = 256, SAMPLES = 4000, LINE = 64 };
static uint64_t samples[SAMPLES];

struct line {
    _Alignas(LINE) struct line *next;
};

/* Marsaglia's xorshift64. */
static uint64_t drawn(void)
{
    static uint64_t state = 88172645463325252u;
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    size_t n = (argc > 2 ? strtoul(argv[2], NULL, 10) : 64) * 1024 / LINE;
    struct line *lines = mmap(NULL, n * LINE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(lines != MAP_FAILED, "mmap");
    for (size_t i = 0; i < n; i++)
        lines[i].next = &lines[i];
    for (size_t i = n - 1; i > 0; i--) {
        size_t j = drawn() % i;
        struct line *next = lines[i].next;
        lines[i].next = lines[j].next;
        lines[j].next = next;
    }
    struct line *at = lines;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++)
            at = at->next;
        __asm__ volatile("" : "+r"(at));
        samples[i] = ticks() - begun;
    }
    size_t hops = 1;
    for (at = lines->next; at != lines && hops <= n; at = at->next)
        hops++;
    if (hops != n) {
        fprintf(stderr, "the cycle has %zu lines of %zu\n", hops, n);
        return 1;
    }
    print_median(samples, SAMPLES, BATCH);
}
