//! The network card of the stack: whole frames of an interface, received from a ring of slots that the kernel shares and sent in batches.

use std::cell::Cell;
use std::os::fd::{AsFd, OwnedFd};

use rustix::net::sockopt::socket_error;
use smoltcp::phy::{self, DeviceCapabilities, Medium};
use smoltcp::time::Instant;
use tollway_wire::ring::{Geometry, SlotRing};
use tollway_wire::send::{Counts, Many, Transmit, longest};
use tollway_wire::{Interface, PacketSocket, WireError};

/// Memory for frames that wait to be received, in bytes: more than twice as many as 128 connections can have on their way.
const RECEIVED: usize = 1 << 20;

/// After so many looks in vain the kernel is asked whether there is an interface still: without one nobody sleeps until a frame comes, as poll(2) has an
/// error to tell at once, again and again.
const LOOKS: u32 = 1 << 10;

/// What the stack receives by and sends by.
pub struct Device {
    ring: SlotRing,
    out: Many,
    longest: usize,
    /// The frame that is being read: a copy, since what is made of it may be sent while it is looked at.
    frame: Vec<u8>,
    received: u64,
    /// Looks in vain, and whether the interface went away meanwhile.
    looks: Cell<u32>,
    ended: Cell<bool>,
    interface: String,
    /// What went wrong, told at the next [`flush`](Device::flush).
    fault: Option<WireError>,
}

impl Device {
    /// At an interface of the calling thread's namespace.
    ///
    /// # Errors
    /// [`WireError::Missing`] if this process may not see whole frames.
    pub fn open(interface: &Interface) -> Result<Device, WireError> {
        let longest = longest(interface);
        let socket = PacketSocket::open()?;
        socket.ignore_outgoing()?;
        let mut ring = SlotRing::new(socket, Geometry::of_slots(RECEIVED, longest)?, false)?;
        ring.socket().bind(interface)?;
        let frame = Vec::with_capacity(longest);
        let (looks, ended) = (Cell::new(0), Cell::new(false));
        Ok(Device {
            ring,
            out: Many::open(interface)?,
            longest,
            frame,
            received: 0,
            looks,
            ended,
            interface: interface.name.clone(),
            fault: None,
        })
    }

    /// Whether a frame is there to be received, or none can come any more. Costs no system call but now and then.
    #[inline]
    pub fn has_some(&self) -> bool {
        self.ring.has_some() || self.has_ended()
    }

    fn has_ended(&self) -> bool {
        let looks = self.looks.get().wrapping_add(1);
        self.looks.set(looks);
        if looks.is_multiple_of(LOOKS) && !matches!(socket_error(&self.ring), Ok(Ok(()))) {
            self.ended.set(true);
        }
        self.ended.get()
    }

    /// What can be read when a frame is there.
    ///
    /// # Errors
    /// If this process has too many descriptors open.
    pub fn descriptor(&self) -> std::io::Result<OwnedFd> {
        self.ring.as_fd().try_clone_to_owned()
    }

    /// Hands what was sent to the kernel.
    ///
    /// # Errors
    /// What went wrong since the last time: the interface is down or gone.
    pub fn flush(&mut self) -> Result<(), WireError> {
        let flushed = self.out.flush();
        let lost = || WireError::Lost {
            interface: self.interface.clone(),
            reason: "it went down, or is gone".into(),
            remedy: "keep it for as long as the stack has connections".into(),
        };
        let flushed = if self.ended.get() { flushed.and(Err(lost())) } else { flushed };
        self.fault.take().map_or(flushed, Err)
    }

    /// How many frames came.
    pub fn received(&self) -> u64 {
        self.received
    }

    /// What was sent.
    pub fn sent(&self) -> Counts {
        self.out.counts()
    }
}

impl phy::Device for Device {
    type RxToken<'a> = Received<'a>;
    type TxToken<'a> = Room<'a>;

    fn receive(&mut self, _: Instant) -> Option<(Received<'_>, Room<'_>)> {
        let Device { ring, out, longest, frame, received, fault, .. } = self;
        let (longest, mut cut) = (*longest, false);
        let read = ring.read(1, |came| {
            frame.clear();
            // One that did not fit its slot is longer than the interface's frames: not one for a stack.
            cut = came.wire_length as usize > longest;
            if !cut {
                frame.extend_from_slice(came.bytes);
            }
        });
        match read {
            Ok(0) => None,
            Ok(_) => {
                *received += 1;
                Some((Received(frame), Room { out, fault }))
            }
            Err(error) => {
                *fault = Some(error);
                None
            }
        }
    }

    fn transmit(&mut self, _: Instant) -> Option<Room<'_>> {
        Some(Room { out: &mut self.out, fault: &mut self.fault })
    }

    fn capabilities(&self) -> DeviceCapabilities {
        let mut has = DeviceCapabilities::default();
        has.medium = Medium::Ethernet;
        has.max_transmission_unit = self.longest;
        has
    }
}

/// A frame that came.
pub struct Received<'a>(&'a [u8]);

impl phy::RxToken for Received<'_> {
    fn consume<R, F: FnOnce(&[u8]) -> R>(self, reads: F) -> R {
        reads(self.0)
    }
}

/// Room for a frame to be sent.
pub struct Room<'a> {
    out: &'a mut Many,
    fault: &'a mut Option<WireError>,
}

impl phy::TxToken for Room<'_> {
    fn consume<R, F: FnOnce(&mut [u8]) -> R>(self, length: usize, writes: F) -> R {
        if self.out.slot().is_none()
            && let Err(error) = self.out.flush()
        {
            *self.fault = Some(error);
        }
        match self.out.slot().and_then(|slot| slot.get_mut(..length)) {
            Some(slot) => {
                let written = writes(slot);
                self.out.commit(length);
                written
            }
            // Longer than a slot, which no frame of this interface is: it is lost on the way, as frames may be.
            None => writes(&mut vec![0; length]),
        }
    }
}
