//! A connection of a process to a device, with all of its queues.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;
use vhost::vhost_user::message::{VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend as Messages, VhostUserFrontend, VhostUserVirtioFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio_bindings::bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};
use vmm_sys_util::eventfd::EventFd;

use super::lane::{self, Lane, eventfd};
use super::queue::Agreed;
use super::{Layout, Queue};
use crate::area::Area;
use crate::backend::{Door, HEADER, Inside, LONGEST};
use crate::wiped::Wiped;

/// Where the device sees the memory's first byte.
const GUEST: u64 = 0x4000_0000;

/// VIRTIO 1.2, 6: the device is one of version 1.
const VERSION_1: u64 = 1 << 32;

/// What a link is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkOptions {
    /// How many queues it sets up, from the first on: 1 to 255.
    pub queues: usize,
    /// Descriptors of each: a power of two.
    pub size: u16,
    /// Bytes of memory for the caller's buffers, besides the queues.
    pub bytes: usize,
    /// Whether event indices are used (VIRTIO_F_EVENT_IDX), if the device offers them.
    pub event_index: bool,
    /// The most pieces of a buffer that go into an indirect table (VIRTIO_F_INDIRECT_DESC), if the device offers those. 0: there
    /// are no tables.
    pub indirect: usize,
    /// The device's own feature bits that are wanted, where it offers them.
    pub features: u64,
    /// Feature bits of the protocol that are wanted besides, where it offers them.
    pub protocol_features: u64,
    /// How long it waits for an answer.
    pub patience: Duration,
}

impl Default for LinkOptions {
    /// One queue of 256 descriptors, 1 MiB, event indices, tables of 8 pieces.
    fn default() -> Self {
        LinkOptions {
            queues: 1,
            size: 256,
            bytes: 1 << 20,
            event_index: true,
            indirect: 8,
            features: 0,
            protocol_features: 0,
            patience: Duration::from_secs(10),
        }
    }
}

/// A connection to a device: memory that is shared with it, and queues in that.
#[derive(Debug)]
pub struct Link {
    control: Control,
    lanes: Vec<Lane>,
}

/// What a connection is without its queues. The connection ends with it.
#[derive(Debug)]
pub struct Control {
    options: LinkOptions,
    pages: Arc<SharedPages>,
    /// The first byte that is the caller's.
    free: usize,
    peer: Peer,
}

enum Peer {
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

/// What lives as long as a connection to a socket.
struct Connection {
    messages: Messages,
    stream: Arc<UnixStream>,
    /// Whether the device acknowledges messages.
    acknowledged: bool,
    /// How many queues the device says it has.
    queues: Option<usize>,
}

impl Link {
    /// Connects, and sets the queues up.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if nobody listens there, or what listens does not
    /// speak the protocol.
    pub fn connect(path: &Path, options: &LinkOptions) -> Result<Link> {
        Link::new(Peer::Socket { path: path.to_owned(), connection: None }, options)
    }

    /// Enters a device of this process.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be, also as the device sees it, or if somebody is in there already.
    pub fn inside(inside: &Inside, options: &LinkOptions) -> Result<Link> {
        Link::new(Peer::Inside { inside: inside.clone(), open: false }, options)
    }

    fn new(peer: Peer, options: &LinkOptions) -> Result<Link> {
        if !(1..=255).contains(&options.queues) {
            return Err(Error::Input {
                place: "a link to a device".into(),
                reason: format!("{} queues", options.queues),
                remedy: "let it have 1 to 255".into(),
            });
        }
        let mut layouts: Vec<Layout> = Vec::new();
        for _ in 0..options.queues {
            let start = layouts.last().map_or(0, |last| last.end);
            layouts.push(Layout::new(start, options.size, options.indirect)?);
        }
        let free = layouts.last().map_or(0, |last| last.end).next_multiple_of(4096);
        let pages = Arc::new(SharedPages::new(free.saturating_add(options.bytes))?);
        let lane = |layout| {
            let queue = Queue::new(Area::from(pages.clone()), layout, GUEST, Agreed::default());
            queue.and_then(Lane::new)
        };
        let lanes = layouts.into_iter().map(lane).collect::<Result<_>>()?;
        let mut link = Link { control: Control { options: options.clone(), pages, free, peer }, lanes };
        link.reconnect()?;
        Ok(link)
    }

    /// Connects anew, with empty rings. What it returns was submitted and had not come back, each as the number of its queue and
    /// its token: lost, and to be submitted again. What has come back already is taken first, else it is lost too.
    ///
    /// # Errors
    /// As [`Link::connect`].
    pub fn reconnect(&mut self) -> Result<Vec<(usize, u64)>> {
        let Link { control, lanes } = self;
        control.peer.close();
        match &mut control.peer {
            Peer::Socket { path, connection } => {
                let doing = format!("connecting to {}", path.display());
                Connection::open(path, &control.options, &control.pages, lanes)
                    .map(|(made, lost)| {
                        *connection = Some(made);
                        lost
                    })
                    .map_err(|e| match e {
                        SetUp::Vhost(e) => Error::system(doing, e),
                        SetUp::Stream(e) => Error::system(doing, e),
                        SetUp::Device(reason) => Error::system(doing, reason),
                        SetUp::Own(error) => error,
                    })
            }
            Peer::Inside { inside, open } => {
                enter(inside.door(), &control.options, &control.pages, lanes).inspect(|_| *open = true)
            }
        }
    }

    /// The memory that is shared: the queues', then the caller's.
    pub fn area(&self) -> Area {
        self.control.area()
    }

    /// The first byte of the memory that is the caller's; so is all after it.
    pub fn free(&self) -> usize {
        self.control.free
    }

    /// The queue of a number.
    ///
    /// # Panics
    /// If there are not as many.
    pub fn lane(&mut self, queue: usize) -> &mut Lane {
        &mut self.lanes[queue]
    }

    /// Whether the device is still there.
    pub fn is_connected(&self) -> bool {
        self.control.peer.is_open() && self.lanes.iter().all(Lane::is_connected)
    }

    /// The connection and its queues each on their own, so that threads can have them. It can not be connected anew.
    pub fn split(self) -> (Control, Vec<Lane>) {
        (self.control, self.lanes)
    }

    /// See [`Control::ask`].
    ///
    /// # Errors
    /// As that.
    pub fn ask(&mut self, request: u32, body: &[u8]) -> Result<Vec<u8>> {
        self.control.ask(request, body)
    }

    /// See [`Control::tell`].
    ///
    /// # Errors
    /// As that.
    pub fn tell(&mut self, request: u32, body: &[u8]) -> Result<()> {
        self.control.tell(request, body)
    }

    /// How many queues the device has, if it says so.
    pub fn device_queues(&self) -> Option<usize> {
        match &self.control.peer {
            Peer::Socket { connection, .. } => connection.as_ref()?.queues,
            Peer::Inside { inside, .. } => Some(inside.door().queues()),
        }
    }

    /// The connection's messages, for whoever wants to send others; None before it is connected, and in this process.
    pub fn messages(&mut self) -> Option<&mut Messages> {
        match &mut self.control.peer {
            Peer::Socket { connection, .. } => connection.as_mut().map(|connection| &mut connection.messages),
            Peer::Inside { .. } => None,
        }
    }
}

impl Control {
    /// See [`Link::area`].
    pub fn area(&self) -> Area {
        Area::from(self.pages.clone())
    }

    /// See [`Link::free`].
    pub fn free(&self) -> usize {
        self.free
    }

    /// Has the device be kicked in that queue by another eventfd, and call by another: those of whoever plays the driver without
    /// system calls, in a micro-guest. The lane's own are of no use from then on. To be done before anything is submitted.
    ///
    /// # Errors
    /// [`Error::Input`] in this process, whose devices have the lane's own; [`Error::System`] if the device refuses it, or is gone.
    pub fn wire(&mut self, queue: usize, kick: BorrowedFd<'_>, call: BorrowedFd<'_>) -> Result<()> {
        let Peer::Socket { connection: Some(connection), .. } = &mut self.peer else {
            return Err(Error::Input {
                place: "a link to a device".into(),
                reason: "other eventfds are told by messages, and there is no connection for them".into(),
                remedy: "connect to the device at a socket".into(),
            });
        };
        let again = |eventfd: BorrowedFd<'_>| {
            let own = eventfd.try_clone_to_owned().map_err(|e| Error::system("sharing an eventfd", e))?;
            // SAFETY: the descriptor is this function's, and nobody else's.
            Ok(unsafe { EventFd::from_raw_fd(own.into_raw_fd()) })
        };
        let refused = |e: vhost::Error| Error::system("telling a device of other eventfds", e);
        connection.messages.set_vring_call(queue, &again(call)?).map_err(refused)?;
        connection.messages.set_vring_kick(queue, &again(kick)?).map_err(refused)?;
        // What was answered after it was done after it, also by one that does not acknowledge.
        connection.messages.get_features().map_err(refused)?;
        Ok(())
    }

    /// Sends a message that only the device knows, and returns the body of its answer.
    ///
    /// # Errors
    /// [`Error::System`] if the device does not know it either, ends the connection, or does not answer in time.
    pub fn ask(&mut self, request: u32, body: &[u8]) -> Result<Vec<u8>> {
        match &mut self.peer {
            Peer::Socket { connection: Some(connection), .. } => connection.ask(request, body, 0),
            Peer::Inside { inside, open: true } => {
                inside.door().answer(request, body).ok_or("the device does not know it".into())
            }
            _ => Err("it is not connected".into()),
        }
        .map_err(|reason: String| Error::system(format!("asking a device by message {request}"), reason))
    }

    /// Sends a message that only the device knows, and that has no answer. Where the device acknowledges messages, it has been
    /// handled when this returns.
    ///
    /// # Errors
    /// [`Error::System`] if the device refused it, ends the connection, or does not answer in time.
    pub fn tell(&mut self, request: u32, body: &[u8]) -> Result<()> {
        match &mut self.peer {
            Peer::Socket { connection: Some(connection), .. } => connection.tell(request, body),
            Peer::Inside { inside, open: true } => match inside.door().answer(request, body) {
                Some(_) => Ok(()),
                None => Err("the device does not know it".into()),
            },
            _ => Err("it is not connected".into()),
        }
        .map_err(|reason: String| Error::system(format!("telling a device by message {request}"), reason))
    }
}

impl Peer {
    fn is_open(&self) -> bool {
        match self {
            Peer::Socket { connection, .. } => connection.is_some(),
            Peer::Inside { open, .. } => *open,
        }
    }

    fn close(&mut self) {
        match self {
            Peer::Socket { connection, .. } => {
                // Its queues have the socket, too, to see that it ends.
                if let Some(connection) = connection.take() {
                    let _ = connection.stream.shutdown(Shutdown::Both);
                }
            }
            Peer::Inside { inside, open } => {
                if std::mem::take(open) {
                    inside.door().leave();
                }
            }
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
fn agree(options: &LinkOptions, offered: u64) -> (Agreed, u64) {
    let (event_index, indirect) = (1 << VIRTIO_RING_F_EVENT_IDX, 1 << VIRTIO_RING_F_INDIRECT_DESC);
    let agreed = Agreed {
        event_index: options.event_index && offered & event_index != 0,
        indirect: options.indirect > 1 && offered & indirect != 0,
    };
    let both = if agreed.event_index { event_index } else { 0 } | if agreed.indirect { indirect } else { 0 };
    (agreed, (options.features | VERSION_1) & offered | both)
}

/// Empties all queues, with other eventfds, so that no old call is heard.
fn reset(lanes: &mut [Lane], agreed: Agreed, peer: &lane::Peer) -> Result<Vec<(usize, u64)>> {
    let mut lost = Vec::new();
    for (number, lane) in lanes.iter_mut().enumerate() {
        (lane.kick, lane.call, lane.peer) = (eventfd()?, eventfd()?, peer.clone());
        lost.extend(lane.reset(agreed).into_iter().map(|token| (number, token)));
    }
    Ok(lost)
}

impl Connection {
    fn open(
        path: &Path,
        options: &LinkOptions,
        pages: &SharedPages,
        lanes: &mut [Lane],
    ) -> Result<(Connection, Vec<(usize, u64)>), SetUp> {
        let stream = UnixStream::connect(path)?;
        stream.set_read_timeout(Some(options.patience))?;
        stream.set_write_timeout(Some(options.patience))?;
        let mut messages = Messages::from_stream(stream.try_clone()?, lanes.len() as u64);
        messages.set_owner()?;
        let offered = messages.get_features()?;
        let protocol = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        if offered & protocol == 0 {
            return Err(SetUp::Device("the device has no protocol features"));
        }
        // A device that does not acknowledge is believed: what it refuses is seen when nothing comes.
        let wanted = VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::from_bits_retain(options.protocol_features);
        let protocols = messages.get_protocol_features()? & wanted;
        messages.set_protocol_features(protocols)?;
        let acknowledged = protocols.contains(VhostUserProtocolFeatures::REPLY_ACK);
        if acknowledged {
            messages.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        }
        let queues = match protocols.contains(VhostUserProtocolFeatures::MQ) {
            true => Some(messages.get_queue_num()? as usize),
            false => None,
        };
        if queues.is_some_and(|queues| queues < lanes.len()) {
            return Err(SetUp::Device("the device has fewer queues"));
        }
        let (agreed, features) = agree(options, offered);
        messages.set_features(features | protocol)?;
        let stream = Arc::new(stream);
        let lost = reset(lanes, agreed, &lane::Peer::Socket(stream.clone())).map_err(SetUp::Own)?;
        messages.set_mem_table(&[VhostUserMemoryRegionInfo {
            guest_phys_addr: GUEST,
            memory_size: pages.len() as u64,
            userspace_addr: pages.as_ptr() as u64,
            mmap_offset: 0,
            mmap_handle: pages.as_fd().as_raw_fd(),
        }])?;
        for (number, lane) in lanes.iter().enumerate() {
            let layout = *lane.layout();
            let at = |offset: usize| (pages.as_ptr() as usize + offset) as u64;
            messages.set_vring_num(number, layout.size)?;
            let addresses = VringConfigData {
                queue_max_size: layout.size,
                queue_size: layout.size,
                flags: 0,
                desc_table_addr: at(layout.descriptors),
                used_ring_addr: at(layout.used),
                avail_ring_addr: at(layout.available),
                log_addr: None,
            };
            messages.set_vring_addr(number, &addresses)?;
            messages.set_vring_base(number, 0)?;
            messages.set_vring_call(number, &lane.call)?;
            messages.set_vring_kick(number, &lane.kick)?;
            messages.set_vring_enable(number, true)?;
        }
        // Without acknowledgements: what was answered after it was done after it. A kick before that may be lost.
        messages.get_features()?;
        Ok((Connection { messages, stream, acknowledged, queues }, lost))
    }

    /// Sends a message whose header has these flags besides the version; the answer's body. What the protocol's numbers look like
    /// is in [`crate::backend`].
    fn ask(&mut self, request: u32, body: &[u8], flags: u32) -> Result<Vec<u8>, String> {
        self.send(request, body, flags).map_err(|e| e.to_string())?;
        let mut header = [0; HEADER];
        let mut stream = &*self.stream;
        stream.read_exact(&mut header).map_err(|e| e.to_string())?;
        let word =
            |at: usize| u32::from_ne_bytes([header[at], header[at + 1], header[at + 2], header[at + 3]]);
        let (answered, flags, size) = (word(0), word(4), word(8) as usize);
        // Version 1, and a reply.
        if answered != request || flags & 7 != 5 || size > LONGEST {
            return Err(format!("the answer is message {answered}, flags {flags:#x}, of {size} bytes"));
        }
        let mut answer = vec![0; size];
        stream.read_exact(&mut answer).map_err(|e| e.to_string())?;
        Ok(answer)
    }

    fn tell(&mut self, request: u32, body: &[u8]) -> Result<(), String> {
        if !self.acknowledged {
            return self.send(request, body, 0).map_err(|e| e.to_string());
        }
        match self.ask(request, body, VhostUserHeaderFlag::NEED_REPLY.bits())?.as_slice() {
            [0, 0, 0, 0, 0, 0, 0, 0] => Ok(()),
            answer => Err(format!("it was refused: {answer:?}")),
        }
    }

    fn send(&self, request: u32, body: &[u8], flags: u32) -> std::io::Result<()> {
        let mut message = Wiped::zeros(HEADER + body.len());
        for (at, word) in [request, 1 | flags, body.len() as u32].into_iter().enumerate() {
            message[4 * at..][..4].copy_from_slice(&word.to_ne_bytes());
        }
        message[HEADER..].copy_from_slice(body);
        (&*self.stream).write_all(&message)
    }
}

/// Why queues could not be set up.
enum SetUp {
    Vhost(vhost::Error),
    Stream(std::io::Error),
    Device(&'static str),
    Own(Error),
}

impl From<vhost::Error> for SetUp {
    fn from(error: vhost::Error) -> SetUp {
        SetUp::Vhost(error)
    }
}

impl From<std::io::Error> for SetUp {
    fn from(error: std::io::Error) -> SetUp {
        SetUp::Stream(error)
    }
}
