/*
 * What every twin needs: the clock, a processor to stay on, the median.
 *
 * A twin is the plain C program that somebody would write to measure one figure of Tollway by hand. It shares no code
 * with Tollway, is built with `cc -O2 -march=x86-64 -fno-plt`, and prints one number: the median of its samples, in ticks of the
 * time-stamp counter per operation.
 */
#ifndef TWIN_H
#define TWIN_H

#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <signal.h>
#include <unistd.h>
#include <x86intrin.h>

/* Ends the program, and says why, unless `good`. */
static inline void check(int good, const char *what)
{
    if (!good) {
        perror(what);
        exit(1);
    }
}

/* The counter after all earlier work and before any later. */
static inline uint64_t ticks(void)
{
    _mm_lfence();
    uint64_t now = __rdtsc();
    _mm_lfence();
    return now;
}

static inline void pin(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    check(sched_setaffinity(0, sizeof set, &set) == 0, "sched_setaffinity");
}

/* The processor named by argument `i` of the program. */
static inline int cpu_of(int argc, char **argv, int i)
{
    if (i >= argc) {
        fprintf(stderr, "usage: %s CPU [CPU]\n", argv[0]);
        exit(2);
    }
    return atoi(argv[i]);
}

/* A second process on `cpu` that ends with the first: 0 in the child, as fork does. */
static inline pid_t fork_onto(int cpu)
{
    pid_t child = fork();
    check(child >= 0, "fork");
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pin(cpu);
    }
    return child;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Prints the median of n samples of `batch` operations each. The first tenth is warm-up and does not count. */
static inline void print_median(uint64_t *samples, int n, int batch)
{
    uint64_t *counted = samples + n / 10;
    n -= n / 10;
    qsort(counted, n, sizeof *counted, ascending);
    printf("%.3f\n", (double)counted[n / 2] / batch);
}

#endif
