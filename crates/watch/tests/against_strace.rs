//! Counts of programs that always do the same, held against strace's.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tollway_core::Error;
use tollway_watch::kernel::layout::{call, thread as known};
use tollway_watch::kernel::{Kernel, Seen};
use tollway_watch::start;

fn counted(program: &str, arguments: &[&str]) -> Option<Vec<Seen>> {
    let kernel = match Kernel::new(true) {
        Ok(kernel) => kernel,
        Err(Error::Missing(missing)) => {
            println!("skipped: {missing}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    let mut child = start(&mut command, &kernel).unwrap();
    child.wait().unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(kernel.lost().unwrap(), 0);
    Some(kernel.harvest().unwrap())
}

/// Calls by number.
fn calls(seen: &[Seen]) -> BTreeMap<u32, u64> {
    let mut calls = BTreeMap::new();
    for (number, words) in seen.iter().flat_map(|one| &one.calls) {
        *calls.entry(*number).or_default() += words[call::RETURNED as usize / 8];
    }
    calls
}

#[test]
fn what_dd_reads_and_writes() {
    let Some(seen) =
        counted("/usr/bin/dd", &["if=/dev/zero", "of=/dev/null", "bs=512", "count=1000", "status=none"])
    else {
        return;
    };
    for one in &seen {
        println!(
            "{} gone {} vol {} invol {} ran {} faults {} minor {}",
            one.half(known::NUMBER),
            one.word(known::GONE),
            one.word(known::VOLUNTARY),
            one.word(known::INVOLUNTARY),
            one.word(known::RAN),
            one.word(known::FAULTS),
            one.word(known::MINOR)
        );
        println!("{:?}", one.calls);
    }
    let calls = calls(&seen);
    assert!(calls[&0] >= 1000 && calls[&1] >= 1000, "{calls:?}");
}
