//! One socket of each kind, behind one interface that is dispatched once a batch.

use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Arc;
use std::time::Duration;

use tollway_wire::ring::{BlockRing, Geometry, Received, SlotRing};
use tollway_wire::xdp::{Chunks, Mode, Port, Redirect};
use tollway_wire::{Interface, Messages, PacketSocket, WireError};

use super::kernel_filter::for_kernel;
use super::{Kind, Placement, Settings, SourceError};

/// Frames that recvmmsg takes at once.
const BATCH: usize = 64;
/// The largest frame there is: segments that are cut later or joined before, of 64 KiB.
const LARGEST: usize = (64 << 10) + HEADERS;
/// What TPACKET_V3 waits for a block to fill when it should not: its shortest.
const IMMEDIATE: Duration = Duration::from_millis(1);
/// Ethernet's header, and two VLAN tags.
const HEADERS: usize = 14 + 8;

/// A socket with what it reads into.
pub enum Engine {
    /// recvmsg and recvmmsg.
    Messages(Messages),
    /// TPACKET_V2.
    Slots(SlotRing),
    /// TPACKET_V3.
    Blocks(BlockRing),
    /// AF_XDP.
    Port(Port),
}

/// What the kernel counted for a socket.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Frames that came to the socket and passed the kernel's filter, those without room included.
    pub passed: u64,
    /// Frames for which there was no room.
    pub dropped: u64,
}

/// What else is known of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Details {
    /// recvmsg, recvmmsg, TPACKET_V2: nothing.
    Plain,
    /// TPACKET_V3.
    Blocks {
        /// How often the ring was full and stood still.
        freezes: u64,
    },
    /// AF_XDP.
    Port {
        /// Where the program runs.
        mode: Mode,
        /// Whether the driver writes to this process's memory itself, without a copy.
        zero_copy: bool,
        /// How often the kernel looked for memory for a frame and found none.
        fill_ring_empty: u64,
    },
}

impl Engine {
    /// Opens a socket, gives it filter and memory, and only then has it hear the interface.
    pub fn open(interface: &Interface, settings: &Settings) -> Result<Engine, SourceError> {
        match settings.kind {
            Kind::AfXdp => {
                let modes = match settings.xdp_mode {
                    Some(mode) => vec![mode],
                    None => vec![Mode::Native, Mode::Generic],
                };
                let redirect = Arc::new(Redirect::attach(interface, &modes)?);
                Engine::open_port(interface, redirect, settings.queue, settings.buffer)
            }
            kind => Engine::open_socket(interface, kind, settings),
        }
    }

    /// An AF_XDP socket for one queue, fed by a program that is there.
    pub fn open_port(
        interface: &Interface,
        redirect: Arc<Redirect>,
        queue: u32,
        buffer: usize,
    ) -> Result<Engine, SourceError> {
        let chunks = Chunks::of(buffer, interface.mtu as usize + HEADERS)?;
        Ok(Engine::Port(Port::open(interface, redirect, queue, chunks)?))
    }

    fn open_socket(interface: &Interface, kind: Kind, settings: &Settings) -> Result<Engine, SourceError> {
        let whole = settings.placement == Placement::User && settings.filter.is_some();
        let in_kernel = match whole {
            true => None,
            false => Some(for_kernel(settings.filter.as_ref(), settings.snapshot)?),
        };
        let socket = PacketSocket::open()?;
        if let Some(program) = in_kernel {
            socket.attach_filter(&program)?;
        }
        if settings.lock_filter {
            socket.lock_filter()?;
        }
        if !settings.outgoing || interface.is_loopback() {
            socket.ignore_outgoing()?;
        }
        // What a filter here must see of a frame is all of it.
        let needed = if settings.filter.is_some() { Settings::WHOLE } else { settings.snapshot } as usize;
        let mut engine = match kind {
            Kind::Recv | Kind::Recvmmsg => {
                socket.receive_buffer(settings.buffer)?;
                let batch = if kind == Kind::Recv { 1 } else { BATCH };
                Engine::Messages(Messages::new(socket, batch, needed)?)
            }
            Kind::TpacketV2 => {
                let usual = interface.mtu as usize + HEADERS;
                // Larger ones than usual come by the socket's own buffer (segments that are cut later, or joined before).
                if needed > usual {
                    socket.receive_buffer(settings.buffer)?;
                }
                let geometry = Geometry::of_slots(settings.buffer, needed.min(usual))?;
                Engine::Slots(SlotRing::new(socket, geometry, needed > usual)?)
            }
            Kind::TpacketV3 | Kind::AfXdp => {
                let geometry = Geometry::of_blocks(settings.buffer, needed.min(LARGEST))?;
                let patience = if settings.immediate { IMMEDIATE } else { settings.patience };
                Engine::Blocks(BlockRing::new(socket, geometry, patience)?)
            }
        };
        if let Some(socket) = engine.socket() {
            socket.bind(interface)?;
            if settings.promiscuous && !interface.is_loopback() {
                socket.promiscuous(interface)?;
            }
        }
        Ok(engine)
    }

    /// Hands over at most `limit` of the frames that are there, without waiting, and says how many there were.
    #[inline]
    pub fn read(&mut self, limit: u64, sink: impl FnMut(Received<'_>)) -> Result<u64, WireError> {
        match self {
            Engine::Messages(messages) => messages.read(limit, sink),
            Engine::Slots(ring) => ring.read(limit, sink),
            Engine::Blocks(ring) => ring.read(limit, sink),
            Engine::Port(port) => port.read(limit, sink),
        }
    }

    /// What the kernel counted so far.
    pub fn counts(&mut self) -> Result<Counts, WireError> {
        if let Engine::Port(port) = self {
            let losses = port.losses()?;
            return Ok(Counts { passed: port.offered()?, dropped: losses.dropped + losses.ring_full });
        }
        let counts = self.socket().map(PacketSocket::counts).transpose()?.unwrap_or_default();
        Ok(Counts { passed: counts.passed, dropped: counts.dropped })
    }

    /// What else is known.
    pub fn details(&mut self) -> Result<Details, WireError> {
        Ok(match self {
            Engine::Messages(_) | Engine::Slots(_) => Details::Plain,
            Engine::Blocks(ring) => Details::Blocks { freezes: ring.socket().counts()?.freezes },
            Engine::Port(port) => Details::Port {
                mode: port.redirect().mode(),
                zero_copy: port.is_zero_copy(),
                fill_ring_empty: port.losses()?.fill_ring_empty,
            },
        })
    }

    /// The error that waits on the socket.
    pub fn take_error(&mut self) -> Result<Option<std::io::Error>, WireError> {
        match self {
            Engine::Port(port) => port.take_error(),
            other => other.socket().map_or(Ok(None), |socket| socket.take_error()),
        }
    }

    /// The packet socket, if it is one.
    pub fn socket(&mut self) -> Option<&mut PacketSocket> {
        match self {
            Engine::Messages(messages) => Some(messages.socket()),
            Engine::Slots(ring) => Some(ring.socket()),
            Engine::Blocks(ring) => Some(ring.socket()),
            Engine::Port(_) => None,
        }
    }
}

impl AsFd for Engine {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Engine::Messages(messages) => messages.as_fd(),
            Engine::Slots(ring) => ring.as_fd(),
            Engine::Blocks(ring) => ring.as_fd(),
            Engine::Port(port) => port.as_fd(),
        }
    }
}
