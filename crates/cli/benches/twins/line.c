/*
 * A cache line to another core and back: two processes throw a number, each spinning until it is its turn.
 * Arguments: the thrower's CPU, the catcher's CPU.
 */
#include "twin.h"
#include <stdatomic.h>
#include <sys/mman.h>

enum { BATCH = 50, SAMPLES = 2000 };
static uint64_t samples[SAMPLES];

int main(int argc, char **argv)
{
    _Atomic uint64_t *ball = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(ball != MAP_FAILED, "mmap");
    if (fork_onto(cpu_of(argc, argv, 2)) == 0)
        for (uint64_t next = 1;; next += 2) {
            while (atomic_load_explicit(ball, memory_order_acquire) != next)
                _mm_pause();
            atomic_store_explicit(ball, next + 1, memory_order_release);
        }
    pin(cpu_of(argc, argv, 1));
    uint64_t next = 1;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++, next += 2) {
            atomic_store_explicit(ball, next, memory_order_release);
            while (atomic_load_explicit(ball, memory_order_acquire) != next + 1)
                _mm_pause();
        }
        samples[i] = ticks() - begun;
    }
    print_median(samples, SAMPLES, BATCH);
}
