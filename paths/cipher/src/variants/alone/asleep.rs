//! What it takes to sleep until an eventfd is written, and to write one on which somebody sleeps: what tenants and the card call
//! each other by.

use std::hint::spin_loop;
use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, PollFd, PollFlags, Timespec, eventfd, poll};
use rustix::io::{Errno, read, write};
use tollway_core::{
    Actor, Address, Axis, Clock, Crossing, Domain, Error, Gate, Params, Place, Plan, Recorder, Requirement,
    Result, Role, Tally, TollKey, Value, Variant, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::cpu::{Policy, set_policy};
use tollway_host::descriptor;
use tollway_host::samplers::{thread_time, usage};
use tollway_load::wait_until;

use super::lockstep::Lockstep;

const SLEEPER: &str = "sleeper";
const WAKER: &str = "waker";

/// Sleeps of a sample: reading a thread's clock takes some 300 cycles.
const ROUNDS: u32 = 8;

/// The longest that it would sleep: a timer is set each time, as by those whose sleep this is the toll of.
const MOST: Timespec = Timespec { tv_sec: 0, tv_nsec: 20_000_000 };

/// How one sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::variants) enum How {
    /// poll(2) on the eventfd and another, and the eventfd is read: a tenant that wants to be called each time.
    Poll,
    /// epoll(7), edge by edge, nothing is read: the card, and a tenant that waits for events.
    Epoll,
    /// clock_nanosleep(2): a tenant that looks now and then. Nobody wakes it.
    Nap,
}

/// What the other does before it wakes one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::variants) enum Waker {
    /// It was awake.
    Awake,
    /// It has slept as long itself, and just woken up: both cores were idle.
    Woken,
    /// It wakes nobody, and sleeps on: both cores are idle.
    Idle,
    /// It was awake, and so is a third, who has the sleeper's core meanwhile, and from whom it is not taken.
    Shared,
    /// It has written before the other sleeps: there is no sleep.
    Before,
}

macro_rules! kinds {
    ($($how:literal)*) => {
        &[$(concat!($how, "-0us-before"),)* $(
            concat!($how, "-0us-awake"), concat!($how, "-5us-awake"), concat!($how, "-20us-awake"),
            concat!($how, "-100us-awake"), concat!($how, "-1ms-awake"),
            concat!($how, "-5us-woken"), concat!($how, "-20us-woken"), concat!($how, "-100us-woken"),
            concat!($how, "-1ms-woken"), concat!($how, "-20us-shared"),
        )* "nap-20us", "nap-100us", "nap-1ms", "nap-100us-idle", "nap-1ms-idle"]
    };
}

const KINDS: &[&str] = kinds!("poll" "epoll");

/// As many of them, from the first on, as are no sleeps, and as are no naps.
const BEFORE: usize = 2;
const CALLED: usize = BEFORE + 20;

const LONG: [(&str, Duration); 5] = [
    ("0us", Duration::ZERO),
    ("5us", Duration::from_micros(5)),
    ("20us", Duration::from_micros(20)),
    ("100us", Duration::from_micros(100)),
    ("1ms", Duration::from_millis(1)),
];

/// The toll of a crossing between one who sleeps about so long and one who wakes it.
pub(in crate::variants) fn key(crossing: Crossing, how: How, long: Duration, by: Waker) -> TollKey {
    let far = |(_, other): &&(&str, Duration)| {
        (other.as_secs_f64().max(1e-6) / long.as_secs_f64().max(1e-6)).ln().abs()
    };
    let nearest = LONG.iter().min_by(|a, b| far(a).total_cmp(&far(b))).map_or("", |(word, _)| word);
    let by = match by {
        Waker::Awake => "awake",
        Waker::Woken => "woken",
        Waker::Idle => "idle",
        Waker::Shared => "shared",
        Waker::Before => "before",
    };
    TollKey::of(crossing).kind(match how {
        How::Poll => format!("poll-{nearest}-{by}"),
        How::Epoll => format!("epoll-{nearest}-{by}"),
        How::Nap if by == "idle" => format!("nap-{nearest}-idle"),
        How::Nap => format!("nap-{nearest}"),
    })
}

/// A crossing of an eventfd that somebody sleeps on.
pub(super) struct Asleep(pub(super) Crossing);

fn kind(params: &Params) -> Result<(How, Duration, Waker)> {
    let mut words = params.word("kind")?.split('-');
    let how = match words.next() {
        Some("epoll") => How::Epoll,
        Some("nap") => How::Nap,
        _ => How::Poll,
    };
    let long = words.next().and_then(|word| LONG.iter().find(|(name, _)| *name == word));
    let by = match words.next() {
        Some("woken") => Waker::Woken,
        Some("idle") => Waker::Idle,
        Some("shared") => Waker::Shared,
        Some("before") => Waker::Before,
        _ => Waker::Awake,
    };
    Ok((how, long.map_or(LONG[2].1, |(_, long)| *long), by))
}

impl Variant for Asleep {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.title()
    }

    fn caveats(&self) -> &str {
        if self.0 == Crossing::WakeLate {
            return "From a reading of the clock just before the write to one when who slept runs and has read the eventfd, where it \
                    reads it; of a nap, what it lasts beyond what was asked for. It is time on the clock, and no work: the exit that \
                    ends a halt is in it. The kind names how it sleeps, how long, and whether the other was awake before it wrote.";
        }
        "Processor time of the thread that sleeps (CLOCK_THREAD_CPUTIME_ID), and the time that writing takes the other. The kind \
         names how it sleeps, with a timer set each time; for how long: the longer, the colder its core; and whether the other was \
         awake before it wrote, or has slept as long itself; `before` is a sleep that ends before it begins, and a write that wakes \
         nobody. What a sleeping thread cannot be charged for is not in \
         it: the idle task, the interrupt or the hypervisor's exit that ends its halt."
    }

    fn axes(&self) -> Vec<Axis> {
        // Nobody wakes who naps.
        let kinds = match self.0 {
            Crossing::KickAsleep => &KINDS[..CALLED],
            // Nor is anybody late who does not sleep.
            Crossing::WakeLate => &KINDS[BEFORE..],
            _ => KINDS,
        };
        vec![Axis {
            name: "kind",
            about: "how it sleeps, how long, and what the other did before it wrote",
            domain: Domain::Words(kinds),
            default: Value::Text("poll-20us-awake".into()),
        }]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let (how, long, woken) = kind(params)?;
        let key = key(self.0, how, long, woken);
        let by = if self.0 == Crossing::KickAsleep { WAKER } else { SLEEPER };
        let roles = [Role::serving(SLEEPER).core(1), Role::serving(WAKER)];
        Ok(Plan {
            operation: match self.0 {
                Crossing::KickAsleep => "write",
                Crossing::WakeLate => "wake-up",
                _ => "sleep",
            }
            .into(),
            roles: roles.into_iter().map(|role| Role { measured: role.name == by, ..role }).collect(),
            gates: vec![Gate::new(self.0.name(), by, key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires: vec![Requirement::Cores(2)],
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (how, long, by) = kind(params)?;
        Ok(match role {
            SLEEPER => Box::new(Sleeper {
                how,
                long,
                by,
                late: self.0 == Crossing::WakeLate,
                ready: None,
                hz: 0.0,
                sleeps: 0,
                slept: 0,
            }),
            _ => Box::new(Calling { long, by, ready: None, writes: 0 }),
        })
    }
}

struct Sleeper {
    how: How,
    long: Duration,
    by: Waker,
    /// Whether it is asked how late it runs, and not what that takes it.
    late: bool,
    ready: Option<UnixListener>,
    hz: f64,
    /// As meant, and as the kernel counted.
    sleeps: u64,
    slept: u64,
}

impl Sleeper {
    /// Sleeps once.
    fn sleep(&self, bell: &OwnedFd, epoll: &OwnedFd) -> Result<()> {
        let refused = |e: Errno| Error::system("sleeping on an eventfd", e);
        match self.how {
            How::Poll => {
                let mut watched = [PollFd::new(bell, PollFlags::IN), PollFd::new(epoll, PollFlags::RDHUP)];
                // The other may have lost its processor for longer than that.
                while poll(&mut watched, Some(&MOST)).map_err(refused)? == 0 {}
                read(bell, &mut [0; 8]).map_err(refused)?;
            }
            How::Epoll => {
                let mut events = [const { MaybeUninit::uninit() }; 2];
                while epoll::wait(epoll, &mut events, Some(&MOST)).map_err(refused)?.0.is_empty() {}
            }
            How::Nap => thread::sleep(self.long),
        }
        Ok(())
    }
}

impl Actor for Sleeper {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.hz = hz()?;
        let (listener, name) = descriptor::listen_anonymously()?;
        self.ready = Some(listener);
        Ok(Address(name))
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        if self.by != Waker::Shared {
            return self.sleeps(window, recorder);
        }
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            scope.spawn(|| has_the_core(&is_over));
            // Who is woken then takes the core from nobody, as one of many that sleep and work by turns (sched(7)).
            let batch =
                set_policy(Policy::Batch).map_err(|e| Error::system("setting a scheduling policy", e));
            let outcome = batch.and_then(|()| self.sleeps(window, recorder));
            let _ = set_policy(Policy::Other);
            is_over.store(true, Ordering::Relaxed);
            outcome
        })
    }

    fn verify(&mut self) -> Result<()> {
        // The one who wakes it may have lost its processor, and find it awake: rarely.
        let rarely = 0.2 * self.sleeps as f64;
        let is_so = match self.by {
            Waker::Before => self.slept as f64 <= rarely,
            _ => self.slept as f64 >= self.sleeps as f64 - rarely,
        };
        if self.sleeps > 0 && is_so {
            return Ok(());
        }
        Err(Error::Wrong(format!("of {} sleeps the kernel counted {}", self.sleeps, self.slept)))
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.sleeps).counter("switches", self.slept)
    }
}

/// Bursts of work of a few microseconds, after each of which whoever else wants the core may have it.
fn has_the_core(is_over: &AtomicBool) {
    while !is_over.load(Ordering::Relaxed) {
        (0..100).for_each(|_| spin_loop());
        thread::yield_now();
    }
}

impl Sleeper {
    fn sleeps(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(listener) = &self.ready else { return Ok(()) };
        let (mut step, mut others) = Lockstep::wait_for(listener)?;
        let bell = others.pop().ok_or_else(|| Error::Wrong("an eventfd did not come".into()))?;
        let refused = |e: Errno| Error::system("making an epoll", e);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(refused)?;
        epoll::add(&epoll, &bell, EventData::new_u64(0), EventFlags::IN | EventFlags::ET).map_err(refused)?;
        recorder.set_batch(if self.late { 1 } else { ROUNDS });
        // As those whose sleep this is the toll of (prctl(2), PR_SET_TIMERSLACK).
        let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
        let switches = || usage::Usage::read().map(|usage| usage.voluntary).map_err(Error::Missing);
        let (clock, before) = (RunClock::chosen(), switches()?);
        wait_until(clock, window.warm);
        // A sample at least, however late it is.
        let mut recorded = false;
        loop {
            let (now, begun) = (clock.now(), thread_time::thread());
            let mut called = 0;
            if now >= window.close && recorded {
                break;
            }
            for _ in 0..ROUNDS {
                if self.how != How::Nap {
                    step.ask();
                }
                if self.by == Waker::Before {
                    step.answered()?;
                }
                let asked = clock.open();
                self.sleep(&bell, &epoll)?;
                let woken = clock.close();
                called += woken - asked;
                self.sleeps += 1;
                if self.late && now >= window.open {
                    let meant = asked + (self.long.as_secs_f64() * self.hz) as u64;
                    let due = if self.how == How::Nap { meant } else { step.stamped() };
                    recorder.sample(woken.saturating_sub(due));
                    recorded = true;
                }
            }
            if now >= window.open && !self.late {
                recorded = true;
                let spent = (thread_time::thread() - begun).as_secs_f64();
                // Of one that does not sleep, what its calls last: it looks for the other between them.
                recorder.sample(if self.by == Waker::Before { called } else { (spent * self.hz) as u64 });
            }
        }
        self.slept = switches()? - before;
        step.end();
        Ok(())
    }
}

struct Calling {
    long: Duration,
    by: Waker,
    ready: Option<(Lockstep, OwnedFd, f64)>,
    writes: u64,
}

impl Actor for Calling {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let failed = |e: Errno| Error::system("making an eventfd", e);
        let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
        let again = bell.try_clone().map_err(|e| Error::system("sharing an eventfd", e))?;
        let sleeper = place.peers.first().map_or("", |sleeper| &sleeper.0);
        self.ready = Some((Lockstep::meet(sleeper, &[again])?, bell, hz()?));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((step, bell, hz)) = &mut self.ready else { return Ok(()) };
        let clock = RunClock::chosen();
        // The time that it takes to fall asleep is on top.
        let pause = ((self.long.as_secs_f64() + 5e-6) * *hz) as u64;
        wait_until(clock, window.warm);
        if self.by == Waker::Idle {
            let left = window.close.saturating_sub(clock.now()) as f64 / *hz;
            thread::sleep(Duration::from_secs_f64(left));
        }
        recorder.set_batch(ROUNDS);
        let (mut sum, mut rounds) = (0, 0);
        loop {
            // One that naps asks for nothing until it ends.
            if !step.next()? {
                return Ok(());
            }
            match self.by {
                Waker::Before => {}
                Waker::Awake | Waker::Idle | Waker::Shared => wait_until(clock, clock.now() + pause),
                Waker::Woken => thread::sleep(self.long),
            }
            if self.by != Waker::Before {
                step.done();
            }
            let begun = clock.open();
            step.stamp(begun);
            let written = write(&*bell, &1u64.to_ne_bytes());
            sum += clock.close() - begun;
            if self.by == Waker::Before {
                step.done();
            }
            self.writes += u64::from(written.is_ok());
            rounds += 1;
            if rounds == ROUNDS {
                if begun >= window.open {
                    recorder.sample(sum);
                }
                (sum, rounds) = (0, 0);
            }
        }
    }

    fn verify(&mut self) -> Result<()> {
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("writes", self.writes)
    }
}
