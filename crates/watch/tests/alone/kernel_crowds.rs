//! Nothing is missed however fast a program is, and what there is no room for is counted as such.

use std::fs;
use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::alone;
use crate::common::{Killed, same};
use crate::eventually::eventually;
use crate::kernel::{calls, command, counted, settles, to_the_end, total, watch};
use crate::pause::pause;
use crate::quiet::is_quiet;
use tollway_host::samplers::thread_time;
use tollway_watch::{Counts, FileKind};

/// Events: a call begins, and ends.
#[test]
fn two_million_calls_as_fast_as_they_can_be_made() {
    const EACH: u64 = 250_000;
    let _alone = alone();
    let Some(same) = same() else { return };
    let begun = Instant::now();
    let Some(counts) = counted(same, &["floods", &EACH.to_string()]) else { return };
    let took = begun.elapsed().as_secs_f64();
    println!("{:.2} million events a second", 2.0 * 8.0 * EACH as f64 / took / 1e6);
    assert_eq!(total(&counts, libc::SYS_getppid, FileKind::None).0, 4 * EACH);
    assert_eq!(total(&counts, libc::SYS_read, FileKind::Zero), (4 * EACH, 4 * EACH));
    assert_eq!(counts.lost, 0);
}

fn of(counts: &Counts, number: i64) -> u64 {
    total(counts, number, FileKind::None).0
}

#[test]
fn more_threads_than_there_are_slots() {
    const THREADS: u64 = 5000;
    let _alone = alone();
    let Some(same) = same() else { return };
    let Some(counts) = counted(same, &["many", &THREADS.to_string(), "7"]) else { return };
    // Slots: all but the one that is nobody's, and the one that the first thread has.
    let seen = 4095 - 1;
    assert_eq!(counts.lost, THREADS - seen);
    for number in [libc::SYS_getuid, libc::SYS_gettid, libc::SYS_getegid] {
        let by_threads = counts.threads.iter().flat_map(|thread| &thread.calls);
        let by_threads: u64 =
            by_threads.filter(|calls| i64::from(calls.number) == number).map(|calls| calls.count).sum();
        assert_eq!(by_threads, 2 * seen, "{number}");
    }
}

/// Who has ended made no room for others until he was looked at, ten times a second: of 40,000 a quarter were
/// in no count. Here they come in lots of which two have room,
/// and it is looked when it is due to.
#[test]
fn threads_that_end_make_room_for_others() {
    const LOTS: u32 = 10;
    const EACH: u32 = 1500;
    /// How long ago a thread must have left for it to be sure that the programs at its last switch have.
    const LEAVES: Duration = Duration::from_millis(5);
    let _alone = alone();
    let (Some(same), Some(mut watch)) = (same(), watch(true, None)) else { return };
    let mut command = command(same, &["in-lots", &LOTS.to_string(), &EACH.to_string()]);
    let mut child = watch.start(command.stdin(Stdio::piped()).stdout(Stdio::piped())).unwrap();
    let (mut go, mut done) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    for lot in 0..LOTS {
        if lot > 0 {
            go.write_all(&[0]).unwrap();
        }
        done.read_exact(&mut [0]).unwrap();
        settles(&mut watch);
        pause(LEAVES);
        pause(watch.tick().unwrap());
        watch.tick().unwrap();
    }
    go.write_all(&[0]).unwrap();
    to_the_end(&mut watch, &mut child);
    let counts = watch.counts().unwrap();
    let each = u64::from(LOTS * EACH);
    assert_eq!(
        (counts.lost, [libc::SYS_getuid, libc::SYS_exit].map(|number| of(&counts, number))),
        (0, [each; 2])
    );
}

/// Where the machine stops us for a tenth of a second there is no room for some thousands.
#[test]
fn threads_that_end_as_fast_as_they_can_are_counted_or_known_to_be_lost() {
    const THREADS: u64 = 20_000;
    let _alone = alone();
    let Some(same) = same() else { return };
    let Some(counts) = counted(same, &["one-by-one", &THREADS.to_string()]) else { return };
    println!("{} of {THREADS} lost", counts.lost);
    for number in [libc::SYS_getuid, libc::SYS_exit] {
        assert_eq!(of(&counts, number) + counts.lost, THREADS);
    }
}

#[test]
fn more_calls_than_there_is_room_for() {
    const THREADS: u64 = 4000;
    const KINDS: u64 = 25;
    let _alone = alone();
    let Some(same) = same() else { return };
    let arguments = ["many".to_string(), THREADS.to_string(), KINDS.to_string()];
    let Some(counts) = counted(same, &arguments.each_ref().map(String::as_str)) else { return };
    let different = [
        libc::SYS_getpid,
        libc::SYS_getuid,
        libc::SYS_umask,
        libc::SYS_getpriority,
        libc::SYS_getcpu,
        libc::SYS_capget,
    ];
    // Some of them are at 98,304 calls by thread and number, which is all the room; and no more than were made.
    let room = 65_536 + 32_768;
    assert!(counts.lost >= 2 * (THREADS * KINDS).saturating_sub(room), "{}", counts.lost);
    let missed: u64 =
        different.iter().map(|number| (2 * THREADS).checked_sub(of(&counts, *number)).unwrap()).sum();
    assert!(missed <= counts.lost);
    let all: u64 = counts.threads.iter().flat_map(|thread| &thread.calls).map(|calls| calls.count).sum();
    // Beside these a thread begins and ends by a few calls, which are as many in each run.
    println!("{all} counted, {} lost", counts.lost);
    let made = all + counts.lost;
    let few = 2 * THREADS * KINDS;
    assert!((few..few + 20 * THREADS).contains(&made), "{made}");
}

#[test]
fn more_files_than_there_is_room_for() {
    const FILES: u64 = 30_000;
    let _alone = alone();
    let Some(same) = same() else { return };
    let Some(counts) = counted(same, &["many-files", &FILES.to_string()]) else { return };
    assert_eq!(counts.lost, 0);
    assert_eq!(total(&counts, libc::SYS_write, FileKind::Pipe), (FILES, FILES));
    assert_eq!(total(&counts, libc::SYS_read, FileKind::Pipe), (FILES, FILES));
    assert_eq!(total(&counts, libc::SYS_close, FileKind::Pipe).0, 2 * FILES);
    let all = calls(&counts, libc::SYS_write);
    let together = counts.threads.iter().flat_map(|thread| &thread.calls);
    let together: u64 = together
        .filter(|calls| {
            i64::from(calls.number) == libc::SYS_write
                && calls.file.kind == FileKind::Pipe
                && calls.file.inode == 0
        })
        .map(|calls| calls.count)
        .sum();
    println!("{all} writes, {together} of them on files that had no room of their own");
    assert!((FILES - 65_536 / 3 - 10..FILES).contains(&together), "{together}");
}

/// To look every tenth of a second what watching costs must cost nearly nothing itself, however many threads there are.
#[test]
fn a_look_at_a_thousand_threads_is_cheap() {
    let _alone = alone();
    let Some(same) = same() else { return };
    let child = Killed(command(same, &["crowd-that-waits", "1000"]).spawn().unwrap());
    let tasks = || fs::read_dir(format!("/proc/{}/task", child.0.id())).map_or(0, Iterator::count);
    eventually("its threads", || tasks() == 1001);
    let Some(mut watch) = watch(true, Some(0.03)) else { return };
    watch.attach(child.0.id()).unwrap();
    let mut looks = Vec::new();
    for _ in 0..10 {
        pause(watch.tick().unwrap());
        let begun = thread_time::thread();
        watch.tick().unwrap();
        looks.push(thread_time::thread() - begun);
    }
    looks.sort();
    println!("a look takes {:?}, the dearest {:?}", looks[5], looks[9]);
    let most = Duration::from_millis(if is_quiet() { 10 } else { 100 });
    assert!(looks[5] < most, "{looks:?}");
    assert_eq!(watch.counts().unwrap().threads.len(), 1001);
}
