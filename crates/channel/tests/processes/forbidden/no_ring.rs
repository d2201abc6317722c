//! Without io_uring a ring is refused with the reason and what would help; where only some of its calls are forbidden its tasks are told.

use std::cell::Cell;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::time::Duration;
use std::{fs, ptr};

use tollway_channel::coroutine::Executor;
use tollway_channel::linux::kernel::{Options, Ring};
use tollway_core::{Error, Missing, Requirement};
use tollway_host::requirement::{skip_test, test_has};

use super::ERRORS;
use super::apart::{errno, succeeds_without};

fn has_one() -> bool {
    test_has(&[(Requirement::IoUring, "io-uring")])
}

#[test]
fn a_ring_that_cannot_be_is_refused_with_what_would_help() {
    let has = has_one();
    for errno in ERRORS {
        succeeds_without(&[libc::SYS_io_uring_setup], errno, "forbidden::no_ring::is_refused");
        if has {
            succeeds_without(&[libc::SYS_io_uring_register], errno, "forbidden::no_ring::is_refused_by_half");
        }
    }
    succeeds_without(&[libc::SYS_io_uring_setup], libc::EPERM, "forbidden::no_ring::is_switched_off");
}

#[test]
fn tasks_of_a_ring_that_the_kernel_does_not_hear_are_told() {
    if !has_one() {
        return;
    }
    for errno in ERRORS {
        succeeds_without(&[libc::SYS_io_uring_enter], errno, "forbidden::no_ring::is_not_heard");
    }
}

/// Why there is no ring, by each of the ways that one can be asked for.
fn refused() -> Missing {
    let polled = Options { polled: Some(Duration::from_millis(1)), ..Options::default() };
    let [missing, same] = [Options::default(), polled].map(|options| match Ring::open(&options) {
        Err(Error::Missing(missing)) => missing,
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("there is one"),
    });
    assert_eq!(missing.to_string(), same.to_string());
    missing
}

#[test]
#[ignore = "the test of this file starts it, where io_uring_setup is forbidden"]
fn is_refused() {
    let missing = refused();
    let (reason, remedy) = match errno() {
        libc::ENOSYS => ("the kernel has none", "CONFIG_IO_URING"),
        // Of a machine on which it is switched off the filter is not the reason.
        _ if setting().is_some_and(|setting| setting != "0") => ("io_uring_disabled", "sysctl"),
        _ => ("a sandbox's filter forbids it", "allow io_uring_setup"),
    };
    assert_eq!(missing.what, "io_uring");
    assert!(missing.reason.contains(reason) && missing.remedy.contains(remedy), "{missing}");
}

/// A filter that allows to open a ring, and not to ask what it has.
#[test]
#[ignore = "the test of this file starts it, where io_uring_register is forbidden"]
fn is_refused_by_half() {
    let missing = refused();
    assert!(missing.reason.contains("does not say what it has"), "{missing}");
    assert!(missing.remedy.contains("allow io_uring_register"), "{missing}");
}

const SETTING: &str = "/proc/sys/kernel/io_uring_disabled";

fn setting() -> Option<String> {
    Some(fs::read_to_string(SETTING).ok()?.trim().into())
}

/// As with `sysctl kernel.io_uring_disabled=2`: the call says EPERM, and another file stands for the setting, in a mount namespace of this thread's own.
#[test]
#[ignore = "the test of this file starts it, where io_uring_setup is forbidden"]
fn is_switched_off() {
    let file = tempfile::NamedTempFile::new().unwrap();
    fs::write(&file, "2\n").unwrap();
    let [from, onto] =
        [file.path().as_os_str().as_bytes(), SETTING.as_bytes()].map(|path| CString::new(path).unwrap());
    let root = c"/";
    // SAFETY: only this thread's mounts change, which ends with this process; the strings live for as long as the calls.
    let refused_to_mount = unsafe {
        libc::unshare(libc::CLONE_NEWNS) != 0
            || libc::mount(
                ptr::null(),
                root.as_ptr(),
                ptr::null(),
                libc::MS_REC | libc::MS_PRIVATE,
                ptr::null(),
            ) != 0
            || libc::mount(from.as_ptr(), onto.as_ptr(), ptr::null(), libc::MS_BIND, ptr::null()) != 0
    };
    if refused_to_mount {
        return skip_test(&["root"], &"mount namespaces → run the tests as root");
    }
    // Tests run on threads, of which each has mounts of its own now: /proc/sys is the same in all of them, but for this one.
    let missing = refused();
    assert!(missing.reason.contains("the setting io_uring_disabled forbids it"), "{missing}");
    assert!(missing.remedy.contains("sysctl kernel.io_uring_disabled=0"), "{missing}");
}

/// The ring is there, and no entry of it is ever taken.
#[test]
#[ignore = "the test of this file starts it, where io_uring_enter is forbidden"]
fn is_not_heard() {
    let mut ring = Ring::open(&Options { buffers: 0, ..Options::default() }).unwrap();
    let kernel = ring.kernel();
    let told = Cell::new(0);
    let mut executor = Executor::new(2, ring.rouser());
    for _ in 0..2 {
        executor.spawn(0, async {
            for _ in 0..2 {
                assert_eq!(kernel.nop().await.unwrap_err().raw_os_error(), Some(errno()));
                told.set(told.get() + 1);
            }
        });
    }
    executor.run(&mut ring).unwrap();
    drop(executor);
    assert_eq!(told.get(), 4);
}
