//! Calls that go by a path, by how many names it has.

use std::fs;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Mode, OFlags, accessat, openat, readlinkat_raw, statat};
use rustix::io::Errno;
use tollway_core::{Clock, Lot, Params, Place, TenantKind};
use tollway_crossings::engine::Operation;
use tollway_crossings::engine::single::SystemCall;
use tollway_host::clock::RunClock;
use tollway_host::scratch;

use crate::turn::{alone, undisturbed};

/// Rounds, in each of which all depths have a sample.
const ROUNDS: usize = 201;
/// Calls of a sample.
const CALLS: usize = 16;

fn ticks(mut work: impl FnMut()) -> f64 {
    let clock = RunClock::chosen();
    let begun = clock.open();
    work();
    (clock.close() - begun) as f64
}

/// A call by a path from an open folder on; whether there was something at its end.
type Call = fn(&fs::File, &Path) -> bool;

const CALLS_BY_PATH: [(&str, Call); 4] = [
    ("openat", |folder, path| openat(folder, path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).is_ok()),
    ("newfstatat", |folder, path| statat(folder, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()),
    ("faccessat", |folder, path| accessat(folder, path, Access::EXISTS, AtFlags::empty()).is_ok()),
    // What is no link is found, and refused then.
    ("readlinkat", |folder, path| readlinkat_raw(folder, path, &mut [0; 8][..]) == Err(Errno::INVAL)),
];

#[test]
fn every_call_by_a_path_costs_more_the_more_names_it_has() {
    let _alone = alone();
    let folder = scratch::Folder::make(&scratch::folder()).unwrap();
    let opened = fs::File::open(folder.path()).unwrap();
    let paths = [1, 4, 16].map(|names| {
        let within: PathBuf = (1..names).map(|_| "within").collect();
        fs::create_dir_all(folder.path().join(&within)).unwrap();
        fs::write(folder.path().join(within.join("asked")), "something").unwrap();
        within
    });
    for (name, call) in CALLS_BY_PATH {
        for (last, is_there) in [("asked", true), ("missing", false)] {
            let paths = paths.each_ref().map(|within| within.join(last));
            let rounds: Vec<[f64; 3]> = (0..=ROUNDS)
                .map(|_| {
                    paths.each_ref().map(|path| {
                        ticks(|| (0..CALLS).for_each(|_| assert_eq!(call(&opened, path), is_there, "{name}")))
                    })
                })
                .skip(1)
                .collect();
            for (less, more) in [(0, 1), (1, 2)] {
                let [fewer, many] =
                    [less, more].map(|depth| undisturbed(rounds.iter().map(|round| round[depth])));
                println!("{name}, {last}: {fewer} and {many} ticks from {less} to {more}");
                assert!(fewer < many, "{name}, {last}: {fewer} and {many} ticks from {less} to {more}");
            }
        }
    }
}

fn made(kind: &str, warmth: &str) -> SystemCall {
    let params = Params::new().with("kind", kind).with("size", 0).with("warmth", warmth);
    let (peers, doorbells) = (Vec::new(), Vec::new());
    let place = Place { tenant: TenantKind::Thread, peers, doorbells, exits: None, lot: Lot::default() };
    SystemCall::prepare(&params, &place).unwrap()
}

/// What the toll of a long path is more than that of a name is what a bill prices names by.
#[test]
fn the_toll_of_a_long_path_is_dearer_than_that_of_a_name() {
    let _alone = alone();
    for warmth in ["hot", "cold"] {
        let (mut near, mut deep) = (made("stat-in-folder", warmth), made("stat-deep", warmth));
        let sample = |calls: &mut SystemCall| {
            if calls.uses_up() {
                calls.restock();
            }
            ticks(|| calls.once())
        };
        let pairs: Vec<(f64, f64)> = (0..ROUNDS).map(|_| (sample(&mut near), sample(&mut deep))).collect();
        let (near, deep) =
            (undisturbed(pairs.iter().map(|pair| pair.0)), undisturbed(pairs.iter().map(|pair| pair.1)));
        println!("{warmth}: {near} and {deep} ticks");
        assert!(near < deep, "{warmth}: {near} and {deep} ticks");
    }
}
