//! How much dearer a call on a descriptor is where another thread could close it meanwhile.
//!
//! A table of descriptors that one thread has for itself needs no protection: the kernel looks the file up and is done. Of one that threads share it counts a reference to the
//! file, and gives it back (`fdget` and `fdput`, fs/file.c of Linux). All tolls of calls on files are measured in processes of several threads.

use std::fs::File;
use std::io::Write;
use std::thread;
use std::time::{Duration, Instant};

use rustix::thread::{UnshareFlags, unshare_unsafe};
use tollway_core::{Error, Result};

use super::Own;
use crate::prices::shared_descriptors;

/// Calls of a turn, and turns of each of the two: what interrupts a turn is in it alone.
const CALLS: u32 = 4000;
const TURNS: u32 = 10;

pub(super) fn own() -> Own {
    Own {
        toll: shared_descriptors(),
        title: "system call on a descriptor that threads share, more than on one that they do not",
        caveats: "The fastest of several turns of writes to /dev/null, with a table of descriptors that threads share and with one of its own.",
        sample,
    }
}

/// Calls, and how much longer they took with descriptors that are shared.
fn sample() -> Result<(u32, Duration)> {
    let failed = |e: std::io::Error| Error::system("measuring a call on a descriptor that is shared", e);
    let measured = |alone: bool| {
        move || -> std::io::Result<Duration> {
            if alone {
                // SAFETY: this thread uses no descriptor but that which it opens below, and ends.
                unsafe { unshare_unsafe(UnshareFlags::FILES)? };
            }
            let mut null = File::options().write(true).open("/dev/null")?;
            let mut best = Duration::MAX;
            for _ in 0..TURNS {
                let begun = Instant::now();
                for _ in 0..CALLS {
                    null.write_all(&[0])?;
                }
                best = best.min(begun.elapsed());
            }
            Ok(best)
        }
    };
    let took = |alone: bool| {
        let ended = thread::spawn(measured(alone)).join();
        ended.unwrap_or_else(|_| Err(std::io::Error::other("a thread panicked"))).map_err(failed)
    };
    let (alone, shared) = (took(true)?, took(false)?);
    Ok((CALLS, shared.saturating_sub(alone)))
}
