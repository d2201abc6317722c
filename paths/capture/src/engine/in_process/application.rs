//! The application: reads batches and looks at each packet.

use crate::engine::Packet;
use crate::engine::buffer::Batch;

/// Counts packets and bytes, and adds up what it saw so that it has to look.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Application {
    /// Packets seen.
    pub packets: u64,
    /// Bytes they had on the wire.
    pub bytes: u64,
    /// The first bytes of all packets, added up.
    pub sum: u64,
}

impl Application {
    /// Looks at one packet.
    #[inline(always)]
    pub fn look(&mut self, packet: Packet<'_>) {
        self.packets += 1;
        self.bytes += u64::from(packet.wire_length);
        let first = packet.bytes.first_chunk().map_or(0, |first| u64::from_ne_bytes(*first));
        self.sum = self.sum.wrapping_add(first ^ packet.timestamp.0);
    }

    /// Looks at every packet of a batch.
    #[inline]
    pub fn take(&mut self, batch: Batch<'_>) {
        for packet in batch.packets() {
            self.look(packet);
        }
    }
}
