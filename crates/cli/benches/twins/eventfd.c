/*
 * A number through shared memory to another process, and its echo, each side asleep in an eventfd while the other works.
 * Every round trip is a sample. Arguments: the caller's CPU, the server's CPU.
 */
#include "twin.h"
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

enum { SAMPLES = 1500 };
static uint64_t samples[SAMPLES];

static void ring(int bell)
{
    uint64_t one = 1;
    check(write(bell, &one, sizeof one) == sizeof one, "write");
}

static void await(int bell)
{
    uint64_t rung;
    check(read(bell, &rung, sizeof rung) == sizeof rung, "read");
}

int main(int argc, char **argv)
{
    _Atomic uint64_t *number = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int to = eventfd(0, 0), from = eventfd(0, 0);
    check(number != MAP_FAILED && to >= 0 && from >= 0, "eventfd");
    if (fork_onto(cpu_of(argc, argv, 2)) == 0)
        for (;;) {
            await(to);
            atomic_fetch_add(number, 1);
            ring(from);
        }
    pin(cpu_of(argc, argv, 1));
    for (uint64_t i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        atomic_store(number, 2 * i);
        ring(to);
        await(from);
        samples[i] = ticks() - begun;
        check(atomic_load(number) == 2 * i + 1, "round trip");
    }
    print_median(samples, SAMPLES, 1);
}
