/*
 * A number through shared memory to another process, and its echo, each side asleep in a futex while the other works.
 * Every round trip is a sample. Arguments: the caller's CPU, the server's CPU.
 */
#include "twin.h"
#include <linux/futex.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/syscall.h>

enum { SAMPLES = 1500 };
static uint64_t samples[SAMPLES];

struct mailbox {
    _Alignas(128) _Atomic uint32_t number;
};

static void post(struct mailbox *box, uint32_t number)
{
    atomic_store(&box->number, number);
    check(syscall(SYS_futex, &box->number, FUTEX_WAKE, 1, NULL, NULL, 0) >= 0, "futex wake");
}

/* Sleeps until the number is another one than `last`. */
static uint32_t await(struct mailbox *box, uint32_t last)
{
    uint32_t seen;
    while ((seen = atomic_load(&box->number)) == last)
        syscall(SYS_futex, &box->number, FUTEX_WAIT, last, NULL, NULL, 0);
    return seen;
}

int main(int argc, char **argv)
{
    struct mailbox *box =
        mmap(NULL, 2 * sizeof *box, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    check(box != MAP_FAILED, "mmap");
    struct mailbox *request = &box[0], *reply = &box[1];
    if (fork_onto(cpu_of(argc, argv, 2)) == 0)
        for (uint32_t last = 0;;) {
            last = await(request, last);
            post(reply, last);
        }
    pin(cpu_of(argc, argv, 1));
    for (int i = 0; i < SAMPLES; i++) {
        uint32_t number = (uint32_t)i + 1;
        uint64_t begun = ticks();
        post(request, number);
        uint32_t answer = await(reply, number - 1);
        samples[i] = ticks() - begun;
        check(answer == number, "round trip");
    }
    print_median(samples, SAMPLES, 1);
}
