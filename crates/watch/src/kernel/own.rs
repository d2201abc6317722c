//! A process that watches itself: what each of its threads did so far lies in its own memory, and to read it is no system call.

use std::sync::atomic::Ordering;
use std::sync::{Mutex, PoisonError};

use tollway_core::{Error, Result};

use super::layout::{thread, word};
use super::{Detail, Kernel};
use crate::living::threads_of;

/// This process, watched until this is dropped.
#[derive(Debug)]
pub struct Own {
    kernel: Kernel,
    /// Held by who takes back the slots of the dead.
    sweeping: Mutex<()>,
}

/// Where a thread's totals are, as long as it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot(u32);

/// What a thread did since it was first watched. Times are nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// System calls that came back.
    pub calls: u64,
    /// Those that failed.
    pub failed: u64,
    /// In calls, on a processor.
    pub inside: u64,
    /// In calls, away from it.
    pub away: u64,
    /// Switches away because it had to wait.
    pub voluntary: u64,
    /// Switches away although it had work.
    pub involuntary: u64,
    /// Wake-ups that it had from the processor on which it then ran.
    pub woken_here: u64,
    /// Wake-ups that it had from another one.
    pub woken_across: u64,
    /// How many its calls woke that had slept on the same processor.
    pub wakes_here: u64,
    /// How many they woke that had slept on another one.
    pub wakes_across: u64,
    /// Page faults in user mode.
    pub faults: u64,
    /// Signals that were delivered.
    pub signals: u64,
    /// Interrupts while it ran.
    pub interrupts: u64,
    /// Times that it went on on another processor.
    pub migrations: u64,
}

impl Own {
    /// Watches all threads of this process, and those that they will begin; not its children.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this process or kernel lacks.
    pub fn begin() -> Result<Own> {
        let mut kernel = Kernel::with(false, Detail::Totals)?;
        // Twice, as they may begin others between.
        for _ in 0..2 {
            kernel.add_all(&threads_of(std::process::id(), false))?;
        }
        kernel.begin()?;
        Ok(Own { kernel, sweeping: Mutex::new(()) })
    }

    /// The calling thread's slot. A system call or some.
    ///
    /// # Errors
    /// More threads live than there are slots, or the kernel's.
    pub fn slot(&self) -> Result<Slot> {
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        let found = || {
            let slot = self.kernel.slot_of(me);
            slot.map(|slot| slot.map(Slot)).map_err(|e| Error::system("looking for this thread's slot", e))
        };
        if let Some(slot) = found()? {
            return Ok(slot);
        }
        // It began when all slots were taken.
        self.sweep()?;
        self.kernel.add(me, std::process::id())?;
        self.kernel.look_again()?;
        found()?.ok_or_else(|| Error::system("looking for this thread's slot", "it has none"))
    }

    /// Takes back the slots of threads that have ended.
    ///
    /// # Errors
    /// The kernel's.
    pub fn sweep(&self) -> Result<()> {
        let _one = self.sweeping.lock().unwrap_or_else(PoisonError::into_inner);
        self.kernel.harvest().map(drop)
    }

    /// What the thread did that has this slot: exact, if it is the calling one. Some loads.
    #[inline]
    pub fn totals(&self, slot: Slot) -> Totals {
        let words = self.kernel.maps.threads.words(slot.0);
        let get = |at: i16| words[word(at)].load(Ordering::Relaxed);
        Totals {
            calls: get(thread::CALLS),
            failed: get(thread::FAILED),
            inside: get(thread::IN_CALLS),
            away: get(thread::AWAY_IN_CALLS),
            voluntary: get(thread::VOLUNTARY),
            involuntary: get(thread::INVOLUNTARY),
            woken_here: get(thread::WOKEN_HERE),
            woken_across: get(thread::WOKEN_ACROSS),
            wakes_here: get(thread::WAKES_HERE),
            wakes_across: get(thread::WAKES_ACROSS),
            faults: get(thread::FAULTS),
            signals: get(thread::SIGNALS),
            interrupts: get(thread::INTERRUPTS) + get(thread::TICKS),
            migrations: get(thread::MIGRATIONS),
        }
    }

    /// Tracepoints that this kernel has not: what they tell of is not counted.
    pub fn absent(&self) -> &[&'static str] {
        &self.kernel.absent
    }

    /// As [`Kernel::lost`].
    ///
    /// # Errors
    /// The kernel's.
    pub fn lost(&self) -> Result<u64> {
        self.kernel.lost()
    }
}

#[cfg(test)]
mod tests {
    use tollway_core::Error;
    use tollway_host::requirement::skip_test;

    use super::*;
    use crate::eventually::eventually;
    use crate::kernel::monotonic;

    /// Some kernels do not tell of each switch: of none away from the agent of one virtual machine's host (Linux 6.18).
    /// Who comes behind that does not run since counting began.
    #[test]
    fn a_thread_that_was_not_seen_to_come_back_runs_since_it_was_seen() {
        let own = match Own::begin() {
            Ok(own) => own,
            Err(Error::Missing(missing)) => return skip_test(&["bpf"], &missing),
            Err(error) => panic!("{error}"),
        };
        let slot = own.slot().unwrap();
        let of = |place| own.kernel.maps.threads.get(slot.0, word(place));
        // Between two looks it sleeps.
        eventually("its sleep is seen", || of(thread::RUNNING_SINCE) > 0 && of(thread::STOPPED) > 0);
        own.kernel.maps.threads.set(slot.0, word(thread::RUNNING_SINCE), 0);
        let now = monotonic();
        let _parent = rustix::process::getppid();
        assert!(of(thread::RUNNING_SINCE) >= now, "{} before {now}", of(thread::RUNNING_SINCE));
    }
}
