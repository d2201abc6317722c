//! The driver's side of a virtio block device (VIRTIO 1.2, 5.2): requests of one size, so many under way at most.

use std::path::Path;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_virtio::frontend::{Link, LinkOptions};
use tollway_virtio::{Area, Span};

use crate::engine::disk::content::{self, SECTOR};

/// How long a disk may take to answer: longer than the slowest medium takes for the largest request.
const PATIENCE: Duration = Duration::from_secs(20);

/// Bytes before a request's own: what it is, and where the device puts how it ended.
const HEAD: usize = 64;
const TO_DEVICE: usize = 16;
const STATUS: usize = 32;
const PAGE: usize = 4096;

/// VIRTIO 1.2, 5.2.6: `VIRTIO_BLK_T_IN`, `VIRTIO_BLK_T_OUT`, `VIRTIO_BLK_S_OK`.
const IN: u32 = 0;
const OUT: u32 = 1;
const OK: u8 = 0;

/// Which way a request's bytes go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the disk.
    Read,
    /// To the disk.
    Write,
}

impl Direction {
    /// Their names.
    pub const WORDS: &[&str] = &["read", "write"];
}

/// A disk that somebody serves, with memory for so many requests.
pub struct Requests {
    link: Link,
    area: Area,
    size: usize,
    depth: usize,
    /// Where the first request's bytes are; its head is in what is before all of them.
    data: usize,
}

impl Requests {
    /// Connects to who serves a disk there, for requests of `size` bytes, whole sectors.
    ///
    /// # Errors
    /// [`Error::System`] if nobody serves there, or no disk.
    pub fn connect(path: &Path, size: usize, depth: usize) -> Result<Requests> {
        let heads = (HEAD * depth).next_multiple_of(PAGE);
        let options = LinkOptions {
            size: (4 * depth).next_power_of_two() as u16,
            bytes: heads + depth * size.next_multiple_of(PAGE),
            patience: PATIENCE,
            ..LinkOptions::default()
        };
        let link = Link::connect(path, &options)?;
        let area = link.area();
        let data = link.free() + heads;
        Ok(Requests { link, area, size, depth, data })
    }

    /// Bytes of a request.
    pub fn size(&self) -> usize {
        self.size
    }

    /// How many can be under way.
    pub fn depth(&self) -> usize {
        self.depth
    }

    fn head(&self, slot: usize) -> usize {
        self.link.free() + HEAD * slot
    }

    fn data(&self, slot: usize) -> usize {
        self.data + slot * self.size.next_multiple_of(PAGE)
    }

    /// Fills a request's bytes with noise.
    pub fn fill(&self, slot: usize, seed: u64) {
        let mut block = vec![0; self.size];
        content::fill(&mut block, seed);
        self.area.write(self.data(slot), &block);
    }

    /// Makes a request's bytes the sectors from `first` on, each of which has this generation.
    pub fn stamp(&self, slot: usize, first: u64, generation: impl Fn(u64) -> u32) {
        for (sector, at) in (first..).zip((self.data(slot)..).step_by(SECTOR)).take(self.size / SECTOR) {
            let stamps = [sector, generation(sector).into()].map(u64::to_le_bytes);
            self.area.write(at, stamps.as_flattened());
        }
    }

    /// Whether a request's bytes say that they are the sectors from `first` on, by the stamps of its first and last.
    pub fn bears(&self, slot: usize, first: u64, generation: impl Fn(u64) -> u32) -> bool {
        [0, self.size / SECTOR - 1].into_iter().all(|i| {
            let mut stamps = [0; 16];
            self.area.read(self.data(slot) + i * SECTOR, &mut stamps);
            let sector = first + i as u64;
            content::bears(&stamps, sector, generation(sector))
        })
    }

    /// Whether each of a request's bytes is what the sectors from `first` on must hold.
    pub fn holds(&self, slot: usize, first: u64, generation: impl Fn(u64) -> u32) -> bool {
        let mut block = vec![0; self.size];
        self.area.read(self.data(slot), &mut block);
        let mut sectors = block.chunks_exact(SECTOR).zip(first..);
        sectors.all(|(bytes, sector)| content::holds(bytes, sector, generation(sector)))
    }

    /// Begins a request at a sector; the disk sees it when it is next [shown](Requests::show) what there is.
    ///
    /// # Errors
    /// [`Error::System`] where the slot's last request is still under way.
    pub fn begin(&mut self, slot: usize, direction: Direction, sector: u64) -> Result<()> {
        let kind = if direction == Direction::Read { IN } else { OUT };
        let mut header = [0; TO_DEVICE];
        header[..4].copy_from_slice(&kind.to_le_bytes());
        header[8..].copy_from_slice(&sector.to_le_bytes());
        let head = self.head(slot);
        self.area.write(head, &header);
        self.area.write(head + STATUS, &[u8::MAX]);
        let header = Span { at: head, bytes: TO_DEVICE as u32 };
        let status = Span { at: head + STATUS, bytes: 1 };
        let data = Span { at: self.data(slot), bytes: self.size as u32 };
        let lane = self.link.lane(0);
        let has_room = match direction {
            Direction::Read => lane.submit(slot as u64, &[header], &[data, status])?,
            Direction::Write => lane.submit(slot as u64, &[header, data], &[status])?,
        };
        match has_room {
            true => Ok(()),
            false => Err(Error::system("asking a disk", "its queue is full")),
        }
    }

    /// Has the disk see what was begun.
    pub fn show(&mut self) {
        self.link.lane(0).kick();
    }

    /// Waits until a request has come back; which, and those that came with it.
    ///
    /// # Errors
    /// [`Error::System`] where one failed, the disk is gone, or nothing comes.
    pub fn land(&mut self, landed: &mut Vec<usize>) -> Result<()> {
        landed.clear();
        let lane = self.link.lane(0);
        match lane.wait(PATIENCE)? {
            Some(first) => landed.push(first.token as usize),
            None => {
                let reason = format!("nothing came back for {} s", PATIENCE.as_secs());
                return Err(Error::system("waiting for a disk", reason));
            }
        }
        while let Some(next) = lane.take()? {
            landed.push(next.token as usize);
        }
        for slot in landed {
            let mut status = [0];
            self.area.read(self.head(*slot) + STATUS, &mut status);
            if status[0] != OK {
                let reason = format!("the disk answered with status {}", status[0]);
                return Err(Error::system("reading or writing an image through QEMU", reason));
            }
        }
        Ok(())
    }
}
