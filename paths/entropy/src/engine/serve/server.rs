//! The whole device: threads, what they share, and how it is started, asked, changed and stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_virtio::backend::{Device, Event, Kicks, Reception, Stopper};
use tollway_virtio::order::{Discipline, Grant, Order, Share};
use tollway_virtio::socket::Meeting;

use super::seat::Seat;
use super::status::{Status, TenantStatus, WorkerStatus};
use super::{Told, worker};
use crate::engine::health::Watch;
use crate::engine::source::{Counts, Source};

/// VIRTIO 1.2, 6: VIRTIO_F_INDIRECT_DESC, VIRTIO_F_EVENT_IDX, VIRTIO_F_VERSION_1. The device has no bits of its own (5.4.3).
const FEATURES: u64 = 1 << 28 | 1 << 29 | 1 << 32;

/// The most bytes of a turn, unless told otherwise.
const QUANTUM: usize = 4096;

/// How long the end may take.
const PATIENCE: Duration = Duration::from_secs(2);

/// Somebody to serve.
#[derive(Debug)]
pub struct Tenant {
    /// Its name.
    pub name: String,
    /// Where its virtual machine is met.
    pub meeting: Meeting,
    /// What it is entitled to.
    pub share: Share,
}

/// How it serves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// The most bytes that a tenant gets in one turn, and that a worker draws ahead: 64 to 65,536.
    pub quantum: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { quantum: QUANTUM }
    }
}

/// Everything that the threads share.
pub(super) struct Shared {
    pub(super) seats: Vec<Seat>,
    pub(super) kicks: Arc<Kicks>,
    pub(super) stop: AtomicBool,
    pub(super) quantum: usize,
    begun: Instant,
    desk: Mutex<Desk>,
    workers: Vec<Mutex<WorkerStatus>>,
    /// Of whose sources it was said that they fail, and not yet that they give again.
    failing: Vec<AtomicBool>,
    /// How many workers' sources give nothing any more.
    over: AtomicUsize,
    /// What their sources say of themselves meanwhile.
    watches: Vec<Option<Watch>>,
    tell: Box<dyn Fn(Told) + Send + Sync>,
    /// What workers rest on whose source failed.
    rest: (Mutex<()>, Condvar),
}

struct Desk {
    order: Order,
    /// Workers that wait for kicks.
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

    /// A worker is about to wait for kicks: how long at most.
    pub(super) fn doze(&self) -> Option<Duration> {
        let mut desk = self.desk();
        let now = self.now();
        let due = desk.order.due(now);
        if due != Some(now) {
            desk.dozing += 1;
        }
        due.map(|due| Duration::from_nanos(due - now))
    }

    /// It has waited, for `most` at most, and these kicked, who may have waited since then.
    pub(super) fn awake(&self, most: Option<Duration>, kicked: &mut Vec<(usize, usize)>, since: u64) {
        for (tenant, _) in kicked.iter() {
            self.seats[*tenant].kicked();
        }
        let mut desk = self.desk();
        if most != Some(Duration::ZERO) {
            desk.dozing -= 1;
        }
        for (tenant, _) in kicked.drain(..) {
            desk.order.want(tenant, since);
        }
    }

    /// Whose turn it is; another worker is woken if there is more to do.
    pub(super) fn next(&self, most: usize) -> Option<Grant> {
        let mut desk = self.desk();
        let now = self.now();
        let grant = desk.order.next(most, now)?;
        let wake = desk.dozing > 0 && desk.order.due(now) == Some(now);
        drop(desk);
        if wake {
            self.kicks.ring();
        }
        Some(grant)
    }

    /// A turn is over.
    pub(super) fn done(&self, tenant: usize, used: usize, cost: usize, more: Option<u64>) {
        let mut desk = self.desk();
        let now = self.now();
        desk.order.done(tenant, used, cost, more, now);
        // This worker may have nothing left, and is about to draw.
        let wake = desk.dozing > 0 && more.is_some();
        drop(desk);
        if wake {
            self.kicks.ring();
        }
    }

    /// Notes how a worker's source is; `reason`: what is wrong with it.
    pub(super) fn report(&self, worker: usize, source: &dyn Source, reason: Option<String>) {
        let mut status = self.workers[worker].lock().unwrap_or_else(PoisonError::into_inner);
        status.counts = source.counts();
        let healthy = reason.is_none();
        status.failures += u64::from(status.healthy && !healthy);
        status.healthy = healthy;
        if reason.is_some() {
            status.reason = reason;
        }
    }

    /// Says that a worker's source fails, unless it was said.
    pub(super) fn is_failing(&self, worker: usize, reason: String) {
        if self.failing[worker].swap(true, Ordering::AcqRel) {
            return;
        }
        self.tell(Told::Failing { worker, reason });
        // Another one may sleep and not know that there is something to do.
        self.kicks.ring();
    }

    /// Says that a worker's source gives again, if it was said that it fails.
    pub(super) fn gives(&self, worker: usize) {
        if self.failing[worker].swap(false, Ordering::AcqRel) {
            self.tell(Told::Recovered(worker));
        }
    }

    /// A worker's source gives nothing any more.
    pub(super) fn is_over(&self, worker: usize, reason: String) {
        self.over.fetch_add(1, Ordering::AcqRel);
        self.tell(Told::Over { worker, reason });
        // Another one may sleep and not know that there is something to do.
        self.kicks.ring();
    }

    /// Waits, but not beyond the end.
    pub(super) fn rest(&self, most: Duration) {
        let (lock, condition) = &self.rest;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = condition.wait_timeout_while(guard, most, |()| !self.stop.load(Ordering::Acquire));
    }

    fn end(&self) {
        self.stop.store(true, Ordering::Release);
        let (lock, condition) = &self.rest;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        condition.notify_all();
        drop(guard);
        self.kicks.ring();
    }
}

impl Device for Shared {
    fn features(&self) -> u64 {
        FEATURES
    }

    fn queue_size(&self) -> u16 {
        1024
    }

    fn event(&self, tenant: usize, event: Event<'_>) {
        let seat = &self.seats[tenant];
        match event {
            Event::Connected => {
                seat.connected(true);
                self.tell(Told::Connected(tenant));
            }
            Event::Started(_) => {
                self.tell(Told::Started(tenant));
                // It may have offered something before it was watched.
                let mut desk = self.desk();
                let now = self.now();
                desk.order.want(tenant, now);
                drop(desk);
                self.kicks.ring();
            }
            Event::Stopped(_) => self.tell(Told::Stopped(tenant)),
            // It keeps nothing of a driver.
            Event::Anew => {}
            Event::Refused(refused) => {
                seat.refused_message();
                self.tell(Told::Refused(tenant, refused.clone()));
            }
            Event::Gone => {
                seat.connected(false);
                self.tell(Told::Gone(tenant));
            }
        }
    }
}

/// A server that runs. Dropping it stops it, too.
pub struct Server {
    shared: Arc<Shared>,
    names: Vec<String>,
    shares: Mutex<Vec<Share>>,
    stopper: Stopper,
    threads: Vec<JoinHandle<()>>,
}

impl Server {
    /// Starts: one thread for messages, and one for each source. `tell` is called by all of them, and must not wait
    /// long.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if the kernel refuses.
    pub fn start(
        tenants: Vec<Tenant>,
        sources: Vec<Box<dyn Source>>,
        options: Options,
        tell: impl Fn(Told) + Send + Sync + 'static,
    ) -> Result<Server> {
        let wrong = |reason: &str, remedy: &str| Error::Input {
            place: "server of random numbers".into(),
            reason: reason.into(),
            remedy: remedy.into(),
        };
        if tenants.is_empty() || sources.is_empty() {
            return Err(wrong("there is nobody to serve, or nothing", "name a tenant and a source"));
        }
        if !(64..=65_536).contains(&options.quantum) {
            return Err(wrong("the quantum is too small or too large", "let it be 64 to 65,536 bytes"));
        }
        let shares: Vec<Share> = tenants.iter().map(|tenant| tenant.share).collect();
        let workers = sources.iter().map(|source| {
            Mutex::new(WorkerStatus {
                source: source.name().into(),
                counts: Counts::default(),
                healthy: false,
                reason: None,
                failures: 0,
            })
        });
        let shared = Arc::new(Shared {
            seats: tenants.iter().map(|_| Seat::default()).collect(),
            kicks: Arc::new(Kicks::new()?),
            stop: AtomicBool::new(false),
            quantum: options.quantum,
            begun: Instant::now(),
            desk: Mutex::new(Desk {
                order: Order::new(Discipline::Fair, options.quantum, options.quantum, &shares, 0),
                dozing: 0,
            }),
            workers: workers.collect(),
            failing: sources.iter().map(|_| AtomicBool::new(false)).collect(),
            over: AtomicUsize::new(0),
            watches: sources.iter().map(|source| source.watch()).collect(),
            tell: Box::new(tell),
            rest: (Mutex::new(()), Condvar::new()),
        });
        let (names, meetings) = tenants.into_iter().map(|tenant| (tenant.name, tenant.meeting)).unzip();
        let reception = Reception::new(shared.clone(), shared.kicks.clone(), meetings)?;
        for (seat, port) in shared.seats.iter().zip(reception.ports()) {
            seat.is_at(port);
        }
        let mut server = Server {
            shared,
            names,
            shares: Mutex::new(shares),
            stopper: reception.stopper(),
            threads: Vec::new(),
        };
        for (number, source) in sources.into_iter().enumerate() {
            server.thread(format!("worker-{number}"), move |shared| worker::work(shared, number, source))?;
        }
        server.thread("reception".into(), move |_| reception.run())?;
        Ok(server)
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

    /// Whether no source gives anything any more, and nobody will ever be served again.
    pub fn is_over(&self) -> bool {
        self.shared.over.load(Ordering::Acquire) == self.shared.workers.len()
    }

    /// Tells of sources that keep their workers waiting in the kernel, who cannot say so themselves: to be called now and
    /// then.
    pub fn look(&self) {
        for (worker, watch) in self.shared.watches.iter().enumerate() {
            if let Some(reason) = watch.as_ref().and_then(Watch::stalled) {
                self.shared.is_failing(worker, reason);
            }
        }
    }

    /// How it is going.
    pub fn status(&self) -> Status {
        let now = self.shared.now();
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tenants = self.shared.seats.iter().zip(&self.names).zip(shares).enumerate();
        let tenants = tenants.map(|(number, ((seat, name), share))| {
            let (counts, connected) = seat.counts();
            let waits = self.shared.desk().order.waits(number, now);
            TenantStatus { name: name.clone(), share, connected, served: seat.is_served(), counts, waits }
        });
        let workers = self.shared.workers.iter().zip(&self.shared.watches);
        let workers = workers.map(|(status, watch)| {
            let mut status = status.lock().unwrap_or_else(PoisonError::into_inner).clone();
            // Its worker is waiting, and cannot say so.
            if let Some(reason) = watch.as_ref().and_then(Watch::stalled) {
                (status.healthy, status.reason) = (false, Some(reason));
            }
            status
        });
        Status { seconds: now as f64 / 1e9, tenants: tenants.collect(), workers: workers.collect() }
    }

    /// Changes what the tenant of a number is entitled to, from now on.
    pub fn change(&self, tenant: usize, share: Share) {
        let mut shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(old) = shares.get_mut(tenant) else { return };
        *old = share;
        self.shared.desk().order.change(tenant, share, self.shared.now());
        // A worker may wait for tokens that come earlier now.
        self.shared.kicks.ring();
    }

    /// Stops, and removes its sockets. Buffers that are not full are not given back.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.end();
        self.stopper.stop();
        // A source may be waiting in the kernel for bytes that never come. Its thread has nobody to serve any more, and
        // is left behind.
        let deadline = Instant::now() + PATIENCE;
        for thread in self.threads.drain(..) {
            while !thread.is_finished() && Instant::now() < deadline {
                // Each ring wakes one worker.
                self.shared.kicks.ring();
                thread::sleep(Duration::from_micros(200));
            }
            if thread.is_finished() {
                // One that panicked has said so.
                let _ = thread.join();
            }
        }
    }
}
