//! A front end: one connection and one queue.

use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;
use vhost::vhost_user::message::{VhostUserHeaderFlag, VhostUserProtocolFeatures};
use vhost::vhost_user::{Frontend as Messages, VhostUserFrontend, VhostUserVirtioFeatures};
use vhost::{VhostBackend, VhostUserMemoryRegionInfo, VringConfigData};
use virtio_bindings::bindings::virtio_ring::VIRTIO_RING_F_EVENT_IDX;
use vm_memory::Bytes;
use vmm_sys_util::eventfd::{EFD_NONBLOCK, EventFd};

use super::queue::{GUEST, Queue};
use super::{Layout, Used};

/// VIRTIO 1.2, 6: the device is one of version 1.
const VERSION_1: u64 = 1 << 32;

/// What a front end is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many buffers it has: a power of two.
    pub buffers: u16,
    /// Bytes of each.
    pub buffer_bytes: u32,
    /// Whether it uses event indices (VIRTIO_F_EVENT_IDX), if the device offers them.
    pub event_index: bool,
    /// How long it waits for an answer.
    pub patience: Duration,
}

impl Default for Options {
    /// 16 buffers of 4 KiB.
    fn default() -> Self {
        Options { buffers: 16, buffer_bytes: 4096, event_index: true, patience: Duration::from_secs(10) }
    }
}

/// A process that uses a device as a guest would.
pub struct Frontend {
    path: PathBuf,
    options: Options,
    queue: Queue,
    connection: Option<Connection>,
}

/// What lives as long as a connection.
struct Connection {
    messages: Messages,
    stream: UnixStream,
    kick: EventFd,
    call: EventFd,
}

impl Frontend {
    /// Connects, and sets the queue up.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if nobody listens there, or what listens does not
    /// speak the protocol.
    pub fn connect(path: &Path, options: &Options) -> Result<Frontend> {
        let layout = Layout::new(options.buffers, options.buffer_bytes)?;
        let queue = Queue::new(layout)?;
        let mut frontend =
            Frontend { path: path.to_owned(), options: options.clone(), queue, connection: None };
        frontend.reconnect()?;
        Ok(frontend)
    }

    /// Connects anew, with empty rings. What it returns was offered and had not come back: lost, and to be offered
    /// again. What has come back already is taken first (with [`take`](Frontend::take)), else it is lost too.
    ///
    /// # Errors
    /// As [`Frontend::connect`].
    pub fn reconnect(&mut self) -> Result<Vec<u16>> {
        self.connection = None;
        let doing = format!("connecting to {}", self.path.display());
        let failed = |e: std::io::Error| Error::system(&*doing, e);
        let stream = UnixStream::connect(&self.path).map_err(failed)?;
        stream.set_read_timeout(Some(self.options.patience)).map_err(failed)?;
        stream.set_write_timeout(Some(self.options.patience)).map_err(failed)?;
        let messages = Messages::from_stream(stream.try_clone().map_err(failed)?, 1);
        let kick = EventFd::new(EFD_NONBLOCK).map_err(failed)?;
        let call = EventFd::new(EFD_NONBLOCK).map_err(failed)?;
        let mut connection = Connection { messages, stream, kick, call };
        let lost = self.set_up(&mut connection).map_err(|e| match e {
            SetUp::Vhost(e) => Error::system(&*doing, e),
            SetUp::Device(reason) => Error::system(&*doing, reason),
        })?;
        self.connection = Some(connection);
        Ok(lost)
    }

    fn set_up(&mut self, connection: &mut Connection) -> Result<Vec<u16>, SetUp> {
        let messages = &mut connection.messages;
        messages.set_owner()?;
        let offered = messages.get_features()?;
        let protocol = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();
        if offered & protocol == 0 {
            return Err(SetUp::Device("the device has no protocol features"));
        }
        let event_index = self.options.event_index && offered & 1 << VIRTIO_RING_F_EVENT_IDX != 0;
        let wanted = protocol | VERSION_1 | u64::from(event_index) << VIRTIO_RING_F_EVENT_IDX;
        // A device that does not acknowledge is believed: what it refuses is seen when nothing comes.
        let acknowledged = messages.get_protocol_features()? & VhostUserProtocolFeatures::REPLY_ACK;
        messages.set_protocol_features(acknowledged)?;
        if !acknowledged.is_empty() {
            messages.set_hdr_flags(VhostUserHeaderFlag::NEED_REPLY);
        }
        messages.set_features(wanted & offered)?;
        let lost = self.queue.reset(event_index);
        let pages = self.queue.pages();
        let region = VhostUserMemoryRegionInfo {
            guest_phys_addr: GUEST,
            memory_size: pages.len() as u64,
            userspace_addr: pages.as_ptr() as u64,
            mmap_offset: 0,
            mmap_handle: pages.as_fd().as_raw_fd(),
        };
        messages.set_mem_table(&[region])?;
        let layout = *self.queue.layout();
        let at = |offset: usize| (pages.as_ptr() as usize + offset) as u64;
        messages.set_vring_num(0, layout.size)?;
        messages.set_vring_addr(
            0,
            &VringConfigData {
                queue_max_size: layout.size,
                queue_size: layout.size,
                flags: 0,
                desc_table_addr: at(layout.descriptors),
                used_ring_addr: at(layout.used),
                avail_ring_addr: at(layout.available),
                log_addr: None,
            },
        )?;
        messages.set_vring_base(0, 0)?;
        messages.set_vring_call(0, &connection.call)?;
        messages.set_vring_kick(0, &connection.kick)?;
        messages.set_vring_enable(0, true)?;
        // Without acknowledgements: what was answered after it was done after it. A kick before that may be lost.
        messages.get_features()?;
        Ok(lost)
    }

    /// Offers the first `bytes` of a buffer to the device, which is not told until [`kick`](Frontend::kick).
    ///
    /// # Errors
    /// [`Error::Input`] if the device has it already, or it has not as many bytes.
    pub fn offer(&mut self, buffer: u16, bytes: u32) -> Result<()> {
        self.queue.offer(buffer, bytes)
    }

    /// Tells the device that there are buffers, if it wants to be told. Whether it was.
    pub fn kick(&mut self) -> bool {
        let wanted = self.queue.wants_kick();
        wanted && self.connection.as_ref().is_some_and(|connection| connection.kick.write(1).is_ok())
    }

    /// Takes a buffer that came back, if there is one.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the device gave back what it had not been given.
    pub fn take(&mut self) -> Result<Option<Used>> {
        self.queue.take()
    }

    /// Takes a buffer that comes back; sleeps until the device calls, at most that long.
    ///
    /// # Errors
    /// As [`Frontend::take`]; and [`Error::System`] if the connection is gone, once no buffer is left that came back.
    pub fn wait(&mut self, most: Duration) -> Result<Option<Used>> {
        let until = Instant::now() + most;
        loop {
            if let Some(used) = self.queue.take()? {
                return Ok(Some(used));
            }
            if self.queue.want_call(true) {
                continue;
            }
            let gone = || Error::system(format!("waiting for {}", self.path.display()), "the device is gone");
            let Some(connection) = &self.connection else { return Err(gone()) };
            let left = until.saturating_duration_since(Instant::now());
            let events = connection.poll(left)?;
            self.queue.want_call(false);
            if events.called {
                let _ = connection.call.read();
            } else if events.gone {
                return match self.queue.take()? {
                    Some(used) => Ok(Some(used)),
                    None => Err(gone()),
                };
            } else if left.is_zero() {
                return Ok(None);
            }
        }
    }

    /// Whether the device is still there.
    pub fn is_connected(&self) -> bool {
        let look = |connection: &Connection| connection.poll(Duration::ZERO).is_ok_and(|found| !found.gone);
        self.connection.as_ref().is_some_and(look)
    }

    /// How many buffers the device has.
    pub fn in_flight(&self) -> usize {
        self.queue.in_flight()
    }

    /// Copies a buffer's beginning.
    pub fn copy(&self, buffer: u16, into: &mut [u8]) {
        let len = into.len().min(self.queue.layout().buffer_bytes);
        let at = self.queue.layout().buffer(buffer);
        self.queue.memory().read_slice(&mut into[..len], at).expect("buffers are in the memory");
    }

    /// Overwrites a buffer's beginning.
    pub fn write(&self, buffer: u16, bytes: &[u8]) {
        let len = bytes.len().min(self.queue.layout().buffer_bytes);
        let at = self.queue.layout().buffer(buffer);
        self.queue.memory().write_slice(&bytes[..len], at).expect("buffers are in the memory");
    }

    /// The memory and where things are in it: for whoever wants to do what no driver should.
    pub fn raw(&self) -> (&SharedPages, &Layout) {
        (self.queue.pages(), self.queue.layout())
    }

    /// Kicks although nothing was offered.
    pub fn kick_anyway(&self) {
        if let Some(connection) = &self.connection {
            let _ = connection.kick.write(1);
        }
    }

    /// The connection's messages, for whoever wants to send others; None before it is connected.
    pub fn messages(&mut self) -> Option<&mut Messages> {
        self.connection.as_mut().map(|connection| &mut connection.messages)
    }
}

/// What a wait brought.
struct Events {
    called: bool,
    gone: bool,
}

impl Connection {
    fn poll(&self, most: Duration) -> Result<Events> {
        let most = Timespec {
            tv_sec: i64::try_from(most.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(most.subsec_nanos()),
        };
        // SAFETY: the eventfd is open for as long as `self` is borrowed.
        let call = unsafe { std::os::fd::BorrowedFd::borrow_raw(self.call.as_raw_fd()) };
        let mut watched =
            [PollFd::from_borrowed_fd(call, PollFlags::IN), PollFd::new(&self.stream, PollFlags::RDHUP)];
        match poll(&mut watched, Some(&most)) {
            Ok(_) | Err(Errno::INTR) => {}
            Err(e) => return Err(Error::system("waiting for a device", e)),
        }
        Ok(Events { called: !watched[0].revents().is_empty(), gone: !watched[1].revents().is_empty() })
    }
}

/// Why a queue could not be set up.
enum SetUp {
    Vhost(vhost::Error),
    Device(&'static str),
}

impl From<vhost::Error> for SetUp {
    fn from(error: vhost::Error) -> SetUp {
        SetUp::Vhost(error)
    }
}
