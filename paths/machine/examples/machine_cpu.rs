//! Events a second of sysbench's processor test by our engine, as one line of JSON: so many threads, each on a processor of its own, for
//! so many seconds.
//!
//! `cargo run --release -p tollway-machine --example machine_cpu -- THREADS SECONDS`

use std::hint::black_box;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use tollway_host::cpu::{pin_current_thread, slots};
use tollway_machine::engine::cpu::events::{LIMIT, event, found};

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [threads, seconds] = words.as_slice() else {
        panic!("usage: machine_cpu THREADS SECONDS");
    };
    let threads: usize = threads.parse().expect("a number of threads");
    let length = Duration::from_secs_f64(seconds.parse().expect("seconds"));
    let cpus = slots().expect("the processors of this process");
    assert!(threads <= cpus.len(), "this process may run on {} processors", cpus.len());

    let start = Barrier::new(threads);
    let (events, rate) = thread::scope(|scope| {
        let running: Vec<_> =
            cpus[..threads].iter().map(|cpu| scope.spawn(|| repeated(*cpu, &start, length))).collect();
        running
            .into_iter()
            .map(|thread| thread.join().expect("a thread"))
            .fold((0, 0.0), |(events, rate), (more, faster)| (events + more, rate + faster))
    });
    println!(r#"{{"threads": {threads}, "events": {events}, "events_per_second": {rate:.2}}}"#);
}

/// Events of one thread, and how many a second that are.
fn repeated(cpu: u32, start: &Barrier, length: Duration) -> (u32, f64) {
    pin_current_thread(cpu).expect("the processor");
    start.wait();
    let known = found(LIMIT);
    let (begun, mut events) = (Instant::now(), 0);
    while begun.elapsed() < length {
        assert_eq!(event(black_box(LIMIT)), known, "the primes of an event");
        events += 1;
    }
    (events, f64::from(events) / begun.elapsed().as_secs_f64())
}
