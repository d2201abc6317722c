// Programs that make the same system calls each time, whatever the order in which their threads and processes run: who waits does it by calls whose number
// does not depend on who was first.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;
static char *self;

// Where another thread or process has to be first at something meanwhile, nothing says so that makes no call:
// it has 300 ms or more for it.
static void sleep_ms(long ms) {
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    syscall(SYS_nanosleep, &time, NULL);
}

static void block(int signal) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, signal);
    sigprocmask(SIG_BLOCK, &set, NULL);
}

static void copy(int times) {
    char bytes[64];
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY);
    for (int i = 0; i < times; i++) {
        if (read(zero, bytes, sizeof bytes) != sizeof bytes) exit(1);
        if (write(null, bytes, i % 64 + 1) != i % 64 + 1) exit(1);
    }
    close(zero);
    close(null);
    close(-1);
}

static int gate[2];
static atomic_int done;

static void *thread(void *times) {
    copy((int)(long)times);
    return NULL;
}

static void *thread_among_others(void *times) {
    char byte;
    if (read(gate[0], &byte, 1) != 1) exit(1);
    copy((int)(long)times);
    // Not by a call, which the end of the process might overtake on its way back, or there.
    done++;
    for (;;) {}
}

static void threads(void) {
    pthread_t all[4];
    for (long i = 0; i < 4; i++) {
        pthread_create(&all[i], NULL, thread, (void *)(100 * (i + 1)));
        // To ask makes no call, and to join who has ended makes none.
        while (pthread_tryjoin_np(all[i], NULL) == EBUSY) {}
    }
    // None of these begins or ends while another does: they would wait for a lock of libc, or not.
    if (pipe(gate)) exit(1);
    for (long i = 0; i < 4; i++) pthread_create(&all[i], NULL, thread_among_others, (void *)500L);
    char bytes[4] = {0};
    if (write(gate[1], bytes, 4) != 4) exit(1);
    while (done < 4) {}
}

static void forks(void) {
    // A traced parent would be cut short in its wait, or not.
    block(SIGCHLD);
    for (int i = 0; i < 5; i++) {
        if (fork() == 0) {
            copy(50);
            if (i % 2) {
                if (fork() == 0) {
                    copy(10);
                    _exit(0);
                }
                wait(NULL);
            }
            _exit(i);
        }
    }
    for (int i = 0; i < 5; i++) wait(NULL);
}

static void spawns(void) {
    block(SIGCHLD);
    for (int i = 0; i < 4; i++) {
        char *arguments[] = {self, "copy", NULL};
        if (i % 2) {
            pid_t child;
            posix_spawn(&child, self, NULL, NULL, arguments, environ);
        } else if (vfork() == 0) {
            execve("/nonexistent", arguments, environ);
            execve(self, arguments, environ);
            _exit(1);
        }
        wait(NULL);
    }
}

static void *thread_execs(void *unused) {
    char *arguments[] = {self, "copy", NULL};
    sleep_ms(1000);
    execve(self, arguments, environ);
    return unused;
}

static void *thread_waits(void *unused) {
    for (;;) pause();
    return unused;
}

static void execs_from_a_thread(void) {
    pthread_t one;
    pthread_create(&one, NULL, thread_waits, NULL);
    pthread_create(&one, NULL, thread_execs, NULL);
    for (;;) pause();
}

// The first thread makes a number of calls, and only then does another one call exec.
static void *thread_execs_when_asked(void *unused) {
    char *arguments[] = {self, "copy", NULL}, byte;
    if (read(gate[0], &byte, 1) != 1) exit(1);
    execve(self, arguments, environ);
    return unused;
}

static void calls_before_a_thread_execs(long times) {
    pthread_t one;
    if (pipe(gate)) exit(1);
    pthread_create(&one, NULL, thread_execs_when_asked, NULL);
    for (long i = 0; i < times; i++) {
        syscall(SYS_getppid);
        if (i % 10 == 9) sleep_ms(1);
    }
    if (write(gate[1], "", 1) != 1) exit(1);
    for (;;) pause();
}

static void handler(int signal) { (void)signal; }

static void signals(void) {
    struct sigaction action = {.sa_handler = handler};
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGALRM, &action, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    for (int i = 0; i < 20; i++) kill(getpid(), i % 2 ? SIGUSR1 : SIGUSR2);
    // It comes while it is waited for, however late that is.
    block(SIGALRM);
    sigset_t none;
    sigemptyset(&none);
    for (int i = 0; i < 3; i++) {
        struct itimerval soon = {.it_value = {0, 50000}};
        setitimer(ITIMER_REAL, &soon, NULL);
        sigsuspend(&none);
    }
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct itimerval later = {.it_value = {0, 400000}};
    setitimer(ITIMER_REAL, &later, NULL);
    sleep_ms(60000);
    // A read that is begun again.
    int ends[2];
    char byte = 0;
    if (pipe(ends)) exit(1);
    block(SIGCHLD);
    pid_t parent = getpid();
    if (fork() == 0) {
        sleep_ms(1000);
        kill(parent, SIGUSR2);
        sleep_ms(1000);
        if (write(ends[1], &byte, 1) != 1) _exit(1);
        _exit(0);
    }
    if (read(ends[0], &byte, 1) != 1) exit(1);
    wait(NULL);
}

static void stops(void) {
    block(SIGCHLD);
    pid_t parent = getpid();
    if (fork() == 0) {
        sleep_ms(1000);
        kill(parent, SIGSTOP);
        sleep_ms(1000);
        kill(parent, SIGCONT);
        _exit(0);
    }
    sleep_ms(4000);
    wait(NULL);
}

static void sockets(void) {
    int pair[2];
    char byte = 0;
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) exit(1);
    for (int i = 0; i < 10; i++)
        if (write(pair[0], &byte, 1) != 1 || read(pair[1], &byte, 1) != 1) exit(1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, length) || listen(listener, 1)) exit(1);
    getsockname(listener, (void *)&address, &length);
    if (connect(client, (void *)&address, length)) exit(1);
    int server = accept(listener, NULL, NULL);
    for (int i = 0; i < 20; i++)
        if (write(client, &byte, 1) != 1 || read(server, &byte, 1) != 1) exit(1);
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    if (sendto(datagrams, &byte, 1, 0, (void *)&address, length) != 1) exit(1);
    int pipes[2];
    if (pipe(pipes) || write(pipes[1], &byte, 1) != 1 || read(pipes[0], &byte, 1) != 1) exit(1);
}

// One number, which leads to one file after the other.
static void reuse(void) {
    char byte = 0;
    int null = open("/dev/null", O_WRONLY);
    for (int i = 0; i < 50; i++) {
        int one = open("/dev/zero", O_RDONLY);
        if (read(one, &byte, 1) != 1) exit(1);
        close(one);
        if (open("/dev/null", O_WRONLY) != one || write(one, &byte, 1) != 1) exit(1);
        int zero = open("/dev/zero", O_RDONLY);
        dup2(zero, one);
        if (read(one, &byte, 1) != 1) exit(1);
        close(zero);
        dup2(null, one);
        if (write(one, &byte, 1) != 1) exit(1);
        close(one);
    }
}

static void faults(long pages) {
    char *memory = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) exit(1);
    madvise(memory, pages * 4096, MADV_NOHUGEPAGE);
    for (long i = 0; i < pages; i++) memory[i * 4096] = 1;
}

// As many of each kind: a page of a file is read, then written to and copied, and a call writes to a page of new memory.
static void faults_of_kinds(long pages) {
    int file = memfd_create("faults", 0);
    if (ftruncate(file, pages * 4096)) exit(1);
    char *own = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, file, 0);
    char *fresh = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED || fresh == MAP_FAILED) exit(1);
    madvise(fresh, pages * 4096, MADV_NOHUGEPAGE);
    volatile char *bytes = own;
    for (long i = 0; i < pages; i++) bytes[0] += bytes[i * 4096];
    for (long i = 0; i < pages; i++) bytes[i * 4096] = 1;
    for (long i = 0; i < pages; i++)
        if (pread(file, fresh + i * 4096, 1, i * 4096) != 1) exit(1);
}

// Children without a signal at their end, which the kernel tells a tracer of as it does of threads.
static void clones_for_ever(void) {
    for (;;) {
        long child = syscall(SYS_clone, 0, 0, 0, 0, 0);
        if (child == 0) {
            copy(5);
            _exit(0);
        }
        waitpid(child, NULL, __WALL);
    }
}

// Two threads that hand a byte to and fro: each waits once a round. Of the class that displaces nobody: else who writes would often be displaced before it waits, and
// need not wait any more.
static int there[2], back[2];
static long rounds;

static void *ponger(void *unused) {
    char byte;
    for (long i = 0; i < rounds; i++)
        if (read(there[0], &byte, 1) != 1 || write(back[1], &byte, 1) != 1) exit(1);
    return unused;
}

static void ping(long times) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    struct sched_param none = {0};
    if (sched_setaffinity(0, sizeof one, &one) || sched_setscheduler(0, SCHED_BATCH, &none)) exit(1);
    rounds = times;
    char byte = 0;
    pthread_t other;
    if (pipe(there) || pipe(back)) exit(1);
    pthread_create(&other, NULL, ponger, NULL);
    for (long i = 0; i < rounds; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
    pthread_join(other, NULL);
}

static void again(int file) {
    if (file < 0 || close(file)) exit(1);
}

// Four files that are made, each by another way, and then opened again by the same.
static void creates(void) {
    char folder[64];
    snprintf(folder, sizeof folder, "/tmp/tollway-same-%d", getpid());
    if (mkdir(folder, 0700) || chdir(folder)) exit(1);
    int at = open(folder, O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 2; i++) {
        if (i == 0) again(open("a", O_CREAT | O_EXCL | O_WRONLY, 0600));
        else if (open("a", O_CREAT | O_EXCL | O_WRONLY, 0600) >= 0) exit(1);
        again(open("b", O_CREAT | O_TRUNC | O_WRONLY, 0600));
        again(openat(at, "c", O_CREAT | O_RDWR, 0600));
        again(syscall(SYS_creat, "d", 0600));
        // Who goes by when a file was made goes by a clock of ticks.
        sleep_ms(30);
    }
    const char *names[] = {"a", "b", "c", "d"};
    for (int i = 0; i < 4; i++)
        if (unlink(names[i])) exit(1);
    if (rmdir(folder)) exit(1);
}

// Every kind of file, with calls of known numbers and bytes: a read or a write of k bytes on each.
static void kinds(void) {
    char bytes[64] = {0};
    int ends[2], pair[2];
    // Not by mkstemp: that asks for random bytes, or not.
    int regular = memfd_create("kinds", 0), folder = open("/tmp", O_RDONLY | O_DIRECTORY);
    for (int i = 0; i < 3; i++)
        if (write(regular, bytes, 10) != 10) exit(1);
    for (int i = 0; i < 4; i++) fstat(folder, (struct stat *)&(struct stat){0});
    for (int i = 0; i < 3; i++) fstatat(folder, ".", &(struct stat){0}, 0);
    int event = eventfd(0, 0);
    unsigned long number = 1;
    for (int i = 0; i < 5; i++)
        if (write(event, &number, 8) != 8) exit(1);
    if (pipe(ends)) exit(1);
    for (int i = 0; i < 6; i++)
        if (write(ends[1], bytes, 11) != 11) exit(1);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) exit(1);
    for (int i = 0; i < 7; i++)
        if (write(pair[0], bytes, 12) != 12) exit(1);
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0), client = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, length) || listen(listener, 1)) exit(1);
    getsockname(listener, (void *)&address, &length);
    if (connect(client, (void *)&address, length)) exit(1);
    for (int i = 0; i < 8; i++)
        if (write(client, bytes, 13) != 13) exit(1);
    int datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    address.sin_port = 0;
    if (bind(datagrams, (void *)&address, length) || getsockname(datagrams, (void *)&address, &length)) exit(1);
    for (int i = 0; i < 9; i++)
        if (sendto(datagrams, bytes, 14, 0, (void *)&address, length) != 14) exit(1);
    int terminal = open("/dev/ptmx", O_RDWR | O_NOCTTY), random = open("/dev/random", O_RDONLY);
    for (int i = 0; i < 10; i++)
        if (write(terminal, bytes, 1) != 1) exit(1);
    for (int i = 0; i < 11; i++)
        if (read(random, bytes, 15) != 15) exit(1);
    int null = open("/dev/null", O_WRONLY), zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 12; i++)
        if (write(null, bytes, 16) != 16) exit(1);
    for (int i = 0; i < 13; i++)
        if (read(zero, bytes, 17) != 17) exit(1);
}

static long old_call(long number, long first, long second, long third) {
    long result;
    __asm__ volatile("int $0x80" : "=a"(result) : "a"(number), "b"(first), "c"(second), "d"(third) : "memory");
    return result;
}

// Calls of each table that an x86-64 kernel has. Those of 32 bits know addresses of 32 bits. There 3 reads, which closes here, and 1 ends the
// thread; of x32 39 is getpid, and 515 reads into several places. A kernel without x32 refuses it, and names it all the same.
static void other_tables(void) {
    char *low = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    int zero = open("/dev/zero", O_RDONLY);
    for (int i = 0; i < 30; i++)
        if (old_call(3, zero, (long)low, 8) != 8) exit(1);
    for (int i = 0; i < 20; i++) old_call(6, -1, 0, 0);
    for (int i = 0; i < 10; i++) old_call(20, 0, 0, 0);
    old_call(5000, 0, 0, 0);
    for (int i = 0; i < 40; i++) syscall(0x40000000 | 39);
    for (int i = 0; i < 50; i++) syscall(0x40000000 | 515, zero, NULL, 0);
    syscall(0x40000000 | 900);
    syscall(900);
    old_call(1, 7, 0, 0);
}

// Opens by paths that lead nowhere, are at no address, are longer than is kept, or are no text.
static void opens_by_nonsense(long times) {
    char path[600] = ".";
    memset(path + 1, '/', sizeof path - 2);
    close(open("\xff\xfe", O_CREAT | O_RDWR, 0600));
    for (long i = 0; i < times; i++) {
        syscall(SYS_openat, AT_FDCWD, "nowhere", O_RDONLY);
        syscall(SYS_openat, AT_FDCWD, (char *)8, O_RDONLY);
        syscall(SYS_openat, AT_FDCWD, "", O_RDONLY);
        close((int)syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_DIRECTORY));
        close((int)syscall(SYS_openat, AT_FDCWD, "\xff\xfe", O_RDONLY));
    }
}

static void opens_many(long files) {
    char path[32];
    for (long i = 0; i < files; i++) {
        sprintf(path, "file-%ld", i);
        int file = open(path, O_CREAT | O_RDWR, 0600);
        if (file < 0 || write(file, path, 1) != 1) exit(1);
        close(file);
    }
}

// As fast as it can.
static void *flood(void *times) {
    char byte;
    int zero = open("/dev/zero", O_RDONLY);
    for (long i = 0; i < (long)times; i++) {
        syscall(SYS_getppid);
        if (read(zero, &byte, 1) != 1) exit(1);
    }
    return NULL;
}

static void floods(long times) {
    pthread_t all[4];
    for (int i = 0; i < 4; i++) pthread_create(&all[i], NULL, flood, (void *)times);
    for (int i = 0; i < 4; i++) pthread_join(all[i], NULL);
}

// Many at once, each with some calls of its own and so many different ones.
static pthread_barrier_t all_are_there;
static const int different[] = {SYS_getpid, SYS_getppid, SYS_getuid, SYS_geteuid, SYS_getgid, SYS_getegid, SYS_gettid,
    SYS_sched_yield, SYS_getpgrp, SYS_getsid, SYS_getpgid, SYS_umask, SYS_getpriority, SYS_alarm, SYS_time, SYS_times,
    SYS_getrlimit, SYS_getitimer, SYS_sched_getparam, SYS_sched_getscheduler, SYS_sched_get_priority_max,
    SYS_sched_get_priority_min, SYS_capget, SYS_getcpu, SYS_get_robust_list};

static void *one_of_many(void *kinds) {
    pthread_barrier_wait(&all_are_there);
    for (int again = 0; again < 2; again++)
        for (long i = 0; i < (long)kinds; i++) syscall(different[i], 0, 0, 0, 0);
    pthread_barrier_wait(&all_are_there);
    return NULL;
}

static void many(long threads, long kinds) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    pthread_barrier_init(&all_are_there, NULL, threads + 1);
    pthread_t one;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&one, &small, one_of_many, (void *)kinds)) exit(1);
    pthread_barrier_wait(&all_are_there);
    pthread_barrier_wait(&all_are_there);
}

// Threads one after the other, each of which makes a call of its own and ends.
static void *one_after_another(void *nothing) {
    syscall(SYS_getuid);
    return nothing;
}

static void one_by_one(long threads) {
    for (long i = 0; i < threads; i++) {
        pthread_t one;
        if (pthread_create(&one, NULL, one_after_another, NULL)) exit(1);
        pthread_join(one, NULL);
    }
}

// Some of these, and then it writes a byte and waits for one.
static void in_lots(long lots, long threads) {
    char byte = 0;
    for (long i = 0; i < lots; i++) {
        one_by_one(threads);
        if (write(1, &byte, 1) != 1 || read(0, &byte, 1) != 1) exit(1);
    }
}

static void crowd_that_waits(long threads) {
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 32768);
    pthread_t one;
    for (long i = 0; i < threads; i++)
        if (pthread_create(&one, &small, thread_waits, NULL)) exit(1);
    for (;;) pause();
}

// So many files, each once: three kinds of call on each.
static void many_files(long files) {
    char byte = 0;
    int ends[2];
    for (long i = 0; i < files; i++) {
        if (pipe(ends) || write(ends[1], &byte, 1) != 1 || read(ends[0], &byte, 1) != 1) exit(1);
        close(ends[0]);
        close(ends[1]);
    }
}

// Two processes that hand a byte to and fro: on one processor, or each on its own.
static void on_processor(int number) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(number, &one);
    if (sched_setaffinity(0, sizeof one, &one)) exit(1);
}

// Of real time where they may be: whatever else there is does not displace them then.
static void ping_between(int here, int other, long times) {
    char byte = 0;
    struct sched_param lowest = {1}, none = {0};
    if (sched_setscheduler(0, SCHED_FIFO, &lowest) && sched_setscheduler(0, SCHED_BATCH, &none)) exit(1);
    if (pipe(there) || pipe(back)) exit(1);
    if (fork() == 0) {
        on_processor(other);
        rounds = times;
        ponger(NULL);
        _exit(0);
    }
    on_processor(here);
    for (long i = 0; i < times; i++)
        if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
    wait(NULL);
}

// Works, and says at the end how much it did.
static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + now.tv_nsec / 1e9;
}

// Calls without a pause for so long; with `busy` and `idle` ms it works and sleeps by turns, in step with the clock.
static void steady(double length, long busy, long idle) {
    char byte;
    int zero = open("/dev/zero", O_RDONLY);
    long reads = 0;
    double begun = seconds(), now;
    while ((now = seconds()) < begun + length) {
        double phase = (now - begun) * 1000;
        long turn = (long)(phase / (busy + idle));
        if (idle && phase - turn * (busy + idle) >= busy) {
            double rest = (turn + 1) * (busy + idle) - phase;
            struct timespec time = {(long)(rest / 1000), (long)(rest * 1e6) % 1000000000};
            syscall(SYS_nanosleep, &time, NULL);
            continue;
        }
        for (int i = 0; i < 20; i++, reads++)
            if (read(zero, &byte, 1) != 1) exit(1);
    }
    dprintf(1, "%ld\n", reads);
}

// Calls that nobody counts anyway.
static void steady_without_files(double length) {
    long calls = 0;
    for (double begun = seconds(); seconds() < begun + length;)
        for (int i = 0; i < 20; i++, calls++) syscall(SYS_getppid);
    dprintf(1, "%ld\n", calls);
}

// Calls alone for half of the time, and then hardly any.
static void calms_down(double length) {
    long calls = 0;
    double begun = seconds();
    for (; seconds() < begun + length / 2; calls++) syscall(SYS_getppid);
    while (seconds() < begun + length);
    dprintf(1, "%ld\n", calls);
}

// 130 calls in each millisecond, and in each tenth a child makes them.
static void paced(double length) {
    long calls = 0;
    double begun = seconds();
    for (long turn = 0; turn < length * 1000; turn++) {
        while (seconds() < begun + turn / 1000.0);
        calls += 130;
        pid_t child = turn % 10 ? -1 : fork();
        if (child <= 0)
            for (int i = 0; i < 130; i++) syscall(SYS_getppid);
        if (child == 0) _exit(0);
        if (child > 0) waitpid(child, NULL, 0);
    }
    dprintf(1, "%ld\n", calls);
}

static void pings_for(double length) {
    on_processor(0);
    if (pipe(there) || pipe(back)) exit(1);
    char byte = 0;
    rounds = 1L << 60;
    if (fork() == 0) {
        close(there[1]);
        while (read(there[0], &byte, 1) == 1)
            if (write(back[1], &byte, 1) != 1) break;
        _exit(0);
    }
    long done = 0;
    for (double begun = seconds(); seconds() < begun + length;)
        for (int i = 0; i < 20; i++, done++)
            if (write(there[1], &byte, 1) != 1 || read(back[0], &byte, 1) != 1) exit(1);
    close(there[1]);
    wait(NULL);
    // Each of the two has read as often.
    dprintf(1, "%ld\n", 2 * done);
}

// Processes that live for a few milliseconds, one after the other.
static void short_lives(double length) {
    char byte;
    long reads = 0;
    block(SIGCHLD);
    int zero = open("/dev/zero", O_RDONLY);
    for (double begun = seconds(); seconds() < begun + length; reads += 2000) {
        if (fork() == 0) {
            for (int i = 0; i < 2000; i++)
                if (read(zero, &byte, 1) != 1) _exit(1);
            _exit(0);
        }
        wait(NULL);
    }
    dprintf(1, "%ld\n", reads);
}

// Two processes at the ends of a pipe: how many reads and writes the first made, and how many the second, which
// writes once for three reads; and how many calls the first that nobody counts anyway.
static void copies(double length) {
    long *there_made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int zero = open("/dev/zero", O_RDONLY), null = open("/dev/null", O_WRONLY), ends[2];
    char bytes[64];
    if (there_made == MAP_FAILED || pipe(ends)) exit(1);
    if (fork() == 0) {
        close(ends[1]);
        // The last finds the end.
        for (ssize_t more = 1; more > 0; there_made[0]++) {
            more = read(ends[0], bytes, sizeof bytes);
            if (there_made[0] % 3 == 2) there_made[1] += write(null, bytes, 1);
        }
        _exit(0);
    }
    close(ends[0]);
    long turns = 0;
    for (double begun = seconds(); seconds() < begun + length;)
        for (int i = 0; i < 20; i++, turns++) {
            syscall(SYS_getppid);
            if (read(zero, bytes, sizeof bytes) != sizeof bytes || write(ends[1], bytes, sizeof bytes) != sizeof bytes) exit(1);
        }
    close(ends[1]);
    wait(NULL);
    dprintf(1, "%ld %ld %ld %ld %ld\n", turns, turns, there_made[0], there_made[1], turns);
}

// Two threads that make calls of one kind, of which one computes between: how many each made.
static long computes[] = {0, 2000}, unlike_made[2];
static double unlike_end;

static void *one_of_unlike(void *number) {
    long one = (long)number;
    pthread_setname_np(pthread_self(), one ? "slow" : "fast");
    while (seconds() < unlike_end)
        for (int i = 0; i < 20; i++, unlike_made[one]++) {
            for (volatile long j = 0; j < computes[one]; j++) {}
            syscall(SYS_getppid);
        }
    return NULL;
}

static void unlike(double length) {
    pthread_t both[2];
    unlike_end = seconds() + length;
    for (long i = 0; i < 2; i++) pthread_create(&both[i], NULL, one_of_unlike, (void *)i);
    for (int i = 0; i < 2; i++) pthread_join(both[i], NULL);
    dprintf(1, "%ld %ld\n", unlike_made[0], unlike_made[1]);
}

int main(int count, char **arguments) {
    if (count < 2) return 2;
    self = arguments[0];
    char *what = arguments[1];
    long number = count > 2 ? atol(arguments[2]) : 0;
    if (!strcmp(what, "copy")) copy(number ? number : 100);
    if (!strcmp(what, "threads")) threads();
    if (!strcmp(what, "creates")) creates();
    if (!strcmp(what, "forks")) forks();
    if (!strcmp(what, "spawns")) spawns();
    if (!strcmp(what, "execs-from-a-thread")) execs_from_a_thread();
    if (!strcmp(what, "calls-before-a-thread-execs")) calls_before_a_thread_execs(number);
    if (!strcmp(what, "signals")) signals();
    if (!strcmp(what, "stops")) stops();
    if (!strcmp(what, "sockets")) sockets();
    if (!strcmp(what, "reuse")) reuse();
    if (!strcmp(what, "faults")) faults(number);
    if (!strcmp(what, "faults-of-kinds")) faults_of_kinds(number);
    if (!strcmp(what, "faults-in-a-child")) {
        if (fork() == 0) {
            faults(number);
            _exit(0);
        }
        wait(NULL);
    }
    if (!strcmp(what, "ping")) ping(number);
    if (!strcmp(what, "kinds")) kinds();
    if (!strcmp(what, "other-tables")) other_tables();
    if (!strcmp(what, "opens-by-nonsense")) opens_by_nonsense(number);
    if (!strcmp(what, "opens-many")) opens_many(number);
    if (!strcmp(what, "floods")) floods(number);
    if (!strcmp(what, "many")) many(number, atol(arguments[3]));
    if (!strcmp(what, "one-by-one")) {
        one_by_one(number);
        dprintf(1, "%ld\n", number);
    }
    if (!strcmp(what, "in-lots")) in_lots(number, atol(arguments[3]));
    if (!strcmp(what, "crowd-that-waits")) crowd_that_waits(number);
    if (!strcmp(what, "many-files")) many_files(number);
    if (!strcmp(what, "ping-here")) ping_between(0, 0, number);
    if (!strcmp(what, "ping-across")) ping_between(0, 1, number);
    if (!strcmp(what, "steady")) steady(number / 1000.0, atol(arguments[3]), atol(arguments[4]));
    if (!strcmp(what, "steady-without-files")) steady_without_files(number / 1000.0);
    if (!strcmp(what, "calms-down")) calms_down(number / 1000.0);
    if (!strcmp(what, "paced")) paced(number / 1000.0);
    if (!strcmp(what, "pings-for")) pings_for(number / 1000.0);
    if (!strcmp(what, "short-lives")) short_lives(number / 1000.0);
    if (!strcmp(what, "copies")) copies(number / 1000.0);
    if (!strcmp(what, "unlike")) unlike(number / 1000.0);
    if (!strcmp(what, "for-ever"))
        for (;;) copy(1000);
    if (!strcmp(what, "clones-for-ever")) clones_for_ever();
    if (!strcmp(what, "waits"))
        for (;;) pause();
    return 7;
}
