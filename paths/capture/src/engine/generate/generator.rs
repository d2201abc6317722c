//! The generator as a whole: opened by who may open packet sockets, run by anybody.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tollway_core::{Clock, Ticks};
use tollway_host::clock::{RunClock, calibrate};
use tollway_host::samplers::thread_time;
use tollway_wire::Interface;
use tollway_wire::send::{Many, Ring, Single, Transmit, longest};

use super::pace::{AWAKE, Due, Limits, Timer, follow};
use super::replay::Replay;
use super::schedule::Arrivals;
use super::{Flows, Frames, GenerateError, ReplayPace, Report, Schedule, Sizes, Stamp};
use crate::engine::file::Reader;

/// What is sent and when.
#[derive(Clone, Debug)]
pub enum Traffic {
    /// Frames that are made up.
    Made {
        /// Who talks to whom.
        flows: Flows,
        /// How long frames are.
        sizes: Sizes,
        /// When they are due.
        schedule: Schedule,
        /// The same seed gives the same frames at the same due times.
        seed: u64,
    },
    /// The frames of a capture file, as they are.
    Replay {
        /// The file.
        file: PathBuf,
        /// When they are due.
        pace: ReplayPace,
    },
}

/// How frames reach the kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Method {
    /// send(), one call a frame.
    Send,
    /// sendmmsg() for frames that are due together, send() for one. The default: nothing was found to be faster.
    #[default]
    SendMany,
    /// PACKET_TX_RING, one call for frames that are due together.
    Ring,
}

/// A generator, described.
#[derive(Clone, Debug)]
pub struct Generator {
    /// The interface to send on. There is no default.
    pub interface: String,
    /// What is sent and when.
    pub traffic: Traffic,
    /// The most frames to send.
    pub count: Option<u64>,
    /// The longest time to send, from the start.
    pub time: Option<Duration>,
    /// How frames reach the kernel.
    pub method: Method,
}

impl Generator {
    /// Opens what it needs (CAP_NET_RAW), so that privileges can be dropped before it runs. The interface is looked up in
    /// the calling thread's network namespace. Measures the clock's rate: 50 ms.
    ///
    /// # Errors
    /// [`GenerateError`] if there is no such interface, it is down or takes no frames as long as these, what was asked for
    /// is none, or this process may not.
    pub fn open(&self) -> Result<Ready, GenerateError> {
        let interface = Interface::named(&self.interface)?;
        let clock = RunClock::chosen();
        let hz = match clock {
            RunClock::Tsc => calibrate().hz,
            RunClock::MonotonicRaw => 1e9,
        };
        let most = longest(&interface);
        let source = match &self.traffic {
            Traffic::Made { flows, sizes, schedule, seed } => {
                if sizes.longest().handed() > most {
                    return Err(GenerateError::input(
                        format!("frames of {} bytes", sizes.longest()),
                        format!("interface {} takes no more than {}", interface.name, most + 4),
                        "make them shorter, or raise its MTU",
                    ));
                }
                Source::Made(Box::new(Made::new(
                    Frames::new(flows, sizes, *seed)?,
                    schedule.arrivals(hz, *seed)?,
                )))
            }
            Traffic::Replay { file, pace } => {
                Source::Replay(Box::new(Replay::of(Reader::open(file)?, *pace, hz, most)?))
            }
        };
        let outlet = match self.method {
            Method::Send => Outlet::Single(Single::open(&interface)?),
            Method::SendMany => Outlet::Many(Many::open(&interface)?),
            Method::Ring => Outlet::Ring(Ring::open(&interface)?),
        };
        let limits = Limits {
            frames: self.count.unwrap_or(u64::MAX),
            time: self.time.map_or(Ticks::MAX, |time| (time.as_secs_f64() * hz) as Ticks),
        };
        Ok(Ready { interface, timer: Timer { clock, hz }, source, outlet, limits })
    }

    /// Opens and runs.
    ///
    /// # Errors
    /// As [`Generator::open`].
    pub fn run(&self, stop: &AtomicBool) -> Result<Report, GenerateError> {
        Ok(self.open()?.run(stop))
    }
}

/// A generator that has all it needs.
#[derive(Debug)]
pub struct Ready {
    interface: Interface,
    timer: Timer<RunClock>,
    source: Source,
    outlet: Outlet,
    limits: Limits,
}

#[derive(Debug)]
enum Source {
    Made(Box<Made>),
    Replay(Box<Replay<Reader>>),
}

#[derive(Debug)]
enum Outlet {
    Single(Single),
    Many(Many),
    Ring(Ring),
}

impl Ready {
    /// The same, but what is due at that moment of the run's clock or later is not sent. To be called right before it
    /// runs; it sends for a millisecond at the least.
    pub fn until(mut self, end: Ticks) -> Ready {
        let awake = (self.timer.hz * AWAKE) as Ticks;
        let begin = self.timer.clock.now() + awake;
        self.limits.time = self.limits.time.min(end.saturating_sub(begin).max(awake));
        self
    }

    /// Sends until the count is reached, the time or the file is over, the interface is lost, or `stop` becomes true (heard
    /// within 20 ms). Keeps a processor busy; does not allocate.
    pub fn run(self, stop: &AtomicBool) -> Report {
        let Ready { interface, timer, source, outlet, limits } = self;
        let told = (interface, timer, limits, stop);
        match (source, outlet) {
            (Source::Made(made), Outlet::Single(sender)) => sent(told, *made, sender),
            (Source::Made(made), Outlet::Many(sender)) => sent(told, *made, sender),
            (Source::Made(made), Outlet::Ring(sender)) => sent(told, *made, sender),
            (Source::Replay(replay), Outlet::Single(sender)) => sent(told, *replay, sender),
            (Source::Replay(replay), Outlet::Many(sender)) => sent(told, *replay, sender),
            (Source::Replay(replay), Outlet::Ring(sender)) => sent(told, *replay, sender),
        }
    }
}

type Told<'a> = (Interface, Timer<RunClock>, Limits, &'a AtomicBool);

fn sent(
    (interface, timer, limits, stop): Told<'_>,
    mut frames: impl Due,
    mut sender: impl Transmit,
) -> Report {
    let used = thread_time::thread();
    let (punctuality, preempted, ended) = follow(timer, &mut frames, &mut sender, limits, stop);
    let processor = thread_time::thread() - used;
    let (hz, counts) = (timer.hz, sender.counts());
    let (skipped, padded) = frames.altered();
    Report {
        interface: interface.name,
        index: interface.index,
        sent: counts.frames,
        bytes: counts.bytes,
        no_carrier: counts.no_carrier,
        no_buffers: counts.no_buffers,
        try_again: counts.try_again,
        put_off: counts.put_off,
        skipped,
        padded,
        elapsed: punctuality.elapsed(hz),
        rate: punctuality.rate(counts.frames, hz),
        rate_error: punctuality.rate_error(counts.frames),
        gap_errors: punctuality.gap_errors(hz),
        lateness: punctuality.lateness(hz),
        preempted,
        processor,
        calls: counts.calls,
        hz,
        ended,
    }
}

/// Frames that are made up, and when they are due.
#[derive(Debug)]
struct Made {
    frames: Frames,
    arrivals: Arrivals,
    next: Option<Ticks>,
}

impl Made {
    fn new(frames: Frames, mut arrivals: Arrivals) -> Made {
        let next = arrivals.next();
        Made { frames, arrivals, next }
    }
}

impl Due for Made {
    #[inline]
    fn due(&self) -> Option<Ticks> {
        self.next
    }

    #[inline]
    fn write(&mut self, slot: &mut [u8], stamp: &Stamp) -> usize {
        self.next = self.arrivals.next();
        // A slot of a sender that nobody else has filled holds zeros behind the head.
        self.frames.write(slot, stamp)
    }
}
