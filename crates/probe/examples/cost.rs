//! What a mark and its end cost, and what it costs the process to be watched. In ns, the median of 31 turns.
//!
//!     cargo run --release -p tollway-probe --example cost

use std::hint::black_box;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
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
    if std::env::args().len() > 1 {
        // Another process, which watches itself for a while.
        let probe = Probe::by_the_kernel();
        println!("{}", probe.is_ok());
        std::io::stdin().read_line(&mut String::new()).ok();
        return Ok(());
    }
    let unwatched = each(call);
    let other = each_beside_another();
    println!(
        "a system call: {unwatched:.1} ns, and {:.1} ns more while another process is watched",
        other - unwatched
    );

    let usage = Probe::by_usage()?;
    let pair = |probe: &Probe| {
        each(|| {
            black_box(probe.request().paid());
        })
    };
    println!("a mark and its end: {:.1} ns by getrusage(2)", pair(&usage));
    let probe = Probe::by_the_kernel()?;
    println!("a mark and its end: {:.1} ns by the kernel's tracepoints", pair(&probe));
    println!("a system call: {:.1} ns more while it is watched", each(call) - unwatched);
    Ok(())
}

/// A call while another process is watched.
fn each_beside_another() -> f64 {
    let exe = std::env::current_exe().expect("a program has a name");
    let mut other = Command::new(exe);
    let mut other =
        other.arg("another").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("it starts");
    let mut said = String::new();
    BufReader::new(other.stdout.take().expect("it is a pipe"))
        .read_line(&mut said)
        .expect("it says something");
    let time = each(call);
    drop(other.stdin.take());
    other.wait().expect("it ends");
    time
}
