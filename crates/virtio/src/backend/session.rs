//! One connection of a peer: what it has told so far, and which of its queues can run.

use std::net::Shutdown;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::net::{SendFlags, send};
use vhost::vhost_user::message::{FrontendReq, VhostUserProtocolFeatures, VhostUserVirtioFeatures};
use virtio_bindings::bindings::virtio_ring::{VIRTIO_RING_F_EVENT_IDX, VIRTIO_RING_F_INDIRECT_DESC};

use super::eventfd::{Conduct, Eventfd};
use super::inbox::{Arrived, Inbox};
use super::memory::Region;
use super::message::{MOST_DESCRIPTORS, Message, halves, state_bytes};
use super::received::{Bin, Received};
use super::ring::Start;
use super::{Answer, Device, Event, Kicks, Memory, Port, Refused, Ring};

/// The bit by which a back end says that there are protocol features.
const PROTOCOL_FEATURES: u64 = VhostUserVirtioFeatures::PROTOCOL_FEATURES.bits();

/// How long a message with more memory waits at most for what is being closed.
const PATIENCE: Duration = Duration::from_millis(100);

/// What a look for a message brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// It goes on when the peer sends more, or has.
    On,
    /// A message waits until memory is closed: it is to be looked at again soon, and the peer is not heard before.
    Waits,
    /// The peer has gone.
    Gone,
}

/// What is known of a queue.
#[derive(Debug, Default)]
struct Setup {
    size: u16,
    /// Where the descriptors, the available and the used ring are, as the peer sees them.
    rings: Option<[u64; 3]>,
    base: u16,
    kick: Option<Arc<Eventfd>>,
    call: Option<Eventfd>,
    error: Option<Eventfd>,
    enabled: Option<bool>,
}

/// What handling messages needs besides the connection.
pub(crate) struct Surroundings<'a> {
    pub(crate) device: &'a dyn Device,
    pub(crate) tenant: usize,
    pub(crate) port: &'a Port,
    pub(crate) kicks: &'a Kicks,
    /// The most memory that the tenant may share, in bytes.
    pub(crate) most_shared: u64,
}

/// A connection of a peer.
#[derive(Debug)]
pub(crate) struct Session {
    stream: UnixStream,
    inbox: Inbox,
    /// A message that waits, and until when.
    waiting: Option<(Message, Instant)>,
    bin: Arc<Bin>,
    conduct: Arc<Conduct>,
    features: u64,
    protocol: VhostUserProtocolFeatures,
    memory: Option<Arc<Memory>>,
    queues: Vec<Setup>,
}

impl AsFd for Session {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Session {
    pub(crate) fn new(stream: UnixStream, queues: usize, bin: Arc<Bin>, conduct: Conduct) -> Session {
        Session {
            stream,
            inbox: Inbox::new(bin.clone()),
            waiting: None,
            bin,
            conduct: Arc::new(conduct),
            features: 0,
            protocol: VhostUserProtocolFeatures::empty(),
            memory: None,
            queues: (0..queues).map(|_| Setup::default()).collect(),
        }
    }

    /// Whether a message of it waits.
    pub(crate) fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Whether its peer has held anybody up who called it.
    pub(crate) fn has_held(&self) -> bool {
        self.conduct.has_held()
    }

    /// Handles one message if a whole one is there, or the one that waits.
    pub(crate) fn step(&mut self, around: &Surroundings<'_>) -> Result<Step, Refused> {
        let (mut message, until) = match self.waiting.take() {
            Some(waiting) => waiting,
            None => match self.inbox.receive(&self.stream)? {
                Arrived::Message(message) => (message, Instant::now() + PATIENCE),
                Arrived::Nothing => return Ok(Step::On),
                Arrived::End => return Ok(Step::Gone),
            },
        };
        let brings_memory = message.header.request == u32::from(FrontendReq::SET_MEM_TABLE);
        if brings_memory && self.bin.is_busy() && Instant::now() < until {
            self.waiting = Some((message, until));
            return Ok(Step::Waits);
        }
        // Whether this was negotiated is not asked: QEMU's vhost-user-rng does not negotiate again with a server that has
        // come anew, and waits all the same.
        let acknowledged = message.header.need_reply;
        let reply = match self.handle(&mut message, around) {
            Ok(Some(body)) => Some(body),
            Ok(None) => acknowledged.then(|| 0u64.to_ne_bytes().into()),
            Err(refused) if acknowledged => {
                around.device.event(around.tenant, Event::Refused(&refused));
                Some(1u64.to_ne_bytes().into())
            }
            Err(refused) => return Err(refused),
        };
        let header = message.header;
        // Whoever has the answer may rely on it that what was sent is wiped.
        drop(message);
        if let Some(body) = reply {
            self.send(&header.reply(&body))?;
        }
        Ok(Step::On)
    }

    /// Stops all queues; the connection ends by [`leave`](Session::leave).
    pub(crate) fn end(&mut self, around: &Surroundings<'_>) {
        for queue in 0..self.queues.len() {
            self.stop(queue, around);
        }
    }

    /// Ends the connection.
    pub(crate) fn leave(self) {
        let Session { stream, bin, memory, .. } = self;
        memory.into_iter().for_each(|memory| bin.put_memory(memory));
        // From here on nothing more arrives; descriptors in what has not been read would be closed with it.
        let _ = stream.shutdown(Shutdown::Both);
        if rustix::io::ioctl_fionread(&stream).is_ok_and(|unread| unread == 0) {
            return;
        }
        bin.put(stream.into());
    }

    fn send(&self, mut bytes: &[u8]) -> Result<(), Refused> {
        while !bytes.is_empty() {
            match send(&self.stream, bytes, SendFlags::NOSIGNAL | SendFlags::DONTWAIT) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => return Err(Refused::Deaf),
                Err(error) => return Err(Refused::Connection(error.to_string())),
            }
        }
        Ok(())
    }

    /// Does what a message asks for; the body of the reply if it is one that has a reply of its own.
    fn handle(
        &mut self,
        message: &mut Message,
        around: &Surroundings<'_>,
    ) -> Result<Option<Vec<u8>>, Refused> {
        let number = message.header.request;
        let offered = around.device.features() | PROTOCOL_FEATURES;
        let protocol_offered = VhostUserProtocolFeatures::MQ
            | VhostUserProtocolFeatures::REPLY_ACK
            | VhostUserProtocolFeatures::from_bits_retain(around.device.protocol_features());
        let word = |word: u64| Ok(Some(word.to_ne_bytes().to_vec()));
        let Ok(request) = FrontendReq::try_from(number) else { return Err(Refused::Unknown(number)) };
        match request {
            FrontendReq::GET_FEATURES => return word(offered),
            FrontendReq::SET_FEATURES => {
                let features = message.u64()?;
                if features & !offered != 0 {
                    return Err(message.wrong(format!("{:#x} was not offered", features & !offered)));
                }
                self.features = features;
                self.restart_all(around)?;
            }
            FrontendReq::GET_PROTOCOL_FEATURES => return word(protocol_offered.bits()),
            FrontendReq::SET_PROTOCOL_FEATURES => {
                let wanted = VhostUserProtocolFeatures::from_bits_retain(message.u64()?);
                if !protocol_offered.contains(wanted) {
                    let extra = wanted.difference(protocol_offered);
                    return Err(message.wrong(format!("{:#x} was not offered", extra.bits())));
                }
                self.protocol = wanted;
            }
            FrontendReq::SET_OWNER => {}
            FrontendReq::RESET_OWNER => {
                self.end(around);
                around.device.event(around.tenant, Event::Anew);
            }
            FrontendReq::GET_QUEUE_NUM => return word(self.queues.len() as u64),
            FrontendReq::SET_MEM_TABLE => {
                if self.bin.is_busy() {
                    return Err(message.wrong("there is more memory before the last was given back"));
                }
                let memory = Arc::new(memory_table(message, around.most_shared)?);
                let old = self.memory.replace(memory);
                self.restart_all(around)?;
                old.into_iter().for_each(|old| self.bin.put_memory(old));
            }
            FrontendReq::SET_VRING_NUM => {
                let (queue, size) = self.queue_and(message)?;
                let most = around.device.queue_size();
                let size = u16::try_from(size).ok().filter(|size| size.is_power_of_two() && *size <= most);
                self.stop(queue, around);
                self.queues[queue].size = size.ok_or_else(|| {
                    message.wrong(format!("a queue's size is a power of two, at most {most}"))
                })?;
                self.start(queue, around)?;
            }
            FrontendReq::SET_VRING_ADDR => {
                let [first, descriptors, used, available, _log] = message.words::<5>()?;
                let (queue, _flags) = halves(first);
                let queue = self.queue(queue, message)?;
                self.stop(queue, around);
                self.queues[queue].rings = Some([descriptors, available, used]);
                self.start(queue, around)?;
            }
            FrontendReq::SET_VRING_BASE => {
                let (queue, base) = self.queue_and(message)?;
                let base = u16::try_from(base).map_err(|_| message.wrong("an index has 16 bits"))?;
                self.stop(queue, around);
                let setup = &mut self.queues[queue];
                // Who goes on after a pause goes on where it stopped; at 0 a driver begins anew.
                let is_anew = base == 0 && setup.base != 0;
                setup.base = base;
                if is_anew {
                    around.device.event(around.tenant, Event::Anew);
                }
                self.start(queue, around)?;
            }
            FrontendReq::GET_VRING_BASE => {
                let (queue, _) = self.queue_and(message)?;
                self.stop(queue, around);
                // "Rings have … stopped": until the next kick descriptor.
                let setup = &mut self.queues[queue];
                setup.kick = None;
                return Ok(Some(state_bytes(queue as u32, u32::from(setup.base)).to_vec()));
            }
            FrontendReq::SET_VRING_KICK => {
                let (queue, kick) = message.eventfd()?;
                let queue = self.queue(queue as u32, message)?;
                let Some(kick) = kick else {
                    return Err(message.wrong("queues without a kick descriptor are not served"));
                };
                self.stop(queue, around);
                self.queues[queue].kick = Some(Arc::new(Eventfd::new(kick, "kick", &self.conduct)?));
                self.start(queue, around)?;
            }
            FrontendReq::SET_VRING_CALL => {
                let (queue, call) = message.eventfd()?;
                let queue = self.queue(queue as u32, message)?;
                let call = call.map(|call| Eventfd::new(call, "call", &self.conduct)).transpose()?;
                let running = call.as_ref().map(Eventfd::try_clone).transpose()?;
                self.queues[queue].call = call;
                if let Some(ring) = &mut around.port.rings()[queue] {
                    ring.call = running;
                    ring.call_anyway();
                }
            }
            FrontendReq::SET_VRING_ERR => {
                let (queue, error) = message.eventfd()?;
                let queue = self.queue(queue as u32, message)?;
                let error = error.map(|error| Eventfd::new(error, "error", &self.conduct)).transpose()?;
                let running = error.as_ref().map(Eventfd::try_clone).transpose()?;
                self.queues[queue].error = error;
                if let Some(ring) = &mut around.port.rings()[queue] {
                    ring.error = running;
                }
            }
            FrontendReq::SET_VRING_ENABLE => {
                let (queue, enable) = self.queue_and(message)?;
                if enable > 1 {
                    return Err(message.wrong(format!("{enable} is neither on nor off")));
                }
                self.queues[queue].enabled = Some(enable == 1);
                self.stop(queue, around);
                self.start(queue, around)?;
            }
            _ => {
                let answer = around.device.answer(around.tenant, number, &message.body);
                return match answer.ok_or(Refused::Unknown(number))? {
                    Answer::Body(body) => Ok(Some(body)),
                    Answer::Done => Ok(None),
                };
            }
        }
        Ok(None)
    }

    fn queue(&self, number: u32, message: &Message) -> Result<usize, Refused> {
        let queue = number as usize;
        if queue < self.queues.len() {
            return Ok(queue);
        }
        Err(message.wrong(format!("queue {number} of {}", self.queues.len())))
    }

    fn queue_and(&self, message: &Message) -> Result<(usize, u32), Refused> {
        let (queue, value) = message.state()?;
        Ok((self.queue(queue, message)?, value))
    }

    fn restart_all(&mut self, around: &Surroundings<'_>) -> Result<(), Refused> {
        for queue in 0..self.queues.len() {
            self.stop(queue, around);
            self.start(queue, around)?;
        }
        Ok(())
    }

    /// Stops a queue, if it runs; it would go on where it stopped.
    fn stop(&mut self, queue: usize, around: &Surroundings<'_>) {
        // Whoever serves it has this lock for a turn at most, and lets this thread go first.
        let Some(ring) = around.port.rings()[queue].take() else { return };
        let setup = &mut self.queues[queue];
        setup.base = ring.base();
        if let Some(kick) = &setup.kick {
            around.kicks.forget(&**kick);
        }
        around.device.event(around.tenant, Event::Stopped(queue));
    }

    /// Starts a queue, if all is known that it takes ("Ring states").
    fn start(&mut self, queue: usize, around: &Surroundings<'_>) -> Result<(), Refused> {
        let setup = &self.queues[queue];
        // Without protocol features there is no message that enables a queue: it is enabled from the start.
        let unsaid = || self.features & PROTOCOL_FEATURES == 0 || around.device.starts_enabled();
        let enabled = setup.enabled.unwrap_or_else(unsaid);
        let (Some(memory), Some([descriptors, available, used]), Some(kick)) =
            (&self.memory, setup.rings, &setup.kick)
        else {
            return Ok(());
        };
        if !enabled || setup.size == 0 {
            return Ok(());
        }
        let place = |user| {
            let found = memory.guest_address(user);
            found.ok_or_else(|| Refused::Rings(format!("{user:#x} is not in the memory shared")))
        };
        let features = self.features | around.device.holds_anyway();
        let start = Start {
            size: setup.size,
            descriptors: place(descriptors)?,
            available: place(available)?,
            used: place(used)?,
            base: setup.base,
            event_index: features & 1 << VIRTIO_RING_F_EVENT_IDX != 0,
            indirect: features & 1 << VIRTIO_RING_F_INDIRECT_DESC != 0,
        };
        let mut ring = Ring::new(memory.clone(), &start)?;
        ring.call = setup.call.as_ref().map(Eventfd::try_clone).transpose()?;
        ring.error = setup.error.as_ref().map(Eventfd::try_clone).transpose()?;
        let watched = around.kicks.watch(&**kick, around.tenant, queue);
        watched.map_err(|e| Refused::Rings(format!("its kicks cannot be waited for: {e}")))?;
        ring.kick = Some(kick.clone());
        ring.call_anyway();
        around.port.rings()[queue] = Some(ring);
        around.device.event(around.tenant, Event::Started(queue));
        Ok(())
    }
}

/// Regions and their files ("Memory regions description").
fn memory_table(message: &mut Message, most: u64) -> Result<Memory, Refused> {
    const REGION: usize = 32;
    let body = &message.body;
    let Some((first, rest)) = body.split_first_chunk::<8>() else {
        return Err(message.wrong("it is too short"));
    };
    let (count, _padding) = halves(u64::from_ne_bytes(*first));
    if count as usize > MOST_DESCRIPTORS || rest.len() != count as usize * REGION {
        return Err(message.wrong(format!("{count} regions in {} bytes", rest.len())));
    }
    let regions = rest.as_chunks::<REGION>().0.iter().map(|bytes| {
        let word = |at: usize| bytes[at..].first_chunk::<8>().map_or(0, |word| u64::from_ne_bytes(*word));
        Region { guest: word(0), size: word(8), user: word(16), offset: word(24) }
    });
    let regions = regions.collect();
    let files: Vec<Received> = std::mem::take(&mut message.descriptors);
    Memory::map(regions, files, most)
}
