//! What it costs a thread to be watched: measured on this machine, on the calls of this thread.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};

use rustix::process::getppid;
use tollway_core::{Error, Result};

use super::Kernel;

/// Calls in one go, and goes with the programs and without: the fastest of each counts, so that an interruption does not.
const CALLS: u32 = 400;
const GOES: u32 = 8;

/// What each event adds to the thread that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// A system call that is on no file.
    pub call: Duration,
    /// A system call on a file. A switch costs about as much: it is looked up who leaves and who comes.
    pub call_on_file: Duration,
}

impl Cost {
    /// Measures it, in some milliseconds. Others' calls become slower meanwhile, as they are while anybody is watched.
    ///
    /// # Errors
    /// As [`Kernel::begin`].
    pub fn measured(kernel: &mut Kernel) -> Result<Cost> {
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let mut zeroes = File::open("/dev/zero").map_err(|e| Error::system("opening /dev/zero", e))?;
        let without = fastest(&mut zeroes);
        kernel.add(me, std::process::id())?;
        kernel.begin()?;
        let with = fastest(&mut zeroes);
        kernel.pause();
        kernel.remove(me)?;
        kernel.harvest()?;
        Ok(Cost { call: with.0.saturating_sub(without.0), call_on_file: with.1.saturating_sub(without.1) })
    }
}

/// A call without a file, and one with.
fn fastest(zeroes: &mut File) -> (Duration, Duration) {
    let mut best = (Duration::MAX, Duration::MAX);
    let mut byte = [0];
    for _ in 0..GOES {
        let begun = Instant::now();
        for _ in 0..CALLS {
            black_box(getppid());
        }
        best.0 = best.0.min(begun.elapsed() / CALLS);
        let begun = Instant::now();
        for _ in 0..CALLS {
            let _ = black_box(zeroes.read(&mut byte));
        }
        best.1 = best.1.min(begun.elapsed() / CALLS);
    }
    best
}
