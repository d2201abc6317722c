/* M/M/1 by Lindley's recursion, load 0.8, as crates/sim does it, in plain C.
 * lindley CUSTOMERS SEED; prints seconds, mean response in services. */
#include "twin.h"

int main(int argc, char **argv) {
    uint64_t customers = argc > 1 ? strtoull(argv[1], 0, 10) : 100000000, seed = argc > 2 ? strtoull(argv[2], 0, 10) : 1;
    double gap_mean = 125e-6, service_mean = 100e-6, began = seconds();
    stream_t arrivals = stream(seed, 0, 0), services = stream(seed, 0, 1);
    uint64_t *waits_bins = calloc(BINS + 2, 8), *responses_bins = calloc(BINS + 2, 8), waited = 0;
    double arrived = 0, backlog = 0, waits = 0, responses = 0, work = 0, idle = 0, rows[BATCHES][7];
    for (int b = 0; b < BATCHES; b++) {
        for (uint64_t end = customers / BATCHES * (b + 1), n = customers / BATCHES * b; n < end; n++) {
            double gap = gap_mean * exponential(&arrivals), service = service_mean * exponential(&services);
            arrived += gap;
            double ahead = backlog - gap, wait = ahead > 0 ? ahead : 0;
            backlog = wait + service;
            idle += wait - ahead;
            waits += wait;
            waited += ahead > 0;
            responses += backlog;
            work += service;
            count(waits_bins, wait);
            count(responses_bins, backlog);
        }
        double row[7] = {arrived, waits, waited, responses, work, idle, backlog};
        memcpy(rows[b], row, sizeof row);
    }
    double took = seconds() - began;
    printf("%.6f %.12g\n", took,
           responses / customers / 100e-6 + waits_bins[0] * 0 + responses_bins[0] * 0 + rows[BATCHES - 1][4] * 0);
    return 0;
}
