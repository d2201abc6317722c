//! The capture's end where capture and generator take turns: frames lie ready before they are taken, so that only taking
//! them is timed, or only the wait for one.

use std::hint::black_box;
use std::time::Duration;

use tollway_core::{Actor, Address, Clock, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_host::samplers::thread_time;
use tollway_load::delay;
use tollway_wire::{Cable, Watch, Woken};

use super::meeting::address;
use super::setting::Setting;
use super::sleeps;
use super::turns::{Turn, Turns};
use crate::engine::source::{Kind, Source, SourceError};
use crate::engine::{Packet, Timestamp};

/// What is done over and over, and timed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Passed {
    /// So many frames that lie ready are taken.
    Frames(u64),
    /// A look that finds none.
    Nothing,
    /// A wait that finds frames at once.
    Ready,
    /// A wait that sleeps so long until there are some.
    Asleep(Duration),
    /// A nap.
    Nap,
    /// Nothing: sending is what is timed. So many frames lie in the socket then, if there is one.
    Drained(u64),
}

/// So long after they were sent all frames have arrived; with TPACKET_V3 a block that is not full was handed over: two of
/// the kernel's timers of 1 ms, and a tick.
const SETTLED: Duration = Duration::from_micros(300);
const HANDED_OVER: Duration = Duration::from_millis(4);

/// How long a wait may take that is sure to end.
const LONGEST: Duration = Duration::from_secs(2);

/// Short operations between two stamps.
const TOGETHER: u32 = 256;

/// So much of a frame is fetched into the nearest cache: what the application looks at.
const LOOKED_AT: usize = 60;

pub(super) struct Taking {
    setting: Setting,
    passed: Passed,
    /// Whether a socket hears the cable.
    heard: bool,
    ready: Option<Ready>,
}

struct Ready {
    cable: Cable,
    turns: Turns,
    source: Option<Source>,
    far: Watch,
    /// How long frames are on their way.
    settled: Duration,
    nap: Duration,
    ticks: f64,
    /// Frames asked for, frames taken, those of them whose bytes were as they should be, and frames that the kernel had
    /// no room for.
    asked: u64,
    seen: u64,
    whole: u64,
    dropped: u64,
    /// Operations, and turns that were not as they should be and are in no figure.
    done: u64,
    failed: u64,
}

/// Whether it has the first byte of the sender's address, that of frames made here, and their length.
#[inline]
fn is_as_sent(packet: &Packet<'_>, size: u32) -> bool {
    packet.bytes.get(6) == Some(&0x02) && packet.wire_length == size
}

impl Taking {
    pub(super) fn new(setting: Setting, passed: Passed, heard: bool) -> Taking {
        Taking { setting, passed, heard, ready: None }
    }
}

impl Ready {
    fn begin(setting: &Setting, heard: bool) -> Result<Ready> {
        let cable = Cable::new()?;
        let settings = setting.source()?;
        let (source, far) = cable.namespace().run(|| -> Result<_, SourceError> {
            let source = heard.then(|| Source::open(Cable::RIGHT, &settings)).transpose()?;
            Ok((source, Watch::on(Cable::LEFT)?))
        })??;
        let turns = Turns::new()?;
        let nap = settings.nap();
        let settled = if setting.kind == Kind::TpacketV3 { HANDED_OVER } else { SETTLED };
        let ticks = hz()? / 1e9;
        Ok(Ready {
            cable,
            turns,
            source,
            far,
            settled,
            nap,
            ticks,
            asked: 0,
            seen: 0,
            whole: 0,
            dropped: 0,
            done: 0,
            failed: 0,
        })
    }

    fn ask(&mut self, frames: u64, pause: Duration) {
        self.asked += frames;
        self.turns.ask(Turn { frames, pause });
    }

    /// Has so many frames sent, and waits until they lie ready.
    fn fill(&mut self, frames: u64) -> Result<()> {
        self.ask(frames, Duration::ZERO);
        self.turns.wait_for_frames()?;
        if self.source.is_some() {
            std::thread::sleep(self.settled);
        }
        Ok(())
    }

    /// Takes at most so many frames, of each of which the part is fetched that an application looks at.
    #[inline]
    fn take(&mut self, limit: u64, size: u32) -> Result<u64> {
        let Some(source) = &mut self.source else { return Ok(0) };
        let (mut seen, mut whole) = (0u64, 0u64);
        let taken =
            source.take(limit, &mut |stamp| stamp.unwrap_or(Timestamp(0)), &mut |packet: Packet<'_>| {
                seen += 1;
                let last = packet.bytes.len().min(LOOKED_AT).saturating_sub(1);
                black_box(packet.bytes.get(last).copied());
                whole += u64::from(is_as_sent(&packet, size));
            })?;
        self.seen += seen;
        self.whole += whole;
        Ok(taken)
    }

    /// Takes what is still on its way, however late the kernel hands it over, and asks what it dropped: a ring of two
    /// blocks has no room where the generator is kept from its processor twice within one turn.
    fn close(&mut self, size: u32) -> Result<()> {
        let Some(source) = &mut self.source else { return Ok(()) };
        let (mut seen, mut whole) = (0u64, 0u64);
        let stamp = |stamp: Option<Timestamp>| stamp.unwrap_or(Timestamp(0));
        let accounting = source.finish(stamp, |packet: Packet<'_>| {
            seen += 1;
            whole += u64::from(is_as_sent(&packet, size));
        })?;
        self.seen += seen;
        self.whole += whole;
        self.dropped = accounting
            .dropped
            .ok_or_else(|| Error::Wrong("the kernel does not tell how many frames it dropped".into()))?;
        Ok(())
    }

    /// Takes all there is, untimed.
    fn drain(&mut self, size: u32) -> Result<()> {
        while self.take(u64::MAX, size)? > 0 {}
        Ok(())
    }

    /// One turn: the processor time of what is timed, and how many operations it is; `None` if it was something else.
    fn turn(&mut self, passed: Passed, size: u32) -> Result<Option<(Duration, u32)>> {
        match passed {
            Passed::Frames(frames) => {
                self.fill(frames)?;
                let begun = thread_time::thread();
                let taken = self.take(frames, size)?;
                let spent = thread_time::thread() - begun;
                self.drain(size)?;
                Ok((taken == frames).then_some((spent, frames as u32)))
            }
            Passed::Nothing => {
                // Something was there before, as in the path.
                self.fill(1)?;
                self.drain(size)?;
                let begun = thread_time::thread();
                let mut taken = 0;
                for _ in 0..TOGETHER {
                    taken += self.take(1, size)?;
                }
                let spent = thread_time::thread() - begun;
                Ok((taken == 0).then_some((spent, TOGETHER)))
            }
            Passed::Ready => {
                self.fill(1)?;
                let begun = thread_time::thread();
                let mut found = 0;
                for _ in 0..TOGETHER {
                    found += u32::from(self.wait()? == Woken::Ready);
                }
                let spent = thread_time::thread() - begun;
                self.drain(size)?;
                Ok((found == TOGETHER).then_some((spent, TOGETHER)))
            }
            Passed::Asleep(long) => {
                self.ask(1, long);
                let switches = sleeps()?;
                let begun = thread_time::thread();
                let woken = self.wait()?;
                let spent = thread_time::thread() - begun;
                let slept = sleeps()? - switches;
                self.turns.wait_for_frames()?;
                self.drain(size)?;
                Ok((woken == Woken::Ready && slept == 1).then_some((spent, 1)))
            }
            Passed::Nap => {
                let switches = sleeps()?;
                let begun = thread_time::thread();
                std::thread::sleep(self.nap);
                let spent = thread_time::thread() - begun;
                let slept = sleeps()? - switches;
                Ok((slept == 1).then_some((spent, 1)))
            }
            Passed::Drained(frames) => {
                self.fill(frames)?;
                self.drain(size)?;
                Ok(None)
            }
        }
    }

    fn wait(&mut self) -> Result<Woken> {
        Ok(match &mut self.source {
            Some(source) => source.wait(LONGEST)?,
            None => Woken::TimedOut,
        })
    }
}

impl Actor for Taking {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let ready = self.ready.insert(Ready::begin(&self.setting, self.heard)?);
        Ok(address(&ready.cable, &ready.turns))
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let (size, passed) = (self.setting.size.handed() as u32, self.passed);
        let Some(ready) = &mut self.ready else { return Ok(()) };
        let clock = RunClock::chosen();
        let timed = !matches!(passed, Passed::Drained(_));
        let mut turns = 0;
        loop {
            let now = clock.now();
            // One turn is recorded even where it outlasts the window.
            if now >= window.close && turns > 0 && (ready.done > 0 || !timed || ready.failed > 100) {
                break;
            }
            let turn = ready.turn(passed, size)?;
            if now < window.open {
                continue;
            }
            turns += 1;
            match turn {
                Some((spent, operations)) => {
                    let planted = match window.planted {
                        0 => Duration::ZERO,
                        steps => {
                            let begun = thread_time::thread();
                            delay(steps.saturating_mul(operations));
                            thread_time::thread() - begun
                        }
                    };
                    recorder.set_batch(operations);
                    recorder.sample(((spent + planted).as_nanos() as f64 * ready.ticks) as u64);
                    ready.done += u64::from(operations);
                }
                None => ready.failed += 1,
            }
        }
        ready.turns.end();
        // What was interrupted and what was not is not told apart: processor time has no gaps.
        recorder.set_batch(1);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let Some(ready) = &mut self.ready else { return Err(Error::Wrong("nothing was measured".into())) };
        let (size, wrong) = (self.setting.size.handed() as u32, |what: String| Err(Error::Wrong(what)));
        if !matches!(self.passed, Passed::Drained(_)) && ready.done == 0 {
            return wrong(format!("none of {} turns was as it should be", ready.failed));
        }
        ready.close(size)?;
        let (first, now) = (ready.far.first().counters, ready.far.look()?.counters);
        let carried = now.sent - first.sent;
        let Ready { asked, seen, whole, dropped, .. } = ready;
        let expected = if ready.source.is_some() { carried } else { 0 };
        if carried != *asked || *seen + *dropped != expected || *whole != *seen {
            return wrong(format!(
                "of {asked} frames the cable carried {carried}, {seen} were taken, {whole} of them as they were sent, \
                 and the kernel dropped {dropped}"
            ));
        }
        Ok(())
    }

    fn tally(&mut self) -> Tally {
        let Some(ready) = &self.ready else { return Tally::default() };
        let tally =
            Tally::default().counter("not_as_it_should_be", ready.failed).counter("dropped", ready.dropped);
        if matches!(self.passed, Passed::Drained(_)) {
            tally
        } else {
            tally.counter("operations", ready.done)
        }
    }
}
