//! The thread that peers talk to: accepts one at a time for each tenant and reads what they tell, each its share.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::event::{EventfdFlags, Timespec, eventfd};
use rustix::io::Errno;
use tollway_core::{Error, Result};

use super::eventfd::Conduct;
use super::memory::most_shared;
use super::received::Bin;
use super::session::{Session, Step, Surroundings};
use super::{Device, Event, Inside, Kicks, Port, Refused, minder};
use crate::Bucket;
use crate::socket::Meeting;

/// Messages a second that a peer may send; QEMU sends some forty when it starts a device.
const MESSAGES: u64 = 1000;
/// Messages that it may send at once.
const BURST: u64 = 500;

/// How often it is looked whether a message that waits can be handled, in nanoseconds.
const SOON: u64 = 1_000_000;

/// How often a peer is called that listens and does not answer, in nanoseconds; and how long a peer waits that could not be
/// taken in, for instance since this process has too many descriptors open. What the last one left tells when it is closed.
const AGAIN: u64 = 250_000_000;

/// How long none is taken in where the last one held up who called it, in nanoseconds: it does so for a twentieth of the time at most.
const AFTER_HELD: u64 = 20 * 2 * minder::TICK.as_nanos() as u64;

const STOP: u64 = u64::MAX;
/// Somebody was held up by a peer.
const HELD: u64 = u64::MAX - 1;
/// What a peer left is closed.
const CLOSED: u64 = u64::MAX - 2;

/// Where one tenant connects.
struct Door {
    meeting: Meeting,
    /// When to look for a peer that no event announces: one that is called, or could not be taken in.
    look_at: Option<u64>,
    port: Arc<Port>,
    /// Descriptors of its peers whose close may wait.
    bin: Arc<Bin>,
    /// Whether a peer waits until these are closed.
    is_kept_out: bool,
    /// Where a tenant of this process enters.
    inside: Option<Inside>,
    session: Option<Session>,
    messages: Bucket,
    /// Until when nothing of it is read, since it sent too much, or a message of it waits.
    parked: Option<u64>,
}

/// Reads the messages of all tenants of one device.
pub struct Reception<D> {
    device: Arc<D>,
    kicks: Arc<Kicks>,
    doors: Vec<Door>,
    most_shared: u64,
    epoll: OwnedFd,
    stop: Arc<OwnedFd>,
    /// Rung by who was held up by a peer.
    held: Arc<OwnedFd>,
    /// Rung when what a peer left is closed.
    closed: Arc<OwnedFd>,
    begun: Instant,
}

impl<D> std::fmt::Debug for Reception<D> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reception")
            .field("tenants", &self.doors.len())
            .field("most_shared", &self.most_shared)
            .finish_non_exhaustive()
    }
}

/// Ends a [`Reception`] from another thread.
#[derive(Clone, Debug)]
pub struct Stopper(Arc<OwnedFd>);

impl Stopper {
    /// Has it end; it does so at once.
    pub fn stop(&self) {
        // Full: it was told before.
        let _ = rustix::io::write(&*self.0, &1u64.to_ne_bytes());
    }
}

impl<D: Device + 'static> Reception<D> {
    /// For tenants that are met there.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub fn new(device: Arc<D>, kicks: Arc<Kicks>, meetings: Vec<Meeting>) -> Result<Reception<D>> {
        let failed = |e: Errno| Error::system("preparing to wait for peers", e);
        let epoll = epoll::create(CreateFlags::CLOEXEC).map_err(failed)?;
        let bell = |key| {
            let bell = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK).map_err(failed)?;
            epoll::add(&epoll, &bell, EventData::new_u64(key), EventFlags::IN).map_err(failed)?;
            Ok::<_, Error>(Arc::new(bell))
        };
        let (stop, held, closed) = (bell(STOP)?, bell(HELD)?, bell(CLOSED)?);
        if meetings.iter().any(|meeting| !matches!(meeting, Meeting::Inside)) {
            minder::start().map_err(|e| Error::system("starting who looks after calls of peers", e))?;
        }
        let mut doors = Vec::new();
        let most_shared = most_shared(meetings.len());
        for (tenant, meeting) in meetings.into_iter().enumerate() {
            if let Meeting::Listen(listener) = &meeting {
                let key = EventData::new_u64(tenant as u64);
                epoll::add(&epoll, listener, key, EventFlags::IN).map_err(failed)?;
            }
            let port = Arc::new(Port::new(device.queues()));
            let messages = Bucket::new(MESSAGES, BURST, 0);
            let look_at = matches!(meeting, Meeting::Call(_)).then_some(0);
            let inside = matches!(meeting, Meeting::Inside)
                .then(|| Inside::new(device.clone(), kicks.clone(), tenant, port.clone()));
            doors.push(Door {
                meeting,
                look_at,
                inside,
                port,
                bin: Arc::new(Bin::new(closed.clone())),
                is_kept_out: false,
                session: None,
                messages,
                parked: None,
            });
        }
        Ok(Reception { device, kicks, doors, most_shared, epoll, stop, held, closed, begun: Instant::now() })
    }

    /// The tenants' queues, in the order of their sockets.
    pub fn ports(&self) -> Vec<Arc<Port>> {
        self.doors.iter().map(|door| door.port.clone()).collect()
    }

    /// Where the tenant of a number enters, if it is to be in this process ([`Meeting::Inside`]).
    pub fn inside(&self, tenant: usize) -> Option<Inside> {
        self.doors.get(tenant)?.inside.clone()
    }

    /// What ends it.
    pub fn stopper(&self) -> Stopper {
        Stopper(self.stop.clone())
    }

    /// Serves peers until it is stopped; then all queues are stopped, and the sockets are removed.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses what it must not refuse.
    pub fn run(mut self) -> Result<()> {
        let mut events = Vec::with_capacity(64);
        let ended = loop {
            let now = self.begun.elapsed().as_nanos() as u64;
            let most = self.due(now).map(|at| Timespec {
                tv_sec: (at.saturating_sub(now) / 1_000_000_000) as i64,
                tv_nsec: (at.saturating_sub(now) % 1_000_000_000) as i64,
            });
            events.clear();
            match epoll::wait(&self.epoll, spare_capacity(&mut events), most.as_ref()) {
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => break Err(Error::system("waiting for peers", error)),
            }
            if events.iter().any(|event| event.data.u64() == STOP) {
                break Ok(());
            }
            let now = self.begun.elapsed().as_nanos() as u64;
            for event in &events {
                match event.data.u64() {
                    HELD => self.part(),
                    CLOSED => self.let_in(now),
                    tenant => self.look(tenant as usize, now),
                }
            }
        };
        for tenant in 0..self.doors.len() {
            self.close(tenant, None);
            if let Some(inside) = &self.doors[tenant].inside {
                inside.door().end();
            }
        }
        ended
    }

    /// Has those looked for at once who wait until what the last ones left is closed.
    fn let_in(&mut self, now: u64) {
        let _ = rustix::io::read(&*self.closed, &mut [0; 8]);
        for door in self.doors.iter_mut().filter(|door| door.is_kept_out) {
            (door.is_kept_out, door.look_at) = (false, Some(now));
        }
    }

    /// Ends the connections of those who held up who called them.
    fn part(&mut self) {
        let _ = rustix::io::read(&*self.held, &mut [0; 8]);
        for tenant in 0..self.doors.len() {
            if self.doors[tenant].session.as_ref().is_some_and(Session::has_held) {
                self.close(tenant, Some(Refused::Held));
            }
        }
    }

    /// One message of a tenant, or its connection. There is no more than one before the others had their turn.
    fn look(&mut self, tenant: usize, now: u64) {
        let door = &mut self.doors[tenant];
        let Some(session) = &mut door.session else { return self.open(tenant, now) };
        // One that waits was counted when it came.
        if !session.is_waiting() {
            if door.messages.level(now) == 0 {
                door.parked = Some(door.messages.ready_at(BURST / 10, now));
                let _ = epoll::delete(&self.epoll, &*session);
                return;
            }
            door.messages.take(1);
        }
        let around = Surroundings {
            device: &*self.device,
            tenant,
            port: &door.port,
            kicks: self.device.kicks(tenant).unwrap_or(&self.kicks),
            most_shared: self.most_shared,
        };
        match session.step(&around) {
            // Whether it was told so or not: it must not send more of these before they are closed.
            Ok(Step::On | Step::Waits) if door.bin.has_descriptors() => {
                self.close(tenant, Some(Refused::Foreign));
            }
            Ok(Step::On) => {}
            Ok(Step::Waits) => {
                door.parked = Some(now + SOON);
                let _ = epoll::delete(&self.epoll, &*session);
            }
            Ok(Step::Gone) => self.close(tenant, None),
            Err(refused) => self.close(tenant, Some(refused)),
        }
    }

    /// Calls those that listen, lets those be heard again that were silenced for long enough, first what they have said, and has closed what
    /// they sent and left; when there is something of this to do next.
    fn due(&mut self, now: u64) -> Option<u64> {
        let mut next = None;
        for tenant in 0..self.doors.len() {
            if self.doors[tenant].look_at.is_some_and(|at| at <= now) {
                self.look_again(tenant, now);
            }
            let door = &mut self.doors[tenant];
            if door.parked.is_some_and(|until| until <= now) {
                door.parked = None;
                if let Some(session) = &door.session {
                    let key = EventData::new_u64(tenant as u64);
                    let _ = epoll::add(&self.epoll, session, key, EventFlags::IN);
                    if session.is_waiting() {
                        self.look(tenant, now);
                    }
                }
            }
            let door = &self.doors[tenant];
            door.bin.empty();
            // While its thread is at what was there before, the end of that is told; but there may be no thread to be had.
            let closing = (!door.bin.is_empty()).then_some(now + AGAIN);
            for at in door.parked.into_iter().chain(door.look_at).chain(closing) {
                next = Some(next.map_or(at, |other: u64| other.min(at)));
            }
        }
        next
    }

    /// Calls a peer, or has its socket announce it again.
    fn look_again(&mut self, tenant: usize, now: u64) {
        let door = &mut self.doors[tenant];
        door.look_at = None;
        match &door.meeting {
            Meeting::Call(_) | Meeting::Inside => self.open(tenant, now),
            Meeting::Listen(listener) => {
                let _ = epoll::add(&self.epoll, listener, EventData::new_u64(tenant as u64), EventFlags::IN);
            }
        }
    }

    /// Takes in a peer. The next one waits at the door until this one has gone.
    fn open(&mut self, tenant: usize, now: u64) {
        let door = &mut self.doors[tenant];
        let key = EventData::new_u64(tenant as u64);
        door.bin.empty();
        door.is_kept_out = door.bin.is_busy() || !door.bin.is_empty();
        let meet = || {
            if door.is_kept_out {
                return Err(Errno::AGAIN.into());
            }
            let stream = door.meeting.meet()?;
            let session =
                Session::new(stream, self.device.queues(), door.bin.clone(), Conduct::new(self.held.clone()));
            epoll::add(&self.epoll, &session, key, EventFlags::IN)?;
            Ok(session)
        };
        let met: std::io::Result<Session> = meet();
        // Its socket would announce the next one, or this one again and again.
        if let Meeting::Listen(listener) = &door.meeting {
            let _ = epoll::delete(&self.epoll, listener);
        }
        match met {
            Ok(session) => {
                (door.session, door.look_at) = (Some(session), None);
                self.device.event(tenant, Event::Connected);
            }
            Err(_) => door.look_at = Some(now + AGAIN),
        }
    }

    fn close(&mut self, tenant: usize, refused: Option<Refused>) {
        let door = &mut self.doors[tenant];
        let Some(mut session) = door.session.take() else { return };
        if let Some(refused) = &refused {
            self.device.event(tenant, Event::Refused(refused));
        }
        session.end(&Surroundings {
            device: &*self.device,
            tenant,
            port: &door.port,
            kicks: self.device.kicks(tenant).unwrap_or(&self.kicks),
            most_shared: self.most_shared,
        });
        // Who called it last may have been held up until now.
        let has_held = session.has_held();
        if has_held && refused != Some(Refused::Held) {
            self.device.event(tenant, Event::Refused(&Refused::Held));
        }
        let _ = epoll::delete(&self.epoll, &session);
        session.leave();
        door.parked = None;
        // At once where it is a socket that tells of the next one.
        let wait = match &door.meeting {
            _ if has_held => AFTER_HELD,
            Meeting::Call(_) => AGAIN,
            Meeting::Listen(_) | Meeting::Inside => 0,
        };
        door.look_at = Some(self.begun.elapsed().as_nanos() as u64 + wait);
        self.device.event(tenant, Event::Gone);
    }
}

#[cfg(test)]
mod tests;
