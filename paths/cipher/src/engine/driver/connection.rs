//! A tenant's connection to a card.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_virtio::backend::Inside;
use tollway_virtio::frontend::{Control, Lane, Link, LinkOptions};
use tollway_virtio::{Area, Span};

use super::queue::{DataQueue, Handle};
use super::slot::SLOT;
use super::waiting::Waiting;
use crate::engine::protocol::{
    CLOSE_SESSION, CONFIG_FEATURE, CREATE_SESSION, CRYPTO_SESSION_FEATURE, FIXED, GET_CONFIG, NewSession,
    Offer, SESSION_ANSWER, Status, destroy, opened,
};
use crate::engine::suite::Algorithm;

/// By what sessions are made and closed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Through {
    /// By requests of the control queue, as a guest's driver does where nobody is between it and the device.
    #[default]
    ControlQueue,
    /// By messages of vhost-user, as QEMU does for its guests.
    Messages,
}

/// What a driver is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many data queues the device has: the control queue is the one after them.
    pub queues: usize,
    /// The most requests that are on their way in each: a power of two.
    pub depth: u16,
    /// Bytes of shared memory for the caller's buffers.
    pub bytes: usize,
    /// The most pieces of a request that need one descriptor only: 5, where source and result are in one piece each. 0: no
    /// indirect tables.
    pub indirect: usize,
    /// Whether event indices are used.
    pub event_index: bool,
    /// How completions are learnt of.
    pub waiting: Waiting,
    /// By what sessions are made.
    pub sessions: Through,
    /// How long an answer is waited for that is not one to a request.
    pub patience: Duration,
}

impl Default for Options {
    /// One queue of 64 requests, a MiB, indirect tables of 8 pieces, interrupts.
    fn default() -> Self {
        Options {
            queues: 1,
            depth: 64,
            bytes: 1 << 20,
            indirect: 8,
            event_index: true,
            waiting: Waiting::Interrupt,
            sessions: Through::ControlQueue,
            patience: Duration::from_secs(10),
        }
    }
}

/// The longest key that the control queue's memory has room for.
const LONGEST_KEY: usize = 8192;

/// A tenant of a card. The connection ends with its `sessions`; the queues can be moved to other threads.
#[derive(Debug)]
pub struct Driver {
    /// Makes and closes sessions.
    pub sessions: Sessions,
    /// The data queues.
    pub queues: Vec<DataQueue>,
    area: Area,
    free: usize,
}

/// What makes and closes a tenant's sessions.
#[derive(Debug)]
pub struct Sessions {
    through: Through,
    control: Control,
    lane: Lane,
    /// Where its requests are.
    at: usize,
    /// Bytes of a key that lie there.
    key: usize,
    patience: Duration,
}

impl Driver {
    /// Connects to a card at a socket.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be, or do not suit the device; [`Error::System`] if it is not there, or does not
    /// speak the protocol.
    pub fn connect(path: &Path, options: &Options) -> Result<Driver> {
        Driver::new(Link::connect(path, &link(options))?, options)
    }

    /// Enters a card of this process.
    ///
    /// # Errors
    /// As [`Driver::connect`].
    pub fn inside(inside: &Inside, options: &Options) -> Result<Driver> {
        Driver::new(Link::inside(inside, &link(options))?, options)
    }

    fn new(link: Link, options: &Options) -> Result<Driver> {
        if let Some(queues) = link.device_queues().filter(|queues| *queues != options.queues + 1) {
            return Err(Error::Input {
                place: "a driver of a crypto device".into(),
                reason: format!(
                    "{} data queues, where the device has {}",
                    options.queues,
                    queues.saturating_sub(1)
                ),
                remedy: "ask for as many as the device has".into(),
            });
        }
        let mut free = link.free();
        let area = link.area();
        let (control, mut lanes) = link.split();
        let Some(lane) = lanes.pop() else {
            return Err(Error::Wrong("a link to a crypto device has no control queue".into()));
        };
        let sessions = Sessions {
            through: options.sessions,
            control,
            lane,
            at: free,
            key: 0,
            patience: options.patience,
        };
        free += CONTROLS;
        let mut queues = Vec::new();
        for lane in lanes {
            queues.push(DataQueue::new(lane, free, options.depth, options.waiting)?);
            free += SLOT * usize::from(options.depth);
        }
        Ok(Driver { sessions, queues, area, free: free.next_multiple_of(4096) })
    }

    /// The shared memory.
    pub fn area(&self) -> &Area {
        &self.area
    }

    /// The first byte of it that is the caller's: as many follow as were asked for.
    pub fn free(&self) -> usize {
        self.free
    }

    /// See [`Sessions::offer`].
    ///
    /// # Errors
    /// As that.
    pub fn offer(&mut self) -> Result<Offer> {
        self.sessions.offer()
    }

    /// See [`Sessions::open`].
    ///
    /// # Errors
    /// As that.
    pub fn open(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<Result<Handle, Status>> {
        self.sessions.open(algorithm, key)
    }

    /// See [`Sessions::close`].
    ///
    /// # Errors
    /// As that.
    pub fn close(&mut self, session: Handle) -> Result<Status> {
        self.sessions.close(session)
    }
}

/// Bytes of the control queue's requests.
const CONTROLS: usize = FIXED + LONGEST_KEY + 64;

fn link(options: &Options) -> LinkOptions {
    let slots = options.queues.saturating_mul(SLOT * usize::from(options.depth));
    // Without tables a request takes a descriptor for each piece.
    let size = if options.indirect == 0 { options.depth.saturating_mul(8) } else { options.depth };
    LinkOptions {
        queues: options.queues + 1,
        size,
        bytes: options.bytes.saturating_add(slots + CONTROLS + 4096),
        event_index: options.event_index,
        indirect: options.indirect,
        features: 0,
        protocol_features: CRYPTO_SESSION_FEATURE | CONFIG_FEATURE,
        patience: options.patience,
    }
}

fn unfit(reason: String) -> Error {
    Error::Input {
        place: "a session of a crypto device".into(),
        reason,
        remedy: "use the control queue, or another key".into(),
    }
}

fn fits(key: &[u8]) -> Result<()> {
    if key.len() > LONGEST_KEY { Err(unfit(format!("a key of {} bytes", key.len()))) } else { Ok(()) }
}

impl Sessions {
    /// What the device says that it has.
    ///
    /// # Errors
    /// [`Error::System`] if it is gone, or does not tell.
    pub fn offer(&mut self) -> Result<Offer> {
        let answer = self.control.ask(GET_CONFIG, &Offer::question())?;
        Offer::of_answer(&answer)
            .ok_or_else(|| Error::Wrong("what a crypto device says that it has is too short".into()))
    }

    /// Makes a session, or hears from the device why there is none.
    ///
    /// # Errors
    /// [`Error::Input`] for a key that cannot be sent at all; [`Error::System`] if the device is gone or does not answer.
    pub fn open(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<Result<Handle, Status>> {
        fits(key)?;
        let new = NewSession { algorithm, key: key.len() };
        let handle = |number| Handle { number, algorithm };
        if self.through == Through::Messages {
            let Some(body) = new.message(key) else {
                return Err(unfit(format!("no message has {algorithm:?} with a key of {} bytes", key.len())));
            };
            let answer = self.control.ask(CREATE_SESSION, &body)?;
            // At its end the number, or what status there was, negative.
            let Some(number) = answer.last_chunk::<8>().map(|bytes| i64::from_ne_bytes(*bytes)) else {
                return Err(Error::Wrong("the answer to a message for a session is too short".into()));
            };
            let status = |number: i64| u8::try_from(number.unsigned_abs()).ok().and_then(Status::of);
            return Ok(u64::try_from(number).map(handle).map_err(|_| status(number).unwrap_or(Status::Err)));
        }
        self.ask(&new.compose(), key, SESSION_ANSWER)?;
        self.wait()?;
        Ok(self.opened(algorithm))
    }

    /// Asks for a session by the control queue, which the device does not see until it is [shown](Sessions::wants_kick); whoever
    /// makes no system call then looks for [`answered`](Sessions::answered).
    ///
    /// # Errors
    /// [`Error::Input`] for a key that is too long; [`Error::System`] if the device has not answered the last time.
    pub fn begin(&mut self, algorithm: Algorithm, key: &[u8]) -> Result<()> {
        fits(key)?;
        self.ask(&NewSession { algorithm, key: key.len() }.compose(), key, SESSION_ANSWER)
    }

    /// Asks for the end of a session, as [`begin`](Sessions::begin) asks for one.
    ///
    /// # Errors
    /// As that.
    pub fn end(&mut self, session: Handle) -> Result<()> {
        self.ask(&destroy(session.algorithm, session.number), &[], 1)
    }

    /// Has the device see what was asked for; whether it wants to be kicked for it.
    pub fn wants_kick(&mut self) -> bool {
        self.lane.wants_kick()
    }

    /// Whether the device has answered.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it does not keep to the protocol.
    pub fn answered(&mut self) -> Result<bool> {
        let found = self.lane.take()?.is_some();
        if found {
            self.forget();
        }
        Ok(found)
    }

    /// What it has answered to a request for a session.
    pub fn opened(&self, algorithm: Algorithm) -> Result<Handle, Status> {
        let mut answer = [0; SESSION_ANSWER];
        self.lane.area().read(self.answer_at(), &mut answer);
        opened(&answer).map(|number| Handle { number, algorithm })
    }

    /// What it has answered to a request for the end of one.
    pub fn closed(&self) -> Status {
        let mut answer = [0];
        self.lane.area().read(self.answer_at(), &mut answer);
        Status::of(answer[0]).unwrap_or(Status::Err)
    }

    /// Has the control queue, the last, and the data queues before it be kicked and call by other eventfds: see [`Control::wire`].
    ///
    /// # Errors
    /// As that.
    pub fn wire(&mut self, queue: usize, kick: BorrowedFd<'_>, call: BorrowedFd<'_>) -> Result<()> {
        self.control.wire(queue, kick, call)
    }

    /// Ends a session. By messages no status is told: it is [`Status::Ok`].
    ///
    /// # Errors
    /// [`Error::System`] if the device is gone or does not answer.
    pub fn close(&mut self, session: Handle) -> Result<Status> {
        if self.through == Through::Messages {
            self.control.tell(CLOSE_SESSION, &session.number.to_ne_bytes())?;
            return Ok(Status::Ok);
        }
        self.end(session)?;
        self.wait()?;
        Ok(self.closed())
    }

    /// Where the answer is that comes.
    fn answer_at(&self) -> usize {
        self.at + FIXED + LONGEST_KEY
    }

    /// Submits a request of the control queue.
    fn ask(&mut self, fixed: &[u8; FIXED], key: &[u8], answer: usize) -> Result<()> {
        if self.lane.in_flight() > 0 {
            return Err(Error::system(
                "asking a crypto device for a session",
                "it has not answered the last time",
            ));
        }
        let (at, key_at, answer_at) = (self.at, self.at + FIXED, self.answer_at());
        let area = self.lane.area();
        area.write(at, fixed);
        area.write(key_at, key);
        area.write(answer_at, &[0xff; SESSION_ANSWER][..answer]);
        self.key = key.len();
        let whole = [Span { at, bytes: FIXED as u32 }, Span { at: key_at, bytes: key.len() as u32 }];
        let readable = if key.is_empty() { &whole[..1] } else { &whole[..] };
        let writable = [Span { at: answer_at, bytes: answer as u32 }];
        // Nothing is in flight: there is room.
        self.lane.submit(0, readable, &writable).map(|_| ())
    }

    /// Has what was asked for answered.
    fn wait(&mut self) -> Result<()> {
        self.lane.kick();
        let done = self.lane.wait(self.patience);
        self.forget();
        let late = || Error::system("asking a crypto device for a session", "it does not answer");
        done?.map(|_| ()).ok_or_else(late)
    }

    /// The key is the device's now, and nobody else's.
    fn forget(&mut self) {
        const NOTHING: [u8; 64] = [0; 64];
        let (mut at, end) = (self.at + FIXED, self.at + FIXED + self.key);
        while at < end {
            let bytes = NOTHING.len().min(end - at);
            self.lane.area().write(at, &NOTHING[..bytes]);
            at += bytes;
        }
        self.key = 0;
    }
}
