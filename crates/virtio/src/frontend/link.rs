//! A connection of a process to a device, with all of its queues.

use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;
use vhost::vhost_user::Frontend as Messages;

use super::lane::Lane;
use super::peer::{GUEST, Peer};
use super::queue::Agreed;
use super::{Layout, Queue};
use crate::area::Area;
use crate::backend::Inside;

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

impl Link {
    /// Connects, and sets the queues up. A path that begins with a zero is an abstract name (unix(7)).
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if nobody listens there, or what listens does not
    /// speak the protocol.
    pub fn connect(path: &Path, options: &LinkOptions) -> Result<Link> {
        Link::new(Peer::at(path), options)
    }

    /// Enters a device of this process.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be, also as the device sees it, or if somebody is in there already.
    pub fn inside(inside: &Inside, options: &LinkOptions) -> Result<Link> {
        Link::new(Peer::within(inside), options)
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
        control.peer.connect(&control.options, &control.pages, lanes)
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
        self.control.peer.queues()
    }

    /// The connection's messages, for whoever wants to send others; None before it is connected, and in this process.
    pub fn messages(&mut self) -> Option<&mut Messages> {
        self.control.peer.messages()
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
        self.peer.wire(queue, kick, call)
    }

    /// Sends a message that only the device knows, and returns the body of its answer.
    ///
    /// # Errors
    /// [`Error::System`] if the device does not know it either, ends the connection, or does not answer in time.
    pub fn ask(&mut self, request: u32, body: &[u8]) -> Result<Vec<u8>> {
        self.peer
            .ask(request, body)
            .map_err(|reason| Error::system(format!("asking a device by message {request}"), reason))
    }

    /// Sends a message that only the device knows, and that has no answer. Where the device acknowledges messages, it has been
    /// handled when this returns.
    ///
    /// # Errors
    /// [`Error::System`] if the device refused it, ends the connection, or does not answer in time.
    pub fn tell(&mut self, request: u32, body: &[u8]) -> Result<()> {
        self.peer
            .tell(request, body)
            .map_err(|reason| Error::system(format!("telling a device by message {request}"), reason))
    }
}
