//! What can happen next, and what comes of it at once: the same rules as the simulator's.
//!
//! An event of some rate starts a cascade: somebody arrives, is let in or not, is begun with, goes on. Where chance
//! decides (a route, a first stage, the size of a batch), the cascade splits into branches with probabilities.

use std::collections::VecDeque;

use super::phases::Phases;
use super::plan::{Plan, Rhythm};
use super::state::{Line, Served, Server, State, StationState};
use crate::chain::Allowance;
use crate::spec::Order;
use crate::{ModelError, Result};

/// Something that is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Event {
    /// A customer of a kind came.
    Entered(usize),
    /// … and left as it should.
    Left(usize),
    /// … or was turned away.
    Lost(usize),
    /// Somebody came to a part.
    Arrived(usize),
    /// … which was full.
    Full(usize),
    /// … or has no limit but the one of this computation.
    Cut(usize),
    /// A customer of a kind (second) came to a station and was begun with at once.
    AtOnce(usize, usize),
    /// A service of several began.
    BulkBegun(usize),
    Woken(usize),
    Looked(usize),
    SetUp(usize),
    /// A coalescer let go.
    Released(usize),
}

/// A step of a cascade.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// From a source into the system.
    Enter(usize),
    /// To a part.
    Arrive(usize, usize),
    /// On from a part.
    Leave(usize, usize),
    /// Out of the system.
    Depart(usize),
    /// A station begins what it can.
    Serve(usize),
    /// A customer (second) who arrived at an empty queue has been begun with, or not.
    Notice(usize, usize),
    /// A server without work may sleep.
    Rest(usize),
    /// A server is woken.
    Wake(usize),
    /// A server sleeps.
    Sleep(usize),
    /// A bulk is considered when all of this moment have come.
    Gather(usize),
}

/// One way a cascade goes.
#[derive(Clone, Debug)]
pub(super) struct Branch {
    pub state: State,
    /// Per second once the cascade is done; before, with the rate of its event.
    pub rate: f64,
    pub events: Vec<Event>,
    steps: VecDeque<Step>,
}

impl Branch {
    fn new(state: &State, rate: f64, steps: impl IntoIterator<Item = Step>) -> Self {
        Branch { state: state.clone(), rate, events: Vec::new(), steps: steps.into_iter().collect() }
    }
}

/// The most ways that one event may go, chance deciding.
const MOST_BRANCHES: usize = 10_000;

/// Steps of an allowance for each part of a state that an event leads to.
const STEPS: f64 = 20.0;

/// A plan with the sizes that unlimited queues are cut off at.
pub(super) struct Moves<'p> {
    pub plan: &'p Plan,
    /// By station.
    pub limits: Vec<u32>,
    /// What looking for moves may still cost.
    pub allowance: &'p Allowance<'p>,
}

impl Moves<'_> {
    /// A state that the system comes back to: nobody there, or all who do not think at their first part.
    ///
    /// # Errors
    /// When the allowance ends.
    pub(super) fn start(&self) -> Result<State> {
        let sources = self.plan.sources.iter().map(|source| match &source.rhythm {
            Rhythm::Renewal(gaps) => vec![u32::from(gaps.starts[0].0)],
            Rhythm::Switching { .. } => vec![0],
            Rhythm::Closed { customers, think } => {
                let mut thinking = vec![0; think.as_ref().map_or(0, |think| think.rates.len())];
                if let Some(think) = think {
                    thinking[usize::from(think.starts[0].0)] = *customers;
                }
                thinking
            }
        });
        let stations = self.plan.stations.iter().map(|station| StationState {
            queue: Line::default(),
            served: Vec::new(),
            server: match &station.wake {
                None => Server::Awake,
                Some(wake) => Server::Asleep(wake.poll.as_ref().map_or(0, |poll| poll.starts[0].0)),
            },
        });
        let held = vec![Line::default(); self.plan.counts.len()];
        let state = State { sources: sources.collect(), stations: stations.collect(), held };
        let busy = self.plan.sources.iter().enumerate().flat_map(|(i, source)| match &source.rhythm {
            Rhythm::Closed { customers, think: None } => vec![Step::Enter(i); *customers as usize],
            _ => Vec::new(),
        });
        let mut first = Branch::new(&state, 1.0, busy);
        // The first branch of each split is as good as any.
        while let Some(step) = first.steps.pop_front() {
            self.spend(&first)?;
            let mut next = Vec::new();
            self.take(step, first, &mut next);
            first = next.swap_remove(0);
        }
        Ok(first.state)
    }

    fn spend(&self, branch: &Branch) -> Result<()> {
        let parts = self.plan.sources.len() + self.plan.routes.len() + 1;
        self.allowance.spend(STEPS * parts as f64 + branch.steps.len() as f64)
    }

    /// All that can happen in a state.
    ///
    /// # Errors
    /// When the allowance ends, or an event can go too many ways.
    pub(super) fn from(&self, state: &State) -> Result<Vec<Branch>> {
        let mut open = Vec::new();
        for (i, source) in self.plan.sources.iter().enumerate() {
            self.source_events(state, i, &source.rhythm, &mut open);
        }
        for i in 0..self.plan.stations.len() {
            self.station_events(state, i, &mut open);
        }
        let mut done = Vec::new();
        while let Some(mut branch) = open.pop() {
            self.spend(&branch)?;
            if open.len() + done.len() > MOST_BRANCHES {
                let reason =
                    format!("where its customers go can be decided in more than {MOST_BRANCHES} ways");
                return Err(ModelError::parameter("batch, bulk or count", reason, "let fewer go together"));
            }
            match branch.steps.pop_front() {
                None => done.push(branch),
                Some(step) => self.take(step, branch, &mut open),
            }
        }
        Ok(done)
    }

    fn source_events(&self, state: &State, i: usize, rhythm: &Rhythm, open: &mut Vec<Branch>) {
        let now = &state.sources[i];
        match rhythm {
            Rhythm::Renewal(gaps) => {
                let phase = now[0] as u16;
                let rate = gaps.rates[usize::from(phase)];
                match gaps.next(phase) {
                    Some(next) => {
                        let mut branch = Branch::new(state, rate, []);
                        branch.state.sources[i][0] = u32::from(next);
                        open.push(branch);
                    }
                    None => {
                        for (next, share) in &gaps.starts {
                            self.batches(state, i, rate * share, u32::from(*next), open);
                        }
                    }
                }
            }
            Rhythm::Switching { rates, stays } => {
                let at = now[0] as usize;
                if rates[at] > 0.0 {
                    self.batches(state, i, rates[at], now[0], open);
                }
                let mut branch = Branch::new(state, 1.0 / stays[at], []);
                branch.state.sources[i][0] = ((at + 1) % rates.len()) as u32;
                open.push(branch);
            }
            Rhythm::Closed { think: Some(think), .. } => {
                for (phase, thinking) in now.iter().enumerate().filter(|(_, thinking)| **thinking > 0) {
                    let mut branch = Branch::new(state, f64::from(*thinking) * think.rates[phase], []);
                    branch.state.sources[i][phase] -= 1;
                    match think.next(phase as u16) {
                        Some(next) => branch.state.sources[i][usize::from(next)] += 1,
                        None => branch.steps.push_back(Step::Enter(i)),
                    }
                    open.push(branch);
                }
            }
            Rhythm::Closed { think: None, .. } => {}
        }
    }

    /// An arrival of any size that the source has; its gap goes on in `next`.
    fn batches(&self, state: &State, i: usize, rate: f64, next: u32, open: &mut Vec<Branch>) {
        for (size, share) in self.plan.sources[i].batch.iter().filter(|(_, share)| *share > 0.0) {
            let mut branch = Branch::new(state, rate * share, vec![Step::Enter(i); *size as usize]);
            branch.state.sources[i][0] = next;
            open.push(branch);
        }
    }

    fn station_events(&self, state: &State, i: usize, open: &mut Vec<Branch>) {
        let (station, plan) = (&state.stations[i], &self.plan.stations[i]);
        let share = match plan.order {
            Order::ProcessorSharing => {
                (f64::from(plan.servers) / f64::from(station.in_service().max(1))).min(1.0)
            }
            _ => 1.0,
        };
        for (served, count) in &station.served {
            let Some(service) = &plan.services[usize::from(served.kind)] else { continue };
            let services = if plan.bulk.is_some() { 1 } else { *count };
            let rate = f64::from(services) * share * service.rates[usize::from(served.phase)];
            let mut branch = Branch::new(state, rate, []);
            let moved = if plan.bulk.is_some() { *count } else { 1 };
            branch.state.stations[i].leave_service(*served, moved);
            match service.next(served.phase) {
                Some(phase) => branch.state.stations[i].enter_service(Served { phase, ..*served }, moved),
                None => {
                    branch.steps.extend([Step::Serve(i), Step::Rest(i)]);
                    let leave = Step::Leave(i, usize::from(served.kind));
                    branch.steps.extend(std::iter::repeat_n(leave, moved as usize));
                }
            }
            open.push(branch);
        }
        let Some(wake) = &plan.wake else { return };
        match (station.server, &wake.poll, &wake.setup) {
            (Server::Asleep(phase), Some(poll), _) => {
                let mut branch = Branch::new(state, poll.rates[usize::from(phase)], []);
                match poll.next(phase) {
                    Some(next) => branch.state.stations[i].server = Server::Asleep(next),
                    None => {
                        branch.events.push(Event::Looked(i));
                        let nobody = station.queue.is_empty();
                        branch.steps.push_back(if nobody { Step::Sleep(i) } else { Step::Wake(i) });
                    }
                }
                open.push(branch);
            }
            (Server::SettingUp(phase), _, Some(setup)) => {
                let mut branch = Branch::new(state, setup.rates[usize::from(phase)], []);
                match setup.next(phase) {
                    Some(next) => branch.state.stations[i].server = Server::SettingUp(next),
                    None => {
                        branch.state.stations[i].server = Server::Awake;
                        branch.steps.push_back(Step::Serve(i));
                    }
                }
                open.push(branch);
            }
            _ => {}
        }
    }

    /// Takes one step; the branches that come of it are pushed.
    fn take(&self, step: Step, mut branch: Branch, open: &mut Vec<Branch>) {
        match step {
            Step::Enter(source) => {
                let plan = &self.plan.sources[source];
                branch.events.push(Event::Entered(plan.kind));
                split(branch, &plan.entry, open, |branch, to| {
                    branch.steps.push_front(onward(*to, plan.kind))
                });
            }
            Step::Leave(part, kind) => split(branch, &self.plan.routes[part], open, |branch, to| {
                if to.is_none() {
                    branch.events.push(Event::Left(kind));
                }
                branch.steps.push_front(onward(*to, kind));
            }),
            Step::Arrive(part, kind) => {
                branch.events.push(Event::Arrived(part));
                if part < self.plan.stations.len() {
                    self.arrive(&mut branch, part, kind);
                } else {
                    self.hold(&mut branch, part, kind);
                }
                open.push(branch);
            }
            Step::Depart(kind) => self.depart(branch, kind, open),
            Step::Serve(i) | Step::Gather(i) => self.serve(branch, i, open),
            Step::Notice(i, kind) => {
                if branch.state.stations[i].queue.is_empty() {
                    branch.events.push(Event::AtOnce(i, kind));
                }
                open.push(branch);
            }
            Step::Rest(i) => {
                let station = &branch.state.stations[i];
                let rests = self.plan.stations[i].wake.is_some()
                    && station.server == Server::Awake
                    && station.queue.is_empty()
                    && station.served.is_empty();
                if rests {
                    branch.steps.push_front(Step::Sleep(i));
                }
                open.push(branch);
            }
            Step::Sleep(i) => {
                let poll = self.plan.stations[i].wake.as_ref().and_then(|wake| wake.poll.as_ref());
                split(branch, starts(poll), open, |branch, phase| {
                    branch.state.stations[i].server = Server::Asleep(*phase);
                });
            }
            Step::Wake(i) => {
                branch.events.push(Event::Woken(i));
                match self.plan.stations[i].wake.as_ref().and_then(|wake| wake.setup.as_ref()) {
                    None => {
                        branch.state.stations[i].server = Server::Awake;
                        branch.steps.push_front(Step::Serve(i));
                        open.push(branch);
                    }
                    Some(setup) => {
                        branch.events.push(Event::SetUp(i));
                        split(branch, &setup.starts, open, |branch, phase| {
                            branch.state.stations[i].server = Server::SettingUp(*phase);
                        });
                    }
                }
            }
        }
    }

    fn arrive(&self, branch: &mut Branch, i: usize, kind: usize) {
        let (station, plan) = (&mut branch.state.stations[i], &self.plan.stations[i]);
        let inside = station.inside();
        let full = plan.capacity.is_some_and(|capacity| inside >= capacity);
        if full || inside >= self.limits[i] {
            branch.events.push(if full { Event::Full(i) } else { Event::Cut(i) });
            branch.events.push(Event::Lost(kind));
            branch.steps.push_front(Step::Depart(kind));
            return;
        }
        let alone = station.queue.is_empty();
        station.queue.join(kind, &plan.levels);
        if plan.bulk.is_some() {
            branch.steps.push_back(Step::Gather(i));
        } else {
            if alone {
                branch.steps.push_front(Step::Notice(i, kind));
            }
            branch.steps.push_front(Step::Serve(i));
        }
    }

    fn hold(&self, branch: &mut Branch, part: usize, kind: usize) {
        let i = part - self.plan.stations.len();
        let held = &mut branch.state.held[i];
        held.push(kind);
        if held.len() < self.plan.counts[i] {
            return;
        }
        branch.events.push(Event::Released(part));
        let mut released = Vec::new();
        while let Some(kind) = held.pop() {
            released.push(Step::Leave(part, kind));
        }
        released.into_iter().rev().for_each(|step| branch.steps.push_front(step));
    }

    /// Out of the system, and home where there is one.
    fn depart(&self, mut branch: Branch, kind: usize, open: &mut Vec<Branch>) {
        let Some(home) = self.plan.kinds[kind].home else { return open.push(branch) };
        match &self.plan.sources[home].rhythm {
            Rhythm::Closed { think: Some(think), .. } => {
                split(branch, &think.starts, open, |branch, phase| {
                    branch.state.sources[home][usize::from(*phase)] += 1;
                })
            }
            _ => {
                branch.steps.push_back(Step::Enter(home));
                open.push(branch);
            }
        }
    }

    /// Begins one service, if it can, and then looks again.
    fn serve(&self, mut branch: Branch, i: usize, open: &mut Vec<Branch>) {
        let plan = &self.plan.stations[i];
        let station = &mut branch.state.stations[i];
        let Some(first) = station.queue.first() else { return open.push(branch) };
        if station.server != Server::Awake {
            let wake = plan.wake.as_ref();
            let count = wake.and_then(|wake| wake.count);
            let at_once = count.is_none() && wake.is_some_and(|wake| wake.poll.is_none());
            let enough = at_once || count.is_some_and(|count| station.queue.len() >= count);
            if enough && matches!(station.server, Server::Asleep(_)) {
                branch.steps.push_front(Step::Wake(i));
            }
            return open.push(branch);
        }
        let busy = if plan.bulk.is_some() { station.served.len() as u32 } else { station.in_service() };
        if busy >= plan.servers && plan.order != Order::ProcessorSharing {
            let level = |served: &Served| plan.levels[usize::from(served.kind)];
            let lowest = station.served.iter().map(|(served, _)| *served).max_by_key(level);
            match lowest {
                Some(lowest)
                    if plan.order == Order::PreemptiveResume && level(&lowest) > plan.levels[first] =>
                {
                    station.leave_service(lowest, 1);
                    station.queue.return_to_head(usize::from(lowest.kind), &plan.levels);
                }
                _ => return open.push(branch),
            }
        }
        let mut size = 1;
        if let Some(bulk) = &plan.bulk {
            if station.queue.len() < bulk.least {
                return open.push(branch);
            }
            size = station.queue.len().min(bulk.most);
            branch.events.push(Event::BulkBegun(i));
        }
        for _ in 0..size {
            station.queue.pop();
        }
        branch.steps.push_front(Step::Serve(i));
        split(branch, starts(plan.services[first].as_ref()), open, |branch, phase| {
            let served = Served { kind: first as u16, phase: *phase };
            branch.state.stations[i].enter_service(served, size);
        });
    }
}

/// To a part or out.
fn onward(to: Option<usize>, kind: usize) -> Step {
    to.map_or(Step::Depart(kind), |part| Step::Arrive(part, kind))
}

/// Where a time begins; one that is not there has one stage that never ends.
fn starts(time: Option<&Phases>) -> &[(u16, f64)] {
    time.map_or(&[(0, 1.0)], |time| &time.starts)
}

/// One branch for each way that chance may decide.
fn split<T>(
    branch: Branch,
    ways: &[(T, f64)],
    open: &mut Vec<Branch>,
    mut change: impl FnMut(&mut Branch, &T),
) {
    let Some(((last, last_share), others)) = ways.split_last() else { return };
    for (way, share) in others {
        let mut one = branch.clone();
        one.rate *= share;
        change(&mut one, way);
        open.push(one);
    }
    let mut one = branch;
    one.rate *= last_share;
    change(&mut one, last);
    open.push(one);
}
