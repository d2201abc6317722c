//! How the ends of rings meet: the client passes the memory that it has made, and says how it is laid out.
//!
//! Its [greeting](super::greeting) has `TWch`, the notice, slots, and bytes of a message; with it come its descriptors: the memory, and for eventfds what
//! tells of its own. The answer has one byte, and the server's descriptors, if there are any. The socket stays open for as long as both ends live.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;

use super::doorbell::{Doorbell, Notice, told_by_edges};
use super::greeting::{self, Greeting, IN_TURN, Kind, Refusal};
use super::shared::Shared;
use crate::ring::layout::{End, Geometry};
use crate::wait::Patience;

/// Version 1 of what both say to each other, and of the layout.
pub(super) const RINGS: Kind = Kind { letters: *b"TWch", version: 1, answer: 1 };

const GEOMETRY: Refusal =
    Refusal::new(2, "Geometry", "that is more than it allows", "ask for fewer or shorter messages");

const MEMORY: Refusal =
    Refusal::new(3, "Memory", "the memory does not suit it", "report this: it is a fault");

/// What was asked for is no notice.
const NOTICE: Refusal = Refusal::new(4, "Notice", "it cannot wake so", "use the same version of the library");

/// The server allows the other notice alone.
const NO_FUTEX: Refusal = Refusal {
    servers_remedy: "have it ask for a channel with Notice::Eventfd",
    ..Refusal::new(4, "Notice", "it wakes by no futex", "ask for an eventfd (Notice::Eventfd)")
};
const NO_EVENTFD: Refusal = Refusal {
    servers_remedy: "have it ask for a channel with Notice::Futex",
    ..Refusal::new(4, "Notice", "it wakes by no eventfd", "ask for a futex (Notice::Futex)")
};

/// What a client wants.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How many requests may be on their way at a time; rounded up to a power of two, at most
    /// [`MOST_SLOTS`](Geometry::MOST_SLOTS).
    pub slots: usize,
    /// How many bytes the longest message has; rounded up to a multiple of 64, at most [`MOST_BYTES`](Geometry::MOST_BYTES).
    pub bytes: usize,
    /// By what a sleeping end is woken.
    pub notice: Notice,
    /// How long to look before sleeping; if that is not said, what was measured ([`Patience::measured`]).
    pub patience: Option<Patience>,
    /// How long to wait for the server to take the connection, and again for it to answer: it may have others to meet before, and one that answers one
    /// client after the other takes the next when the last has gone. 10 s if nothing else is said; not none.
    pub within: Duration,
    /// How long a synchronous call ([`Client::call`](super::Client::call),
    /// [`Caller::call`](crate::threads::Caller::call)) waits for its reply; for as long as the server lives
    /// if that is not said. A future has no end but its drop.
    pub timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            slots: 256,
            bytes: 64,
            notice: Notice::Futex,
            patience: None,
            within: IN_TURN,
            timeout: None,
        }
    }
}

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The most requests of one client at a time.
    pub slots: usize,
    /// The longest message, in bytes.
    pub bytes: usize,
    /// By what alone ends are woken; as the client likes if that is not said. By an eventfd a client can keep this end awake or waiting, by what it puts into
    /// the epoll instance that it gives: of clients that may be hostile allow [`Notice::Futex`].
    pub notice: Option<Notice>,
    /// How long to look before sleeping; if that is not said, what was measured ([`Patience::measured`]).
    pub patience: Option<Patience>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { slots: 4096, bytes: 4096, notice: None, patience: None }
    }
}

/// What each end has when they have met.
pub(super) struct Met {
    pub memory: Shared,
    pub geometry: Geometry,
    pub doorbell: Doorbell,
}

/// How a channel is laid out for which a client asks. Before it connects: what nobody can give is refused at
/// once, and no server is kept waiting for it.
///
/// # Errors
/// [`Error::Input`] if there can be none.
pub(super) fn checked(options: &Options) -> Result<Geometry> {
    greeting::checked(options.within, options.timeout)?;
    Geometry::new(options.slots, options.bytes).ok_or_else(|| Error::Input {
        place: place(options.slots, options.bytes),
        reason: "there is none of that size".into(),
        remedy: format!(
            "ask for 1 to {} messages of 1 to {} bytes, and no more than {} bytes of memory",
            Geometry::MOST_SLOTS,
            Geometry::MOST_BYTES,
            Geometry::MOST_MEMORY
        ),
    })
}

fn place(slots: usize, bytes: usize) -> String {
    format!("a channel of {slots} messages of {bytes} bytes")
}

/// The client's side.
pub(super) fn ask(link: UnixStream, options: &Options) -> Result<Met> {
    let geometry = checked(options)?;
    let memory = Shared::new(SharedPages::new(geometry.words() * 8)?);
    let ours = of_its_own(options.notice)?;
    let mut descriptors = vec![memory.as_fd()];
    descriptors.extend(ours.iter().map(|(_, told)| told.as_fd()));
    let greeting = Greeting {
        how: u16::from(options.notice == Notice::Eventfd),
        sizes: [geometry.slots() as u32, geometry.bytes() as u32],
    };
    let notice = match options.notice {
        Notice::Futex => NO_FUTEX,
        Notice::Eventfd => NO_EVENTFD,
    };
    let place = || place(geometry.slots(), geometry.bytes());
    let theirs =
        RINGS.ask(&link, options.within, &greeting, &descriptors, &[GEOMETRY, MEMORY, notice], place)?;
    let bell = (&memory, geometry.bell(End::Client));
    let doorbell = doorbell(&link, bell, ours.map(|(rings, _)| rings), theirs)?;
    Ok(Met { memory, geometry, doorbell })
}

/// The server's side: never waits for longer than a client may take to say what it has to.
pub(super) fn answer(link: UnixStream, limits: &Limits) -> Result<Met> {
    let (memory, geometry, notice, rest) =
        RINGS.hear(&link, |greeting, given| agreed(greeting, given, limits))?;
    let (rings, told) = of_its_own(notice)?.unzip();
    // First: who has agreed has all that it needs.
    let doorbell = doorbell(&link, (&memory, geometry.bell(End::Server)), rings, rest)?;
    let told: Vec<_> = told.iter().map(AsFd::as_fd).collect();
    RINGS.agree(&link, &told)?;
    Ok(Met { memory, geometry, doorbell })
}

/// What an end makes to wake the other by that notice: an eventfd, and what tells of it.
fn of_its_own(notice: Notice) -> Result<Option<(OwnedFd, OwnedFd)>> {
    match notice {
        Notice::Futex => Ok(None),
        Notice::Eventfd => told_by_edges().map(Some),
    }
}

/// What a client asked for, if that is given: memory, layout, notice, and the other descriptors.
fn agreed(
    greeting: &Greeting,
    mut descriptors: Vec<OwnedFd>,
    limits: &Limits,
) -> Result<(Shared, Geometry, Notice, Vec<OwnedFd>), &'static Refusal> {
    let (notice, others) = match (greeting.how, limits.notice) {
        (0, None | Some(Notice::Futex)) => (Notice::Futex, 0),
        (1, None | Some(Notice::Eventfd)) => (Notice::Eventfd, 1),
        (_, Some(Notice::Futex)) => return Err(&NO_EVENTFD),
        (_, Some(Notice::Eventfd)) => return Err(&NO_FUTEX),
        (_, None) => return Err(&NOTICE),
    };
    let [slots, bytes] = greeting.sizes.map(|size| size as usize);
    let geometry = Geometry::new(slots, bytes)
        .filter(|geometry| geometry.slots() <= limits.slots && geometry.bytes() <= limits.bytes)
        .filter(|geometry| (geometry.slots(), geometry.bytes()) == (slots, bytes))
        .ok_or(&GEOMETRY)?;
    if descriptors.len() != 1 + others {
        return Err(&MEMORY);
    }
    let rest = descriptors.split_off(1);
    let memory =
        descriptors.pop().and_then(|memory| SharedPages::from_fd_for(memory, geometry.words() * 8).ok());
    let memory = memory.ok_or(&MEMORY)?;
    Ok((Shared::new(memory), geometry, notice, rest))
}

/// By what an end is woken and wakes: what it has itself, if it is an eventfd, and what the other gave.
fn doorbell(
    link: &UnixStream,
    (memory, bell): (&Shared, usize),
    rings: Option<OwnedFd>,
    mut theirs: Vec<OwnedFd>,
) -> Result<Doorbell> {
    match (rings, theirs.pop()) {
        (None, None) => Doorbell::by_futex(link, memory.clone(), bell),
        (Some(rings), Some(rung)) => {
            let link = link.try_clone().map_err(|e| Error::system("meeting", e))?;
            Doorbell::by_eventfd(link, [rings, rung])
        }
        _ => Err(Error::system("meeting", "the other end gave other descriptors than it should")),
    }
}
