/*
 * From the call that wakes a process asleep in a futex until that process has seen why: one way. It has been asleep for 2 ms by then.
 * Every wake-up is a sample. Arguments: the waker's CPU, the sleeper's CPU.
 */
#include "twin.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>

enum { SAMPLES = 200 };
static uint64_t samples[SAMPLES];

struct mailbox {
    _Alignas(128) _Atomic uint32_t number;
    _Alignas(128) _Atomic uint64_t seen;
};

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000ull + now.tv_nsec;
}

int main(int argc, char **argv)
{
    struct mailbox *box =
        mmap(NULL, sizeof *box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(box != MAP_FAILED, "mmap");
    if (fork_onto(cpu_of(argc, argv, 2)) == 0)
        for (uint32_t last = 0;; last++) {
            while (atomic_load(&box->number) == last)
                syscall(SYS_futex, &box->number, FUTEX_WAIT, last, NULL, NULL, 0);
            atomic_store(&box->seen, ticks());
        }
    pin(cpu_of(argc, argv, 1));
    for (int i = 0; i < SAMPLES; i++) {
        for (uint64_t begun = nanoseconds(); nanoseconds() - begun < 2000000;)
            _mm_pause();
        atomic_store(&box->seen, 0);
        uint64_t begun = ticks(), seen;
        atomic_store(&box->number, i + 1);
        check(syscall(SYS_futex, &box->number, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0, "futex wake");
        while ((seen = atomic_load(&box->seen)) == 0)
            _mm_pause();
        samples[i] = seen > begun ? seen - begun : 0;
    }
    print_median(samples, SAMPLES, 1);
}
