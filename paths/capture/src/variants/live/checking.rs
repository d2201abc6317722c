//! The application of a live capture alone: over frames that lie one behind the other in memory, as a ring has them; and
//! what it spends on a packet besides.

use std::hint::black_box;

use tollway_core::{Axis, Crossing, Domain, Error, Params, Result, Value, Variant};
use tollway_host::clock::RunClock;
use tollway_load::{Work, delay, ticks_per_step};

use super::observer::Observer;
use crate::engine::generate::{Frames, Group, HEAD, Size, Sizes, Stamp, Transport};
use crate::engine::{Packet, Timestamp};
use crate::params;
use crate::variants::gate::{Alone, Lone};
use crate::variants::gates::SEED;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![
        Box::new(Lone::<Checking>::new(
            Crossing::PacketCheck,
            "First bytes, three sums, and that each number came once, over frames that lie in the cache; every 256th is \
             kept. Frames are numbered on between two samples.",
            vec![params::size()],
        )),
        Box::new(Lone::<Working>::new(
            Crossing::PacketWork,
            "Multiplications one after the other, as many as take so many cycles.",
            vec![Axis {
                name: "size",
                about: "cycles that the application spends on a packet",
                domain: Domain::Whole(1, 1_000_000),
                default: Value::Int(1000),
            }],
        )),
    ]
}

/// Frames of a walk: they stay in the nearest caches, as those do that were just fetched.
const FRAMES: usize = 128;

/// What lies before a frame in a ring: its header and address (linux/if_packet.h), in bytes.
const BEFORE: usize = 82;

struct Checking {
    memory: Vec<u8>,
    stride: usize,
    size: usize,
    frames: Frames,
    number: u64,
    walked: u64,
    observer: Observer,
}

impl Alone for Checking {
    fn prepare(params: &Params) -> Result<Self> {
        let size = params.int("size")? as usize;
        let sizes = Sizes::Fixed(Size::new((size + 4) as u16)?);
        let stride = (BEFORE + size.max(HEAD)).next_multiple_of(16);
        Ok(Checking {
            memory: vec![0; FRAMES * stride],
            stride,
            size,
            frames: Frames::new(&Group::v4(Transport::Tcp).into(), &sizes, SEED)?,
            number: 0,
            walked: 0,
            observer: Observer::new(size, size, 0),
        })
    }

    fn verify(&mut self) -> Result<()> {
        match self.observer.packets() == self.walked && self.walked > 0 {
            true => self.observer.verify(),
            false => {
                let seen = self.observer.packets();
                Err(Error::Wrong(format!("{} packets were walked, {seen} looked at", self.walked)))
            }
        }
    }
}

impl Work for Checking {
    #[inline]
    fn once(&mut self) {
        let Checking { memory, stride, size, observer, walked, .. } = self;
        for frame in black_box(&memory[..]).chunks_exact(*stride) {
            observer.look(Packet {
                timestamp: Timestamp(1),
                bytes: &frame[BEFORE..BEFORE + *size],
                wire_length: *size as u32,
            });
        }
        *walked += FRAMES as u64;
        black_box(observer);
    }

    fn operations(&self) -> u32 {
        FRAMES as u32
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) {
        for frame in self.memory.chunks_exact_mut(self.stride) {
            self.frames.write(&mut frame[BEFORE..], &Stamp { number: self.number, time: 0 });
            self.number += 1;
        }
    }
}

/// Packets between two stamps.
const TOGETHER: u32 = 16;

struct Working {
    steps: u32,
    done: u64,
}

/// Steps of a delay that takes so many cycles.
pub(super) fn steps(cycles: u32) -> u32 {
    match cycles {
        0 => 0,
        cycles => (f64::from(cycles) / ticks_per_step(RunClock::chosen())).round().max(1.0) as u32,
    }
}

impl Alone for Working {
    fn prepare(params: &Params) -> Result<Self> {
        Ok(Working { steps: steps(params.int("size")? as u32), done: 0 })
    }

    fn verify(&mut self) -> Result<()> {
        match self.steps > 0 && self.done > 0 {
            true => Ok(()),
            false => Err(Error::Wrong("no work was done".into())),
        }
    }
}

impl Work for Working {
    #[inline]
    fn once(&mut self) {
        for _ in 0..TOGETHER {
            delay(self.steps);
        }
        self.done += u64::from(TOGETHER);
    }

    fn operations(&self) -> u32 {
        TOGETHER
    }
}
