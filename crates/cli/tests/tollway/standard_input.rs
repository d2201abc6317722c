//! Standard input on which the parent has set `O_NONBLOCK`: it is waited for, and neither an error nor the end.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use crate::asleep::process_falls_asleep;
use crate::program::{Bench, SHORT, checked};
use rustix::pipe::{PipeFlags, pipe_with};

/// What the program told whose standard input is a pipe that never lets a reader wait, and gets the text in two halves, the
/// first one only after the program has begun to look for it.
fn read_in_halves(bench: &Bench, arguments: &[&str], text: &str) -> String {
    let (from, to) = pipe_with(PipeFlags::NONBLOCK | PipeFlags::CLOEXEC).unwrap();
    let mut to = File::from(to);
    let mut command = bench.tollway(arguments);
    let child =
        command.stdin(Stdio::from(from)).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // Nothing hangs on it: a program that has not looked yet finds the text there.
    process_falls_asleep(child.id());
    let (first, second) = text.split_at(text.len() / 2);
    to.write_all(first.as_bytes()).unwrap();
    process_falls_asleep(child.id());
    to.write_all(second.as_bytes()).unwrap();
    drop(to);
    checked(&child.wait_with_output().unwrap(), 0).0
}

#[test]
fn a_pipe_that_does_not_block_is_waited_for() {
    let bench = Bench::with(SHORT);
    let trace =
        (0..500).fold(String::from("arrival,service"), |text, i| format!("{text}\n{i}.{},0.2", i * 7 % 10));
    let found = read_in_halves(&bench, &["fit", "-"], &trace);
    assert!(found.contains("500 customers"), "{found}");
    let system = "[[source]]\nname = 's'\ninterarrival = 'exponential(1s)'\n[[station]]\nname = 'q'\n\
                  service = 'exponential(0.5s)'\n[stop]\ncustomers = 2000\n";
    let found = read_in_halves(&bench, &["simulate", "-", "--dry-run"], system);
    assert!(found.contains("1 source, 1 station"), "{found}");
    let plan = "vary = 'lambda'\nkeep = ['response.p99<5ms']\n[[case]]\nname = 'one'\nmodel = 'mm1'\n\
                given = { mu = '10k/s' }\n";
    let found = read_in_halves(&bench, &["plan", "-"], plan);
    assert!(found.contains("largest lambda"), "{found}");
}
