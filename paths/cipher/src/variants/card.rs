//! The card's end: a card with a function for each tenant, whose one engine is the actor's thread, so that what it takes is known.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tollway_core::{Actor, Address, Clock, Error, Params, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_host::samplers::thread_time;
use tollway_virtio::order::Discipline;
use tollway_virtio::socket::{Listener, Meeting};

use super::classes::Classes;
use super::load::PATIENCE;
use super::machine::{Machine, Watch};
use super::switches::{self, Before, Switches};
use super::way::Way;
use crate::engine::device::{Card, Delivery, Engine, NewFunction, Options, Slept, Status, Told};

/// What a card of a trial is like.
#[derive(Clone, Debug)]
pub(super) struct Setting {
    pub(super) tenants: usize,
    pub(super) queues: usize,
    pub(super) delivery: Delivery,
    pub(super) discipline: Discipline,
    pub(super) classes: Classes,
    /// Whether it looks without end.
    pub(super) awake: bool,
}

impl Setting {
    pub(super) fn of(way: Way, params: &Params) -> Result<Setting> {
        Ok(Setting {
            tenants: params.int("tenants")? as usize,
            queues: params.int("tasks")? as usize,
            delivery: way.delivery(params)?,
            discipline: match params.word("order")? {
                "arrival" => Discipline::Arrival,
                "rank" => Discipline::Rank,
                _ => Discipline::Fair,
            },
            classes: Classes::of(params)?,
            awake: params.word("card")? == "awake",
        })
    }

    /// Starts a card, with one engine that is lent. Each function has a [`door`] in the folder.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn start(
        &self,
        tell: impl Fn(Told) + Send + Sync + 'static,
    ) -> Result<(Card, Engine, TempDir)> {
        let refused = |e: std::io::Error| Error::system("making a socket for a card", e);
        let folder = tempfile::Builder::new().prefix("tollway-card-").tempdir().map_err(refused)?;
        let function = |number: u32| {
            Ok(NewFunction {
                name: format!("tenant-{number}"),
                meeting: Meeting::Listen(Listener::bind(&door(folder.path(), number), 0o600)?),
                share: self.classes.share(number, self.discipline),
                delivery: self.delivery.clone(),
            })
        };
        let functions = (0..self.tenants as u32).map(function).collect::<Result<Vec<_>>>()?;
        let options = Options {
            engines: 0,
            lent: 1,
            discipline: self.discipline,
            queues: self.queues,
            spin: if self.awake { Duration::from_secs(1 << 20) } else { Duration::ZERO },
            ..Options::default()
        };
        let mut card = Card::start(functions, &options, tell)?;
        let engine = card.engine().ok_or_else(|| Error::Wrong("a card lends no engine".into()))?;
        Ok((card, engine, folder))
    }
}

/// The socket of a tenant's function, in a card's folder.
pub(super) fn door(folder: &Path, tenant: u32) -> PathBuf {
    folder.join(format!("{tenant}.sock"))
}

/// A card that tenants use.
pub(super) struct CardActor {
    setting: Setting,
    ready: Option<Ready>,
    done: Option<Done>,
}

struct Ready {
    card: Card,
    engine: Engine,
    /// Where the socket is, until everybody is connected.
    folder: Option<TempDir>,
    connected: Arc<AtomicUsize>,
    /// Ticks of the run's clock in a second; to find it out takes a while.
    hz: f64,
}

struct Done {
    status: Status,
    /// How it was when the run began: seconds, and those that requests had stood at the card.
    before: [f64; 2],
    /// Processor time of the engine, in ticks.
    work: u64,
    /// Context switches of the engine's thread.
    switches: Option<Switches>,
    slept: Slept,
    machine: Machine,
}

impl CardActor {
    pub(super) fn new(setting: Setting) -> CardActor {
        CardActor { setting, ready: None, done: None }
    }
}

/// Whether every tenant is gone, or has closed its session as those do that are not gone before their run has ended.
fn all_done(card: &Card) -> bool {
    card.status().functions.iter().all(|function| {
        // Its session was made by one request of the control queue, and closed by another.
        !function.connected || function.sessions == 0 && function.counts.controls > 1
    })
}

impl Actor for CardActor {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let connected = Arc::new(AtomicUsize::new(0));
        let count = connected.clone();
        let (card, engine, folder) = self.setting.start(move |told| match told {
            Told::Connected(_) => _ = count.fetch_add(1, Ordering::AcqRel),
            Told::Gone(_) => _ = count.fetch_sub(1, Ordering::AcqRel),
            _ => {}
        })?;
        let address = Address(folder.path().display().to_string());
        self.ready = Some(Ready { card, engine, folder: Some(folder), connected, hz: hz()? });
        Ok(address)
    }

    fn run(&mut self, window: &Window, _: &mut Recorder) -> Result<()> {
        let Some(Ready { card, engine, folder, connected, hz }) = &mut self.ready else { return Ok(()) };
        // Everybody is connected: nothing of it need be left if this is killed.
        folder.take();
        let (clock, ticks) = (RunClock::chosen(), *hz);
        engine.work(|| clock.now() < window.warm)?;
        let before = card.status();
        let before = [before.seconds, before.standing.seconds];
        let (watch, switched) = (Watch::begin(), Before::now());
        let begun = thread_time::thread();
        let end = window.close.saturating_add((PATIENCE.as_secs_f64() * ticks) as u64);
        let slept = engine.work(|| {
            let now = clock.now();
            now < end && (now < window.close || connected.load(Ordering::Acquire) > 0 && !all_done(card))
        })?;
        let work = (thread_time::thread().saturating_sub(begun).as_secs_f64() * ticks) as u64;
        let switches = switched.since();
        self.done = Some(Done { status: card.status(), before, work, switches, slept, machine: watch.end() });
        Ok(())
    }

    fn park(&mut self) {
        self.ready = None;
    }

    fn verify(&mut self) -> Result<()> {
        let Some(Done { status, .. }) = &self.done else {
            return Err(Error::Wrong("the card never ran".into()));
        };
        for function in &status.functions {
            let counts = &function.counts;
            if counts.failed + counts.refused_chains + counts.refused_messages > 0 {
                return Err(Error::Wrong(format!("the card refused {}: {counts:?}", function.name)));
            }
        }
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        let Some(Done { status, before, work, switches, slept, machine }) = &self.done else {
            return Tally::default();
        };
        let sum = |count: fn(&crate::engine::device::Counts) -> u64| {
            status.functions.iter().map(|function| count(&function.counts)).sum::<u64>()
        };
        let interrupts = sum(|counts| counts.interrupts);
        let nanoseconds = |seconds: f64| (seconds * 1e9) as u64;
        // A wait that was over before its thread had left the processor was no sleep. One until a deadline always is.
        let asleep = switches.map_or(slept.waits, |switches| switches.waited.min(slept.waits));
        let timed = slept.timed.min(asleep);
        let woken = slept.kicked.min(asleep - timed);
        let tally = Tally::default()
            .visited(super::WAKING, woken)
            .visited(super::ROUSING, woken)
            .visited(super::TIMING, timed)
            .visited(super::PAUSING, slept.waits)
            .visited(super::CALLING, interrupts)
            .counter("work", *work)
            .counter("card_work", *work)
            .counter("card_busy_nanoseconds", nanoseconds(status.engines().iter().sum::<f64>()))
            .counter("card_queue_nanoseconds", nanoseconds(status.standing.seconds - before[1]))
            .counter("card_nanoseconds", nanoseconds(status.seconds - before[0]))
            .counter("card_requests", sum(|counts| counts.requests))
            .counter("card_kicks", sum(|counts| counts.kicks))
            .counter("card_sleeps", slept.kicked + slept.timed)
            .counter("card_interrupts", interrupts);
        machine.counted(switches::counted(tally, super::CARD, [*switches].into_iter()))
    }
}
