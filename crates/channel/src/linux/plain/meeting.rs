//! How two ends meet: the client says what it wants, and the server makes it and gives the client its half.
//!
//! Over a Unix socket the client says 16 bytes, as little-endian numbers: `TWpl`, version (2), way (2), bytes of the longest message (4), 0
//! (4). The server answers with 4 bytes, of which the first is 0 if it agrees and the others are 0, and with one descriptor: a sealed memfd (memfd_create(2)) of the
//! [handoff](super::turn), or the client's end of a socket. A client gives no descriptors, so a server has none of another's to mistrust. After that
//! nothing is said there; by the fast path the socket stays open, for an end to learn that the other is gone.
//!
//! Each says what it has to in one piece, and the other reads once: who says it bit by bit is refused.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use rustix::net::sockopt::{socket_domain, socket_type};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};
use tollway_core::{Error, Result};
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

use super::futex::Futex;
use super::line::{self, Line};
use super::seqpacket::Socket;
use super::turn::{Turn, words};
use super::waiting::Waiting;
use crate::linux::Shared;
use crate::ring::layout::{End, Geometry};
use crate::wait::Patience;

const MAGIC: [u8; 4] = *b"TWpl";

/// Of what both say to each other, of the header, and of the word of turns.
const VERSION: u16 = 1;

/// How long a server waits for a client to say what it wants.
const SOON: Duration = Duration::from_secs(1);

/// How long a client waits for a server to answer, which may have others to meet before it.
pub(super) const IN_TURN: Duration = Duration::from_secs(10);

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
}

impl Default for Options {
    fn default() -> Options {
        Options { way: Way::default(), bytes: 64, patience: None }
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

/// What a server says, as it is told to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Answer {
    Agreed = 0,
    Version = 1,
    Way = 2,
    Bytes = 3,
}

/// The client's side.
pub(super) fn ask(link: UnixStream, options: &Options) -> Result<Line> {
    let place = || format!("a connection for messages of {} bytes", options.bytes);
    // What a message of a ring can be, one of these can.
    let bytes = Geometry::new(1, options.bytes).map(Geometry::bytes).ok_or_else(|| Error::Input {
        place: place(),
        reason: "there are none of that length".into(),
        remedy: format!("ask for 1 to {} bytes", Geometry::MOST_BYTES),
    })?;
    let mut hello = [0; 16];
    hello[..4].copy_from_slice(&MAGIC);
    hello[4..6].copy_from_slice(&VERSION.to_le_bytes());
    hello[6..8].copy_from_slice(&u16::from(options.way == Way::Handoff).to_le_bytes());
    hello[8..12].copy_from_slice(&(bytes as u32).to_le_bytes());
    in_time(&link, IN_TURN)?;
    descriptor::send_with(&link, &hello, &[] as &[OwnedFd])?;
    let mut answer = [0; 4];
    let (_, mut given) = descriptor::receive_with(&link, &mut answer)?;
    if answer[0] != Answer::Agreed as u8 {
        let (reason, remedy) = match answer[0] {
            n if n == Answer::Version as u8 => {
                ("it speaks another version", "use the same version of the library")
            }
            n if n == Answer::Way as u8 => ("it does not know that way", "ask for another one"),
            n if n == Answer::Bytes as u8 => ("that is more than it allows", "ask for shorter messages"),
            _ => ("for a reason that is not known here", "use the same version of the library"),
        };
        let reason = format!("the server does not agree: {reason}");
        return Err(Error::Input { place: place(), reason, remedy: remedy.into() });
    }
    let given = given.pop().filter(|_| given.is_empty());
    let given = given.ok_or_else(|| Error::system("meeting a server", "it did not give one descriptor"))?;
    let way = match options.way {
        Way::Seqpacket => line::Way::Seqpacket(Socket::new(checked(given)?, bytes, true)),
        Way::Handoff => {
            let memory = Shared(Arc::new(SharedPages::from_fd_for(given, words(bytes) * 8)?));
            line::Way::Handoff(handoff(&link, memory, End::Client, bytes, options.patience)?)
        }
    };
    Ok(Line::new(way))
}

/// The server's side: waits for no longer than a client may take to say what it wants.
pub(super) fn answer(link: UnixStream, limits: &Limits) -> Result<Line> {
    in_time(&link, SOON)?;
    let mut hello = [0; 16];
    let (heard, given) = descriptor::receive_with(&link, &mut hello)?;
    let say = |answer: Answer, given: &[BorrowedFd<'_>]| {
        descriptor::send_with(&link, &[answer as u8, 0, 0, 0], given)
    };
    // A client gives no descriptors.
    let hello = &hello[..if given.is_empty() { heard } else { 0 }];
    let (way, bytes) = match wanted(hello, limits) {
        Ok(wanted) => wanted,
        Err(answer) => {
            say(answer, &[])?;
            return Err(Error::Input {
                place: "a client's greeting".into(),
                reason: format!("it asks for what is not given ({answer:?})"),
                remedy: "raise the limits, or see what the client asks for".into(),
            });
        }
    };
    let way = match way {
        Way::Seqpacket => {
            let (own, theirs) =
                socketpair(AddressFamily::UNIX, SocketType::SEQPACKET, SocketFlags::CLOEXEC, None)
                    .map_err(|e| Error::system("making a pair of sockets", e))?;
            say(Answer::Agreed, &[theirs.as_fd()])?;
            line::Way::Seqpacket(Socket::new(own, bytes, false))
        }
        Way::Handoff => {
            let memory = Shared(Arc::new(SharedPages::new(words(bytes) * 8)?));
            let handoff = handoff(&link, memory.clone(), End::Server, bytes, limits.patience)?;
            say(Answer::Agreed, &[memory.0.as_fd()])?;
            line::Way::Handoff(handoff)
        }
    };
    Ok(Line::new(way))
}

/// Neither reading nor writing takes longer than that.
fn in_time(link: &UnixStream, within: Duration) -> Result<()> {
    link.set_read_timeout(Some(within))
        .and_then(|()| link.set_write_timeout(Some(within)))
        .map_err(|e| Error::system("meeting", e))
}

/// What a client wants, if that is given: by which way, and how many bytes the longest message has.
fn wanted(hello: &[u8], limits: &Limits) -> std::result::Result<(Way, usize), Answer> {
    let hello: &[u8; 16] = hello.try_into().map_err(|_| Answer::Version)?;
    let short = |at: usize| u16::from_le_bytes([hello[at], hello[at + 1]]);
    if hello[..4] != MAGIC || short(4) != VERSION || hello[12..] != [0; 4] {
        return Err(Answer::Version);
    }
    let way = match short(6) {
        0 => Way::Seqpacket,
        1 => Way::Handoff,
        _ => return Err(Answer::Way),
    };
    let bytes = u32::from_le_bytes([hello[8], hello[9], hello[10], hello[11]]) as usize;
    let known = Geometry::new(1, bytes).map(Geometry::bytes);
    known.filter(|known| *known == bytes && bytes <= limits.bytes).ok_or(Answer::Bytes)?;
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
fn checked(given: OwnedFd) -> Result<OwnedFd> {
    let is_one =
        socket_domain(&given) == Ok(AddressFamily::UNIX) && socket_type(&given) == Ok(SocketType::SEQPACKET);
    is_one.then_some(given).ok_or_else(|| {
        Error::system(
            "meeting a server",
            "the descriptor that it gave is no Unix socket of type SOCK_SEQPACKET",
        )
    })
}
