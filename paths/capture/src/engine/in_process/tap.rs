//! The tap: filters, stamps and copies the frames that the driver hands over, one gate after the other.
//!
//! Each gate is a function of its own over a group of frames, so that what it costs can be measured alone with the very
//! code of the path. A group of one is the study's order: each frame passes all gates before the next comes.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::clock::Clock;
use super::driver::{FrameId, Frames, Receive, Transfer};
use crate::engine::Timestamp;
use crate::engine::buffer::{Header, Place, Producer};

/// How a frame gets from the driver's receive buffer into ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferBy {
    /// The driver is asked to copy it, by its number, into a list of pieces (as NdisTransferData was).
    Driver,
    /// A plain copy of the contiguous frame.
    Copy,
}

/// Whether the tap locks the buffer for each frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Locking {
    /// A lock per frame: several adapters may deliver into one buffer.
    PerFrame,
    /// None: the buffer has one producer.
    None,
}

/// A frame that the filter wants.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    frame: FrameId,
    wire_length: u32,
    kept: u32,
}

/// The frames that pass the gates together, and what is known of them so far.
#[derive(Debug, Default)]
pub struct Group {
    /// Handed over by the driver.
    pub handed: Vec<FrameId>,
    /// Wanted by the filter.
    pub wanted: Vec<Wanted>,
    /// Their times.
    pub stamps: Vec<Timestamp>,
    /// Their places in the buffer.
    pub places: Vec<(FrameId, Place)>,
}

impl Receive for Group {
    #[inline(never)]
    fn receive(&mut self, frame: FrameId) {
        self.handed.push(frame);
    }
}

impl Group {
    /// A group with room for `frames` frames.
    pub fn with_capacity(frames: usize) -> Group {
        Group {
            handed: Vec::with_capacity(frames),
            wanted: Vec::with_capacity(frames),
            stamps: Vec::with_capacity(frames),
            places: Vec::with_capacity(frames),
        }
    }

    /// Filters what was handed over. `filter` says how many bytes it wants of a frame, 0 for none of it.
    #[inline(always)]
    pub fn filter(&mut self, frames: &Frames, filter: &mut impl FnMut(&[u8], u32) -> u32, snapshot: u32) {
        self.wanted.clear();
        for frame in self.handed.drain(..) {
            let bytes = frames.bytes(frame);
            let wire_length = bytes.len() as u32;
            let kept = filter(bytes, wire_length).min(snapshot).min(wire_length);
            if kept > 0 {
                self.wanted.push(Wanted { frame, wire_length, kept });
            }
        }
    }

    /// Stamps what is wanted.
    #[inline(always)]
    pub fn stamp(&mut self, clock: &mut Clock) {
        self.stamps.clear();
        for _ in 0..self.wanted.len() {
            self.stamps.push(clock.now());
        }
    }

    /// Finds places in the buffer; returns how many frames found none.
    #[inline(always)]
    pub fn place(&mut self, buffer: &mut Shared) -> u64 {
        self.places.clear();
        for (wanted, timestamp) in self.wanted.iter().zip(&self.stamps) {
            let header = Header { timestamp: *timestamp, kept: wanted.kept, wire_length: wanted.wire_length };
            if let Some(place) = buffer.place(header) {
                self.places.push((wanted.frame, place));
            }
        }
        (self.wanted.len() - self.places.len()) as u64
    }

    /// Copies what has a place.
    #[inline(always)]
    pub fn copy(&mut self, frames: &Frames, by: TransferBy, to: &mut Producer) {
        match by {
            TransferBy::Copy => {
                for (frame, place) in &self.places {
                    let into = to.bytes(*place);
                    into.copy_from_slice(&frames.bytes(*frame)[..into.len()]);
                }
            }
            TransferBy::Driver => {
                let driver: &dyn Transfer = std::hint::black_box(frames);
                for (frame, place) in &self.places {
                    driver.transfer(*frame, 0, &mut [to.bytes(*place)]);
                }
            }
        }
    }
}

/// The buffer's end, with a lock or without.
#[derive(Debug)]
pub enum Shared {
    /// Locked for each frame.
    Locked(Mutex<Producer>),
    /// Used by one tap alone.
    Owned(Producer),
}

impl Shared {
    /// A buffer with that locking.
    pub fn new(producer: Producer, locking: Locking) -> Shared {
        match locking {
            Locking::PerFrame => Shared::Locked(Mutex::new(producer)),
            Locking::None => Shared::Owned(producer),
        }
    }

    /// A place for one frame.
    #[inline(always)]
    pub fn place(&mut self, header: Header) -> Option<Place> {
        let mut guard: MutexGuard<'_, Producer>;
        let producer = match self {
            Shared::Owned(producer) => producer,
            Shared::Locked(lock) => {
                guard = (*lock).lock().unwrap_or_else(PoisonError::into_inner);
                &mut guard
            }
        };
        producer.place(header)
    }

    /// The buffer, where nobody else can have it.
    #[inline(always)]
    pub fn producer(&mut self) -> &mut Producer {
        match self {
            Shared::Owned(producer) => producer,
            Shared::Locked(lock) => lock.get_mut().unwrap_or_else(PoisonError::into_inner),
        }
    }
}
