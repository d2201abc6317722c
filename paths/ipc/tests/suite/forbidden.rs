//! Where io_uring is missing or forbidden: its variants are not planned, and say what is lacking, and what would help, where they are made nevertheless.

#[path = "../../../../crates/host/testing/filter.rs"]
mod filter;
use std::env;
use std::process::{Command, Stdio};

use tollway_core::{Error, Requirement};
use tollway_host::requirement::{check, test_has};

use crate::played::{play, point};

/// Tells the process that it is to be tried there, and by which error number calls are refused.
const REFUSED: &str = "TOLLWAY_IPC_REFUSED";

#[test]
fn variants_without_io_uring_say_so() {
    for errno in [libc::ENOSYS, libc::EPERM] {
        let mut command = Command::new(env::current_exe().unwrap());
        command.args(["--ignored", "--exact", "forbidden::each_says_so"]).env(REFUSED, errno.to_string());
        command.stdout(Stdio::piped());
        filter::forbid(&mut command, &[libc::SYS_io_uring_setup], errno);
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        // Of a name that is no test's none runs, which is a success.
        let has_run = said.contains("1 passed");
        assert!(output.status.success() && has_run, "where io_uring_setup says {errno}: {said}");
    }
}

#[test]
#[ignore = "the other test starts it, where io_uring_setup is forbidden"]
fn each_says_so() {
    let lacking = check(&Requirement::IoUring).unwrap_err();
    assert_eq!(lacking.what, "io_uring");
    let errno: i32 = env::var(REFUSED).unwrap().parse().unwrap();
    assert!(lacking.reason.contains(&format!("os error {errno}")), "{lacking}");
    let polled = [("submission", "polled".into()), ("concurrency", 4.into())];
    let toll = [("placement", "same".into()), ("depth", 7.into())];
    let points: [(&str, &[_]); 4] = [
        ("memory-async", &[("concurrency", 8.into())]),
        ("memory-async", &polled),
        ("kernel-call", &toll),
        ("tcp-io-uring", &[]),
    ];
    for (name, axes) in points {
        let (plan, _) = point(name, axes).unwrap();
        assert!(plan.requires.contains(&Requirement::IoUring), "{name} would not be skipped");
        if name == "tcp-io-uring" && !test_has(&[(Requirement::NetworkNamespaces, "netns")]) {
            continue;
        }
        // As an actor whose agent lost it after it was asked.
        match play(name, axes) {
            Err(Error::Missing(missing)) => assert_eq!(missing.to_string(), lacking.to_string(), "{name}"),
            other => panic!("{name}: {other:?}"),
        }
    }
}
