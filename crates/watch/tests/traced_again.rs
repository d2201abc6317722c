//! Nothing is left of two hundred tracers. Alone in its process, whose descriptors and threads are counted.

mod common;

use std::fs;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use common::{Killed, same, until};
use procfs::FromRead;
use procfs::process::{Io, Status};
use tollway_watch::traced::Traced;

#[test]
fn two_hundred_times_attached_and_let_go() {
    let Some(same) = same() else { return };
    for what in ["for-ever", "waits"] {
        let child = Killed(Command::new(same).arg(what).spawn().unwrap());
        let process = child.0.id();
        let status = || Status::from_file(format!("/proc/{process}/status")).unwrap();
        let calls = || Io::from_file(format!("/proc/{process}/io")).unwrap().syscr;
        let own = |of: &str| fs::read_dir(format!("/proc/self/{of}")).unwrap().count();
        until("it has begun", || status().name == "same");
        let before = (own("fd"), own("task"));
        for cycle in 0..200 {
            let traced = Traced::attach(process, true).unwrap();
            if cycle % 2 == 0 {
                sleep(Duration::from_micros(50 * cycle));
            }
            drop(traced);
            assert_eq!(status().tracerpid, 0, "cycle {cycle}");
        }
        assert_eq!((own("fd"), own("task")), before);
        let seen = calls();
        match what {
            "for-ever" => until("it goes on", || calls() > seen + 1000),
            _ => until("it waits", || status().state.starts_with('S')),
        }
    }
}
