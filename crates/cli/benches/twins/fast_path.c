/*
 * A request of 64 bytes and its reply in the same shared memory, of which two processes take turns. Who waits looks if the other has a processor
 * of its own, gives its processor away if not, and sleeps in a futex if that does not help; who hands the turn over wakes the other only then. Each
 * word of the reply is that of the request plus one. Arguments: the caller's CPU, the server's CPU; the same one twice for one core.
 */
#include "twin.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { BATCH = 256, SAMPLES = 120, WORDS = 8, YIELDS = 4, LOOKS = 400 };
enum { CALLERS = 0, SERVERS = 1, ASLEEP = 2 };
static uint64_t samples[SAMPLES];

struct area {
    _Alignas(64) _Atomic uint32_t turn;
    uint16_t tag, length;
    _Alignas(64) uint64_t words[WORDS];
};

static void pass(struct area *area, uint32_t to)
{
    if (atomic_exchange_explicit(&area->turn, to, memory_order_acq_rel) & ASLEEP)
        check(syscall(SYS_futex, &area->turn, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0, "futex wake");
}

static int has_come(struct area *area, uint32_t own)
{
    return (atomic_load_explicit(&area->turn, memory_order_acquire) & SERVERS) == own;
}

static void await(struct area *area, uint32_t own, int looks)
{
    for (int i = 0; i < looks; i++) {
        if (has_come(area, own))
            return;
        _mm_pause();
    }
    for (int i = 0; i < YIELDS; i++) {
        if (has_come(area, own))
            return;
        sched_yield();
    }
    while (!has_come(area, own)) {
        uint32_t others = own ^ SERVERS;
        if (atomic_compare_exchange_strong(&area->turn, &others, others | ASLEEP) || others & ASLEEP)
            syscall(SYS_futex, &area->turn, FUTEX_WAIT, (own ^ SERVERS) | ASLEEP, NULL, NULL, 0);
    }
}

int main(int argc, char **argv)
{
    struct area *area =
        mmap(NULL, sizeof *area, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(area != MAP_FAILED, "mmap");
    int here = cpu_of(argc, argv, 1), there = cpu_of(argc, argv, 2);
    int looks = here == there ? 0 : LOOKS;
    if (fork_onto(there) == 0)
        for (;;) {
            await(area, SERVERS, looks);
            for (int w = 0; w < WORDS; w++)
                area->words[w]++;
            area->length = sizeof area->words;
            pass(area, CALLERS);
        }
    pin(here);
    uint64_t number = 0;
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        for (int k = 0; k < BATCH; k++, number++) {
            for (int w = 0; w < WORDS; w++)
                area->words[w] = number + w;
            area->length = sizeof area->words;
            pass(area, SERVERS);
            await(area, CALLERS, looks);
            uint64_t differs = area->length ^ sizeof area->words;
            for (int w = 0; w < WORDS; w++)
                differs |= area->words[w] ^ (number + w + 1);
            check(differs == 0, "round trip");
        }
        samples[i] = ticks() - begun;
    }
    print_median(samples, SAMPLES, BATCH);
}
