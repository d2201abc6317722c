//! How the ends of plain requests meet: the client says what it wants, and the server makes it and gives the client its half.
//!
//! The [greeting](crate::linux::greeting) has `TWpl`, the way, bytes of the longest message, and 0. The server answers with 4 bytes and one descriptor: a
//! sealed memfd (memfd_create(2)) of the [handoff](super::turn), or the client's end of a socket. A client gives no descriptors, so a server has none of
//! another's to mistrust. By the fast path the socket over which they met stays open, for an end to learn that the other is gone.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;

use super::futex::Futex;
use super::line::{self, Line};
use super::seqpacket::Socket;
use super::turn::{Turn, words};
use super::waiting::Waiting;
use crate::linux::Shared;
use crate::linux::greeting::{self, Greeting, Kind, Refusal};
use crate::ring::layout::{End, Geometry};
use crate::wait::Patience;

/// Version 1 of what both say to each other, of the header, and of the word of turns.
pub(super) const PLAIN: Kind = Kind { letters: *b"TWpl", version: 1, answer: 4 };

const WAY: Refusal = Refusal::new(2, "Way", "it does not know that way", "ask for another one");

const BYTES: Refusal = Refusal::new(3, "Bytes", "that is more than it allows", "ask for shorter messages");

/// How messages go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Way {
    /// The slow path: as datagrams of a Unix socket; each end sleeps in the kernel until one comes.
    Seqpacket,
    /// The fast path: through shared memory, of which the ends take turns; the kernel is called to switch from one to the other.
    #[default]
    Handoff,
}

/// What a client wants.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// How messages go.
    pub way: Way,
    /// How many bytes the longest message has; rounded up to a multiple of 64, at most [`MOST_BYTES`](Geometry::MOST_BYTES).
    pub bytes: usize,
    /// How long to look and how often to give way before sleeping, by the fast path; if that is not said, what was measured
    /// ([`Patience::measured`]).
    pub patience: Option<Patience>,
    /// How long to wait for the server to take the connection, and again for it to answer: it may have others to meet before, and one that answers one
    /// client after the other takes the next when the last has gone. 10 s if nothing else is said; not none.
    pub within: Duration,
    /// How long a [call](super::Client::call) waits for its reply; for as long as the server lives if that is
    /// not said.
    pub timeout: Option<Duration>,
}

impl Default for Options {
    fn default() -> Options {
        Options { way: Way::default(), bytes: 64, patience: None, within: greeting::IN_TURN, timeout: None }
    }
}

/// What a server allows.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The longest message, in bytes.
    pub bytes: usize,
    /// How long to look and how often to give way before sleeping, by the fast path; if that is not said, what was measured
    /// ([`Patience::measured`]).
    pub patience: Option<Patience>,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { bytes: 4096, patience: None }
    }
}

/// How long the longest message is for which a client asks. Before it connects: what nobody can give is
/// refused at once.
///
/// # Errors
/// [`Error::Input`] if there can be none as long.
pub(super) fn checked(options: &Options) -> Result<usize> {
    greeting::checked(options.within, options.timeout)?;
    // What a message of a ring can be, one of these can.
    Geometry::new(1, options.bytes).map(Geometry::bytes).ok_or_else(|| Error::Input {
        place: place(options.bytes),
        reason: "there are none of that length".into(),
        remedy: format!("ask for 1 to {} bytes", Geometry::MOST_BYTES),
    })
}

fn place(bytes: usize) -> String {
    format!("a connection for messages of {bytes} bytes")
}

/// The client's side.
pub(super) fn ask(link: UnixStream, options: &Options) -> Result<Line> {
    let bytes = checked(options)?;
    let place = || place(options.bytes);
    let greeting = Greeting { how: u16::from(options.way == Way::Handoff), sizes: [bytes as u32, 0] };
    let mut given = PLAIN.ask(&link, options.within, &greeting, &[], &[WAY, BYTES], place)?;
    let given = given.pop().filter(|_| given.is_empty());
    let given = given.ok_or_else(|| Error::system("meeting a server", "it did not give one descriptor"))?;
    let way = match options.way {
        Way::Seqpacket => line::Way::Seqpacket(Socket::new(seqpacket(given)?, bytes, true)),
        Way::Handoff => {
            let memory = Shared::new(SharedPages::from_fd_for(given, words(bytes) * 8)?);
            line::Way::Handoff(handoff(&link, memory, End::Client, bytes, options.patience)?)
        }
    };
    Ok(Line::new(way, options.timeout))
}

/// The server's side: waits for no longer than a client may take to say what it wants.
pub(super) fn answer(link: UnixStream, limits: &Limits) -> Result<Line> {
    let (way, bytes) = PLAIN.hear(&link, |greeting, given| wanted(greeting, &given, limits))?;
    let way = match way {
        Way::Seqpacket => {
            let (own, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                    .map_err(|e| Error::system("making a pair of sockets", e))?;
            PLAIN.agree(&link, &[theirs.as_fd()])?;
            line::Way::Seqpacket(Socket::new(own, bytes, false))
        }
        Way::Handoff => {
            let memory = Shared::new(SharedPages::new(words(bytes) * 8)?);
            let handoff = handoff(&link, memory.clone(), End::Server, bytes, limits.patience)?;
            PLAIN.agree(&link, &[memory.as_fd()])?;
            line::Way::Handoff(handoff)
        }
    };
    Ok(Line::new(way, None))
}

/// What a client wants, if that is given: by which way, and how many bytes the longest message has.
fn wanted(greeting: &Greeting, given: &[OwnedFd], limits: &Limits) -> Result<(Way, usize), &'static Refusal> {
    let [bytes, zero] = greeting.sizes;
    if !given.is_empty() || zero != 0 {
        return Err(&greeting::VERSION);
    }
    let way = match greeting.how {
        0 => Way::Seqpacket,
        1 => Way::Handoff,
        _ => return Err(&WAY),
    };
    let bytes = bytes as usize;
    let known = Geometry::new(1, bytes).map(Geometry::bytes);
    known.filter(|known| *known == bytes && bytes <= limits.bytes).ok_or(&BYTES)?;
    Ok((way, bytes))
}

fn handoff(
    link: &UnixStream,
    memory: Shared,
    own: End,
    bytes: usize,
    patience: Option<Patience>,
) -> Result<Waiting<Shared, Futex>> {
    let patience = patience.unwrap_or_else(Patience::measured);
    Ok(Waiting::new(Turn::new(memory, own, bytes), Futex::over(link)?, patience))
}

/// What a server gave, if it is a Unix socket that keeps datagrams apart.
fn seqpacket(given: OwnedFd) -> Result<OwnedFd> {
    let is_one =
        socket_domain(&given) == Ok(AddressFamily::UNIX) && socket_type(&given) == Ok(SocketType::SEQPACKET);
    is_one.then_some(given).ok_or_else(|| {
        Error::system(
            "meeting a server",
            "the descriptor that it gave is no Unix socket of type SOCK_SEQPACKET",
        )
    })
}
