/*
 * System calls timed one by one, as somebody would by hand: one channel, each call between two readings of the counter, the median of
 * all, less that of nothing. It shares no code with Tollway. Argument: the kind.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

enum { SAMPLES = 4000 };
static uint64_t samples[SAMPLES], nothing[SAMPLES];
static char bytes[65536];

static void check(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

static inline uint64_t ticks(void)
{
    _mm_lfence();
    uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static uint64_t median(uint64_t *all)
{
    qsort(all + SAMPLES / 10, SAMPLES - SAMPLES / 10, sizeof *all, ascending);
    return all[SAMPLES / 10 + (SAMPLES - SAMPLES / 10) / 2];
}

#define TIMED(before, call, after)                      \
    for (int i = 0; i < SAMPLES; i++) {                 \
        before;                                         \
        uint64_t begun = ticks();                       \
        int good = (call);                              \
        samples[i] = ticks() - begun;                   \
        check(good, #call);                             \
        after;                                          \
    }

static void channel(int to, int from, int back, const char *way, size_t size)
{
    /* `back`: what came is answered, as who asks over TCP is. */
    if (way[0] == 'w')
        TIMED(, write(to, bytes, size) == (ssize_t)size,
              check(read(from, bytes, size) == (ssize_t)size, "read");
              if (back) check(write(from, bytes, size) == (ssize_t)size && read(to, bytes, size) == (ssize_t)size, "back"))
    else
        TIMED(check(write(to, bytes, size) == (ssize_t)size, "write"), read(from, bytes, size) == (ssize_t)size,
              if (back) check(write(from, bytes, size) == (ssize_t)size && read(to, bytes, size) == (ssize_t)size, "back"))
}

static struct sockaddr_in address;

static int listening(void)
{
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    check(bind(listener, (void *)&address, sizeof address) == 0 && listen(listener, 16) == 0, "listen");
    check(getsockname(listener, (void *)&address, &length) == 0, "getsockname");
    return listener;
}

static int connected(int listener, int *here)
{
    int one = 1;
    *here = socket(AF_INET, SOCK_STREAM, 0);
    check(connect(*here, (void *)&address, sizeof address) == 0, "connect");
    int there = accept(listener, 0, 0);
    check(there >= 0, "accept");
    setsockopt(*here, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    setsockopt(there, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    return there;
}

static void reset(int socket)
{
    struct linger none = { 1, 0 };
    setsockopt(socket, SOL_SOCKET, SO_LINGER, &none, sizeof none);
    close(socket);
}

/* FUTEX_WAKE of a process on the same core that sleeps, and does not take the core from who wakes it (SCHED_BATCH). */
static void wake_up(void)
{
    volatile uint32_t *word = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0), *said = word + 64;
    check(word != MAP_FAILED, "mmap");
    if (fork() == 0) {
        struct sched_param none = { 0 };
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        sched_setscheduler(0, SCHED_BATCH, &none);
        for (uint32_t last = 0;; last = *word) {
            *said = last + 1;
            while (*word == last)
                syscall(SYS_futex, word, FUTEX_WAIT, last, 0, 0, 0);
        }
    }
    uint32_t n = 0;
    TIMED(while (*said != n + 1) sched_yield();
          sched_yield(); *word = ++n, syscall(SYS_futex, word, FUTEX_WAKE, 1, 0, 0, 0) == 1, )
}

int main(int argc, char **argv)
{
    check(argc == 2, "usage: calls KIND");
    const char *kind = argv[1];
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(sched_getcpu(), &set);
    sched_setaffinity(0, sizeof set, &set);
    const char *on = strchr(kind, '-') ? strchr(kind, '-') + 1 : "";
    int ends[2];
    struct stat about;
    if (!strcmp(on, "pipe")) {
        check(pipe(ends) == 0, "pipe");
        channel(ends[1], ends[0], 0, kind, 1);
    } else if (!strcmp(on, "unix")) {
        check(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0, "socketpair");
        channel(ends[0], ends[1], 0, kind, 1);
    } else if (!strcmp(on, "tcp") && (kind[0] == 'r' || kind[0] == 'w')) {
        int here, there = connected(listening(), &here);
        channel(here, there, 1, kind, 1);
    } else if (!strcmp(kind, "connect-tcp")) {
        int listener = listening(), here = 0;
        TIMED(here = socket(AF_INET, SOCK_STREAM, 0), connect(here, (void *)&address, sizeof address) == 0,
              int there = accept(listener, 0, 0); reset(here); reset(there))
    } else if (!strcmp(kind, "epoll-wait")) {
        int ready = eventfd(1, 0), epoll = epoll_create1(0);
        struct epoll_event event = { .events = EPOLLIN };
        check(epoll_ctl(epoll, EPOLL_CTL_ADD, ready, &event) == 0, "epoll_ctl");
        TIMED(, epoll_wait(epoll, &event, 1, 0) == 1, )
    } else if (!strcmp(kind, "poll")) {
        struct pollfd one = { .fd = eventfd(1, 0), .events = POLLIN };
        TIMED(, poll(&one, 1, 0) == 1, )
    } else if (!strcmp(kind, "futex-wake-none")) {
        static int word;
        TIMED(, syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, 1, 0, 0, 0) == 0, )
    } else if (!strcmp(kind, "fstat")) {
        int file = open("/proc/self/exe", O_RDONLY);
        TIMED(, fstat(file, &about) == 0, )
    } else if (!strcmp(kind, "write-null")) {
        int file = open("/dev/null", O_WRONLY);
        TIMED(, write(file, bytes, 1) == 1, )
    } else if (!strcmp(kind, "wake-up")) {
        wake_up();
    } else if (!strcmp(kind, "mmap")) {
        void *memory = 0;
        TIMED(, (memory = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) != MAP_FAILED,
              munmap(memory, 65536))
    } else {
        fprintf(stderr, "no such kind: %s\n", kind);
        return 2;
    }
    for (int i = 0; i < SAMPLES; i++) {
        uint64_t begun = ticks();
        nothing[i] = ticks() - begun;
    }
    printf("%llu\n", (unsigned long long)(median(samples) - median(nothing)));
    return 0;
}
