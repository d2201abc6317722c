//! What a packet passes out of the buffer: the read with copy 2, the application.

use std::hint::black_box;

use tollway_core::{Error, Params, Result};
use tollway_load::Work;

use crate::engine::Timestamp;
use crate::engine::buffer::{Consumer, Header, Producer, buffer, room_for};
use crate::engine::in_process::Application;
use crate::params::{BUFFERS, meant};
use crate::variants::gate::Alone;

/// A buffer with packets of one size in it, and who reads them.
struct Filled {
    producer: Producer,
    consumer: Consumer,
    user_buffer: Vec<u8>,
    kept: u32,
    packets: usize,
    application: Application,
    asked: u64,
}

impl Filled {
    fn prepare(bytes: usize, packets: usize, kept: u32, read: usize) -> Result<Filled> {
        let room = packets * room_for(kept);
        if 2 * room > bytes {
            return Err(Error::Input {
                place: format!("{packets} packets of {} bytes", room_for(kept)),
                reason: format!("they fill more than half of a buffer of {bytes} bytes"),
                remedy: "take fewer packets or a larger buffer".into(),
            });
        }
        let (producer, consumer) = buffer(bytes)?;
        let user_buffer = vec![0; read];
        let application = Application::default();
        Ok(Filled { producer, consumer, user_buffer, kept, packets, application, asked: 0 })
    }

    fn fill(&mut self, times: usize) {
        for _ in 0..times * self.packets {
            let header = Header { timestamp: Timestamp(1), kept: self.kept, wire_length: self.kept };
            if let Some(place) = self.producer.place(header) {
                self.producer.bytes(place).fill(self.asked as u8);
                self.asked += 1;
            }
        }
        self.producer.publish();
    }

    fn verify(&self) -> Result<()> {
        let left = (self.consumer.available() / room_for(self.kept)) as u64;
        match self.application.packets + left == self.asked && self.application.packets > 0 {
            true => Ok(()),
            false => Err(Error::Wrong(format!(
                "{} packets were put in, {left} are left, {} came out",
                self.asked, self.application.packets
            ))),
        }
    }
}

/// One read.
pub(super) struct Reading {
    filled: Filled,
    /// Reads between two fillings.
    reads: u32,
}

/// Short reads between two fillings.
const SHORT_READS: u32 = 64;

/// A read of so many bytes is long enough to be stamped alone.
const LONG_READ: usize = 64 << 10;

impl Alone for Reading {
    fn prepare(params: &Params) -> Result<Self> {
        let bytes = meant(BUFFERS, params.word("kind")?)?;
        let (size, packets) = (params.int("size")? as usize, params.int("depth")? as usize);
        let kept = (size / packets).checked_sub(crate::engine::buffer::HEADER).filter(|k| *k > 0);
        let kept = kept.ok_or_else(|| Error::Input {
            place: format!("{packets} packets in {size} bytes"),
            reason: "they have no room for their headers".into(),
            remedy: "ask for fewer packets or more bytes".into(),
        })? as u32;
        let reads = if size >= LONG_READ { 1 } else { SHORT_READS.min((bytes / 2 / size) as u32).max(1) };
        let filled = Filled::prepare(bytes, packets, kept, packets * room_for(kept))?;
        Ok(Reading { filled, reads })
    }

    fn verify(&mut self) -> Result<()> {
        self.filled.verify()
    }
}

impl Work for Reading {
    #[inline]
    fn once(&mut self) {
        for _ in 0..self.reads {
            let Filled { consumer, user_buffer, application, packets, .. } = &mut self.filled;
            // What cannot be read is missing when it is verified.
            if let Ok(batch) = consumer.read(user_buffer) {
                application.packets += *packets as u64;
                black_box(batch.len());
            }
        }
    }

    fn operations(&self) -> u32 {
        self.reads
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.filled.fill(self.reads as usize);
    }
}

/// The application over one batch.
pub(super) struct Looking {
    filled: Filled,
    read: usize,
    /// How often the same batch is walked between two stamps: a short one takes less than a stamp.
    walks: u32,
}

/// Packets between two stamps at the least.
const LOOKED_AT: usize = 2000;

impl Alone for Looking {
    fn prepare(params: &Params) -> Result<Self> {
        let (kept, packets) = (params.int("size")? as u32, params.int("depth")? as usize);
        let room = packets * room_for(kept);
        let bytes = (2 * room).next_power_of_two();
        let walks = LOOKED_AT.div_ceil(packets) as u32;
        Ok(Looking { filled: Filled::prepare(bytes, packets, kept, room)?, read: 0, walks })
    }

    fn verify(&mut self) -> Result<()> {
        self.filled.application.packets /= u64::from(self.walks);
        self.filled.verify()
    }
}

impl Work for Looking {
    #[inline]
    fn once(&mut self) {
        let Filled { user_buffer, application, .. } = &mut self.filled;
        for _ in 0..self.walks {
            application.take(crate::engine::buffer::Batch::of(black_box(&user_buffer[..self.read])));
        }
        black_box(application);
    }

    fn operations(&self) -> u32 {
        self.filled.packets as u32 * self.walks
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        self.filled.fill(1);
        let Filled { consumer, user_buffer, .. } = &mut self.filled;
        self.read = consumer.read(user_buffer).map_or(0, |batch| batch.len());
    }
}
