//! The tenant's end: tasks, each with a queue of its own, in threads of this actor's.

use std::path::Path;
use std::thread;

use tollway_core::{Actor, Address, Error, Params, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::hz;

use super::load::Load;
use super::task::{self, Counts, Task};
use super::way::Way;
use super::{CALLED, KICKING, LOOKING, SLEEPING};
use crate::engine::driver::{Driver, Options, Sessions, Waiting};

/// A tenant of the card.
pub(super) struct Tenant {
    load: Load,
    tasks: usize,
    waiting: Waiting,
    ready: Option<Ready>,
    counts: Vec<Counts>,
}

struct Ready {
    /// The connection ends with them.
    sessions: Sessions,
    tasks: Vec<Task>,
}

impl Tenant {
    pub(super) fn new(way: Way, params: &Params) -> Result<Tenant> {
        Ok(Tenant {
            load: Load::of(params)?,
            tasks: params.int("tasks")? as usize,
            waiting: way.waiting(params)?,
            ready: None,
            counts: Vec::new(),
        })
    }
}

impl Actor for Tenant {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let Some(card) = place.peers.first() else {
            return Err(Error::Tenant { tenant: "tenant".into(), reason: "it was told of no card".into() });
        };
        let room = task::room(&self.load);
        let options = Options {
            queues: self.tasks,
            depth: self.load.places().next_power_of_two() as u16,
            bytes: room * self.tasks,
            waiting: self.waiting,
            ..Options::default()
        };
        let driver = Driver::connect(Path::new(&card.0), &options)?;
        let (free, hz) = (driver.free(), hz()?);
        // No two tenants' streams are the same.
        let seed = u64::from(std::process::id()) << 8;
        let task =
            |(number, queue)| Task::new(self.load, queue, free + number * room, hz, seed + number as u64);
        let tasks = driver.queues.into_iter().enumerate().map(task).collect::<Result<_>>()?;
        self.ready = Some(Ready { sessions: driver.sessions, tasks });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        // The connection ends with the run: so the card knows that nothing more will come.
        let Some(Ready { mut tasks, mut sessions }) = self.ready.take() else { return Ok(()) };
        // The card's engine is the thread of an actor that runs: it answers from now on.
        let named = self.load.named;
        let session = sessions.open(named.algorithm, self.load.key())?.map_err(|status| {
            Error::Wrong(format!("the card opens no session of {}: {status:?}", named.name))
        })?;
        tasks.iter_mut().for_each(|task| task.has(session));
        let outcome = match &mut tasks[..] {
            [task] => task.run(window, recorder),
            tasks => together(tasks, window, recorder),
        };
        self.counts = tasks.iter().map(|task| *task.counts()).collect();
        outcome
    }

    fn verify(&mut self) -> Result<()> {
        let done: u64 = self.counts.iter().map(|counts| counts.flights.done).sum();
        let wrong: u64 = self.counts.iter().map(|counts| counts.wrong).sum();
        let lost: usize = self.counts.iter().map(|counts| counts.flights.lost).sum();
        match (done, wrong, lost) {
            (0, ..) => Err(Error::Wrong("no request was done".into())),
            (_, 0, 0) => Ok(()),
            _ => Err(Error::Wrong(format!(
                "of {done} requests {wrong} came back wrong, and {lost} not at all"
            ))),
        }
    }

    fn tally(&mut self) -> Tally {
        let sum = |count: fn(&Counts) -> u64| self.counts.iter().map(count).sum::<u64>();
        let (sleeps, vain) = (sum(|c| c.looks.sleeps), sum(|c| c.looks.vain));
        let late: f64 = self.counts.iter().map(|c| c.flights.late * c.flights.done as f64).sum();
        Tally::default()
            .visited(KICKING, sum(|c| c.kicks))
            .visited(SLEEPING, sleeps)
            .visited(LOOKING, vain)
            .counter("operations", sum(|c| c.flights.done))
            .counter("work", sum(|c| c.work))
            .counter("kicks", sum(|c| c.kicks))
            .counter("sleeps", sleeps)
            .counter(CALLED, sum(|c| c.looks.wakes))
            .counter("late_ticks", late as u64)
            .counter("within", sum(|c| c.flights.within))
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
