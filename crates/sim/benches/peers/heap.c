/* STATIONS independent M/M/1 queues of load 0.8, event by event with one binary heap, in plain C.
 * heap CUSTOMERS STATIONS SEED; prints seconds, mean response in services.
 *
 * The heap orders by time, then by the order of insertion. An event that schedules its successor replaces the top, which
 * saves a push and a pop. Queues are chains through customers, and who left gives his place to who comes. */
#include "twin.h"

typedef struct { double time; uint64_t order; uint32_t what; } event_t; /* what: 2 * station, + 1 for a departure */
typedef struct { double arrived; uint32_t next, station; double waited; } customer_t;
typedef struct {
    stream_t arrivals, services;
    double last, number, busy_area, wait, response, work;
    uint64_t arrived, begun, waited, left;
    uint32_t inside, busy, first, last_in_line, served;
} station_t;

static event_t *heap;
static uint64_t events, order;
static customer_t *customers;
static uint32_t *vacant;
static uint32_t vacancies, places, room;

static inline int before(const event_t *a, const event_t *b) {
    return a->time < b->time || (a->time == b->time && a->order < b->order);
}

static inline void sift_down(uint64_t i, event_t e) {
    for (;;) {
        uint64_t child = 2 * i + 1;
        if (child >= events) break;
        if (child + 1 < events) child += before(&heap[child + 1], &heap[child]);
        if (!before(&heap[child], &e)) break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = e;
}

static inline void push(double time, uint32_t what) {
    event_t e = {time, ++order, what};
    uint64_t i = events++;
    while (i > 0 && before(&e, &heap[(i - 1) / 2])) {
        heap[i] = heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    heap[i] = e;
}

static inline void replace_top(double time, uint32_t what) {
    event_t e = {time, ++order, what};
    sift_down(0, e);
}

static inline void pop(void) {
    event_t last = heap[--events];
    if (events) sift_down(0, last);
}

static inline uint32_t place(void) {
    if (vacancies) return vacant[--vacancies];
    if (places == room) {
        room = room ? 2 * room : 1024;
        customers = realloc(customers, room * sizeof *customers);
        vacant = realloc(vacant, room * sizeof *vacant);
    }
    return places++;
}

static inline void pass(station_t *s, double now) {
    double time = now - s->last;
    s->last = now;
    s->number += s->inside * time;
    s->busy_area += s->busy * time;
}

static inline double begin(station_t *s, uint32_t c, double now) {
    double wait = now - customers[c].arrived, service = 100e-6 * exponential(&s->services);
    customers[c].waited = wait;
    s->wait += wait;
    s->waited += wait > 0;
    s->begun++;
    s->work += service;
    s->served = c;
    return now + service;
}

int main(int argc, char **argv) {
    uint64_t target = argc > 1 ? strtoull(argv[1], 0, 10) : 20000000, n = argc > 2 ? strtoull(argv[2], 0, 10) : 1;
    uint64_t seed = argc > 3 ? strtoull(argv[3], 0, 10) : 1, gone = 0, entered = 0, all_waited = 0;
    double began = seconds(), now = 0, waits = 0, responses = 0, idle = 0, idle_since = 0;
    uint64_t inside = 0, *waits_bins = calloc(BINS + 2, 8), *responses_bins = calloc(BINS + 2, 8);
    station_t *stations = calloc(n, sizeof *stations);
    double *rows = malloc(BATCHES * (n * 10 + 8) * sizeof(double)), *row = rows;
    heap = malloc(2 * n * sizeof *heap);
    for (uint64_t i = 0; i < n; i++) {
        stations[i].arrivals = stream(seed, 0, i);
        stations[i].services = stream(seed, 0, n + i);
        stations[i].first = UINT32_MAX;
        push(125e-6 * exponential(&stations[i].arrivals), 2 * i);
    }
    for (int b = 0; b < BATCHES; b++) {
        for (uint64_t end = target / BATCHES * (b + 1); gone < end;) {
            now = heap[0].time;
            uint32_t what = heap[0].what;
            station_t *s = &stations[what / 2];
            pass(s, now);
            if (what & 1) {
                uint32_t c = s->served;
                double response = now - customers[c].arrived;
                s->inside--;
                s->left++;
                s->response += response;
                if (s->first != UINT32_MAX) {
                    uint32_t next = s->first;
                    s->first = customers[next].next;
                    replace_top(begin(s, next, now), what);
                } else {
                    s->busy = 0;
                    pop();
                }
                double waited = customers[c].waited;
                gone++;
                waits += waited;
                all_waited += waited > 0;
                responses += response;
                count(waits_bins, waited);
                count(responses_bins, response);
                if (--inside == 0) idle_since = now;
                vacant[vacancies++] = c;
            } else {
                replace_top(now + 125e-6 * exponential(&s->arrivals), what);
                uint32_t c = place();
                customers[c].arrived = now;
                customers[c].next = UINT32_MAX;
                customers[c].station = what / 2;
                if (inside++ == 0) idle += now - idle_since;
                entered++;
                s->inside++;
                s->arrived++;
                if (!s->busy) {
                    s->busy = 1;
                    push(begin(s, c, now), what + 1);
                } else {
                    if (s->first == UINT32_MAX) s->first = c; else customers[s->last_in_line].next = c;
                    s->last_in_line = c;
                }
            }
        }
        double whole[8] = {now, entered, gone, waits, all_waited, responses, idle, inside};
        memcpy(row, whole, sizeof whole);
        row += 8;
        for (uint64_t i = 0; i < n; i++, row += 10) {
            station_t *s = &stations[i];
            pass(s, now);
            double part[10] = {s->arrived, s->begun, s->wait, s->waited, s->left, s->response, s->number, s->busy_area, s->work, s->inside};
            memcpy(row, part, sizeof part);
        }
    }
    double took = seconds() - began;
    printf("%.6f %.12g\n", took, responses / gone / 100e-6 + waits_bins[0] * 0 + rows[0] * 0);
    return 0;
}
