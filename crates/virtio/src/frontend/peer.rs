//! Where a link's device is, at a socket or in this process, and what both have in common: what is agreed upon, and queues that
//! begin empty.

use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;
use vhost::vhost_user::Frontend as Messages;
use virtio_bindings::bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

use super::LinkOptions;
use super::connection::{Connection, SetUp};
use super::lane::{self, Lane, eventfd};
use super::queue::Agreed;
use crate::backend::{Answer, Door, Inside};

/// Where the device sees the memory's first byte.
pub(super) const GUEST: u64 = 0x4000_0000;

/// VIRTIO 1.2, 6: the device is one of version 1.
const VERSION_1: u64 = 1 << 32;

/// The device of a link. What they have with each other ends with it.
pub(super) enum Peer {
    /// A device of another process, or of this one, at a socket.
    Socket { path: PathBuf, connection: Option<Connection> },
    /// A device of this process.
    Inside { inside: Inside, open: bool },
}

impl std::fmt::Debug for Peer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Peer::Socket { path, .. } => write!(f, "{}", path.display()),
            Peer::Inside { .. } => write!(f, "in this process"),
        }
    }
}

impl Peer {
    /// One that listens there.
    pub(super) fn at(path: &Path) -> Peer {
        Peer::Socket { path: path.to_owned(), connection: None }
    }

    /// One of this process.
    pub(super) fn within(inside: &Inside) -> Peer {
        Peer::Inside { inside: inside.clone(), open: false }
    }

    /// Leaves it, and connects anew, with empty rings; what they had that had not come back, as the number of a queue and a token.
    pub(super) fn connect(
        &mut self,
        options: &LinkOptions,
        pages: &SharedPages,
        lanes: &mut [Lane],
    ) -> Result<Vec<(usize, u64)>> {
        self.close();
        match self {
            Peer::Socket { path, connection } => {
                // An abstract name, as the kernel prints it.
                let place = path.display().to_string().replace('\0', "@");
                let doing = format!("connecting to {place}");
                let (made, lost) = Connection::open(path, options, pages, lanes).map_err(|e| match e {
                    SetUp::Vhost(e) => Error::system(doing, e),
                    SetUp::Stream(e) => Error::system(doing, e),
                    SetUp::Device(reason) => Error::system(doing, reason),
                    SetUp::Own(error) => error,
                })?;
                *connection = Some(made);
                Ok(lost)
            }
            Peer::Inside { inside, open } => {
                enter(inside.door(), options, pages, lanes).inspect(|_| *open = true)
            }
        }
    }

    pub(super) fn is_open(&self) -> bool {
        match self {
            Peer::Socket { connection, .. } => connection.is_some(),
            Peer::Inside { open, .. } => *open,
        }
    }

    fn close(&mut self) {
        match self {
            Peer::Socket { connection, .. } => {
                if let Some(connection) = connection.take() {
                    connection.end();
                }
            }
            Peer::Inside { inside, open } => {
                if std::mem::take(open) {
                    inside.door().leave();
                }
            }
        }
    }

    /// How many queues it has, if it says so.
    pub(super) fn queues(&self) -> Option<usize> {
        match self {
            Peer::Socket { connection, .. } => connection.as_ref()?.queues,
            Peer::Inside { inside, .. } => Some(inside.door().queues()),
        }
    }

    /// The connection's messages; None before it is connected, and in this process.
    pub(super) fn messages(&mut self) -> Option<&mut Messages> {
        match self {
            Peer::Socket { connection, .. } => connection.as_mut().map(|connection| &mut connection.messages),
            Peer::Inside { .. } => None,
        }
    }

    /// See [`Control::wire`](super::Control::wire).
    pub(super) fn wire(&mut self, queue: usize, kick: BorrowedFd<'_>, call: BorrowedFd<'_>) -> Result<()> {
        let Peer::Socket { connection: Some(connection), .. } = self else {
            return Err(Error::Input {
                place: "a link to a device".into(),
                reason: "other eventfds are told by messages, and there is no connection for them".into(),
                remedy: "connect to the device at a socket".into(),
            });
        };
        connection.wire(queue, kick, call)
    }

    /// The body of its answer to a message that only it knows, or why there is none.
    pub(super) fn ask(&mut self, request: u32, body: &[u8]) -> Result<Vec<u8>, String> {
        match self {
            Peer::Socket { connection: Some(connection), .. } => connection.ask(request, body, 0),
            Peer::Inside { inside, open: true } => match inside.door().answer(request, body) {
                Some(Answer::Body(body)) => Ok(body),
                Some(Answer::Done) => Err("it has no answer".into()),
                None => Err("the device does not know it".into()),
            },
            _ => Err("it is not connected".into()),
        }
    }

    /// Tells it by a message that only it knows, which has no answer; why it did not take it.
    pub(super) fn tell(&mut self, request: u32, body: &[u8]) -> Result<(), String> {
        match self {
            Peer::Socket { connection: Some(connection), .. } => connection.tell(request, body),
            Peer::Inside { inside, open: true } => match inside.door().answer(request, body) {
                Some(_) => Ok(()),
                None => Err("the device does not know it".into()),
            },
            _ => Err("it is not connected".into()),
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        self.close();
    }
}

/// Enters a device of this process, and has its queues start. Tokens of what was with the device before.
fn enter(
    door: &dyn Door,
    options: &LinkOptions,
    pages: &SharedPages,
    lanes: &mut [Lane],
) -> Result<Vec<(usize, u64)>> {
    let failed = |refused: crate::backend::Refused| Error::Input {
        place: "a link to a device of this process".into(),
        reason: refused.to_string(),
        remedy: "ask for what the device has; let whoever is in there leave first".into(),
    };
    let (agreed, features) = agree(options, door.features());
    let lost = reset(lanes, agreed, &lane::Peer::Inside(door.ended()))?;
    door.enter(pages, GUEST, features, lanes).map_err(failed)?;
    Ok(lost)
}

/// What is agreed upon with a device that offers this, and all feature bits.
pub(super) fn agree(options: &LinkOptions, offered: u64) -> (Agreed, u64) {
    let (event_index, indirect) = (1 << VIRTIO_RING_F_EVENT_IDX, 1 << VIRTIO_RING_F_INDIRECT_DESC);
    let agreed = Agreed {
        event_index: options.event_index && offered & event_index != 0,
        indirect: options.indirect > 1 && offered & indirect != 0,
    };
    let both = if agreed.event_index { event_index } else { 0 } | if agreed.indirect { indirect } else { 0 };
    (agreed, (options.features | VERSION_1) & offered | both)
}

/// Empties all queues, with other eventfds, so that no old call is heard.
pub(super) fn reset(lanes: &mut [Lane], agreed: Agreed, peer: &lane::Peer) -> Result<Vec<(usize, u64)>> {
    let mut lost = Vec::new();
    for (number, lane) in lanes.iter_mut().enumerate() {
        (lane.kick, lane.call, lane.peer) = (eventfd()?, eventfd()?, peer.clone());
        lost.extend(lane.reset(agreed).into_iter().map(|token| (number, token)));
    }
    Ok(lost)
}
