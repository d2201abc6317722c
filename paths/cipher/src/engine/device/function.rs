//! A virtual function: one tenant's queues and sessions, and what is counted of it.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, MutexGuard, OnceLock};
use std::time::Duration;

use tollway_virtio::backend::{Chain, Kicks, Port, Refused, Ring};
use tollway_virtio::courtesy::Courtesy;
use tollway_virtio::patience::{self, Patience};
use zeroize::Zeroizing;

use super::delivery::{Delivery, Teller};
use super::options::Options;
use super::pool::{QUEUE, TURN};
use super::reply::{self, Scratch};
use super::sessions::Sessions;
use super::status::Counts;
use crate::engine::protocol::Status;
use crate::engine::suite::{Algorithm, Session};

/// Requests of the control queue that are answered in one turn.
const CONTROLS: u32 = 16;

/// After so many bytes that are worked on the time is looked at; a request counts as [`REQUEST`] besides, and
/// each piece of its buffer as [`PIECE`]: a table can be long where there is little to do.
const UNSEEN: usize = 4096;
const REQUEST: usize = 432;
const PIECE: usize = 16;

/// How long the end waits for a thread that is still at a function's sessions.
const PATIENCE: Duration = Duration::from_millis(100);

/// No time: nothing is due.
const NEVER: u64 = u64::MAX;

/// A virtual function.
#[derive(Debug)]
pub(super) struct Function {
    /// The card that it is on, or was the last time.
    card: AtomicUsize,
    port: OnceLock<Arc<Port>>,
    /// Bytes of a request at most.
    longest: u64,
    sessions: Courtesy<Sessions>,
    inner: Courtesy<Inner>,
    /// When its tenant is to be told what is done, in the card's nanoseconds.
    due: AtomicU64,
}

#[derive(Debug)]
struct Inner {
    counts: Counts,
    connected: bool,
    queues: Vec<Queue>,
    teller: Teller,
    /// The data queue that is next.
    at: usize,
    chain: Chain,
    /// How long it may still keep the others waiting.
    patience: Patience,
}

/// What is remembered of a queue from turn to turn.
#[derive(Debug)]
struct Queue {
    /// Of which run of the queue the rest is.
    generation: Option<u64>,
    /// Whether the driver was asked not to kick.
    quiet: bool,
}

/// What a turn may have.
#[derive(Clone, Copy, Debug)]
struct Bounds {
    /// Requests.
    most: usize,
    /// Bytes of each.
    longest: u64,
    /// When it began, and when nothing more is begun, in the card's nanoseconds; None: it is what lies there.
    begun: u64,
    ends: Option<u64>,
}

impl Bounds {
    fn are_over(&self, now: u64) -> bool {
        self.ends.is_some_and(|ends| now >= ends)
    }
}

/// What a turn brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// Requests that were done.
    pub(super) requests: usize,
    /// How many stood in the data queues when it began, and when it ended; and when that was, in the card's nanoseconds.
    pub(super) standing: [u64; 2],
    pub(super) times: [u64; 2],
    /// Whether there may be more: what stands there is looked at again, even if its queue has stopped by then.
    pub(super) more: bool,
    /// Whether it has had what a turn has.
    over: bool,
    /// Which queues were given up, and why; None: all of them.
    pub(super) refused: Vec<(Option<usize>, Refused)>,
    /// What it worked, in nanoseconds, if it was long and others had the processor meanwhile.
    displaced: Option<u64>,
}

impl Turn {
    /// How long it took, in nanoseconds.
    pub(super) fn took(&self) -> u64 {
        self.times[1] - self.times[0]
    }

    /// What it costs its tenant, in nanoseconds: that others had the processor is not its doing.
    pub(super) fn cost(&self) -> u64 {
        self.displaced.map_or(self.took(), |worked| worked.clamp(TURN, self.took().max(TURN)))
    }
}

/// How many requests stand in data queues.
fn standing(rings: &[Option<Ring>]) -> u64 {
    // The control queue is the last. What is wrong with a number is told when one is taken.
    let data = rings.split_last().map_or(rings, |(_, data)| data);
    data.iter().flatten().map(|ring| u64::from(ring.offered().min(QUEUE))).sum()
}

impl Function {
    /// With queues, sessions and requests as a card's options say.
    pub(super) fn new(options: &Options, rule: Delivery) -> Function {
        let &Options { queues, sessions, longest, .. } = options;
        let queue = || Queue { generation: None, quiet: false };
        Function {
            card: AtomicUsize::new(0),
            port: OnceLock::new(),
            longest,
            sessions: Courtesy::new(Sessions::new(sessions)),
            inner: Courtesy::new(Inner {
                counts: Counts::default(),
                connected: false,
                // The control queue is the last.
                queues: (0..=queues).map(|_| queue()).collect(),
                teller: Teller::of_queues(rule, queues + 1),
                at: 0,
                chain: Chain::default(),
                patience: Patience::new(0),
            }),
            due: AtomicU64::new(NEVER),
        }
    }

    /// Told once, before anything is served.
    pub(super) fn is_at(&self, port: Arc<Port>) {
        let _ = self.port.set(port);
    }

    /// The card that it is on, or was the last time.
    #[inline]
    pub(super) fn card(&self) -> usize {
        self.card.load(Ordering::Acquire)
    }

    /// It is on that card from now on.
    pub(super) fn goes_to(&self, card: usize) {
        self.card.store(card, Ordering::Release);
    }

    /// Its queues' kicks are waited for there, too.
    pub(super) fn is_watched_by(&self, kicks: &Kicks, number: usize) {
        let Some(port) = self.port.get() else { return };
        for (queue, ring) in port.rings().iter().enumerate() {
            if let Some(ring) = ring {
                ring.watched_by(kicks, number, queue);
            }
        }
    }

    /// Its queues are given up, until its driver sets them up anew: what served it failed.
    pub(super) fn give_up(&self) {
        let Some(port) = self.port.get() else { return };
        for ring in port.rings().iter_mut().flatten() {
            ring.give_up(Refused::Failed);
        }
        self.inner().counts.refused_chains += 1;
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }

    fn sessions(&self) -> MutexGuard<'_, Sessions> {
        self.sessions.lock()
    }

    /// What was counted, how many sessions there are, whether a peer is connected.
    pub(super) fn counts(&self) -> (Counts, usize, bool) {
        let sessions = self.sessions().count();
        let inner = self.inner();
        (inner.counts, sessions, inner.connected)
    }

    /// Whether one of its data queues is served.
    pub(super) fn is_served(&self) -> bool {
        let runs = |ring: &Option<Ring>| ring.as_ref().is_some_and(|ring| !ring.is_broken());
        self.port.get().is_some_and(|port| port.rings().iter().any(runs))
    }

    pub(super) fn kicked(&self) {
        self.inner().counts.kicks += 1;
    }

    pub(super) fn refused_message(&self) {
        self.inner().counts.refused_messages += 1;
    }

    /// A peer came, or is gone; then its sessions end.
    pub(super) fn connected(&self, connected: bool) {
        if !connected {
            self.sessions().clear();
        }
        let mut inner = self.inner();
        inner.connected = connected;
        inner.counts.connections += u64::from(connected);
    }

    /// Its driver begins anew: it knows none of its sessions.
    pub(super) fn begins_anew(&self) {
        self.sessions().clear();
    }

    /// The card has ended, though a tenant of this process may still hold it: its keys end, too, unless a thread that was left behind
    /// is at them for ever.
    pub(super) fn end(&self) {
        if let Some(mut sessions) = self.sessions.lock_within(PATIENCE) {
            sessions.end();
        }
    }

    /// Another rule from now on.
    pub(super) fn change(&self, rule: Delivery) {
        self.inner().teller.change(rule);
        // What the old rule held is told now.
        self.due.store(0, Ordering::Release);
    }

    /// Makes a session; its number.
    pub(super) fn open(&self, algorithm: Algorithm, key: &Zeroizing<Vec<u8>>) -> Result<u64, Status> {
        let session = Session::new(algorithm, key)?;
        self.sessions().open(session)
    }

    /// Ends a session.
    pub(super) fn close(&self, id: u64) -> Result<(), Status> {
        self.sessions().close(id)
    }

    /// When its tenant is to be told something.
    pub(super) fn due(&self) -> Option<u64> {
        Some(self.due.load(Ordering::Acquire)).filter(|due| *due != NEVER)
    }

    /// Whether it has asked for something, unless another engine is at it just now.
    pub(super) fn has_some(&self) -> bool {
        let rings = self.port.get().and_then(|port| port.try_rings());
        rings.is_some_and(|rings| rings.iter().flatten().any(Ring::has_some))
    }

    /// How many requests stand in its data queues, unless another engine is at it just now.
    pub(super) fn standing(&self) -> Option<u64> {
        let rings = self.port.get().and_then(|port| port.try_rings());
        rings.map(|rings| standing(&rings))
    }

    /// Does at most so many requests, and begins none when it has done so for so long; if that is not said, it does those that lie
    /// there when it begins. `now` is asked for the time. Both in nanoseconds.
    pub(super) fn serve(&self, most: usize, long: Option<u64>, now: &impl Fn() -> u64) -> Turn {
        let mut turn = Turn::default();
        let Some(port) = self.port.get() else { return turn };
        let (mut rings, mut inner, mut sessions) =
            (port.rings_last(), self.inner.lock_last(), self.sessions.lock_last());
        // From here on nothing is waited for but its memory.
        let (begun, watched) = (now(), patience::Turn::new());
        turn.standing[0] = standing(&rings);
        let queues = inner.queues.len();
        let bounds = Bounds { most, longest: self.longest, begun, ends: long.map(|long| begun + long) };
        if let Err(refused) = inner.control(queues - 1, &mut rings, &mut sessions, bounds, now, &mut turn) {
            inner.give_up(Some(queues - 1), refused, &mut turn);
        }
        let first = inner.at;
        for number in (0..queues - 1).map(|i| (first + i) % (queues - 1)) {
            if let Err(refused) = inner.work(number, &mut rings, &sessions, bounds, now, &mut turn) {
                inner.give_up(Some(number), refused, &mut turn);
            }
            if turn.over {
                inner.at = (number + 1) % (queues - 1);
                break;
            }
        }
        let ended = now();
        turn.times = [begun, ended];
        turn.displaced = (turn.took() > TURN).then(|| watched.worked_if_displaced()).flatten();
        if !inner.patience.lasts(watched.waited(), ended) {
            let running = rings.iter_mut().flatten().filter(|ring| !ring.is_broken());
            if let Some(refused) = running.map(|ring| ring.give_up(Refused::Slow)).last() {
                inner.give_up(None, refused, &mut turn);
            }
        }
        inner.chain.shrink();
        turn.standing[1] = standing(&rings);
        turn.more |= turn.standing[1] > 0;
        self.due.store(inner.due(), Ordering::Release);
        turn
    }

    /// Tells its tenant what is to be told by now.
    pub(super) fn tell(&self, now: u64) {
        let Some(port) = self.port.get() else { return };
        let mut rings = port.rings();
        let mut inner = self.inner();
        while let Some(number) = inner.teller.next(now) {
            if let Some(ring) = &mut rings[number] {
                inner.call(ring, now);
            }
        }
        self.due.store(inner.due(), Ordering::Release);
    }

    /// Asks for kicks from now on. Whether there is something to do already.
    pub(super) fn arm(&self) -> bool {
        let Some(port) = self.port.get() else { return false };
        let mut rings = port.rings();
        let mut inner = self.inner();
        let mut more = false;
        for (queue, ring) in inner.queues.iter_mut().zip(rings.iter_mut()) {
            if let Some(ring) = ring {
                queue.quiet = false;
                // What is wrong with a queue is told when it is served.
                more |= ring.want_kicks(true);
            }
        }
        more
    }
}

impl Inner {
    /// The time at which the first of its queues is due.
    fn due(&self) -> u64 {
        self.teller.due().unwrap_or(NEVER)
    }

    /// A queue was given up, or all.
    fn give_up(&mut self, queue: Option<usize>, refused: Refused, turn: &mut Turn) {
        self.counts.refused_chains += 1;
        turn.refused.push((queue, refused));
    }

    /// A queue that was set up anew begins anew.
    fn begin(&mut self, number: usize, ring: &Ring) {
        let queue = &mut self.queues[number];
        if queue.generation != Some(ring.generation()) {
            *queue = Queue { generation: Some(ring.generation()), quiet: false };
            self.teller.begin(number);
        }
    }

    /// Interrupts the driver of a queue, if it wishes to be.
    fn call(&mut self, ring: &mut Ring, now: u64) {
        if self.counts.call(ring) {
            self.teller.interrupted(now);
        }
    }

    /// Answers what is asked in the control queue: each at once by an interrupt of its own, whatever the rule, as drivers wait for it;
    /// with a cap the next one of a data queue is as much later.
    fn control(
        &mut self,
        number: usize,
        rings: &mut [Option<Ring>],
        sessions: &mut Sessions,
        bounds: Bounds,
        now: &impl Fn() -> u64,
        turn: &mut Turn,
    ) -> Result<(), Refused> {
        let Some(ring) = &mut rings[number] else { return Ok(()) };
        self.begin(number, ring);
        for _ in 0..CONTROLS {
            if !ring.take(&mut self.chain)? {
                return Ok(());
            }
            let written = match reply::control(&self.chain, ring.memory(), sessions) {
                Ok(written) => written,
                Err(refused) => return Err(ring.give_up(refused)),
            };
            self.counts.controls += 1;
            ring.give_back(&self.chain, written);
            let now = now();
            self.call(ring, now);
            turn.over = bounds.are_over(now);
            if turn.over {
                break;
            }
        }
        turn.more = true;
        Ok(())
    }

    /// Does what is asked in a data queue.
    fn work(
        &mut self,
        number: usize,
        rings: &mut [Option<Ring>],
        sessions: &Sessions,
        bounds: Bounds,
        now: &impl Fn() -> u64,
        turn: &mut Turn,
    ) -> Result<(), Refused> {
        let Some(ring) = &mut rings[number] else { return Ok(()) };
        self.begin(number, ring);
        let memory = ring.memory().clone();
        let mut scratch = Scratch::default();
        let is_each = *self.teller.rule() == Delivery::Each;
        let is_timed = !is_each && *self.teller.rule() != Delivery::Never;
        let (mut at, mut unseen) = (bounds.begun, 0);
        let mut call = false;
        // What is wrong with so many is told when one is taken.
        let mut left = if bounds.ends.is_some() { usize::MAX } else { usize::from(ring.offered().max(1)) };
        let result = loop {
            if turn.over || left == 0 {
                turn.more |= turn.over || ring.has_some();
                break Ok(());
            }
            match ring.take(&mut self.chain) {
                Ok(true) => {}
                Ok(false) => break Ok(()),
                Err(refused) => break Err(refused),
            }
            if !self.queues[number].quiet {
                ring.want_kicks(false);
                self.queues[number].quiet = true;
            }
            let done = match reply::data(&self.chain, &memory, sessions, bounds.longest, &mut scratch) {
                Ok(done) => done,
                Err(refused) => break Err(ring.give_up(refused)),
            };
            ring.give_back(&self.chain, done.written);
            self.counts.add(&done);
            turn.requests += 1;
            // Looking at the clock takes as long as a small request.
            let pieces = PIECE * self.chain.pieces().len();
            unseen = if done.dear { UNSEEN } else { unseen + REQUEST + pieces + done.bytes };
            if unseen >= UNSEEN || is_timed {
                (at, unseen) = (now(), 0);
            }
            turn.over = turn.requests >= bounds.most || bounds.are_over(at);
            left -= 1;
            call |= self.teller.done_in(number, at);
            if is_each {
                // Who does not wish to be called costs nothing; the one after the last looks closely.
                self.counts.call_early(ring);
            }
        };
        if call {
            self.call(ring, at);
        }
        result
    }
}
