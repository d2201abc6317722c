//! What it costs a thread to be watched: measured on this machine, on the calls of this thread.

use std::fs::File;
use std::hint::black_box;
use std::io::Read;
use std::time::{Duration, Instant};

use rustix::process::getppid;
use tollway_core::{Error, Result};

use super::Kernel;

/// Calls in one go, and goes with the programs and without, by turns: the fastest of each counts, so that an interruption does not.
const CALLS: u32 = 100;
const GOES: u32 = 6;
const TURNS: u32 = 3;
const LONGEST: Cost = Cost { call: Duration::MAX, call_on_file: Duration::MAX };

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
        let (mut seen, mut unseen) = (LONGEST, LONGEST);
        for _ in 0..TURNS {
            unseen = unseen.least(without()?);
            kernel.begin()?;
            let with = with(kernel);
            kernel.pause();
            seen = seen.least(with?);
        }
        kernel.harvest()?;
        Ok(Cost {
            call: seen.call.saturating_sub(unseen.call),
            call_on_file: seen.call_on_file.saturating_sub(unseen.call_on_file),
        })
    }

    fn least(self, other: Cost) -> Cost {
        Cost { call: self.call.min(other.call), call_on_file: self.call_on_file.min(other.call_on_file) }
    }
}

/// How long calls of this thread take while it is watched: by programs that count. It is watched as one of process 0, and no more behind this.
fn with(kernel: &Kernel) -> Result<Cost> {
    let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    kernel.add(me, 0)?;
    kernel.look_again()?;
    let with = without();
    kernel.remove(me)?;
    with
}

/// How long they take while it is not.
fn without() -> Result<Cost> {
    let mut zeroes = File::open("/dev/zero").map_err(|e| Error::system("opening /dev/zero", e))?;
    let mut best = LONGEST;
    let mut byte = [0];
    for _ in 0..GOES {
        let begun = Instant::now();
        for _ in 0..CALLS {
            black_box(getppid());
        }
        best.call = best.call.min(begun.elapsed() / CALLS);
        let begun = Instant::now();
        for _ in 0..CALLS {
            let _ = black_box(zeroes.read(&mut byte));
        }
        best.call_on_file = best.call_on_file.min(begun.elapsed() / CALLS);
    }
    Ok(best)
}
