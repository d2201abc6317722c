//! What is done to a request, part by part: laid into a queue, done by the card, which may wait before, taken out again. Tenant and
//! card take turns, so that only the part is timed; each finds in its cache what the other has left there.

use std::os::unix::net::UnixListener;
use std::path::Path;
use std::thread;
use std::time::Duration;

use tempfile::TempDir;
use tollway_core::{
    Actor, Address, Axis, Clock, Crossing, Domain, Error, Gate, Params, Place, Plan, Recorder, Requirement,
    Result, Role, Tally, TollKey, Value, Variant, Warmth, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::descriptor;
use tollway_load::Service;
use tollway_virtio::order::Discipline;

use super::lockstep::{Asked, Lockstep};
use crate::engine::device::{Card, Delivery, Engine};
use crate::engine::driver::{Driver, Options, Sessions, Waiting};
use crate::params;
use crate::variants::card::{self, Setting};
use crate::variants::classes::Classes;
use crate::variants::demand::Demand;
use crate::variants::load::Load;
use crate::variants::task::{self, Task};
use crate::variants::{CARD, TENANT};

/// Rounds of a sample: what interrupts one of them shows.
const ROUNDS: u32 = 8;

/// A part.
pub(super) struct Laid(pub(super) Crossing);

/// How long who finds its core cold has slept.
const SLEEP: Duration = Duration::from_micros(100);

/// The toll of a part of a request.
pub(in crate::variants) fn key(crossing: Crossing, load: &Load, warmth: Warmth) -> TollKey {
    let key =
        TollKey::of(crossing).kind(load.named.name).size(load.size as u64).depth(load.depth.min(MOST) as u32);
    if is_cards(crossing) { key } else { key.warmth(warmth) }
}

/// Whether it is the card that does it.
fn is_cards(crossing: Crossing) -> bool {
    matches!(crossing, Crossing::RequestTurn | Crossing::RequestRound)
}

/// The most that a toll is measured of at once.
const MOST: usize = 32;

fn warmth(crossing: Crossing, params: &Params) -> Result<Warmth> {
    if is_cards(crossing) { Ok(Warmth::Hot) } else { params.warmth() }
}

fn load(params: &Params) -> Result<Load> {
    Load::of(&params.clone().with("cipher", params.word("kind")?))
}

impl Variant for Laid {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.title()
    }

    fn caveats(&self) -> &str {
        if self.0 == Crossing::RequestRound {
            return "Tenant and card are on two cores and take turns, both awake. The card is kicked before it waits, so that it does \
                    not sleep; the cipher is in it.";
        }
        "Tenant and card are on two cores and take turns, both awake: nobody is kicked or interrupted. Submitting includes \
         writing the bytes, taking includes reading and comparing the result; a turn includes the cipher. Where it is cold the tenant has slept before \
         it took, and submits right after that."
    }

    fn axes(&self) -> Vec<Axis> {
        let kind = Axis { name: "kind", ..params::cipher() };
        let depth = Axis {
            about: "requests that are laid into the queue before the card has its turn",
            domain: Domain::Whole(1, MOST as u64),
            ..params::depth()
        };
        let mut axes = vec![kind, params::size(), depth];
        if !is_cards(self.0) {
            axes.push(Axis {
                name: "warmth",
                about: "whether the tenant has been awake, or has slept for 100 µs before it takes",
                domain: Domain::Words(&["hot", "cold"]),
                default: Value::Text("hot".into()),
            });
        }
        axes
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let key = key(self.0, &load(params)?, warmth(self.0, params)?);
        let (card, tenant) = (Role::serving(CARD).core(1), Role::serving(TENANT));
        let by = if is_cards(self.0) { CARD } else { TENANT };
        let roles = [card, tenant].into_iter().map(|role| Role { measured: role.name == by, ..role });
        Ok(Plan {
            operation: "request".into(),
            roles: roles.collect(),
            gates: vec![Gate::new(self.0.name(), by, key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires: vec![Requirement::Cores(2)],
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let load = load(params)?;
        Ok(match role {
            CARD => Box::new(CardSide {
                depth: load.depth as u32,
                waits: self.0 == Crossing::RequestRound,
                ready: None,
                turns: 0,
                odd: 0,
            }),
            _ => Box::new(TenantSide {
                crossing: self.0,
                load,
                sleeps: warmth(self.0, params)? == Warmth::Cold,
                ready: None,
                rounds: 0,
                wrong: 0,
            }),
        })
    }
}

struct CardSide {
    depth: u32,
    /// Whether it waits before each turn.
    waits: bool,
    ready: Option<(Card, Engine, TempDir, UnixListener)>,
    turns: u64,
    /// Turns that did not do as many requests as had been laid.
    odd: u64,
}

impl Actor for CardSide {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let setting = Setting {
            tenants: 1,
            queues: 1,
            delivery: Delivery::Never,
            discipline: Discipline::Fair,
            classes: Classes::default(),
            awake: true,
        };
        let (card, engine, folder) = setting.start(|_| ())?;
        let door = card::door(folder.path(), 0);
        let (listener, name) = descriptor::listen_anonymously()?;
        self.ready = Some((card, engine, folder, listener));
        Ok(Address(format!("{name} {}", door.display())))
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((_card, engine, _, listener)) = &mut self.ready else { return Ok(()) };
        let (mut step, _) = Lockstep::wait_for(listener)?;
        // Until the first turn it serves whatever there is: a session is opened.
        while step.asked() == Asked::Nothing {
            engine.turn();
        }
        let before = |engine: &mut Engine| {
            if self.waits {
                engine.arm();
            }
        };
        before(engine);
        step.done();
        let clock = RunClock::chosen();
        recorder.set_batch(ROUNDS * self.depth);
        let (mut sum, mut rounds) = (0, 0);
        while step.next()? {
            let begun = clock.open();
            let done = if self.waits { engine.round()? } else { engine.turn() };
            sum += clock.close() - begun;
            before(engine);
            step.done();
            self.turns += 1;
            self.odd += u64::from(done != self.depth as usize);
            rounds += 1;
            if rounds == ROUNDS {
                if begun >= window.open {
                    recorder.sample(sum);
                }
                (sum, rounds) = (0, 0);
            }
        }
        Ok(())
    }

    fn park(&mut self) {
        self.ready = None;
    }

    fn verify(&mut self) -> Result<()> {
        match (self.turns, self.odd) {
            (0, _) => Err(Error::Wrong("the card had no turn".into())),
            (_, 0) => Ok(()),
            (turns, odd) => Err(Error::Wrong(format!("{odd} of {turns} turns did not do what was laid"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("turns", self.turns)
    }
}

struct TenantSide {
    crossing: Crossing,
    load: Load,
    /// Whether it sleeps before it takes.
    sleeps: bool,
    ready: Option<(Sessions, Task, Lockstep)>,
    rounds: u64,
    wrong: u64,
}

impl Actor for TenantSide {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let address = place.peers.first().map_or("", |card| &card.0);
        let (name, path) = address.split_once(' ').unwrap_or_default();
        let depth = self.load.places().next_power_of_two() as u16;
        let bytes = task::room(&self.load);
        let options = Options { depth, bytes, waiting: Waiting::Busy, ..Options::default() };
        let mut driver = Driver::connect(Path::new(path), &options)?;
        let free = driver.free();
        let queue = driver.queues.remove(0);
        let demand = Demand::plain(self.load);
        let task = Task::new(&demand, demand.texts()?, (0, queue), free, hz()?, place.lot);
        self.ready = Some((driver.sessions, task, Lockstep::meet(name, &[])?));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((sessions, task, step)) = &mut self.ready else { return Ok(()) };
        let opened = sessions.open(self.load.named.algorithm, self.load.key())?;
        task.has(opened.map_err(|status| Error::Wrong(format!("the card opens no session: {status:?}")))?);
        // From here on the card does nothing unasked.
        step.ask();
        step.answered()?;
        let clock = RunClock::chosen();
        let depth = self.load.places();
        recorder.set_batch(ROUNDS * depth as u32);
        // A sample at least, however late it is.
        let mut recorded = false;
        while clock.now() < window.close || !recorded {
            let (mut submitting, mut taking) = (0, 0);
            let first = clock.now();
            for _ in 0..ROUNDS {
                let begun = clock.open();
                (0..depth).for_each(|place| task.send(place));
                task.show();
                submitting += clock.close() - begun;
                step.ask();
                step.answered()?;
                if self.sleeps {
                    thread::sleep(SLEEP);
                }
                let begun = clock.open();
                let taken = (0..depth).filter(|_| task.take().is_some()).count();
                taking += clock.close() - begun;
                self.rounds += 1;
                self.wrong += u64::from(taken != depth);
            }
            if first >= window.open {
                recorded = true;
                recorder.sample(if self.crossing == Crossing::RequestTake { taking } else { submitting });
            }
        }
        step.end();
        self.wrong += task.counts().wrong;
        Ok(())
    }

    fn park(&mut self) {
        self.ready = None;
    }

    fn verify(&mut self) -> Result<()> {
        match (self.rounds, self.wrong) {
            (0, _) => Err(Error::Wrong("no request was done".into())),
            (_, 0) => Ok(()),
            (rounds, wrong) => Err(Error::Wrong(format!("{wrong} of {rounds} rounds came back wrong"))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.rounds * self.load.places() as u64)
    }
}
