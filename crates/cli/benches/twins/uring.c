/*
 * 64 bytes through a Unix socket of type SOCK_SEQPACKET to another process, and their echo, by io_uring: each side sends a message and asks for the
 * next one by one call of the kernel, which returns when both are done. Every round trip is a sample. Arguments: the caller's CPU, the server's CPU.
 */
#include "twin.h"
#include <linux/io_uring.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>

enum { SAMPLES = 1500, BYTES = 64, ENTRIES = 2 };
static uint64_t samples[SAMPLES];

/* A ring without liburing: what of its shared memory is used here. */
struct ring {
    int file;
    unsigned submission_mask, completion_mask;
    _Atomic unsigned *submission_tail, *completion_head, *completion_tail;
    struct io_uring_sqe *entries;
    struct io_uring_cqe *completions;
};

static struct ring ring_of_this_process(void)
{
    struct io_uring_params params;
    memset(&params, 0, sizeof params);
    struct ring ring = { .file = (int)syscall(SYS_io_uring_setup, ENTRIES, &params) };
    check(ring.file >= 0, "io_uring_setup");
    size_t submissions = params.sq_off.array + params.sq_entries * sizeof(unsigned);
    size_t completions = params.cq_off.cqes + params.cq_entries * sizeof(struct io_uring_cqe);
    int shared = PROT_READ | PROT_WRITE;
    char *queue = mmap(NULL, submissions, shared, MAP_SHARED | MAP_POPULATE, ring.file, IORING_OFF_SQ_RING);
    char *done = mmap(NULL, completions, shared, MAP_SHARED | MAP_POPULATE, ring.file, IORING_OFF_CQ_RING);
    ring.entries = mmap(NULL, params.sq_entries * sizeof *ring.entries, shared, MAP_SHARED | MAP_POPULATE, ring.file,
                        IORING_OFF_SQES);
    check(queue != MAP_FAILED && done != MAP_FAILED && ring.entries != MAP_FAILED, "mmap");
    unsigned *array = (unsigned *)(queue + params.sq_off.array);
    for (unsigned i = 0; i < params.sq_entries; i++)
        array[i] = i;
    ring.submission_mask = *(unsigned *)(queue + params.sq_off.ring_mask);
    ring.completion_mask = *(unsigned *)(done + params.cq_off.ring_mask);
    ring.submission_tail = (_Atomic unsigned *)(queue + params.sq_off.tail);
    ring.completion_head = (_Atomic unsigned *)(done + params.cq_off.head);
    ring.completion_tail = (_Atomic unsigned *)(done + params.cq_off.tail);
    ring.completions = (struct io_uring_cqe *)(done + params.cq_off.cqes);
    return ring;
}

/* Asks for a send or a receipt of a message at the next call of the kernel. */
static void ask(struct ring *ring, int operation, int socket, void *message)
{
    unsigned tail = atomic_load_explicit(ring->submission_tail, memory_order_relaxed);
    struct io_uring_sqe *entry = &ring->entries[tail & ring->submission_mask];
    memset(entry, 0, sizeof *entry);
    entry->opcode = operation;
    entry->fd = socket;
    entry->addr = (uintptr_t)message;
    entry->len = BYTES;
    entry->msg_flags = operation == IORING_OP_SEND ? MSG_NOSIGNAL : 0;
    atomic_store_explicit(ring->submission_tail, tail + 1, memory_order_release);
}

/* Has the kernel do the last `count` that were asked for: whether all of them had a whole message. */
static int done(struct ring *ring, unsigned count)
{
    long entered = syscall(SYS_io_uring_enter, ring->file, count, count, IORING_ENTER_GETEVENTS, NULL, 0);
    check(entered == count, "io_uring_enter");
    unsigned head = atomic_load_explicit(ring->completion_head, memory_order_relaxed);
    check(atomic_load_explicit(ring->completion_tail, memory_order_acquire) - head == count, "completions");
    int whole = 1;
    for (unsigned i = 0; i < count; i++)
        whole &= ring->completions[(head + i) & ring->completion_mask].res == BYTES;
    atomic_store_explicit(ring->completion_head, head + count, memory_order_release);
    return whole;
}

int main(int argc, char **argv)
{
    int ends[2];
    check(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends) == 0, "socketpair");
    unsigned char asked[BYTES], answered[BYTES];
    if (fork_onto(cpu_of(argc, argv, 2)) == 0) {
        struct ring ring = ring_of_this_process();
        unsigned char next[BYTES];
        close(ends[0]);
        ask(&ring, IORING_OP_RECV, ends[1], next);
        for (int good = done(&ring, 1); good; good = done(&ring, 2)) {
            memcpy(asked, next, BYTES);
            ask(&ring, IORING_OP_SEND, ends[1], asked);
            ask(&ring, IORING_OP_RECV, ends[1], next);
        }
        _exit(0);
    }
    close(ends[1]);
    pin(cpu_of(argc, argv, 1));
    struct ring ring = ring_of_this_process();
    for (int i = 0; i < SAMPLES; i++) {
        memset(asked, i, BYTES);
        uint64_t begun = ticks();
        ask(&ring, IORING_OP_SEND, ends[0], asked);
        ask(&ring, IORING_OP_RECV, ends[0], answered);
        int good = done(&ring, 2);
        samples[i] = ticks() - begun;
        check(good && memcmp(asked, answered, BYTES) == 0, "round trip");
    }
    print_median(samples, SAMPLES, 1);
}
