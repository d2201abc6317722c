//! The generator's end where capture and generator take turns: it sends what it is asked for, as fast as it can, and may
//! be what is timed.

use std::time::Duration;

use tollway_core::{Actor, Address, Clock, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_host::samplers::thread_time;
use tollway_load::{delay, wait_until};
use tollway_wire::send::{Many, Transmit};
use tollway_wire::{Cable, Interface, WireError};

use super::meeting::meet;
use super::setting::Setting;
use super::turns::Turns;
use crate::engine::Timestamp;
use crate::engine::generate::{Frames, Sizes, Stamp};
use crate::variants::gates::SEED;

pub(super) struct Filler {
    setting: Setting,
    /// Whether sending is what is measured.
    measured: bool,
    ready: Option<Ready>,
    /// Frames asked for, and frames that the kernel took.
    asked: u64,
    taken: u64,
}

struct Ready {
    turns: Turns,
    frames: Frames,
    sender: Many,
    ticks: f64,
}

impl Filler {
    pub(super) fn new(setting: Setting, measured: bool) -> Filler {
        Filler { setting, measured, ready: None, asked: 0, taken: 0 }
    }
}

impl Ready {
    /// Sends so many frames; they are numbered on from `number`.
    fn send(&mut self, mut number: u64, frames: u64) -> Result<(), WireError> {
        let end = number + frames;
        while number < end {
            let Some(slot) = self.sender.slot() else {
                self.sender.flush()?;
                continue;
            };
            let length = self.frames.write(slot, &Stamp::new(number, Timestamp(0)));
            self.sender.commit(length);
            number += 1;
        }
        self.sender.flush()
    }
}

impl Actor for Filler {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let (namespace, turns) = meet(place)?;
        let sender = namespace.run(|| Many::open(&Interface::named(Cable::LEFT)?))??;
        let frames = Frames::new(&self.setting.flows()?, &Sizes::Fixed(self.setting.size), SEED)?;
        self.ready = Some(Ready { turns, frames, sender, ticks: hz()? / 1e9 });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(ready) = &mut self.ready else { return Ok(()) };
        let clock = RunClock::chosen();
        while let Some(turn) = ready.turns.next()? {
            if !turn.pause.is_zero() {
                wait_until(clock, clock.now() + ticks(turn.pause, ready.ticks));
            }
            let begun = clock.now();
            let spent = thread_time::thread();
            ready.send(self.asked, turn.frames)?;
            if window.planted > 0 && self.measured {
                delay(window.planted.saturating_mul(turn.frames as u32));
            }
            let spent = thread_time::thread() - spent;
            self.asked += turn.frames;
            if self.measured && begun >= window.open && turn.frames > 0 {
                recorder.set_batch(turn.frames as u32);
                recorder.sample(ticks(spent, ready.ticks));
            }
            ready.turns.done();
        }
        self.taken = ready.sender.counts().frames;
        // What was interrupted and what was not is not told apart: processor time has no gaps.
        recorder.set_batch(1);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match self.taken {
            0 if self.measured => Err(Error::Wrong("no frame was sent".into())),
            taken if taken == self.asked => Ok(()),
            taken => Err(Error::Wrong(format!("of {} frames the kernel took {taken}", self.asked))),
        }
    }

    fn tally(&mut self) -> Tally {
        let tally = Tally::default().counter("sent", self.taken);
        if self.measured { tally.counter("operations", self.asked) } else { tally }
    }
}

fn ticks(time: Duration, ticks_per_nanosecond: f64) -> u64 {
    (time.as_nanos() as f64 * ticks_per_nanosecond) as u64
}
