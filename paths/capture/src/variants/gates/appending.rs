//! What a frame passes into the buffer: its place and header, copy 1.

use std::hint::black_box;

use tollway_core::{Error, Params, Result};
use tollway_load::Work;

use super::{GROUP, GROUPS, GROUPS_A_READ, driver, filtered, split};
use crate::engine::buffer::{Consumer, buffer, room_for};
use crate::engine::in_process::{Driver, Group, Locking, Shared, TransferBy};
use crate::filters::{StudyFilter, Traffic};
use crate::params::{BUFFERS, LOCKS, TRANSFERS, meant};
use crate::variants::gate::Alone;

/// Groups appended to a buffer, with their bytes or without.
struct Appending {
    driver: Driver,
    group: Group,
    buffer: Shared,
    consumer: Consumer,
    groups: usize,
    /// Groups until the buffer is emptied.
    until_emptied: usize,
    /// Frames of a group: 50, or as many as the buffer has room for.
    frames: usize,
    placed: u64,
}

impl Appending {
    fn prepare(size: usize, bytes: usize, locking: Locking) -> Result<Appending> {
        // The frames are at least as long as their headers; what is kept of them is as long as asked.
        let (mut driver, _) = driver(StudyFilter::named("ip")?, Traffic::Uniform, size)?;
        let (producer, consumer) = buffer(bytes)?;
        let frames = GROUP.min(bytes / 2 / room_for(size as u32));
        let until_emptied = (bytes / 2 / (frames * room_for(size as u32))).clamp(1, GROUPS_A_READ);
        let group = filtered(&mut driver, frames, size as u32);
        let buffer = Shared::new(producer, locking);
        Ok(Appending { driver, group, buffer, consumer, groups: 0, until_emptied, frames, placed: 0 })
    }

    #[inline(always)]
    fn place(&mut self) {
        let dropped = self.group.place(&mut self.buffer);
        self.placed += self.group.places.len() as u64 - dropped;
    }

    #[inline(always)]
    fn publish(&mut self) {
        self.buffer.producer().publish();
        self.groups += 1;
        if self.groups == self.until_emptied {
            self.groups = 0;
            self.consumer.discard();
        }
        black_box(&mut self.group);
    }

    /// Whether every frame of the last group is where it should be, if `copied`.
    fn verify(&mut self, copied: bool) -> Result<()> {
        let frames = self.driver.frames();
        let producer = self.buffer.producer();
        for (frame, place) in &self.group.places {
            let bytes = producer.bytes(*place);
            if copied && bytes != &frames.bytes(*frame)[..bytes.len()] {
                return Err(Error::Wrong("a frame was not copied as it is".into()));
            }
        }
        match self.group.places.len() == self.frames && self.placed > 0 {
            true => Ok(()),
            false => {
                Err(Error::Wrong(format!("{} of {} frames found room", self.group.places.len(), self.frames)))
            }
        }
    }
}

/// Places and headers.
pub(super) struct Placing(Appending);

impl Alone for Placing {
    fn prepare(params: &Params) -> Result<Self> {
        let (lock, bytes) = split(params)?;
        Appending::prepare(params.int("size")? as usize, meant(BUFFERS, bytes)?, meant(LOCKS, lock)?)
            .map(Placing)
    }

    fn verify(&mut self) -> Result<()> {
        self.0.verify(false)
    }
}

impl Work for Placing {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.0.place();
            self.0.publish();
        }
    }

    fn operations(&self) -> u32 {
        (self.0.frames * GROUPS) as u32
    }
}

/// Places, headers and copies.
pub(super) struct Copying {
    appending: Appending,
    by: TransferBy,
}

impl Alone for Copying {
    fn prepare(params: &Params) -> Result<Self> {
        let (by, bytes) = split(params)?;
        let size = params.int("size")? as usize;
        let appending = Appending::prepare(size, meant(BUFFERS, bytes)?, Locking::None)?;
        Ok(Copying { appending, by: meant(TRANSFERS, by)? })
    }

    fn verify(&mut self) -> Result<()> {
        self.appending.verify(true)
    }
}

impl Work for Copying {
    #[inline]
    fn once(&mut self) {
        for _ in 0..GROUPS {
            self.appending.place();
            let Appending { driver, group, buffer, .. } = &mut self.appending;
            group.copy(driver.frames(), self.by, buffer.producer());
            self.appending.publish();
        }
    }

    fn operations(&self) -> u32 {
        (self.appending.frames * GROUPS) as u32
    }
}
