//! What a link has with a device at a socket: the messages of vhost-user by which memory and queues are shared, and those that only
//! the device knows.

use std::io::{Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, IntoRawFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::{SocketAddr, UnixStream};
use std::path::Path;
use std::sync::Arc;

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;
use vhost::vhost_user::message::{VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend as Messages, VhostUserFrontend, VhostUserVirtioFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use vmm_sys_util::eventfd::EventFd;

use super::LinkOptions;
use super::lane::{self, Lane};
use super::peer::{GUEST, agree, reset};
use crate::backend::{HEADER, LONGEST};
use crate::wiped::Wiped;

/// What lives as long as a connection to a socket.
pub(super) struct Connection {
    pub(super) messages: Messages,
    stream: Arc<UnixStream>,
    /// Whether the device acknowledges messages.
    acknowledged: bool,
    /// How many queues the device says it has.
    pub(super) queues: Option<usize>,
}

impl Connection {
    /// Connects, and sets the queues up; what they had that had not come back, as the number of a queue and a token.
    pub(super) fn open(
        path: &Path,
        options: &LinkOptions,
        pages: &SharedPages,
        lanes: &mut [Lane],
    ) -> Result<(Connection, Vec<(usize, u64)>), SetUp> {
        let stream = connect(path)?;
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

    /// Ends it, for its queues, too, which have the socket to see that.
    pub(super) fn end(self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }

    /// Has the device be kicked in that queue by another eventfd, and call by another.
    pub(super) fn wire(&mut self, queue: usize, kick: BorrowedFd<'_>, call: BorrowedFd<'_>) -> Result<()> {
        let again = |eventfd: BorrowedFd<'_>| {
            let own = eventfd.try_clone_to_owned().map_err(|e| Error::system("sharing an eventfd", e))?;
            // SAFETY: the descriptor is this function's, and nobody else's.
            Ok(unsafe { EventFd::from_raw_fd(own.into_raw_fd()) })
        };
        let refused = |e: vhost::Error| Error::system("telling a device of other eventfds", e);
        self.messages.set_vring_call(queue, &again(call)?).map_err(refused)?;
        self.messages.set_vring_kick(queue, &again(kick)?).map_err(refused)?;
        // What was answered after it was done after it, also by one that does not acknowledge.
        self.messages.get_features().map_err(refused)?;
        Ok(())
    }

    /// Sends a message whose header has these flags besides the version; the answer's body. What the protocol's numbers look like
    /// is in [`crate::backend`].
    pub(super) fn ask(&mut self, request: u32, body: &[u8], flags: u32) -> Result<Vec<u8>, String> {
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

    /// Sends a message without an answer; acknowledged, if the device does that.
    pub(super) fn tell(&mut self, request: u32, body: &[u8]) -> Result<(), String> {
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

/// What listens there; a path that begins with a zero is an abstract name (unix(7)), which no file system has.
fn connect(path: &Path) -> std::io::Result<UnixStream> {
    match path.as_os_str().as_bytes() {
        [0, name @ ..] => UnixStream::connect_addr(&SocketAddr::from_abstract_name(name)?),
        _ => UnixStream::connect(path),
    }
}

/// Why queues could not be set up.
pub(super) enum SetUp {
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
