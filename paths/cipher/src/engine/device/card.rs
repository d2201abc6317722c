//! The physical function: engines, what they share, and how the whole is started, asked, changed and stopped.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_virtio::backend::{Device, Event, Inside, Kicks, Reception, Stopper};
use tollway_virtio::order::{Discipline, Grant, Order, Share};

use super::delivery::Delivery;
use super::engine::{self, Engine};
use super::function::{Function, Turn};
use super::line::Line;
use super::options::{NewFunction, Options};
use super::status::{FunctionStatus, Status};
use super::told::Told;
use crate::engine::protocol::{
    CLOSE_SESSION, CONFIG_FEATURE, CREATE_SESSION, CRYPTO_SESSION_FEATURE, GET_CONFIG, Offer,
    session_of_message,
};

/// VIRTIO 1.2, 6: VIRTIO_F_INDIRECT_DESC, VIRTIO_F_EVENT_IDX, VIRTIO_F_VERSION_1. The device's own bits (5.9.3) are about
/// requests without sessions, which it does not do.
const FEATURES: u64 = 1 << 28 | 1 << 29 | 1 << 32;

/// How long a turn is, in nanoseconds: it ends with the request during which they are over.
pub(super) const TURN: u64 = 50_000;

/// Requests of a queue at most.
pub(super) const QUEUE: u16 = 1024;

/// How long the end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Everything that the threads share.
pub(super) struct Shared {
    pub(super) functions: Vec<Function>,
    pub(super) kicks: Arc<Kicks>,
    pub(super) stop: AtomicBool,
    pub(super) spin: Duration,
    /// How long a turn may be, in nanoseconds; None: as long as it takes to do what lies there.
    pub(super) turn: Option<u64>,
    queues: usize,
    /// Bytes of a request at most.
    longest: u64,
    begun: Instant,
    desk: Mutex<Desk>,
    /// Nanoseconds that each engine has worked.
    worked: Vec<AtomicU64>,
    tell: Box<dyn Fn(Told) + Send + Sync>,
}

struct Desk {
    order: Order,
    line: Line,
    /// Engines that wait for kicks.
    dozing: usize,
}

impl Shared {
    pub(super) fn now(&self) -> u64 {
        self.begun.elapsed().as_nanos() as u64
    }

    fn desk(&self) -> MutexGuard<'_, Desk> {
        self.desk.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn tell(&self, told: Told) {
        (self.tell)(told);
    }

    /// An engine is about to wait for kicks: how long at most.
    pub(super) fn doze(&self) -> Option<Duration> {
        let mut desk = self.desk();
        let now = self.now();
        let told = self.functions.iter().filter_map(Function::due).min();
        let due = desk.order.due(now).into_iter().chain(told).min();
        if due.is_none_or(|due| due > now) {
            desk.dozing += 1;
        }
        due.map(|due| Duration::from_nanos(due.saturating_sub(now)))
    }

    /// It has waited, for `most` at most, and these kicked, who may have waited since then.
    pub(super) fn awake(&self, most: Option<Duration>, kicked: &mut Vec<(usize, usize)>, since: u64) {
        for (function, _) in kicked.iter() {
            self.functions[*function].kicked();
        }
        let mut desk = self.desk();
        if most != Some(Duration::ZERO) {
            desk.dozing -= 1;
        }
        for (function, _) in kicked.drain(..) {
            self.wants(&mut desk, function, since);
        }
    }

    /// Whoever has asked for something meanwhile without a kick is noticed.
    pub(super) fn notice(&self) {
        let asked = self.functions.iter().enumerate().filter(|(_, function)| function.has_some());
        for (number, _) in asked {
            self.wants(&mut self.desk(), number, self.now());
        }
    }

    /// A function wants something since then; how much of it stands there.
    fn wants(&self, desk: &mut Desk, function: usize, since: u64) {
        desk.order.want(function, since);
        if let Some(count) = self.functions[function].standing() {
            desk.line.seen(function, count, since);
        }
    }

    /// Asks all functions for kicks. Whether there is something to do already.
    pub(super) fn arm(&self) -> bool {
        let armed = |(number, function): (usize, &Function)| {
            let more = function.arm();
            if more {
                self.wants(&mut self.desk(), number, self.now());
            }
            more
        };
        self.functions.iter().enumerate().map(armed).fold(false, |any, more| any | more)
    }

    /// Whose turn it is; another engine is woken if there is more to do.
    pub(super) fn next(&self) -> Option<Grant> {
        let mut desk = self.desk();
        let now = self.now();
        let grant = desk.order.next(usize::MAX, now)?;
        let wake = desk.dozing > 0 && desk.order.due(now) == Some(now);
        drop(desk);
        if wake {
            self.kicks.ring();
        }
        Some(grant)
    }

    /// An engine's turn is over, and is charged so many nanoseconds.
    pub(super) fn done(&self, engine: usize, function: usize, turn: &Turn, cost: u64) {
        self.worked[engine].fetch_add(turn.took(), Ordering::Relaxed);
        let mut desk = self.desk();
        desk.line.served(function, turn.standing, turn.times, turn.requests);
        let more = turn.more.then_some(1);
        desk.order.done(function, turn.requests, cost as usize, more, self.now());
    }

    /// Tells tenants what they are to be told by now.
    pub(super) fn interrupt(&self) {
        let now = self.now();
        for function in &self.functions {
            if function.due().is_some_and(|due| due <= now) {
                function.tell(now);
            }
        }
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Release);
        self.kicks.ring();
    }
}

impl Device for Shared {
    fn features(&self) -> u64 {
        FEATURES
    }

    fn queues(&self) -> usize {
        self.queues + 1
    }

    fn queue_size(&self) -> u16 {
        QUEUE
    }

    fn starts_enabled(&self) -> bool {
        true
    }

    fn holds_anyway(&self) -> u64 {
        // Linux's driver uses indirect tables, and its QEMU does not say so.
        1 << 28
    }

    fn protocol_features(&self) -> u64 {
        CRYPTO_SESSION_FEATURE | CONFIG_FEATURE
    }

    fn answer(&self, tenant: usize, request: u32, body: &[u8]) -> Option<Vec<u8>> {
        let function = self.functions.get(tenant)?;
        match request {
            CREATE_SESSION => {
                let opened = session_of_message(body)
                    .and_then(|(session, key)| function.open(session.algorithm, &key));
                // The body goes back, but for the key, with the session's number at its end: negative if there is none.
                let number = opened.map_or_else(|status| -i64::from(status as u8), |id| id as i64);
                let mut answer = vec![0; body.len().max(8)];
                let end = answer.len() - 8;
                answer[end..].copy_from_slice(&number.to_ne_bytes());
                Some(answer)
            }
            CLOSE_SESSION => {
                let id = u64::from_ne_bytes(*body.first_chunk()?);
                // It may have closed it by the control queue.
                let _ = function.close(id);
                Some(Vec::new())
            }
            GET_CONFIG => Offer::of(self.queues as u32, self.longest).answer(body),
            _ => None,
        }
    }

    fn event(&self, tenant: usize, event: Event<'_>) {
        let function = &self.functions[tenant];
        match event {
            Event::Connected => {
                function.connected(true);
                self.tell(Told::Connected(tenant));
            }
            Event::Started(queue) => {
                self.tell(Told::Started(tenant, queue));
                // It may have offered something before it was watched.
                self.wants(&mut self.desk(), tenant, self.now());
                self.kicks.ring();
            }
            Event::Stopped(queue) => {
                // What stands in others is seen when they are looked at.
                self.desk().line.left(tenant, self.now());
                self.tell(Told::Stopped(tenant, queue));
            }
            Event::Refused(refused) => {
                function.refused_message();
                self.tell(Told::Refused(tenant, refused.clone()));
            }
            Event::Gone => {
                function.connected(false);
                self.tell(Told::Gone(tenant));
            }
        }
    }
}

/// A card that runs. Dropping it stops it, too.
pub struct Card {
    shared: Arc<Shared>,
    names: Vec<String>,
    shares: Mutex<Vec<Share>>,
    /// Where tenants of this process enter.
    insides: Vec<Option<Inside>>,
    /// Engines that nobody has yet.
    lent: Vec<usize>,
    stopper: Stopper,
    threads: Vec<JoinHandle<()>>,
}

impl Card {
    /// Starts: one thread for messages, and the engines. `tell` is called by all of them, and must not wait long.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if the kernel refuses.
    pub fn start(
        functions: Vec<NewFunction>,
        options: &Options,
        tell: impl Fn(Told) + Send + Sync + 'static,
    ) -> Result<Card> {
        let wrong = |reason: &str, remedy: &str| Error::Input {
            place: "crypto card".into(),
            reason: reason.into(),
            remedy: remedy.into(),
        };
        let engines = options.engines + options.lent;
        let numbers = [engines, options.quantum, options.sessions, options.longest as usize];
        if functions.is_empty() || numbers.contains(&0) {
            let remedy = "name a function, an engine, a request a turn of a byte, and a session at least";
            return Err(wrong("there is nobody to serve, or nothing", remedy));
        }
        if !(1..=64).contains(&options.queues) {
            return Err(wrong("too many queues, or none", "let each function have 1 to 64"));
        }
        let shares: Vec<Share> = functions.iter().map(|function| function.share).collect();
        let new = |function: &NewFunction| Function::new(options, function.delivery.clone());
        // Who comes first is served with all that it has come with.
        let (quantum, turn) = match options.discipline {
            Discipline::Arrival => (QUEUE.into(), None),
            Discipline::Fair | Discipline::Rank => (options.quantum, Some(TURN)),
        };
        let order = Order::new(options.discipline, quantum, TURN as usize, &shares, 0);
        let shared = Arc::new(Shared {
            functions: functions.iter().map(new).collect(),
            kicks: Arc::new(Kicks::new()?),
            stop: AtomicBool::new(false),
            spin: options.spin,
            turn,
            queues: options.queues,
            longest: options.longest,
            begun: Instant::now(),
            desk: Mutex::new(Desk { order, line: Line::new(shares.len()), dozing: 0 }),
            worked: (0..options.engines + options.lent).map(|_| AtomicU64::new(0)).collect(),
            tell: Box::new(tell),
        });
        let (names, meetings) = functions.into_iter().map(|f| (f.name, f.meeting)).unzip();
        let reception = Reception::new(shared.clone(), shared.kicks.clone(), meetings)?;
        for (function, port) in shared.functions.iter().zip(reception.ports()) {
            function.is_at(port);
        }
        let insides = (0..shared.functions.len()).map(|function| reception.inside(function)).collect();
        let mut card = Card {
            shared,
            insides,
            names,
            shares: Mutex::new(shares),
            lent: (options.engines..options.engines + options.lent).collect(),
            stopper: reception.stopper(),
            threads: Vec::new(),
        };
        for number in 0..options.engines {
            let work = move |shared: &Shared| engine::work(shared, number, None, || true).map(|_| ());
            card.thread(format!("engine-{number}"), work)?;
        }
        card.thread("reception".into(), move |_| reception.run())?;
        Ok(card)
    }

    fn thread(
        &mut self,
        name: String,
        work: impl FnOnce(&Shared) -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let shared = self.shared.clone();
        let doing = format!("starting the thread {name}");
        let body = move || {
            if let Err(error) = work(&shared) {
                shared.tell(Told::Ended(error.to_string()));
            }
        };
        let thread = thread::Builder::new().name(name).spawn(body).map_err(|e| Error::system(doing, e))?;
        self.threads.push(thread);
        Ok(())
    }

    /// Where the tenant of a function enters that is met in this process ([`Meeting::Inside`](tollway_virtio::socket::Meeting::Inside)).
    pub fn inside(&self, function: usize) -> Option<&Inside> {
        self.insides.get(function)?.as_ref()
    }

    /// One of the engines that are for its user's own threads; none if all are taken.
    pub fn engine(&mut self) -> Option<Engine> {
        let number = self.lent.pop()?;
        Some(Engine { shared: self.shared.clone(), number })
    }

    /// How it is going.
    pub fn status(&self) -> Status {
        let now = self.shared.now();
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (each, standing) = self.shared.desk().line.standing(now);
        let functions = self.shared.functions.iter().zip(&self.names).zip(shares).zip(each).enumerate();
        let functions = functions.map(|(number, (((function, name), share), standing))| {
            let (counts, sessions, connected) = function.counts();
            let waits = self.shared.desk().order.waits(number, now);
            let (name, served) = (name.clone(), function.is_served());
            FunctionStatus { name, share, connected, served, sessions, counts, waits, standing }
        });
        let worked = |engine: &AtomicU64| engine.load(Ordering::Relaxed) as f64 / 1e9;
        Status {
            seconds: now as f64 / 1e9,
            functions: functions.collect(),
            engines: self.shared.worked.iter().map(worked).collect(),
            standing,
        }
    }

    /// Changes what a function is entitled to, and when its tenant is told, from now on.
    pub fn change(&self, function: usize, share: Share, delivery: Delivery) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(old) = shares.get_mut(function) else { return };
        *old = share;
        self.shared.functions[function].change(delivery);
        self.shared.desk().order.change(function, share, self.shared.now());
        // An engine may wait for tokens that come earlier now.
        self.shared.kicks.ring();
    }

    /// Stops, and removes its sockets. Requests that are not done are not answered.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Card {
    fn drop(&mut self) {
        self.shared.end();
        self.stopper.stop();
        let deadline = Instant::now() + PATIENCE;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < deadline {
                // Each ring wakes one engine.
                self.shared.kicks.ring();
                thread::sleep(Duration::from_micros(200));
            }
            if thread.is_finished() {
                // One that panicked has said so.
                let _ = thread.join();
            }
        }
        self.shared.functions.iter().for_each(Function::end);
    }
}
