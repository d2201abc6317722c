//! What there cannot be, and what this process is not allowed: refused with what to do instead.

use std::os::unix::process::CommandExt;

use tollway_channel::linux::kernel::{Kernel, Options, Ring};
use tollway_core::{Error, Requirement};
use tollway_host::requirement::test_has;

/// What there cannot be is refused with what to do instead.
#[test]
fn what_cannot_be_is_refused() {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return;
    }
    let options = Options::default();
    let too_much = [
        Options { operations: 0, ..options },
        Options { operations: Options::MOST + 1, ..options },
        Options { bytes: 0, ..options },
        Options { pieces: 1 << 16, ..options },
        Options { registered: true, buffers: 1 << 20, bytes: 1 << 20, ..options },
    ];
    for options in too_much {
        assert!(matches!(Ring::open(&options), Err(Error::Input { .. })), "{options:?}");
    }
    let ring = Ring::open(&Options { files: 1, ..options }).unwrap();
    let kernel: Kernel = ring.kernel();
    let first = kernel.register(tempfile::tempfile().unwrap()).unwrap();
    assert!(matches!(kernel.register(tempfile::tempfile().unwrap()), Err(Error::Input { .. })));
    drop(first);
    assert!(kernel.register(tempfile::tempfile().unwrap()).is_ok());
}

/// Tells the test below that it is in a process of its own.
const FEW: &str = "TOLLWAY_CHANNEL_LOCKED";

/// Where less memory may be locked than is asked for, and fewer files opened, that is said with its remedy.
#[test]
fn limits_are_told() {
    if !test_has(&[(Requirement::IoUring, "io-uring")]) {
        return;
    }
    if std::env::var_os(FEW).is_none() {
        let mut command = std::process::Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", "limits::limits_are_told", "--nocapture"]).env(FEW, "1");
        // SAFETY: only system calls between fork and exec.
        unsafe {
            command.pre_exec(|| {
                // capabilities(7): who has CAP_IPC_LOCK (14) has no limit. Without it in the bounding set, root has not got it after exec.
                libc::prctl(libc::PR_CAPBSET_DROP, 14, 0, 0, 0);
                let limit = |resource, most| {
                    let limit = libc::rlimit { rlim_cur: most, rlim_max: most };
                    libc::setrlimit(resource, &raw const limit)
                };
                limit(libc::RLIMIT_MEMLOCK, 4 << 20);
                limit(libc::RLIMIT_NOFILE, 100);
                Ok(())
            });
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
        return;
    }
    let small = Options { operations: 8, buffers: 4, ..Options::default() };
    let told = |options: Options, limit: &str| match Ring::open(&options) {
        Err(Error::Input { reason, remedy, .. }) => {
            assert!(reason.contains(limit) && remedy.contains("ulimit"), "{reason}; {remedy}");
        }
        other => panic!("{:?}", other.map(drop)),
    };
    told(Options { registered: true, buffers: 4096, bytes: 4096, ..small }, "RLIMIT_MEMLOCK");
    told(Options { files: 1000, ..small }, "RLIMIT_NOFILE");
    assert!(Ring::open(&Options { registered: true, files: 10, ..small }).is_ok());
}
