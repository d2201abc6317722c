/* What both twins share: the generator, the logarithm and the statistics of crates/sim, in plain C.
 *
 * Generator: xoshiro256++ by Blackman and Vigna, seeded by SplitMix64. Exponential times are -ln(u), u in (0, 1].
 * Statistics: sums of waits and responses, how many waited, busy and idle time, areas under the number of customers and of
 * busy servers, a row of all of them at the end of each of 32 batches, and two histograms with 256 bins to an octave. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { BATCHES = 32, BINS = (80 + 64) << 8 };
#define LOWEST ((uint64_t)(1023 - 80) << 8)

typedef struct { uint64_t s[4]; } stream_t;

static inline uint64_t rotl(uint64_t x, int k) { return x << k | x >> (64 - k); }

static inline uint64_t next_u64(stream_t *r) {
    uint64_t *s = r->s, result = rotl(s[0] + s[3], 23) + s[0], t = s[1] << 17;
    s[2] ^= s[0]; s[3] ^= s[1]; s[1] ^= s[2]; s[0] ^= s[3];
    s[2] ^= t; s[3] = rotl(s[3], 45);
    return result;
}

static inline double exponential(stream_t *r) {
    return -log((double)((next_u64(r) >> 11) + 1) * 0x1p-53);
}

static uint64_t split_mix(uint64_t *x) {
    uint64_t z = *x += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

static stream_t stream(uint64_t seed, uint64_t replication, uint64_t part) {
    uint64_t x = seed;
    x = split_mix(&x) ^ replication;
    x = split_mix(&x) ^ part;
    x = split_mix(&x);
    stream_t r;
    for (int i = 0; i < 4; i++) r.s[i] = split_mix(&x);
    return r;
}

static inline void count(uint64_t *bins, double time) {
    uint64_t bits;
    memcpy(&bits, &time, 8);
    uint64_t bin = bits >> 44;
    bin = bin < LOWEST - 1 ? 0 : bin - (LOWEST - 1);
    bins[bin > BINS + 1 ? BINS + 1 : bin]++;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + 1e-9 * t.tv_nsec;
}
