// Programs whose work threads of the kernel do for them, by io_uring. At their end they print in microseconds what
// getrusage(2) has: the time in the kernel of all threads, and the time that other threads than the first
// ran.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define ENTRIES 64
#define BYTES (256 * 1024)

static int ring;
static unsigned *flags_of_ring, *submitted, *mask, *array, *done_head, *done_tail;
static struct io_uring_sqe *entries;

// Ends with 77 where the kernel has no rings, or they are forbidden.
static void open_ring(unsigned flags) {
    struct io_uring_params of = {.flags = flags, .sq_thread_idle = 20};
    ring = (int)syscall(SYS_io_uring_setup, ENTRIES, &of);
    if (ring < 0) exit(77);
    size_t size = of.sq_off.array + of.sq_entries * sizeof(unsigned);
    char *queue = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    size = of.cq_off.cqes + of.cq_entries * sizeof(struct io_uring_cqe);
    char *done = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_CQ_RING);
    size = of.sq_entries * sizeof(struct io_uring_sqe);
    entries = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    if (queue == MAP_FAILED || done == MAP_FAILED || (void *)entries == MAP_FAILED) exit(1);
    flags_of_ring = (unsigned *)(queue + of.sq_off.flags);
    submitted = (unsigned *)(queue + of.sq_off.tail);
    mask = (unsigned *)(queue + of.sq_off.ring_mask);
    array = (unsigned *)(queue + of.sq_off.array);
    done_head = (unsigned *)(done + of.cq_off.head);
    done_tail = (unsigned *)(done + of.cq_off.tail);
}

static void enter(unsigned submits, unsigned flags) {
    if (syscall(SYS_io_uring_enter, ring, submits, ENTRIES, flags | IORING_ENTER_GETEVENTS, NULL, 0) < 0
        && errno != EINTR) exit(1);
}

static unsigned done(void) { return __atomic_load_n(done_tail, __ATOMIC_ACQUIRE) - *done_head; }

// Reads all at once, as many as the ring has room for. Where a thread of the kernel takes them, it is not told.
static void read_all(int file, char *bytes, int is_polled) {
    unsigned at = *submitted;
    for (unsigned i = 0; i < ENTRIES; i++, at++) {
        struct io_uring_sqe *entry = &entries[at & *mask];
        memset(entry, 0, sizeof *entry);
        entry->opcode = IORING_OP_READ;
        entry->flags = is_polled ? 0 : IOSQE_ASYNC;
        entry->fd = file;
        entry->addr = (unsigned long)bytes;
        entry->len = BYTES;
        array[at & *mask] = at & *mask;
    }
    __atomic_store_n(submitted, at, __ATOMIC_RELEASE);
    enter(is_polled ? 0 : ENTRIES, is_polled ? IORING_ENTER_SQ_WAKEUP : 0);
    // Who is traced meanwhile comes back before all is done.
    while (done() < ENTRIES) enter(0, 0);
    __atomic_store_n(done_head, __atomic_load_n(done_tail, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
}

static long microseconds(struct timeval time) { return time.tv_sec * 1000000 + time.tv_usec; }

static long processor_time(int of) {
    struct rusage usage;
    getrusage(of, &usage);
    return microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
}

static void say_times(void) {
    struct rusage usage;
    // How long a thread ran is exact, and which part of that the first one was in the kernel is sampled:
    // whoever asks of this thread has it of the same samples.
    long others = processor_time(RUSAGE_SELF) - processor_time(RUSAGE_THREAD);
    getrusage(RUSAGE_THREAD, &usage);
    printf("%ld %ld\n", microseconds(usage.ru_stime) + others, others);
    fflush(stdout);
}

// The thread that polls does so for some milliseconds more, and then asks to be woken.
static void wait_until_none_polls(void) {
    struct timespec soon = {.tv_nsec = 1000000};
    while (!(__atomic_load_n(flags_of_ring, __ATOMIC_ACQUIRE) & IORING_SQ_NEED_WAKEUP)) nanosleep(&soon, NULL);
}

// rings polled|workers MILLISECONDS [stays]: threads that the kernel has for it read /dev/zero, until all its threads together have had a
// processor for that time. Who stays ends when its input does.
int main(int count, char **arguments) {
    if (count < 3) return 2;
    int is_polled = !strcmp(arguments[1], "polled");
    long milliseconds = atol(arguments[2]);
    int file = open("/dev/zero", O_RDONLY);
    char *bytes = malloc(BYTES);
    struct timespec begun, now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &begun);
    // These threads begin in the midst of its life.
    open_ring(is_polled ? IORING_SETUP_SQPOLL : 0);
    do {
        read_all(file, bytes, is_polled);
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    } while ((now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000 < milliseconds);
    if (is_polled) wait_until_none_polls();
    say_times();
    char byte;
    while (count > 3 && read(0, &byte, 1) > 0) {}
    return 0;
}
