//! How many frames a buffer holds: each source has its own layout, and the kernel at hand its own overheads, so a buffer is
//! filled once, on a cable of its own, and what was in it is counted.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use tollway_capture::engine::Timestamp;
use tollway_capture::engine::generate::{
    Generator, Group, Method, Schedule, Size, Sizes, Traffic, Transport,
};
use tollway_capture::engine::source::{Kind, Settings, Source};
use tollway_core::{Error, Result};
use tollway_wire::Cable;
use tollway_wire::ring::Geometry;

/// The buffer that is filled, in bytes: of many blocks, and not so large that filling it takes long.
const FILLED: u64 = 4 << 20;

/// The most frames that it can hold: no source takes fewer than so many bytes for one.
const LEAST_BYTES: u64 = 100;

/// Frames of one size in the buffers of one source.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Room {
    kind: Kind,
    /// Bytes of the buffer for each frame.
    pub bytes: f64,
}

impl Room {
    /// Where each frame takes so many bytes.
    pub fn of(kind: Kind, bytes: f64) -> Room {
        Room { kind, bytes }
    }

    /// Fills a buffer that nobody reads with frames of `size` bytes, and counts.
    ///
    /// # Errors
    /// What this process may not do, or the machine has not.
    pub fn measured(kind: Kind, size: u64) -> Result<Room> {
        let cable = Cable::new()?;
        let frames = FILLED / LEAST_BYTES;
        let held = cable.namespace().run(|| -> Result<u64> {
            let settings = Settings {
                kind,
                buffer: FILLED as usize,
                // Blocks are handed over full, not after a while.
                patience: Duration::from_secs(1),
                outgoing: false,
                ..Settings::default()
            };
            let mut source = Source::open(Cable::RIGHT, &settings)?;
            let generator = Generator {
                interface: Cable::LEFT.into(),
                traffic: Traffic::Made {
                    flows: Group::v4(Transport::Udp).into(),
                    sizes: Sizes::Fixed(Size::new(size as u16 + 4)?),
                    schedule: Schedule::FullSpeed,
                    seed: 1,
                },
                count: Some(frames),
                time: Some(Duration::from_secs(2)),
                method: Method::default(),
            };
            generator.open()?.run(&AtomicBool::new(false));
            // What the sender left in a queue of the kernel's comes within this.
            std::thread::sleep(Duration::from_millis(20));
            let mut held = 0;
            source.finish(|stamp| stamp.unwrap_or(Timestamp(0)), |_| held += 1)?;
            Ok(held)
        })??;
        match held {
            0 => Err(Error::Wrong(format!("a buffer of {kind} held none of {frames} frames"))),
            held => Ok(Room { kind, bytes: FILLED as f64 / held as f64 }),
        }
    }

    /// Frames that a buffer holds while one of its blocks is being read.
    pub fn frames(&self, buffer: u64) -> f64 {
        match self.blocks(buffer) {
            Some((block, blocks)) => (blocks - 1.0) * (block / self.bytes).floor(),
            None => (buffer as f64 / self.bytes).floor(),
        }
    }

    /// The shortest patience with which a buffer bridges a pause at any rate, in milliseconds. Blocks are handed over when
    /// their time is up, full or not; so at low rates it is their number that counts. `None`: any patience.
    pub fn least_patience(&self, buffer: u64, pause: f64) -> Option<u32> {
        // One is read, one is filled.
        let (_, blocks) = self.blocks(buffer)?;
        Some((pause * 1e3 / (blocks - 2.0).max(1.0)).ceil().clamp(1.0, 1000.0) as u32)
    }

    /// Bytes of a block, and how many there are.
    fn blocks(&self, buffer: u64) -> Option<(f64, f64)> {
        if self.kind != Kind::TpacketV3 {
            return None;
        }
        // As the engine asks for them: the largest frame there is must fit.
        const LARGEST: usize = (64 << 10) + 22;
        let geometry = Geometry::of_blocks(buffer as usize, LARGEST).ok()?;
        Some((geometry.block as f64, geometry.blocks as f64))
    }
}

#[cfg(test)]
mod tests {
    use tollway_core::Requirement;
    use tollway_host::requirement::{check, skip_test};

    use super::*;

    #[test]
    fn a_ring_of_blocks_has_fewer_than_its_bytes_say() {
        let room = Room::of(Kind::TpacketV3, 128.0);
        // 32 blocks of 512 KiB, one of them being read.
        assert_eq!(room.frames(16 << 20), 31.0 * 4096.0);
        // It has two blocks at the least.
        assert_eq!(room.frames(64 << 10), 1024.0);
        assert_eq!(Room::of(Kind::Recv, 1000.0).frames(64 << 10), 65.0);
        assert_eq!(room.least_patience(16 << 20, 0.3), Some(10));
        assert_eq!(Room::of(Kind::Recv, 1000.0).least_patience(16 << 20, 0.3), None);
    }

    /// Against the layouts: slots of a ring, chunks of 2 KiB, blocks with a header for each frame.
    #[test]
    fn a_buffer_that_was_filled_tells_its_layout() {
        for (need, word) in
            [(Requirement::NetworkNamespaces, "netns"), (Requirement::PacketSockets, "packet")]
        {
            if let Err(missing) = check(&need) {
                return skip_test(&[word], &missing);
            }
        }
        let has_xdp = check(&Requirement::AfXdp).is_ok();
        for size in [60, 1514] {
            for kind in Kind::ALL.into_iter().filter(|kind| *kind != Kind::AfXdp || has_xdp) {
                let room = Room::measured(kind, size).unwrap();
                println!("{kind} {size}: {room:?}");
                let expected = match kind {
                    Kind::AfXdp => 2048.0..=2048.0,
                    // A header, an address, room for a tag and a whole frame of the interface.
                    Kind::TpacketV2 => 1600.0..=1700.0,
                    Kind::TpacketV3 => size as f64 + 80.0..=size as f64 + 110.0,
                    // A frame with the kernel's own structures, in the allocator's sizes.
                    _ => size as f64 + 500.0..=size as f64 + 1700.0,
                };
                assert!(expected.contains(&room.bytes), "{kind} {size}: {room:?}");
            }
        }
    }
}
