//! What it costs to be watched is measured as it is, whoever else has the processors meanwhile.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::{Duration, Instant};

use crate::pause::pause;
use crate::{alone, kernel};
use tollway_core::Missing;
use tollway_host::cpu::{Policy, allowed_cpus, pin_current_thread, set_policy};
use tollway_host::requirement::skip_test;
use tollway_watch::kernel::Cost;

/// Leaves a processor to others for moments only, as a thread of real time; `false` where this process may not have one.
fn hogs(cpu: u32, stop: &AtomicBool) -> bool {
    pin_current_thread(cpu).unwrap();
    if set_policy(Policy::Fifo).is_err() {
        return false;
    }
    while !stop.load(Relaxed) {
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(900) {}
        pause(Duration::from_micros(100));
    }
    true
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

#[test]
fn who_has_the_processors_meanwhile_does_not_change_it() {
    let _alone = alone();
    let cost = || kernel::watch(false, None).map(|watch| watch.cost());
    let alone: Vec<_> = (0..3).filter_map(|_| cost()).collect();
    let [_, _, _] = alone[..] else { return };
    let stop = AtomicBool::new(false);
    let (beside, are_there) = thread::scope(|scope| {
        let hogging: Vec<_> = allowed_cpus()
            .unwrap()
            .into_iter()
            .map(|cpu| {
                scope.spawn({
                    let stop = &stop;
                    move || hogs(cpu, stop)
                })
            })
            .collect();
        let beside: Vec<_> = (0..5).filter_map(|_| cost()).collect();
        stop.store(true, Relaxed);
        let are_there: Vec<bool> = hogging.into_iter().map(|hog| hog.join().unwrap()).collect();
        (beside, are_there.into_iter().all(|is_there| is_there))
    });
    println!("{alone:?} alone, {beside:?} beside others");
    if !are_there {
        let refused = "this process may have none";
        return skip_test(&["root"], &Missing::new("threads of real time", refused, "run as root"));
    }
    for cost in beside {
        for of in [|cost: &Cost| cost.call, |cost: &Cost| cost.call_on_file] {
            let (alone, beside) = (median(alone.iter().map(of).collect()), of(&cost));
            // It was seventeen times as much; a virtual processor is at half its speed at times.
            assert!((alone / 3..alone * 3).contains(&beside), "{beside:?} beside others, {alone:?} alone");
        }
    }
}
