//! The path put together: a driver, a tap, a buffer and an application that take turns in one thread.

use tollway_core::Result;

use super::application::Application;
use super::clock::{Clock, ClockKind};
use super::driver::Driver;
use super::tap::{Group, Locking, Shared, TransferBy};
use crate::engine::Accounting;
use crate::engine::buffer::{Consumer, buffer, room_for};

/// How each gate is passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Design {
    /// The clock of the timestamps.
    pub clock: ClockKind,
    /// Copy 1.
    pub transfer: TransferBy,
    /// The tap's lock.
    pub locking: Locking,
    /// Frames that pass each gate together.
    pub group: u32,
    /// Bytes of a read at the most; a packet a read where it is 0.
    pub batch: usize,
    /// Bytes of the buffer.
    pub buffer: usize,
    /// Bytes kept of a packet at the most.
    pub snapshot: u32,
}

impl Design {
    /// Packets that a read brings, where each takes `record` bytes in the buffer and a group fits into a batch: as many
    /// whole groups as fit, and as half of the buffer has room for.
    pub fn packets_a_read(&self, record: usize) -> usize {
        let group = self.group as usize;
        match self.batch {
            0 => 1,
            batch => (batch.min(self.buffer / 2) / (group * record) * group).max(group),
        }
    }
}

/// A part of the path, in the order in which they are done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The driver hands frames over.
    Driver,
    /// The filter.
    Filter,
    /// The timestamps.
    Timestamp,
    /// Places in the buffer, and headers.
    Place,
    /// Copy 1.
    Copy,
    /// The read, with copy 2.
    Read,
    /// The application looks at packets.
    Application,
}

/// The whole path.
#[derive(Debug)]
pub struct InProcess {
    driver: Driver,
    clock: Clock,
    group: Group,
    buffer: Shared,
    consumer: Consumer,
    application: Application,
    user_buffer: Vec<u8>,
    /// The application reads as soon as so many bytes are there.
    threshold: usize,
    design: Design,
    offered: u64,
    wanted: u64,
    dropped: u64,
}

impl InProcess {
    /// Puts the path together around a driver.
    ///
    /// # Errors
    /// As of [`buffer`] and [`Clock::new`].
    pub fn new(driver: Driver, design: Design) -> Result<InProcess> {
        let (producer, consumer) = buffer(design.buffer)?;
        let longest = room_for(driver.frames().longest().min(design.snapshot));
        let most = design.batch.min(design.buffer / 2);
        Ok(InProcess {
            driver,
            clock: Clock::new(design.clock)?,
            group: Group::with_capacity(design.group as usize),
            // All groups before the last that still fits.
            threshold: (most + 1).saturating_sub(design.group as usize * longest).max(1),
            buffer: Shared::new(producer, design.locking),
            consumer,
            application: Application::default(),
            user_buffer: vec![0; design.batch.max(longest)],
            design,
            offered: 0,
            wanted: 0,
            dropped: 0,
        })
    }

    /// A group of frames: from the driver into the buffer, and on to the application where a batch is full. `filter` says
    /// how many bytes it wants of a frame, 0 for none of it.
    ///
    /// # Errors
    /// As of [`Consumer::read`].
    #[inline]
    pub fn step(&mut self, filter: &mut impl FnMut(&[u8], u32) -> u32) -> Result<()> {
        self.step_watched(filter, &mut |_| ())
    }

    /// The same, for somebody who is told before each part begins.
    ///
    /// # Errors
    /// As of [`Consumer::read`].
    #[inline]
    pub fn step_watched(
        &mut self,
        filter: &mut impl FnMut(&[u8], u32) -> u32,
        watch: &mut impl FnMut(Part),
    ) -> Result<()> {
        let Self { driver, clock, group, buffer, design, .. } = self;
        watch(Part::Driver);
        self.offered += u64::from(driver.poll(design.group, group));
        watch(Part::Filter);
        group.filter(driver.frames(), filter, design.snapshot);
        self.wanted += group.wanted.len() as u64;
        watch(Part::Timestamp);
        group.stamp(clock);
        watch(Part::Place);
        self.dropped += group.place(buffer);
        watch(Part::Copy);
        let producer = buffer.producer();
        group.copy(driver.frames(), design.transfer, producer);
        producer.publish();
        if self.consumer.available() >= self.threshold {
            self.drain_watched(watch)?;
        }
        Ok(())
    }

    /// Has the application read what is left.
    ///
    /// # Errors
    /// As of [`Consumer::read`].
    pub fn drain(&mut self) -> Result<()> {
        self.drain_watched(&mut |_| ())
    }

    #[inline]
    fn drain_watched(&mut self, watch: &mut impl FnMut(Part)) -> Result<()> {
        while self.consumer.available() > 0 {
            watch(Part::Read);
            let batch = self.consumer.read(&mut self.user_buffer)?;
            watch(Part::Application);
            self.application.take(batch);
        }
        Ok(())
    }

    /// What became of the frames. None is lost before the tap: the driver's ring never overflows.
    pub fn accounting(&self) -> Accounting {
        Accounting {
            offered: Some(self.offered),
            filtered_out: Some(self.offered - self.wanted),
            delivered: self.application.packets,
            dropped: Some(self.dropped),
            lost_before: Some(0),
        }
    }

    /// System calls of reading made so far.
    pub fn reads(&self) -> u64 {
        self.consumer.calls()
    }

    /// What the application saw.
    pub fn application(&self) -> &Application {
        &self.application
    }
}
