/*
 * STREAM's four kernels in turn, as stream.c 5.10 has them; the time of one of them, for a MiB of each array, or the best pass of each, in MB/s.
 * Arguments: CPU, copy|scale|add|triad|best, MiB of an array.
 *
 * Optimised as STREAM is usually compiled (-O3), which makes a call of memcpy of the copy, and vectors of the others.
 */
#pragma GCC optimize("O3")
#include "twin.h"
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

/* Between two arrays as between STREAM's own of 10 million numbers: 1 KiB more than whole pages. */
enum { ROUNDS = 10, OFFSET = 128 };
static uint64_t samples[4][ROUNDS];
static const char *const names[] = { "copy", "scale", "add", "triad" };
static const int arrays[] = { 2, 2, 3, 3 };

/* Where stream.c's arrays begin gcc knows, and has arithmetic take its second operand from there: without it triad is slower by a fifteenth. */
#define LINES(array) array = __builtin_assume_aligned(array, 64)

__attribute__((noinline)) static void copy(double *restrict c, const double *restrict a, size_t n)
{
    for (size_t j = 0; j < n; j++)
        c[j] = a[j];
}

__attribute__((noinline)) static void scale(double *restrict b, const double *restrict c, size_t n)
{
    LINES(b), LINES(c);
    for (size_t j = 0; j < n; j++)
        b[j] = 3.0 * c[j];
}

__attribute__((noinline)) static void add(double *restrict c, const double *restrict a, const double *restrict b, size_t n)
{
    LINES(a), LINES(b), LINES(c);
    for (size_t j = 0; j < n; j++)
        c[j] = a[j] + b[j];
}

__attribute__((noinline)) static void triad(double *restrict a, const double *restrict b, const double *restrict c, size_t n)
{
    LINES(a), LINES(b), LINES(c);
    for (size_t j = 0; j < n; j++)
        a[j] = b[j] + 3.0 * c[j];
}

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec + 1e-9 * now.tv_nsec;
}

/* Prints the rate of the best pass of each, the first left out; `hz` ticks are a second. */
static void print_best(size_t mib, double hz)
{
    for (int k = 0; k < 4; k++) {
        uint64_t best = UINT64_MAX;
        for (int i = 1; i < ROUNDS; i++)
            best = samples[k][i] < best ? samples[k][i] : best;
        printf("%s\"%s\":%.1f", k ? "," : "{", names[k], arrays[k] * mib * 1048576.0 / (best / hz) / 1e6);
    }
    puts("}");
}

/* Ends the program unless every number of the array is what it should be. */
static void holds(const double *array, size_t n, double value)
{
    double off = 0;
    for (size_t j = 0; j < n; j++)
        off += fabs(array[j] - value);
    if (!(off / n / value < 1e-13)) {
        fprintf(stderr, "an array is off by %g on average, of %g\n", off / n, value);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    pin(cpu_of(argc, argv, 1));
    const char *name = argc > 2 ? argv[2] : "triad";
    size_t mib = argc > 3 ? strtoul(argv[3], NULL, 10) : 64;
    size_t n = mib * (1 << 20) / sizeof(double);
    /* c first and a last, as gcc lays out those of stream.c. */
    double *c = mmap(NULL, (3 * n + 2 * OFFSET) * sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(c != MAP_FAILED, "mmap");
    double *b = c + n + OFFSET, *a = b + n + OFFSET;
    for (size_t j = 0; j < n; j++) {
        a[j] = 2.0;
        b[j] = 2.0;
        c[j] = 0.0;
    }
    double in_a = 2, in_b = 2, in_c = 0, begun = seconds();
    uint64_t began = ticks();
    for (int i = 0; i < ROUNDS; i++) {
        uint64_t at[5];
        at[0] = ticks();
        copy(c, a, n);
        at[1] = ticks();
        scale(b, c, n);
        at[2] = ticks();
        add(c, a, b, n);
        at[3] = ticks();
        triad(a, b, c, n);
        at[4] = ticks();
        for (int k = 0; k < 4; k++)
            samples[k][i] = at[k + 1] - at[k];
        in_c = in_a;
        in_b = 3 * in_c;
        in_c = in_a + in_b;
        in_a = in_b + 3 * in_c;
    }
    double hz = (ticks() - began) / (seconds() - begun);
    holds(a, n, in_a);
    holds(b, n, in_b);
    holds(c, n, in_c);
    if (strcmp(name, "best") == 0) {
        print_best(mib, hz);
        return 0;
    }
    for (int k = 0; k < 4; k++)
        if (strcmp(name, names[k]) == 0) {
            print_median(samples[k], ROUNDS, mib);
            return 0;
        }
    fprintf(stderr, "%s is none of the four\n", name);
    return 2;
}
