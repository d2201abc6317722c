//! How two ends meet: over a Unix socket the client passes the memory that it has made, and says how it is laid out.
//!
//! The client sends in one piece its descriptors (the memory, and for eventfds what tells of its own) and 16 bytes: `TWch`, version, notice, slots, bytes
//! of a message, as little-endian numbers of 2, 2, 4 and 4 bytes. The server answers in one piece: one byte, 0 if it agrees, and its descriptors, if
//! there are any. After that nothing is sent: the socket stays open for as long as both ends live.
//!
//! Who says nothing, or says it bit by bit, is refused when the time for it is over: each end reads once.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};
use tollway_core::{Error, Result};
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

use super::doorbell::{Doorbell, Notice, told_by_edges};
use super::shared::Shared;
use crate::ring::layout::{End, Geometry};
use crate::wait::Patience;

const MAGIC: [u8; 4] = *b"TWch";

/// Of what both say to each other, and of the layout.
const VERSION: u16 = 1;

/// How long an end waits for the other to say what it has to.
pub(super) const SOON: Duration = Duration::from_secs(1);

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
}

impl Default for Options {
    fn default() -> Options {
        Options { slots: 256, bytes: 64, notice: Notice::Futex, patience: None }
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

/// Why a server does not agree, as it is told to the client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Answer {
    Agreed = 0,
    Version = 1,
    Geometry = 2,
    Memory = 3,
    Notice = 4,
}

/// What each end has when they have met.
pub(super) struct Met {
    pub memory: Shared,
    pub geometry: Geometry,
    pub doorbell: Doorbell,
}

/// The client's side.
pub(super) fn ask(link: UnixStream, options: &Options) -> Result<Met> {
    let geometry = Geometry::new(options.slots, options.bytes).ok_or_else(|| Error::Input {
        place: format!("a channel of {} messages of {} bytes", options.slots, options.bytes),
        reason: "there is none of that size".into(),
        remedy: format!(
            "ask for 1 to {} messages of 1 to {} bytes, and no more than {} bytes of memory",
            Geometry::MOST_SLOTS,
            Geometry::MOST_BYTES,
            Geometry::MOST_MEMORY
        ),
    })?;
    let memory = Shared(Arc::new(SharedPages::new(geometry.words() * 8)?));
    let ours = match options.notice {
        Notice::Futex => None,
        Notice::Eventfd => Some(told_by_edges()?),
    };
    let mut descriptors = vec![memory.0.as_fd()];
    descriptors.extend(ours.iter().map(|(_, told)| told.as_fd()));
    let mut hello = [0; 16];
    hello[..4].copy_from_slice(&MAGIC);
    hello[4..6].copy_from_slice(&VERSION.to_le_bytes());
    hello[6..8].copy_from_slice(&u16::from(options.notice == Notice::Eventfd).to_le_bytes());
    hello[8..12].copy_from_slice(&(geometry.slots() as u32).to_le_bytes());
    hello[12..].copy_from_slice(&(geometry.bytes() as u32).to_le_bytes());
    in_time(&link, "meeting a server")?;
    descriptor::send_with(&link, &hello, &descriptors)?;
    let mut answer = [0];
    let (_, theirs) = descriptor::receive_with(&link, &mut answer)?;
    if answer[0] != Answer::Agreed as u8 {
        return Err(refused(answer[0], geometry, options.notice));
    }
    let bell = (&memory, geometry.bell(End::Client));
    let doorbell = doorbell(&link, bell, ours.map(|(rings, _)| rings), theirs)?;
    Ok(Met { memory, geometry, doorbell })
}

fn refused(answer: u8, geometry: Geometry, notice: Notice) -> Error {
    let (reason, remedy) = match answer {
        n if n == Answer::Version as u8 => {
            ("it speaks another version", "use the same version of the library")
        }
        n if n == Answer::Geometry as u8 => {
            ("that is more than it allows", "ask for fewer or shorter messages")
        }
        n if n == Answer::Memory as u8 => ("the memory does not suit it", "report this: it is a fault"),
        n if n == Answer::Notice as u8 && notice == Notice::Futex => {
            ("it wakes by no futex", "ask for an eventfd (Notice::Eventfd)")
        }
        n if n == Answer::Notice as u8 => ("it wakes by no eventfd", "ask for a futex (Notice::Futex)"),
        _ => ("for a reason that is not known here", "use the same version of the library"),
    };
    Error::Input {
        place: format!("a channel of {} messages of {} bytes", geometry.slots(), geometry.bytes()),
        reason: format!("the server does not agree: {reason}"),
        remedy: remedy.into(),
    }
}

/// The server's side: never waits for longer than a client may take to say what it has to.
pub(super) fn answer(link: UnixStream, limits: &Limits) -> Result<Met> {
    in_time(&link, "meeting a client")?;
    let mut hello = [0; 16];
    let (bytes, theirs) = descriptor::receive_with(&link, &mut hello)?;
    match agreed(&hello[..bytes], theirs, limits) {
        Ok((memory, geometry, notice, rest)) => {
            let ours = match notice {
                Notice::Futex => None,
                Notice::Eventfd => Some(told_by_edges()?),
            };
            let (rings, told) = ours.unzip();
            // First: who has agreed has all that it needs.
            let doorbell = doorbell(&link, (&memory, geometry.bell(End::Server)), rings, rest)?;
            descriptor::send_with(&link, &[Answer::Agreed as u8], told.as_slice())?;
            Ok(Met { memory, geometry, doorbell })
        }
        Err(answer) => {
            descriptor::send_with(&link, &[answer as u8], &[] as &[OwnedFd])?;
            Err(Error::Input {
                place: "a client's greeting".into(),
                reason: format!("it asks for what is not given ({answer:?})"),
                remedy: match (answer, limits.notice) {
                    (Answer::Notice, Some(only)) => {
                        format!("have it ask for a channel with Notice::{only:?}")
                    }
                    _ => "raise the limits, or see what the client asks for".into(),
                },
            })
        }
    }
}

/// Neither reading nor writing takes longer than the other end has time for.
fn in_time(link: &UnixStream, doing: &str) -> Result<()> {
    link.set_read_timeout(Some(SOON))
        .and_then(|()| link.set_write_timeout(Some(SOON)))
        .map_err(|e| Error::system(doing, e))
}

/// A socket to the server that listens at that path, if there is room in its queue of connections within that time.
///
/// # Errors
/// [`Error::System`] if nobody listens there, or takes the connection.
pub(super) fn connected(path: &Path, within: Duration) -> Result<UnixStream> {
    let connecting = || -> std::result::Result<UnixStream, Errno> {
        let link = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
        // connect(2) waits for so long where the queue is full, and says EAGAIN then.
        set_socket_timeout(&link, Timeout::Send, Some(within))?;
        retry_on_intr(|| connect(&link, &SocketAddrUnix::new(path)?))?;
        set_socket_timeout(&link, Timeout::Send, None)?;
        Ok(link.into())
    };
    connecting().map_err(|error| {
        let doing = format!("connecting to {}", path.display());
        match error {
            Errno::AGAIN => {
                Error::system(doing, format!("the server took none within {} s", within.as_secs()))
            }
            error => Error::system(doing, error),
        }
    })
}

/// What a client asked for, if that is given: memory, layout, notice, and the other descriptors.
fn agreed(
    hello: &[u8],
    mut descriptors: Vec<OwnedFd>,
    limits: &Limits,
) -> Result<(Shared, Geometry, Notice, Vec<OwnedFd>), Answer> {
    let hello: &[u8; 16] = hello.try_into().map_err(|_| Answer::Version)?;
    let short = |at: usize| u16::from_le_bytes([hello[at], hello[at + 1]]);
    let long =
        |at: usize| u32::from_le_bytes([hello[at], hello[at + 1], hello[at + 2], hello[at + 3]]) as usize;
    if hello[..4] != MAGIC || short(4) != VERSION {
        return Err(Answer::Version);
    }
    let notice = match short(6) {
        0 => Notice::Futex,
        1 => Notice::Eventfd,
        _ => return Err(Answer::Notice),
    };
    if limits.notice.is_some_and(|only| only != notice) {
        return Err(Answer::Notice);
    }
    let (slots, bytes) = (long(8), long(12));
    let geometry = Geometry::new(slots, bytes)
        .filter(|geometry| geometry.slots() <= limits.slots && geometry.bytes() <= limits.bytes)
        .filter(|geometry| (geometry.slots(), geometry.bytes()) == (slots, bytes))
        .ok_or(Answer::Geometry)?;
    let others = match notice {
        Notice::Futex => 0,
        Notice::Eventfd => 1,
    };
    if descriptors.len() != 1 + others {
        return Err(Answer::Memory);
    }
    let rest = descriptors.split_off(1);
    let memory =
        descriptors.pop().and_then(|memory| SharedPages::from_fd_for(memory, geometry.words() * 8).ok());
    let memory = memory.ok_or(Answer::Memory)?;
    Ok((Shared(Arc::new(memory)), geometry, notice, rest))
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
