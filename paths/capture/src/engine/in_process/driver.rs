//! The driver of a network adapter whose frames lie ready: a ring of receive descriptors and what is done with each.

use tollway_core::{Error, Result};

/// Bytes of a receive buffer: the power of two above the longest frame.
const BUFFER: usize = 2048;

/// A receive descriptor, as adapters write them.
#[derive(Clone, Copy, Debug)]
struct Descriptor {
    /// Which receive buffer.
    frame: FrameId,
    /// Whether the adapter has written it.
    written: bool,
}

/// The number of a frame with its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameId(u32);

/// Who is called for each frame.
pub trait Receive {
    /// Takes note of a frame, which stays where it is until the next poll.
    fn receive(&mut self, frame: FrameId);
}

/// Collects the numbers of the next `count` frames of a driver.
pub fn poll_into(driver: &mut Driver, count: u32, into: &mut Vec<FrameId>) {
    struct Collect<'a>(&'a mut Vec<FrameId>);
    impl Receive for Collect<'_> {
        fn receive(&mut self, frame: FrameId) {
            self.0.push(frame);
        }
    }
    driver.poll(count, &mut Collect(into));
}

/// Receive buffers and the ring of their descriptors.
#[derive(Debug)]
pub struct Driver {
    frames: Frames,
    ring: Vec<Descriptor>,
    next: usize,
}

/// The receive buffers.
#[derive(Debug)]
pub struct Frames {
    memory: Vec<u8>,
    lengths: Vec<u16>,
}

impl Driver {
    /// An adapter that receives these frames over and over.
    ///
    /// # Errors
    /// [`Error::Input`] where there is no frame, or one is empty or longer than a receive buffer.
    pub fn new<'f>(given: impl IntoIterator<Item = &'f [u8]>) -> Result<Driver> {
        let mut frames = Frames { memory: Vec::new(), lengths: Vec::new() };
        for (i, frame) in given.into_iter().enumerate() {
            if frame.is_empty() || frame.len() > BUFFER {
                return Err(Error::Input {
                    place: format!("frame {i}"),
                    reason: format!("it has {} bytes", frame.len()),
                    remedy: format!("give frames of 1 to {BUFFER} bytes"),
                });
            }
            frames.memory.extend_from_slice(frame);
            frames.memory.resize((i + 1) * BUFFER, 0);
            frames.lengths.push(frame.len() as u16);
        }
        let ring: Vec<Descriptor> = (0..frames.lengths.len() as u32)
            .map(|i| Descriptor { frame: FrameId(i), written: true })
            .collect();
        if ring.is_empty() {
            return Err(Error::Input {
                place: "a driver's frames".into(),
                reason: "there is none".into(),
                remedy: "give at least one".into(),
            });
        }
        Ok(Driver { frames, ring, next: 0 })
    }

    /// The frames, by their numbers.
    #[inline(always)]
    pub fn frames(&self) -> &Frames {
        &self.frames
    }

    /// Hands up to `budget` frames over: what a deferred call does for one interrupt. Returns how many.
    #[inline(never)]
    pub fn poll(&mut self, budget: u32, to: &mut dyn Receive) -> u32 {
        for handed in 0..budget {
            let descriptor = &mut self.ring[self.next];
            if !descriptor.written {
                return handed;
            }
            to.receive(descriptor.frame);
            // Given back, and at once written again: the adapter always has a frame.
            descriptor.written = std::hint::black_box(true);
            self.next = if self.next + 1 < self.ring.len() { self.next + 1 } else { 0 };
        }
        budget
    }
}

impl Frames {
    /// Bytes of the longest.
    pub fn longest(&self) -> u32 {
        self.lengths.iter().copied().max().unwrap_or_default().into()
    }

    /// A frame's bytes.
    #[inline(always)]
    pub fn bytes(&self, frame: FrameId) -> &[u8] {
        let start = frame.0 as usize * BUFFER;
        &self.memory[start..start + usize::from(self.lengths[frame.0 as usize])]
    }
}

/// What a driver does for who wants a frame copied.
pub trait Transfer {
    /// Copies a frame from byte `offset` on into the pieces, one after the other; returns how many bytes.
    fn transfer(&self, frame: FrameId, offset: usize, pieces: &mut [&mut [u8]]) -> usize;
}

impl Transfer for Frames {
    #[inline(never)]
    fn transfer(&self, frame: FrameId, offset: usize, pieces: &mut [&mut [u8]]) -> usize {
        if frame.0 as usize >= self.lengths.len() {
            return 0;
        }
        let mut rest = self.bytes(frame).get(offset..).unwrap_or_default();
        let mut done = 0;
        for piece in pieces {
            let n = rest.len().min(piece.len());
            let (now, later) = rest.split_at(n);
            piece[..n].copy_from_slice(now);
            rest = later;
            done += n;
        }
        done
    }
}
