//! What a mark and its end cost, and what it costs the process to be watched. In ns, the median of 31 turns.
//!
//!     cargo run --release -p tollway-probe --example cost

use std::hint::black_box;
use std::time::Instant;

use tollway_core::Result;
use tollway_probe::Probe;

const TURNS: usize = 31;
const TIMES: u32 = 10_000;

fn each(mut what: impl FnMut()) -> f64 {
    let mut turns: Vec<f64> = (0..TURNS)
        .map(|_| {
            let begun = Instant::now();
            for _ in 0..TIMES {
                what();
            }
            begun.elapsed().as_nanos() as f64 / f64::from(TIMES)
        })
        .collect();
    turns.sort_by(f64::total_cmp);
    turns[TURNS / 2]
}

fn call() {
    // SAFETY: no address is passed.
    black_box(unsafe { libc::syscall(libc::SYS_getppid) });
}

fn main() -> Result<()> {
    let unwatched = each(call);
    let usage = Probe::by_usage()?;
    println!("by getrusage(2): {:.1} ns", each(|| drop(black_box(usage.request().paid()))));
    let probe = Probe::by_the_kernel()?;
    println!("by the kernel's tracepoints: {:.1} ns", each(|| drop(black_box(probe.request().paid()))));
    println!(
        "a system call: {unwatched:.1} ns, and {:.1} ns more while it is watched",
        each(call) - unwatched
    );
    Ok(())
}
