//! The whole device: threads, what they share, and how it is started, asked, changed and stopped.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_virtio::backend::{Device, Event, Reception, Stopper};
use tollway_virtio::desk::{Desk, Look};
use tollway_virtio::order::{Discipline, Order, Share};
use tollway_virtio::socket::Meeting;
use tollway_virtio::threads::Threads;

use super::seat::Seat;
use super::status::{Status, TenantStatus, WorkerStatus};
use super::{Told, worker};
use crate::engine::health::Watch;
use crate::engine::source::{Counts, Source};

/// The most bytes of a turn, unless told otherwise.
const QUANTUM: usize = 4096;

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
    pub(super) desk: Desk,
    pub(super) quantum: usize,
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

impl Shared {
    pub(super) fn tell(&self, told: Told) {
        (self.tell)(told);
    }

    /// Waits until somebody may have a turn.
    pub(super) fn wait(&self, look: &mut Look) -> Result<()> {
        self.desk.wait(look, None, None)?;
        for (tenant, _) in &look.kicked {
            self.seats[*tenant].kicked();
        }
        let mut top = self.desk.lock();
        for (tenant, _) in look.kicked.drain(..) {
            top.order.want(tenant, look.since);
        }
        Ok(())
    }

    /// A turn is over.
    pub(super) fn done(&self, tenant: usize, used: usize, cost: usize, more: Option<u64>) {
        self.desk.lock().order.done(tenant, used, cost, more, self.desk.now());
        if more.is_some() {
            // This worker may have nothing left, and is about to draw.
            self.desk.wake();
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
        self.desk.ring();
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
        self.desk.ring();
    }

    /// Waits, but not beyond the end.
    pub(super) fn rest(&self, most: Duration) {
        let (lock, condition) = &self.rest;
        let guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        let _ = condition.wait_timeout_while(guard, most, |()| !self.desk.is_over());
    }

    fn end(&self) {
        self.desk.end();
        let (lock, condition) = &self.rest;
        let _guard = lock.lock().unwrap_or_else(PoisonError::into_inner);
        condition.notify_all();
    }
}

impl Device for Shared {
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
                self.desk.lock().order.want(tenant, self.desk.now());
                self.desk.ring();
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
    threads: Threads,
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
        let order = Order::new(Discipline::Fair, options.quantum, options.quantum, &shares, 0);
        let shared = Arc::new(Shared {
            seats: tenants.iter().map(|_| Seat::default()).collect(),
            desk: Desk::new(order, (), Instant::now())?,
            quantum: options.quantum,
            workers: workers.collect(),
            failing: sources.iter().map(|_| AtomicBool::new(false)).collect(),
            over: AtomicUsize::new(0),
            watches: sources.iter().map(|source| source.watch()).collect(),
            tell: Box::new(tell),
            rest: (Mutex::new(()), Condvar::new()),
        });
        let (names, meetings) = tenants.into_iter().map(|tenant| (tenant.name, tenant.meeting)).unzip();
        let reception = Reception::new(shared.clone(), shared.desk.kicks().clone(), meetings)?;
        for (seat, port) in shared.seats.iter().zip(reception.ports()) {
            seat.is_at(port);
        }
        let tells = shared.clone();
        let mut server = Server {
            shared: shared.clone(),
            names,
            shares: Mutex::new(shares),
            stopper: reception.stopper(),
            threads: Threads::new(move |error| tells.tell(Told::Ended(error.to_string()))),
        };
        for (number, source) in sources.into_iter().enumerate() {
            let shared = shared.clone();
            server
                .threads
                .start(format!("worker-{number}"), move || worker::work(&shared, number, source))?;
        }
        server.threads.start("reception".into(), move || reception.run())?;
        Ok(server)
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
        let now = self.shared.desk.now();
        let shares = self.shares.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let tenants = self.shared.seats.iter().zip(&self.names).zip(shares).enumerate();
        let tenants = tenants.map(|(number, ((seat, name), share))| {
            let (counts, connected) = seat.counts();
            let waits = self.shared.desk.lock().order.waits(number, now);
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
        self.shared.desk.change(tenant, share);
    }

    /// Stops, and removes its sockets. Buffers that are not full are not given back.
    pub fn stop(self) {
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // A source may be waiting in the kernel for bytes that never come. Its thread has nobody to serve any more, and
        // is left behind.
        self.threads.end(|| {
            self.shared.end();
            self.stopper.stop();
        });
    }
}
