//! One card: what its engines share. They take turns from one queue, in one order, so a card of c engines is one server of c
//! hands (M/M/c), and several cards are several queues (c times M/M/1).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_virtio::desk::{Desk, Look, Top, Woken};
use tollway_virtio::order::{Discipline, Grant, Order, Share, Waits};

use super::function::{Function, Turn};
use super::line::{Line, Standing};
use super::options::Options;
use super::status::CardStatus;
use super::told::Told;

/// How long a turn is, in nanoseconds: it ends with the request during which they are over.
pub(super) const TURN: u64 = 50_000;

/// Requests of a queue at most.
pub(super) const QUEUE: u16 = 1024;

/// Who is told what happens.
pub(super) type Tell = Arc<dyn Fn(Told) + Send + Sync>;

/// One card.
pub(super) struct Pool {
    /// Which of the front's it is.
    pub(super) number: usize,
    /// Those of the front, of which some are on this card.
    pub(super) functions: Arc<[Function]>,
    /// How many requests stand here is noted beside whose turn it is.
    pub(super) desk: Desk<Line>,
    pub(super) spin: Duration,
    /// How long a turn may be, in nanoseconds; None: as long as it takes to do what lies there.
    pub(super) turn: Option<u64>,
    engines: Vec<Works>,
    tell: Tell,
}

/// What is known of an engine.
struct Works {
    /// Nanoseconds that it has worked.
    worked: AtomicU64,
    /// Whom it serves just now, or [`NOBODY`].
    at: AtomicUsize,
}

const NOBODY: usize = usize::MAX;

impl Pool {
    /// The card with that number, as it is to be; `begun` is when all of the front's did.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(super) fn new(
        number: usize,
        functions: Arc<[Function]>,
        shares: &[Share],
        options: &Options,
        begun: Instant,
        tell: Tell,
    ) -> Result<Pool> {
        // Who comes first is served with all that it has come with.
        let (quantum, turn) = match options.discipline {
            Discipline::Arrival => (QUEUE.into(), None),
            Discipline::Fair | Discipline::Rank => (options.quantum, Some(TURN)),
        };
        let order = Order::new(options.discipline, quantum, TURN as usize, shares, 0);
        let works = || Works { worked: AtomicU64::new(0), at: AtomicUsize::new(NOBODY) };
        Ok(Pool {
            number,
            functions,
            desk: Desk::new(order, Line::new(shares.len()), begun)?,
            spin: options.spin,
            turn,
            engines: (0..options.engines + options.lent).map(|_| works()).collect(),
            tell,
        })
    }

    /// The functions that are on it, by their numbers.
    fn own(&self) -> impl Iterator<Item = (usize, &Function)> {
        self.functions.iter().enumerate().filter(|(_, function)| function.card() == self.number)
    }

    pub(super) fn now(&self) -> u64 {
        self.desk.now()
    }

    pub(super) fn tell(&self, told: Told) {
        (self.tell)(told);
    }

    /// An engine waits until it is kicked, or there is somebody to tell something; for so long at most.
    pub(super) fn wait(&self, look: &mut Look, longest: Option<Duration>) -> Result<Woken> {
        // All are looked at now. There may have been turns for a long time, in which nobody waited for kicks: who kicked then has
        // been noticed, and most likely served.
        look.at = self.now();
        let told = || self.own().filter_map(|(_, function)| function.due()).min();
        let due = if self.arm() { Some(0) } else { told() };
        let woken = self.desk.wait(look, due, longest)?;
        for (function, _) in &look.kicked {
            self.functions[*function].kicked();
        }
        let mut top = self.desk.lock();
        for (function, _) in look.kicked.drain(..) {
            self.wants(&mut top, function, look.since);
        }
        Ok(woken)
    }

    /// Whoever has asked for something meanwhile without a kick is noticed.
    pub(super) fn notice(&self) {
        for (number, _) in self.own().filter(|(_, function)| function.has_some()) {
            self.wants(&mut self.desk.lock(), number, self.now());
        }
    }

    /// A function wants something since then; how much of it stands there.
    fn wants(&self, top: &mut Top<Line>, function: usize, since: u64) {
        top.order.want(function, since);
        if let Some(count) = self.functions[function].standing() {
            top.beside.seen(function, count, since);
        }
    }

    /// Asks all functions for kicks. Whether there is something to do already.
    pub(super) fn arm(&self) -> bool {
        let armed = |(number, function): (usize, &Function)| {
            let more = function.arm();
            if more {
                self.wants(&mut self.desk.lock(), number, self.now());
            }
            more
        };
        self.own().map(armed).fold(false, |any, more| any | more)
    }

    /// An engine's turn is over, and is charged so many nanoseconds.
    pub(super) fn done(&self, engine: usize, function: usize, turn: &Turn, cost: u64) {
        self.serves(engine, None);
        let works = &self.engines[engine];
        works.worked.fetch_add(turn.took(), Ordering::Relaxed);
        let mut top = self.desk.lock();
        top.beside.served(function, turn.standing, turn.times, turn.requests);
        let more = turn.more.then_some(1);
        top.order.done(function, turn.requests, cost as usize, more, self.now());
    }

    /// Tells tenants what they are to be told by now.
    pub(super) fn interrupt(&self) {
        let now = self.now();
        for (_, function) in self.own() {
            if function.due().is_some_and(|due| due <= now) {
                function.tell(now);
            }
        }
    }

    /// A function has its turn with that engine, if it is still on this card.
    pub(super) fn serve(&self, engine: usize, grant: Grant) -> Turn {
        let function = &self.functions[grant.tenant];
        if function.card() != self.number {
            return Turn::default();
        }
        self.serves(engine, Some(grant.tenant));
        function.serve(grant.most, self.turn, &|| self.now())
    }

    /// An engine serves that function from now on, or nobody.
    pub(super) fn serves(&self, engine: usize, function: Option<usize>) {
        self.engines[engine].at.store(function.unwrap_or(NOBODY), Ordering::Relaxed);
    }

    /// Whom an engine serves.
    pub(super) fn served_by(&self, engine: usize) -> Option<usize> {
        Some(self.engines[engine].at.load(Ordering::Relaxed)).filter(|function| *function != NOBODY)
    }

    /// A function has come here, or a queue of it: it may have asked for something before.
    pub(super) fn starts(&self, function: usize) {
        self.wants(&mut self.desk.lock(), function, self.now());
        self.desk.ring();
    }

    /// A function has none that stand here any more.
    pub(super) fn left(&self, function: usize) {
        self.desk.lock().beside.left(function, self.now());
    }

    /// A function comes from another card, with the tokens that it has left.
    pub(super) fn takes_over(&self, last: &Pool, function: usize) {
        let tokens = last.desk.lock().order.leaves(function, self.now());
        last.left(function);
        self.desk.lock().order.comes_with(function, tokens);
    }

    /// What functions had to wait here, what stands here of each, and how it is going.
    pub(super) fn status(&self) -> (Vec<Waits>, Vec<Standing>, CardStatus) {
        let top = self.desk.lock();
        let now = self.now();
        let waits = (0..self.functions.len()).map(|function| top.order.waits(function, now)).collect();
        let (each, standing) = top.beside.standing(now);
        drop(top);
        let worked = |works: &Works| works.worked.load(Ordering::Relaxed) as f64 / 1e9;
        let engines = self.engines.iter().map(worked).collect();
        (waits, each, CardStatus { runs: !self.desk.is_over(), engines, standing })
    }
}
