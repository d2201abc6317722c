//! Calls counted by the kernel's tracepoints, held against strace and against programs of which it is known what they do.
//!
//! `TOLLWAY_TIMES` says how often each is counted: twice where nothing is said.

use std::os::linux::fs::MetadataExt;
use std::path::Path;

use crate::common::same;
use crate::kernel::{calls, counted, sum, total};
use crate::strace::{by_strace, table, without_ends};
use tollway_watch::{Calls, Counts, File, FileKind};

/// Counts a program some times over, and each time as strace has it, and as many calls of `exit` and `exit_group` as are `ends`.
fn equal(program: &Path, arguments: &[&str], ends: [u64; 2], check: impl Fn(&Counts)) {
    let times = std::env::var("TOLLWAY_TIMES").ok().and_then(|times| times.parse().ok()).unwrap_or(2);
    let Some(strace) = by_strace(program, arguments) else { return };
    for time in 0..times {
        let Some(counts) = counted(program, arguments) else { return };
        let mut table = table(&counts);
        let ours = without_ends(&mut table);
        assert_eq!((table, ours), (strace.clone(), ends), "{arguments:?}, time {time}: {counts:#?}");
        assert_eq!(counts.lost, 0);
        check(&counts);
    }
}

fn same_equal(what: &str, ends: [u64; 2], check: impl Fn(&Counts)) {
    if let Some(same) = same() {
        equal(same, &[what], ends, check);
    }
}

#[test]
fn dd() {
    let dd = ["if=/dev/zero", "of=/dev/null", "bs=512", "count=1000", "status=none"];
    equal(Path::new("/usr/bin/dd"), &dd, [0, 1], |counts| {
        assert_eq!(total(counts, libc::SYS_read, FileKind::Zero), (1000, 512_000));
        assert_eq!(total(counts, libc::SYS_write, FileKind::Null), (1000, 512_000));
        assert_eq!((counts.threads.len(), counts.threads[0].name.as_str()), (1, "dd"));
    });
}

#[test]
fn a_file_has_the_number_and_the_device_that_stat_tells() {
    let dd = ["if=/proc/version", "of=/dev/null", "status=none"];
    let about = std::fs::metadata("/proc/version").unwrap();
    equal(Path::new("/usr/bin/dd"), &dd, [0, 1], |counts| {
        let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
        let is_read = |calls: &&Calls| i64::from(calls.number) == libc::SYS_read && calls.results >= Some(1);
        let read: Vec<File> = calls.filter(is_read).map(|calls| calls.file).collect();
        let version = File { kind: FileKind::Regular, inode: about.st_ino(), device: about.st_dev() };
        assert!(read.contains(&version), "{version:?} {read:?}");
    });
}

#[test]
fn threads() {
    same_equal("threads", [4, 1], |counts| {
        let process = counts.threads[0].process;
        assert!(counts.threads.iter().all(|thread| thread.process == process && thread.name == "same"));
        assert_eq!(total(counts, libc::SYS_read, FileKind::Zero).0, 100 + 200 + 300 + 400 + 4 * 500);
    });
}

#[test]
fn children_by_fork() {
    same_equal("forks", [0, 8], |counts| assert_eq!(counts.threads.len(), 8));
}

#[test]
fn children_by_vfork_and_posix_spawn() {
    same_equal("spawns", [0, 5], |counts| assert_eq!(table(counts)["execve"], (1 + 4 + 2, 2)));
}

#[test]
fn an_exec_by_a_thread_that_is_not_the_first() {
    same_equal("execs-from-a-thread", [0, 1], |counts| assert_eq!(table(counts)["execve"], (2, 0)));
}

#[test]
fn signals() {
    same_equal("signals", [0, 2], |counts| {
        let signals = sum(counts, |moments| moments.signals);
        assert_eq!(signals, 20 + 3 + 1 + 1);
        assert_eq!(table(counts)["rt_sigreturn"].0, signals);
    });
}

#[test]
fn a_stop_and_going_on() {
    same_equal("stops", [0, 2], |counts| assert_eq!(table(counts)["restart_syscall"].0, 1));
}

#[test]
fn sockets() {
    same_equal("sockets", [0, 1], |counts| {
        assert_eq!(total(counts, libc::SYS_read, FileKind::Unix), (10, 10));
        assert_eq!(total(counts, libc::SYS_write, FileKind::Tcp), (20, 20));
        assert_eq!(total(counts, libc::SYS_sendto, FileKind::Udp), (1, 1));
    });
}

#[test]
fn a_descriptor_that_leads_to_one_file_after_the_other() {
    same_equal("reuse", [0, 1], |counts| {
        let by = |call, kind| total(counts, call, kind);
        assert_eq!(
            [by(libc::SYS_read, FileKind::Zero), by(libc::SYS_write, FileKind::Null)],
            [(100, 100); 2]
        );
        assert_eq!([by(libc::SYS_read, FileKind::Null), by(libc::SYS_write, FileKind::Zero)], [(0, 0); 2]);
    });
}

#[test]
fn files_that_are_made_and_those_that_were_there() {
    same_equal("creates", [0, 1], |counts| {
        let made = |call| total(counts, call, FileKind::Created).0;
        assert_eq!([made(libc::SYS_openat), made(libc::SYS_creat)], [3, 1]);
        assert_eq!(total(counts, libc::SYS_openat, FileKind::Folder).0, 1);
    });
}

#[test]
fn every_kind_of_file_and_the_bytes_that_were_moved() {
    same_equal("kinds", [0, 1], |counts| {
        let by = |call, kind| total(counts, call, kind);
        let (read, write) = (libc::SYS_read, libc::SYS_write);
        assert_eq!(by(write, FileKind::Regular), (3, 30));
        // fstat of a folder: a C library makes it by either call.
        let of_itself = by(libc::SYS_newfstatat, FileKind::FolderItself).0;
        assert_eq!(of_itself + by(libc::SYS_fstat, FileKind::Folder).0, 4);
        assert_eq!(by(libc::SYS_newfstatat, FileKind::Folder).0, 3);
        assert_eq!(by(write, FileKind::Anonymous), (5, 40));
        assert_eq!(by(write, FileKind::Pipe), (6, 66));
        assert_eq!(by(write, FileKind::Unix), (7, 84));
        assert_eq!(by(write, FileKind::Tcp), (8, 104));
        assert_eq!(by(libc::SYS_sendto, FileKind::Udp), (9, 126));
        assert_eq!(by(write, FileKind::Terminal).0, 10);
        assert_eq!(by(read, FileKind::Character), (11, 165));
        assert_eq!(by(write, FileKind::Null), (12, 192));
        assert_eq!(by(read, FileKind::Zero), (13, 221));
        // What is found by name is on no file.
        assert_eq!(total(counts, libc::SYS_openat, FileKind::None).0, calls(counts, libc::SYS_openat));
    });
}
