//! One end that sleeps on a word in shared memory, and another that wakes it: what the waking costs who wakes, and what the sleep
//! costs who sleeps.
//!
//! Both are half of a round trip by futex, each seen from one side only: a wake-up is timed where the sleeper is known to
//! sleep already, and a sleep is what the sleeper's own processor-time clock counts. The sleeper says when it is about to sleep; on one core
//! whoever runs then knows that it does, across cores the waker gives it a moment to do so. In the end the kernel's count
//! of its voluntary switches says whether it did.

use std::hint::spin_loop;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::thread::{futex, sched_yield};
use tollway_core::{Clock, Error, Params, Place, Placement, Recorder, Result, Tally, Ticks, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_host::cpu::{Policy, set_policy};
use tollway_host::samplers::{thread_time, usage};
use tollway_host::watch::Release;
use tollway_load::{Work, repeat, wait_until};

use super::futex::{change, changed};
use super::processor_time;
use super::sequence::{STOP, Sequence};
use super::shared::Shared;
use super::{Caller, Exchange, Server};

/// How long one on another core is left to itself once it has said that it will sleep: its core is idle then.
const SETTLED: Duration = Duration::from_micros(20);

/// Of so many sleeps one may be none, as the sleeper's core was taken from it before it slept.
const RARELY: u64 = 50;

/// And as many besides, however few there were.
const AT_LEAST: u64 = 2;

/// How the two stand to each other.
#[derive(Clone, Copy)]
struct Setting {
    placement: Placement,
    /// [`SETTLED`] in ticks.
    settled: Ticks,
}

impl Setting {
    fn of(params: &Params) -> Result<Setting> {
        let settled = SETTLED.as_secs_f64() * hz()?;
        Ok(Setting { placement: params.placement()?, settled: settled as Ticks })
    }

    /// Lets the other go on, which has said that it will.
    #[inline]
    fn give_way(self) {
        match self.placement {
            Placement::Same => sched_yield(),
            Placement::Across => spin_loop(),
        }
    }

    /// Waits until one that has said that it will sleep does so.
    fn settle(self) {
        match self.placement {
            Placement::Same => sched_yield(),
            Placement::Across => {
                let clock = RunClock::chosen();
                wait_until(clock, clock.now() + self.settled);
            }
        }
    }
}

/// How often the calling thread has slept, as the kernel counts.
fn sleeps() -> Result<u64> {
    usage::Usage::read().map(|usage| usage.voluntary).map_err(Error::Missing)
}

/// Whether nearly all of `meant` sleeps were some.
fn slept(slept: u64, meant: u64) -> Result<()> {
    if slept + meant / RARELY + AT_LEAST >= meant {
        return Ok(());
    }
    Err(Error::Wrong(format!("of {meant} sleeps the kernel counted {slept}")))
}

/// FUTEX_WAKE of one that sleeps; timed is the call.
pub struct WakeUp;

/// The end that wakes.
pub struct Waker {
    shared: Arc<Shared>,
    setting: Setting,
    sequence: Sequence,
    number: u32,
    /// Calls that woke nobody.
    idle: u64,
    /// Wake-ups of one that ran on its waker's core before the call was timed to its end.
    preempted: u64,
    slept: u64,
}

/// The end that is woken.
pub struct Sleeper {
    shared: Arc<Shared>,
    placement: Placement,
}

impl Exchange for WakeUp {
    type Caller = Waker;
    type Server = Sleeper;

    fn caller(params: &Params, _: &Place) -> Result<(Waker, Vec<OwnedFd>)> {
        let (shared, memory) = Shared::create()?;
        let waker = Waker {
            shared: Arc::new(shared),
            setting: Setting::of(params)?,
            sequence: Sequence::default(),
            number: 0,
            idle: 0,
            preempted: 0,
            slept: 0,
        };
        Ok((waker, vec![memory]))
    }

    fn server(params: &Params, descriptors: Vec<OwnedFd>) -> Result<Sleeper> {
        let [memory] = super::exactly(descriptors)?;
        Ok(Sleeper { shared: Arc::new(Shared::adopt(memory)?), placement: params.placement()? })
    }
}

impl Waker {
    /// What the other said last: one more than the number that it was woken with.
    fn said(&self) -> u32 {
        self.shared.reply.load(Ordering::Acquire)
    }

    /// Waits until the other has said that it will sleep; `false`: it is gone.
    fn wait(&self) -> bool {
        loop {
            match self.said() {
                STOP => return false,
                number if number == self.number + 1 => return true,
                _ => self.setting.give_way(),
            }
        }
    }

    /// Waits until the other sleeps, and changes the word that it sleeps on: it does not see that before it is woken.
    pub fn put_to_sleep(&mut self) {
        let ran = self.said() == self.number + 1 && self.number > 0;
        self.preempted += u64::from(ran && self.setting.placement == Placement::Same);
        let Some(next) = self.sequence.next() else { return };
        if !self.wait() {
            return self.sequence.end();
        }
        self.setting.settle();
        self.number = next;
        self.shared.request.store(next, Ordering::Release);
    }
}

impl Caller for Waker {
    #[inline]
    fn ask(&mut self) {
        let woken = futex::wake(&self.shared.request, futex::Flags::empty(), 1);
        self.idle += u64::from(woken != Ok(1));
    }

    fn repeat(&mut self, window: &Window, recorder: &mut Recorder) -> u64 {
        repeat(RunClock::chosen(), window, recorder, &mut Waking(self))
    }

    fn stop(&mut self) -> Result<()> {
        // The last wake-up is counted before the word is another.
        self.wait();
        change(&self.shared.request, STOP);
        Ok(())
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)?;
        if self.idle > asked / RARELY + AT_LEAST {
            return Err(Error::Wrong(format!("{} of {asked} calls woke nobody", self.idle)));
        }
        self.slept = self.shared.sum.load(Ordering::Acquire);
        slept(self.slept, asked)
    }

    fn release(&self) -> Release {
        let shared = self.shared.clone();
        Box::new(move || shared.reply.store(STOP, Ordering::Release))
    }

    fn tally(&self, asked: u64) -> Tally {
        Tally::default()
            .counter("asked", asked)
            .counter("slept", self.slept)
            .counter("idle", self.idle)
            .counter("preempted", self.preempted)
    }
}

/// Wake-ups as the work of a closed loop: before each the sleeper is put to sleep.
struct Waking<'w>(&'w mut Waker);

impl Work for Waking<'_> {
    #[inline]
    fn once(&mut self) {
        self.0.ask();
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.0.put_to_sleep();
    }
}

impl Sleeper {
    fn sleep(&self) -> Result<u64> {
        let before = sleeps()?;
        let (mut served, mut last) = (0, 0);
        loop {
            // One more than the last number, which is 0 before the first: so the page's own 0 says nothing.
            self.shared.reply.store(last + 1, Ordering::Release);
            last = changed(&self.shared.request, last);
            if last == STOP {
                break;
            }
            served += 1;
        }
        self.shared.sum.store(sleeps()? - before, Ordering::Release);
        Ok(served)
    }
}

impl Server for Sleeper {
    fn serve(&mut self) -> Result<u64> {
        if self.placement == Placement::Across {
            return self.sleep();
        }
        // Who is woken then takes the core from nobody (sched(7)): what is timed is the waker's own.
        set_policy(Policy::Batch).map_err(|e| Error::system("setting a scheduling policy", e))?;
        let served = self.sleep();
        let _ = set_policy(Policy::Other);
        served
    }

    fn release(&self) -> Release {
        let shared = self.shared.clone();
        Box::new(move || change(&shared.request, STOP))
    }
}

/// FUTEX_WAIT until the other end has changed a word; a sample is processor time of who sleeps.
pub struct Sleep;

/// The end that sleeps, and is measured.
pub struct Asleep {
    shared: Arc<Shared>,
    /// Ticks a second.
    hz: f64,
    seen: u32,
    sequence: Sequence,
    sleeps: u64,
}

/// The end that is awake, and wakes it.
pub struct Awake {
    shared: Arc<Shared>,
    setting: Setting,
}

impl Exchange for Sleep {
    type Caller = Asleep;
    type Server = Awake;

    fn caller(_: &Params, _: &Place) -> Result<(Asleep, Vec<OwnedFd>)> {
        let (shared, memory) = Shared::create()?;
        let sequence = Sequence::default();
        Ok((Asleep { shared: Arc::new(shared), hz: hz()?, seen: 0, sequence, sleeps: 0 }, vec![memory]))
    }

    fn server(params: &Params, descriptors: Vec<OwnedFd>) -> Result<Awake> {
        let [memory] = super::exactly(descriptors)?;
        Ok(Awake { shared: Arc::new(Shared::adopt(memory)?), setting: Setting::of(params)? })
    }
}

impl Caller for Asleep {
    /// Wakes the other, which sleeps until there is something to do.
    fn begin(&mut self) {
        change(&self.shared.over, 1);
    }

    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        self.shared.request.store(number, Ordering::Release);
        self.seen = changed(&self.shared.reply, self.seen);
        match self.seen {
            STOP => self.sequence.end(),
            answer => self.sequence.note(answer == number),
        }
    }

    fn repeat(&mut self, window: &Window, recorder: &mut Recorder) -> u64 {
        let (before, hz) = (sleeps(), self.hz);
        let asked = processor_time::repeat(window, recorder, hz, thread_time::thread, || self.ask());
        // Where the kernel does not count there were none, and `verify` says so.
        self.sleeps = sleeps().and_then(|after| Ok(after - before?)).unwrap_or(0);
        asked
    }

    fn stop(&mut self) -> Result<()> {
        change(&self.shared.request, STOP);
        Ok(())
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)?;
        slept(self.sleeps, asked)
    }

    fn release(&self) -> Release {
        let shared = self.shared.clone();
        Box::new(move || change(&shared.reply, STOP))
    }

    fn tally(&self, asked: u64) -> Tally {
        Tally::default().counter("asked", asked).counter("slept", self.sleeps)
    }
}

impl Server for Awake {
    fn serve(&mut self) -> Result<u64> {
        changed(&self.shared.over, 0);
        let (mut served, mut last) = (0, 0);
        loop {
            match self.shared.request.load(Ordering::Acquire) {
                STOP => return Ok(served),
                same if same == last => self.setting.give_way(),
                number => {
                    if self.setting.placement == Placement::Across {
                        self.setting.settle();
                    }
                    change(&self.shared.reply, number);
                    (served, last) = (served + 1, number);
                }
            }
        }
    }

    fn release(&self) -> Release {
        let shared = self.shared.clone();
        Box::new(move || {
            shared.request.store(STOP, Ordering::Release);
            change(&shared.over, 1);
        })
    }
}
