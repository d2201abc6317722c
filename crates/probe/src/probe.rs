//! The probe and its marks.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tollway_core::{Clock, Error, Missing, Result, Ticks};
use tollway_host::clock::{RunClock, hz};
use tollway_host::fork::Origin;
use tollway_watch::kernel::{Own, Slot, Totals};

use crate::paid::Paid;
use crate::usage::Usage;

/// Slots of threads that have ended are taken back when so many others have come.
const COMERS: u64 = 64;

/// What a thread remembers of the probe that it used last.
#[derive(Clone, Copy)]
struct Known {
    probe: u64,
    slot: Option<Slot>,
}

thread_local! {
    static KNOWN: Cell<Known> = const { Cell::new(Known { probe: 0, slot: None }) };
}

/// Sees what this process' threads pay, until it is dropped. One serves all threads.
pub struct Probe {
    number: u64,
    /// A child that fork(2) makes is not seen: its threads are none of this probe's, whatever their numbers are.
    origin: Origin,
    way: Way,
    clock: RunClock,
    hz: f64,
    comers: AtomicU64,
}

impl core::fmt::Debug for Probe {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Probe")
            .field("origin", &self.origin)
            .field("unseen", &self.unseen())
            .finish_non_exhaustive()
    }
}

enum Way {
    Kernel(Box<Own>),
    Usage(Option<Missing>),
}

/// A mark of the calling thread: what it pays from here on is this request's.
#[must_use = "a request that is dropped has no bill"]
pub struct Request<'a> {
    probe: &'a Probe,
    before: Before,
    begun: Ticks,
    /// Another thread's totals are others.
    _of_this_thread: PhantomData<*const ()>,
}

impl core::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Request").field("begun", &self.begun).finish_non_exhaustive()
    }
}

enum Before {
    Kernel(Slot, Totals),
    Usage(Usage, Origin),
    /// Another process than the one that the probe sees, or a thread without a slot.
    Nothing,
}

impl Probe {
    /// By the kernel's tracepoints where this process may (root, or CAP_BPF and CAP_PERFMON), else by what getrusage(2) tells each thread: [`unseen`](Probe::unseen)
    /// says what is missing then. Takes some 50 ms, once a process, to learn the clock's rate.
    ///
    /// # Errors
    /// The kernel's, where it is another than a want of rights.
    pub fn here() -> Result<Probe> {
        match Probe::by_the_kernel() {
            Err(Error::Missing(missing)) => Probe::with(Way::Usage(Some(missing))),
            probe => probe,
        }
    }

    /// By the kernel's tracepoints.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this process or kernel lacks.
    pub fn by_the_kernel() -> Result<Probe> {
        Probe::with(Way::Kernel(Box::new(Own::begin()?)))
    }

    /// By getrusage(2), which needs no rights and sees little.
    ///
    /// # Errors
    /// The clock stands still.
    pub fn by_usage() -> Result<Probe> {
        Probe::with(Way::Usage(None))
    }

    fn with(way: Way) -> Result<Probe> {
        static PROBES: AtomicU64 = AtomicU64::new(1);
        Ok(Probe {
            number: PROBES.fetch_add(1, Ordering::Relaxed),
            origin: Origin::here(),
            way,
            clock: RunClock::chosen(),
            hz: hz()?,
            comers: AtomicU64::new(0),
        })
    }

    /// Begins a request on the calling thread. By the kernel's tracepoints that is no system call, but for the first of each thread.
    #[inline]
    pub fn request(&self) -> Request<'_> {
        let before = match &self.way {
            Way::Kernel(own) => match self.slot(own) {
                Some(slot) => Before::Kernel(slot, own.totals(slot)),
                None => Before::Nothing,
            },
            Way::Usage(_) => Before::Usage(Usage::now(), Origin::here()),
        };
        Request { probe: self, before, begun: self.clock.now(), _of_this_thread: PhantomData }
    }

    /// Why this is by getrusage(2), and what it cannot see; nothing where all is seen.
    pub fn unseen(&self) -> Vec<String> {
        match &self.way {
            Way::Kernel(_) if !self.origin.is_here() => {
                vec!["anything: the probe is another process', of which fork(2) made a copy; make one in this process".into()]
            }
            Way::Kernel(own) => {
                own.absent().iter().map(|name| format!("the kernel has no tracepoint {name}")).collect()
            }
            Way::Usage(missing) => {
                let why = missing.iter().map(ToString::to_string);
                let what = "by getrusage(2): neither system calls nor the time in them, nor wake-ups, signals and interrupts";
                why.chain([what.into()]).collect()
            }
        }
    }

    /// Threads for which there was no room, and events at which the kernel did not run its programs: they are in no bill.
    ///
    /// # Errors
    /// The kernel's.
    pub fn lost(&self) -> Result<u64> {
        match &self.way {
            Way::Kernel(own) => own.lost(),
            Way::Usage(_) => Ok(0),
        }
    }

    #[inline]
    fn slot(&self, own: &Own) -> Option<Slot> {
        let known = KNOWN.get();
        if known.probe == self.number && self.origin.is_here() { known.slot } else { self.find(own) }
    }

    #[cold]
    fn find(&self, own: &Own) -> Option<Slot> {
        if !self.origin.is_here() {
            return None;
        }
        if self.comers.fetch_add(1, Ordering::Relaxed) % COMERS == COMERS - 1 {
            // What cannot be taken back now can be later.
            let _ = own.sweep();
        }
        let slot = own.slot().ok();
        KNOWN.set(Known { probe: self.number, slot });
        slot
    }

    #[inline]
    fn time(&self, ticks: Ticks) -> Duration {
        Duration::from_nanos((ticks as f64 * 1e9 / self.hz) as u64)
    }
}

impl Request<'_> {
    /// Ends the request: what the thread paid since the mark.
    #[inline]
    pub fn paid(self) -> Paid {
        let took = self.probe.time(self.probe.clock.now().saturating_sub(self.begun));
        match (&self.before, &self.probe.way) {
            (Before::Kernel(slot, before), Way::Kernel(own)) if self.probe.origin.is_here() => {
                Paid::by_the_kernel(took, before, &own.totals(*slot))
            }
            (Before::Usage(before, begun), _) if begun.is_here() => {
                Paid::by_usage(took, before, &Usage::now())
            }
            _ => Paid { took, ..Paid::default() },
        }
    }
}
