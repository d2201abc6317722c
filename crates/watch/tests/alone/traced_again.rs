//! Nothing is left of two hundred tracers.

use std::process::Command;
use std::time::Duration;

use crate::common::{Killed, read_calls, same};
use crate::eventually::eventually;
use crate::pause::pause;
use crate::{alone, own};
use procfs::FromRead;
use procfs::process::Status;
use tollway_watch::traced::Traced;

#[test]
fn two_hundred_times_attached_and_let_go() {
    let _alone = alone();
    let Some(same) = same() else { return };
    for what in ["for-ever", "waits"] {
        let child = Killed(Command::new(same).arg(what).spawn().unwrap());
        let process = child.0.id();
        let status = || Status::from_file(format!("/proc/{process}/status")).unwrap();
        let calls = || read_calls(process);
        eventually("it has begun", || status().name == "same");
        let before = own();
        for cycle in 0..200 {
            let traced = Traced::attach(process, true).unwrap();
            if cycle % 2 == 0 {
                pause(Duration::from_micros(50 * cycle));
            }
            drop(traced);
            assert_eq!(status().tracerpid, 0, "cycle {cycle}");
        }
        assert_eq!(own(), before);
        let seen = calls();
        match what {
            "for-ever" => eventually("it goes on", || calls() > seen + 1000),
            _ => eventually("it waits", || status().state.starts_with('S')),
        }
    }
}
