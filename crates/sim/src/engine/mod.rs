//! Event by event: what happens next, and what follows from it.

mod bulk;
mod coalescer;
mod flow;
mod laws;
mod plain;
mod preemption;
mod present;
#[cfg(test)]
mod schedules;
mod serving;
mod sharing;
mod source;
mod station;
mod wake;

use std::collections::VecDeque;

use crate::SimError;
use crate::calendar::{Calendar, MOST_SET, MOST_SLOTS};
use crate::customers::{Customers, NOBODY};
use crate::error::Flow;
use crate::histogram::Histogram;
use crate::replication::Histograms;
use crate::system::{Node, System};
use crate::totals::{Area, KindTotals, Sums};
use crate::warm_up::Series;
use coalescer::Coalescer;
use source::Source;
use station::Station;

pub(crate) use source::Clockwork;

/// Nobody leaving in so many events is an error: there may be customers, but the system keeps them.
const STUCK: u64 = 20_000_000;

/// So many customers moving, or events, without any time passing are an error.
const ZERO_TIME: u64 = 16_000_000;

/// So many looks of sleeping servers tell how many there will be; and so many, some minutes, are too many.
const ENOUGH_LOOKS: u64 = 20_000_000;
const MOST_LOOKS: f64 = 1e10;

/// Events between two looks at the clock of limits.
const CHUNK: u32 = 1 << 14;

/// Whose event it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// A source's next arrival, or a change of its state.
    Source,
    /// A customer of a closed population has thought enough.
    Thought,
    /// A server of a station is done.
    Done,
    /// A sleeping server's timer, the end of its set-up or of its spinning.
    Alarm,
    /// A sleeping server looks by itself.
    Poll,
    /// A coalescer's first customer was held long enough.
    Timer,
    /// A coalescer may let go.
    Permit,
    /// A coalescer's window ends.
    Window,
}

/// The owner of a slot of the calendar.
#[derive(Clone, Copy, Debug)]
struct Slot {
    cause: Cause,
    /// Number of the source, station or coalescer.
    part: u32,
    /// Who is served or thinks: the first, where several are served together.
    customer: u32,
}

/// How far a replication went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// As many customers left as were asked for.
    Reached,
    /// A part of the way: time to look whether it shall go on.
    Underway,
}

/// One replication of a system, event by event.
pub(crate) struct Engine<'s> {
    system: &'s System,
    calendar: Calendar,
    slots: Vec<Slot>,
    customers: Customers,
    sources: Vec<Source<'s>>,
    stations: Vec<Station<'s>>,
    coalescers: Vec<Coalescer<'s>>,
    /// Customers on their way to coalescers: they do not go straight, so that a circle is no recursion.
    moves: VecDeque<(u32, u32)>,
    /// Customers of closed populations who come back without a thought.
    returning: VecDeque<u32>,
    /// Stations with a bulk to consider once all who come at this moment are there.
    gathering: Vec<u32>,
    now: f64,
    /// Events processed.
    pub(crate) events: u64,
    /// Events that were looks of a sleeping server.
    looks: u64,
    /// Events when somebody left last, as far as it was looked at, and who had left then.
    last_leaving: u64,
    left_before: u64,
    /// Events when time passed last, as far as it was looked at.
    last_passing: u64,
    /// What is summed over all who entered or left.
    sums: Sums,
    /// Whether the system is a plain one.
    plain: bool,
    /// Whether there are classes, or several sources, that are counted apart.
    several: bool,
    classes: Vec<KindTotals>,
    /// Customers × seconds of each class.
    areas: Vec<Area>,
    /// Of sources; empty where there is only one.
    kinds: Vec<KindTotals>,
    waits: Histogram,
    responses: Histogram,
    /// Where there are coalescers.
    delays: Option<Histogram>,
    /// Responses in order, for whoever looks for the warm-up.
    pub(crate) record: Option<Series>,
}

impl<'s> Engine<'s> {
    /// Empty, at time 0.
    pub(crate) fn new(system: &'s System, seed: u64, replication: u64) -> Flow<Self> {
        let several = system.sources.len() > 1;
        let mut engine = Engine {
            system,
            calendar: Calendar::new(system.sources.len() + system.stations.len()),
            slots: Vec::new(),
            customers: Customers::default(),
            sources: Vec::new(),
            stations: Vec::new(),
            coalescers: Vec::new(),
            moves: VecDeque::new(),
            returning: VecDeque::new(),
            gathering: Vec::new(),
            now: 0.0,
            events: 0,
            looks: 0,
            last_leaving: 0,
            left_before: 0,
            last_passing: 0,
            sums: Sums::default(),
            plain: system.is_plain(),
            several: several || !system.classes.is_empty(),
            classes: vec![KindTotals::default(); system.classes.len()],
            areas: vec![Area::default(); system.classes.len()],
            kinds: vec![KindTotals::default(); if several { system.sources.len() } else { 0 }],
            waits: Histogram::new(),
            responses: Histogram::new(),
            delays: (!system.coalescers.is_empty()).then(Histogram::new),
            record: None,
        };
        let part = |nth: usize| crate::stream::Stream::new(seed, replication, nth as u64);
        let (sources, stations) = (system.sources.len(), system.stations.len());
        for (i, plan) in system.sources.iter().enumerate() {
            let source = Source::new(plan, part(i), engine.slot(Cause::Source, i)?);
            engine.sources.push(source);
        }
        for (i, plan) in system.stations.iter().enumerate() {
            let station = Station::new(&mut engine, i, plan, part(sources + i))?;
            engine.stations.push(station);
        }
        for (i, plan) in system.coalescers.iter().enumerate() {
            let coalescer = Coalescer::new(&mut engine, i, plan, part(sources + stations + i))?;
            engine.coalescers.push(coalescer);
        }
        for i in 0..sources {
            engine.start_source(i)?;
        }
        for i in 0..stations {
            engine.start_sleep(i);
        }
        engine.settle()?;
        Ok(engine)
    }

    /// A new slot of the calendar.
    fn slot(&mut self, cause: Cause, part: usize) -> Flow<usize> {
        let slot = self.slots.len();
        if slot >= MOST_SLOTS {
            return Err(self.overflow());
        }
        self.slots.push(Slot { cause, part: part as u32, customer: NOBODY });
        if slot >= self.calendar.room() {
            self.calendar.grow(2 * slot);
        }
        Ok(slot)
    }

    /// Simulates until so many customers have left since the beginning, or for a while.
    pub(crate) fn run(&mut self, target: u64) -> Flow<Progress> {
        let began = self.now;
        if self.plain {
            self.run_plain(target)?;
        } else {
            for _ in 0..CHUNK {
                if self.sums.left >= target {
                    break;
                }
                self.step()?;
            }
        }
        if self.sums.left >= target {
            return Ok(Progress::Reached);
        }
        self.check_limits(began)?;
        Ok(Progress::Underway)
    }

    /// The next event and all that follows at the same moment.
    #[inline(always)]
    fn step(&mut self) -> Flow {
        let (time, slot) = self.calendar.next();
        if time == f64::INFINITY {
            return Err(self.stuck(slot));
        }
        self.now = time;
        self.events += 1;
        let Slot { cause, part, customer } = self.slots[slot];
        match cause {
            Cause::Source => self.source_event(part as usize)?,
            Cause::Done => self.done(part as usize, slot, customer)?,
            _ => self.other_event(cause, part as usize, slot, customer)?,
        }
        if !(self.moves.is_empty() && self.returning.is_empty() && self.gathering.is_empty()) {
            self.settle()?;
        }
        Ok(())
    }

    #[inline(never)]
    fn other_event(&mut self, cause: Cause, part: usize, slot: usize, customer: u32) -> Flow {
        match cause {
            Cause::Thought => {
                self.calendar.cancel(slot);
                self.come_back(customer)
            }
            Cause::Alarm => self.alarm(part),
            Cause::Poll => self.poll(part),
            Cause::Timer => self.timer(part),
            Cause::Permit => self.permit(part),
            Cause::Window => self.window(part),
            Cause::Source | Cause::Done => Ok(()),
        }
    }

    /// Lets everybody arrive who is on his way.
    #[inline(never)]
    fn settle(&mut self) -> Flow {
        let mut moved = 0;
        loop {
            if let Some((customer, coalescer)) = self.moves.pop_front() {
                self.hold(coalescer as usize, customer)?;
            } else if let Some(customer) = self.returning.pop_front() {
                self.come_back(customer)?;
            } else {
                break;
            }
            moved += 1;
            if moved > ZERO_TIME {
                return Err(self.stands_still(None));
            }
        }
        while let Some(station) = self.gathering.pop() {
            self.stations[station as usize].gathering = false;
            self.serve_waiting(station as usize)?;
        }
        Ok(())
    }

    #[inline(never)]
    fn check_limits(&mut self, began: f64) -> Flow {
        let (_, slot) = self.calendar.next();
        if self.calendar.times_set() > MOST_SET - (1 << 32) {
            return Err(Box::new(SimError::Events { events: self.events }));
        }
        if self.sums.left > self.left_before {
            (self.left_before, self.last_leaving) = (self.sums.left, self.events);
        } else if self.events - self.last_leaving > STUCK {
            return Err(self.stuck(slot));
        }
        // Whole chunks without any time passing: a clock too coarse for its services.
        if self.now > began {
            self.last_passing = self.events;
        } else if self.events - self.last_passing > ZERO_TIME {
            return Err(self.stands_still(self.node_of(slot)));
        }
        Ok(())
    }

    /// Whether so many customers would take too many looks that find nobody, to go by what was simulated until now.
    pub(crate) fn check_looks(&self, customers: f64) -> Flow {
        if self.looks < ENOUGH_LOOKS {
            return Ok(());
        }
        let each = self.looks as f64 / self.sums.left.max(1) as f64;
        if each * customers <= MOST_LOOKS {
            return Ok(());
        }
        let most = self.stations.iter().enumerate().max_by(|a, b| a.1.looks().total_cmp(&b.1.looks()));
        let part = self.system.name(Node::Station(most.map_or(0, |(i, _)| i as u32)));
        Err(Box::new(SimError::Looks { part, each, all: each * customers }))
    }

    /// The part that owns the slot.
    fn node_of(&self, slot: usize) -> Option<Node> {
        let Slot { cause, part, .. } = self.slots[slot];
        match cause {
            Cause::Source | Cause::Thought => None,
            Cause::Done | Cause::Alarm | Cause::Poll => Some(Node::Station(part)),
            Cause::Timer | Cause::Permit | Cause::Window => Some(Node::Coalescer(part)),
        }
    }

    /// The part that holds most customers, and how many.
    fn fullest(&self) -> (Node, u64) {
        let stations =
            (self.stations.iter().enumerate()).map(|(i, s)| (Node::Station(i as u32), u64::from(s.inside)));
        let coalescers = (self.coalescers.iter().enumerate())
            .map(|(i, c)| (Node::Coalescer(i as u32), u64::from(c.inside)));
        stations.chain(coalescers).max_by_key(|(_, inside)| *inside).unwrap_or((Node::Exit, 0))
    }

    #[cold]
    fn overflow(&self) -> Box<SimError> {
        let (node, inside) = self.fullest();
        Box::new(SimError::Overflow { part: self.system.name(node), inside })
    }

    #[cold]
    fn stuck(&self, slot: usize) -> Box<SimError> {
        let node = self.node_of(slot).unwrap_or_else(|| self.fullest().0);
        Box::new(SimError::Stuck { part: self.system.name(node), events: self.events - self.last_leaving })
    }

    #[cold]
    fn stands_still(&self, node: Option<Node>) -> Box<SimError> {
        let node = node.unwrap_or_else(|| self.fullest().0);
        Box::new(SimError::Precision { part: self.system.name(node), time: self.now })
    }

    /// Times of those who left.
    pub(crate) fn histograms(&mut self) -> Histograms<'_> {
        Histograms { waits: &mut self.waits, responses: &mut self.responses, delays: self.delays.as_mut() }
    }

    /// All sums since the beginning, one row.
    pub(crate) fn write(&mut self, row: &mut Vec<f64>) {
        self.sums.write(self.now, row);
        for station in &mut self.stations {
            station.pass(self.now);
            station.write(row);
        }
        for coalescer in &mut self.coalescers {
            coalescer.pass(self.now);
            coalescer.write(row);
        }
        for (class, area) in self.classes.iter().zip(&self.areas) {
            class.write(row);
            row.push(area.until(self.now));
        }
        self.kinds.iter().for_each(|kind| kind.write(row));
    }

    /// Customers who left.
    pub(crate) fn left(&self) -> u64 {
        self.sums.left
    }
}
