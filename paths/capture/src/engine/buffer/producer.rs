//! The tap's end of the buffer.

use std::sync::Arc;

use super::header::{HEADER, Header, room_for};
use super::indices::Indices;
use super::mapping::TwiceMapped;

/// Appends packets: each gets a place, its bytes are copied there, and then the consumer is told.
#[derive(Debug)]
pub struct Producer {
    memory: TwiceMapped,
    indices: Arc<Indices>,
    /// Bytes given away as places since the buffer was made.
    head: u64,
    /// How far the consumer had read when last looked at; it can only have gone on since.
    tail: u64,
}

/// Where a packet is in the buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    at: u64,
    kept: u32,
}

impl Producer {
    pub(super) fn new(memory: TwiceMapped, indices: Arc<Indices>) -> Producer {
        Producer { memory, indices, head: 0, tail: 0 }
    }

    /// Bytes that the buffer holds at the most, headers included.
    pub fn capacity(&self) -> usize {
        self.memory.len()
    }

    /// A place for a packet, with its header written; `None` where the buffer is too full, and the packet is lost.
    /// The consumer does not see it before [`publish`](Producer::publish).
    #[inline(always)]
    pub fn place(&mut self, header: Header) -> Option<Place> {
        let needed = room_for(header.kept) as u64;
        if self.head + needed - self.tail > self.memory.len() as u64 {
            self.tail = self.indices.read();
            if self.head + needed - self.tail > self.memory.len() as u64 {
                return None;
            }
        }
        let at = self.head;
        if let Some(to) = self.memory.at(at, HEADER).first_chunk_mut() {
            header.write(to);
        }
        self.head += needed;
        Some(Place { at, kept: header.kept })
    }

    /// Where the packet's bytes go. After its publication they are no longer the producer's to change.
    #[inline(always)]
    pub fn bytes(&mut self, place: Place) -> &mut [u8] {
        self.memory.at(place.at + HEADER as u64, place.kept as usize)
    }

    /// Hands all packets that have a place to the consumer.
    #[inline(always)]
    pub fn publish(&mut self) {
        self.indices.publish(self.head);
    }
}
