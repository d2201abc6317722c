//! The measured cost of being watched does not change with other programs on the same processor.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::alone;
use crate::pause::pause;
use tollway_core::{Error, Missing};
use tollway_host::cpu::{Policy, allowed_cpus, pin_current_thread, set_policy};
use tollway_host::requirement::skip_test;
use tollway_watch::kernel::{Cost, Kernel};

/// Leaves a processor to others for a sixth of the time, as a thread of real time; `false` where this process may not have one. Other
/// programs on that processor wait as well, so it is not to last.
fn hogs(cpu: u32, stop: &AtomicBool) -> bool {
    pin_current_thread(cpu).unwrap();
    if set_policy(Policy::Fifo).is_err() {
        return false;
    }
    while !stop.load(Relaxed) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(500) {}
        pause(Duration::from_micros(100));
    }
    true
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn who_has_the_processor_meanwhile_does_not_change_it() {
    let _alone = alone();
    // It is loaded once: beside the other that takes seconds, which are the other's.
    let mut kernel = match Kernel::new(false) {
        Ok(kernel) => kernel,
        Err(Error::Missing(missing)) => return skip_test(&["bpf"], &missing),
        Err(error) => panic!("{error}"),
    };
    // All that is measured stays on this processor, where the other is as well.
    let here = allowed_cpus().unwrap()[0];
    pin_current_thread(here).unwrap();
    let mut cost = || Cost::measured(&mut kernel).unwrap();
    let alone: Vec<_> = (0..3).map(|_| cost()).collect();
    let stop = AtomicBool::new(false);
    let (beside, is_there) = thread::scope(|scope| {
        let hogging = scope.spawn(|| hogs(here, &stop));
        let beside = cost();
        stop.store(true, Relaxed);
        (beside, hogging.join().unwrap())
    });
    println!("{alone:?} alone, {beside:?} beside another");
    if !is_there {
        let refused = "this process may have none";
        return skip_test(&["root"], &Missing::new("threads of real time", refused, "run as root"));
    }
    for of in [|cost: &Cost| cost.call, |cost: &Cost| cost.call_on_file] {
        let (alone, beside) = (median(alone.iter().map(of).collect()), of(&beside));
        // It was seventeen times as much; a virtual processor is at half its speed at times.
        assert!((alone / 3..alone * 3).contains(&beside), "{beside:?} beside another, {alone:?} alone");
    }
}
