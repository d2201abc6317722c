//! The tenant's end: tasks, each with a queue of its own, in threads of this actor's; or one task, in a micro-guest.

use std::path::Path;
use std::thread;

use tollway_core::{Actor, Address, Error, Params, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::hz;

use super::card;
use super::classes::Classes;
use super::demand::Demand;
use super::gates::BILLED;
use super::guest::Guest;
use super::load::Load;
use super::task::{self, Counts, Task};
use super::way::Way;
use super::{
    CALLED, CIPHER, EXITS, IDLING, KICKING, LOOKING, RINGING, SLEEPING, STIRRING, SUBMIT, TAKE, TENANT, TURN,
    WAITING, of_bytes, switches,
};
use crate::engine::driver::{Driver, Options, Sessions, Waiting};
use crate::engine::protocol::Status;

/// A tenant of the card.
pub(super) struct Tenant {
    demand: Demand,
    classes: Classes,
    /// Which of them it is of.
    class: Option<u8>,
    tasks: usize,
    waiting: Waiting,
    ready: Option<Ready>,
    /// The micro-guest that it lives in.
    guest: Option<Guest>,
    counts: Vec<Counts>,
    by_size: Vec<u64>,
}

struct Ready {
    /// The connection ends with them.
    sessions: Sessions,
    tasks: Vec<Task>,
}

impl Tenant {
    pub(super) fn new(way: Way, params: &Params) -> Result<Tenant> {
        Ok(Tenant {
            demand: Demand::of(params)?,
            classes: Classes::of(params)?,
            class: None,
            tasks: params.int("tasks")? as usize,
            waiting: way.waiting(params)?,
            ready: None,
            guest: None,
            counts: Vec::new(),
            by_size: Vec::new(),
        })
    }

    /// The connection ends: so the card knows that nothing more will come.
    fn leave(&mut self) {
        if let Some(Ready { tasks, .. }) = self.ready.take() {
            self.counts = tasks.iter().map(|task| *task.counts()).collect();
            let of_size = |size| tasks.iter().filter_map(|task| task.by_size().get(size)).sum();
            self.by_size = (0..self.demand.loads().len()).map(of_size).collect();
        }
    }

    fn sum(&self, count: fn(&Counts) -> u64) -> u64 {
        self.counts.iter().map(count).sum()
    }
}

/// The card makes no session.
pub(super) fn no_session(name: &str, status: Status) -> Error {
    Error::Wrong(format!("the card opens no session of {name}: {status:?}"))
}

impl Ready {
    /// Runs in the window, in threads of this process.
    fn run(&mut self, load: &Load, window: &Window, recorder: &mut Recorder) -> Result<()> {
        // The card's engine is the thread of an actor that runs: it answers from now on.
        let opened = self.sessions.open(load.named.algorithm, load.key())?;
        let session = opened.map_err(|status| no_session(load.named.name, status))?;
        self.tasks.iter_mut().for_each(|task| task.has(session));
        match &mut self.tasks[..] {
            [task] => task.run(window, recorder),
            tasks => together(tasks, window, recorder),
        }
    }

    /// Runs in the window, in a micro-guest: its task alone, on the guest's processor.
    fn run_inside(
        &mut self,
        guest: &mut Guest,
        load: &Load,
        window: &Window,
        recorder: &mut Recorder,
    ) -> Result<()> {
        let session = guest.open(&mut self.sessions, load)?;
        for task in &mut self.tasks {
            task.has(session);
            task.run(window, recorder)?;
        }
        // The connection cannot end in here.
        guest.close(&mut self.sessions, session)
    }
}

impl Actor for Tenant {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let Some(card) = place.peers.first() else {
            return Err(Error::Tenant { tenant: "tenant".into(), reason: "it was told of no card".into() });
        };
        let load = self.demand.load;
        let room = task::room(&load);
        let options = Options {
            queues: self.tasks,
            depth: load.places().next_power_of_two() as u16,
            bytes: room * self.tasks,
            waiting: self.waiting,
            ..Options::default()
        };
        self.class = self.classes.class(place.lot.number);
        let door = card::door(Path::new(&card.0), place.lot.number);
        let mut driver = Driver::connect(&door, &options)?;
        let (free, hz) = (driver.free(), hz()?);
        self.guest = Guest::of(place, hz)?;
        if let Some(guest) = &self.guest {
            guest.wire(&mut driver.sessions)?;
        }
        let texts = self.demand.texts()?;
        let task = |(number, queue)| {
            let at = free + number * room;
            Task::new(&self.demand, texts.clone(), (number, queue), at, hz, place.lot)
        };
        let mut tasks: Vec<Task> = driver.queues.into_iter().enumerate().map(task).collect();
        if let Some(guest) = &self.guest {
            tasks.iter_mut().for_each(|task| task.inside(guest.ways()));
        }
        self.ready = Some(Ready { sessions: driver.sessions, tasks });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(ready) = &mut self.ready else { return Ok(()) };
        if let Some(guest) = &mut self.guest {
            return ready.run_inside(guest, &self.demand.load, window, recorder);
        }
        let outcome = ready.run(&self.demand.load, window, recorder);
        self.leave();
        outcome
    }

    fn park(&mut self) {
        self.leave();
    }

    fn verify(&mut self) -> Result<()> {
        let (done, wrong) = (self.sum(|c| c.flights.done), self.sum(|c| c.wrong));
        let lost = self.sum(|c| c.flights.lost as u64);
        match (done, wrong, lost) {
            (0, ..) => Err(Error::Wrong("no request was done".into())),
            (_, 0, 0) => match &self.guest {
                Some(guest) => guest.verify(self.sum(|c| c.kicks), self.sum(|c| c.looks.sleeps)),
                None => Ok(()),
            },
            _ => Err(Error::Wrong(format!(
                "of {done} requests {wrong} came back wrong, and {lost} not at all"
            ))),
        }
    }

    fn tally(&mut self) -> Tally {
        let sum = |count: fn(&Counts) -> u64| self.sum(count);
        let (kicks, sleeps, vain) = (sum(|c| c.kicks), sum(|c| c.looks.sleeps), sum(|c| c.looks.vain));
        let asleep = self.counts.iter().map(Counts::asleep).sum::<u64>();
        let late: f64 = self.counts.iter().map(|c| c.flights.late * c.flights.done as f64).sum();
        let tally = Tally::default()
            .visited(KICKING, kicks)
            .visited(SLEEPING, asleep)
            .visited(STIRRING, asleep.min(sum(|c| c.looks.wakes)))
            .visited(WAITING, sleeps)
            .visited(LOOKING, vain)
            .counter("operations", sum(|c| c.flights.done))
            .counter("bytes", sum(|c| c.bytes))
            .counter("work", sum(|c| c.work))
            .counter("kicks", kicks)
            .counter("sleeps", sleeps)
            .counter(CALLED, sum(|c| c.looks.wakes))
            .counter("late_ticks", late as u64)
            .counter("within", sum(|c| c.flights.within));
        let tally = switches::counted(tally, TENANT, self.counts.iter().map(|c| c.switches));
        let tally = match self.class {
            Some(class) => tally
                .counter(format!("class_{class}_requests"), sum(|c| c.recorded.0))
                .counter(format!("class_{class}_ticks"), sum(|c| c.recorded.1)),
            None => tally,
        };
        let of_size = |tally: Tally, (load, done): (Load, &u64)| {
            [SUBMIT, TURN, CIPHER, TAKE]
                .iter()
                .fold(tally, |tally, gate| tally.visited(of_bytes(gate, load.size), *done))
        };
        let tally = match self.by_size.len() {
            2..=BILLED => self.demand.loads().zip(&self.by_size).fold(tally, of_size),
            _ => tally,
        };
        match self.guest {
            Some(_) => tally.visited(RINGING, kicks).visited(IDLING, sleeps).counter(EXITS, kicks + sleeps),
            None => tally,
        }
    }
}

/// All tasks at once, each in a thread of its own on the actor's core.
fn together(tasks: &mut [Task], window: &Window, recorder: &mut Recorder) -> Result<()> {
    let outcomes: Vec<_> = thread::scope(|scope| {
        let run = |task: &mut Task| {
            let mut recorder = Recorder::new();
            task.run(window, &mut recorder).map(|()| recorder)
        };
        let running: Vec<_> = tasks.iter_mut().map(|task| scope.spawn(move || run(task))).collect();
        running.into_iter().map(|thread| thread.join()).collect()
    });
    for outcome in outcomes {
        let panicked = |_| Error::Tenant { tenant: "task".into(), reason: "it panicked".into() };
        recorder.merge(&outcome.map_err(panicked)??);
    }
    Ok(())
}
