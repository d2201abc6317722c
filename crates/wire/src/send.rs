//! Sending frames on one interface that somebody named, as fast as a packet socket can.
//!
//! Frames go in batches: take a [`slot`](Transmit::slot), write the frame, [`commit`](Transmit::commit) it, and
//! [`flush`](Transmit::flush) when the batch is full or due. What differs is how a batch reaches the kernel: one system
//! call a frame ([`Single`]), one a batch with frames copied ([`Many`]), one a batch with frames in memory that the
//! kernel shares ([`Ring`]). All go past the queueing discipline (PACKET_QDISC_BYPASS, packet(7)): a full device refuses
//! a frame at once instead of queueing it.
//!
//! Nothing here has a default interface, and a frame that the kernel refused is counted, not sent again: who follows a
//! schedule has no time for the past.

mod many;
mod outlet;
mod ring;
mod single;

pub use many::Many;
pub use outlet::longest;
pub use ring::Ring;
pub use single::Single;

use self::outlet::Refusal;
use crate::WireError;

/// Bytes of a slot. The longest Ethernet frame without jumbo frames has 1518 of them (with a VLAN tag, without its check
/// sequence: IEEE 802.3, 3.2.7).
pub const SLOT: usize = 2016;

/// What was handed to the kernel, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Frames that the kernel took. It may still lose them where nobody can see it: in a device's queue, or at the other
    /// end of a veth pair.
    pub frames: u64,
    /// Bytes of those, as handed over: without the check sequence.
    pub bytes: u64,
    /// Frames that it refused with ENOBUFS while the interface had no carrier: its cable was unplugged, its other end down.
    pub no_carrier: u64,
    /// Frames that it refused with ENOBUFS for another reason, mostly a full queue of the device.
    pub no_buffers: u64,
    /// Frames that it refused with EAGAIN: the socket's memory was in flight.
    pub try_again: u64,
    /// System calls of a [`Ring`] that it refused: their frames are offered again, and refused only if they never go.
    pub put_off: u64,
    /// System calls made for it.
    pub calls: u64,
}

impl Counts {
    /// Frames that the kernel refused.
    pub fn refused(&self) -> u64 {
        self.no_carrier + self.no_buffers + self.try_again
    }

    fn refuse(&mut self, frames: u64, why: Refusal) {
        *match why {
            Refusal::NoCarrier => &mut self.no_carrier,
            Refusal::NoBuffers => &mut self.no_buffers,
            Refusal::TryAgain => &mut self.try_again,
        } += frames;
    }
}

/// Sends frames in batches.
pub trait Transmit {
    /// Room for the next frame, [`SLOT`] bytes: zeros at first, later what a caller left there. The same slot until it is
    /// committed. `None`: the batch is full, flush it.
    fn slot(&mut self) -> Option<&mut [u8]>;

    /// Adds the frame in the slot's first `length` bytes to the batch.
    ///
    /// # Panics
    /// If that is more than a slot has, or no slot was free.
    fn commit(&mut self, length: usize);

    /// Hands the batch to the kernel. Empty afterwards, whatever came of it.
    ///
    /// # Errors
    /// [`WireError`] if no further frame can be sent: the interface went down or is gone, or a frame is longer than it
    /// takes. A frame refused for want of room or of a carrier is no error: it is counted.
    fn flush(&mut self) -> Result<(), WireError>;

    /// What was handed over so far, batches flushed.
    fn counts(&self) -> Counts;
}
