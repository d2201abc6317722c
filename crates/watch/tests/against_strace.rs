//! Counts of programs that always do the same, held against strace's.

use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use tollway_core::Error;
use tollway_watch::kernel::layout::{call, thread as known};
use tollway_watch::kernel::{Kernel, Seen};
use tollway_watch::start;

fn counted(program: &str, arguments: &[&str]) -> Option<Vec<Seen>> {
    let mut kernel = match Kernel::new(true) {
        Ok(kernel) => kernel,
        Err(Error::Missing(missing)) => {
            println!("skipped: {missing}");
            return None;
        }
        Err(error) => panic!("{error}"),
    };
    kernel.begin().unwrap();
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null());
    let mut child = start(&mut command, &kernel).unwrap();
    child.wait().unwrap();
    thread::sleep(Duration::from_millis(50));
    assert_eq!(kernel.lost(), 0);
    Some(kernel.harvest().unwrap())
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
            "{:?} {} gone {} vol {} invol {} ran {} faults {} minor {}",
            one.numbers(),
            one.name(),
            one.is_gone(),
            one.word(known::VOLUNTARY),
            one.word(known::INVOLUNTARY),
            one.word(known::RAN),
            one.word(known::FAULTS),
            one.word(known::MINOR)
        );
        for c in &one.calls {
            println!(
                "{} kind {} inode {} what {:x} {} failed {} inside {} results {}",
                c.number,
                c.kind,
                c.inode,
                c.what,
                c.word(call::COUNT),
                c.word(call::FAILED),
                c.word(call::INSIDE),
                c.word(call::RESULTS)
            );
        }
    }
}
