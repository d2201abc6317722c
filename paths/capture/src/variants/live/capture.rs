//! The capture's end: makes the cable, reads from it, and at the end holds its books against what the generator sent.

use std::time::{Duration, Instant};

use tollway_core::{Actor, Address, Clock, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::{RunClock, hz};
use tollway_host::samplers::thread_time;
use tollway_load::delay;
use tollway_wire::{Cable, Watch};

use super::books::Books;
use super::checking::steps;
use super::latency::Latency;
use super::meeting::{Note, address};
use super::observer::Observer;
use super::setting::{STALLS_APART, Setting};
use super::sleeps;
use super::{
    FILTERING, FILTERING_BEFORE, LOOKING, NAPPING, SENDING, TAKING, TAKING_FIRST, TAPPING, WAITING, WAKING,
};
use crate::engine::Timestamp;
use crate::engine::in_process::{Clock as PacketClock, ClockKind};
use crate::engine::source::{Kind, Read, Source, SourceError, Steps};

/// The most packets of a read: so that the window's end is seen in time.
const MOST: u64 = 4096;

/// The fewest packets of a sample: reading the thread's clock costs some 300 cycles.
const LEAST: u64 = 64;

/// How long after the window's end the generator may take to say what it sent.
const PATIENCE: Duration = Duration::from_secs(20);

/// How long frames may be on their way once all are sent: by a thread of the kernel's where their processor is busy.
const QUIET: Duration = Duration::from_millis(100);

pub(super) struct Capture {
    setting: Setting,
    listening: Option<Listening>,
    /// What went with the packets that were recorded.
    counts: Counts,
    ended: Option<Books>,
}

struct Listening {
    cable: Cable,
    note: Note,
    source: Source,
    /// The generator's end of the cable.
    far: Watch,
    observer: Observer,
    latency: Latency,
    clock: PacketClock,
    /// Ticks of the run's clock in a nanosecond.
    ticks: f64,
}

/// What reading took, up to some moment or since.
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    /// Packets that the application saw.
    packets: u64,
    /// Reads that brought frames.
    reads: u64,
    /// Those of them before which the thread slept.
    after_sleep: u64,
    /// Frames that they brought, wanted or not.
    frames: u64,
    /// Looks into the kernel's memory, waits and naps.
    steps: Steps,
    /// How often the thread slept: in waits, naps and stalls.
    sleeps: u64,
    /// Stalls that were asked for.
    stalls: u64,
    /// Frames that were read after the window had closed.
    late: u64,
    /// The longest time from one read's beginning to the next one's, in ticks: what came meanwhile found room, or did not.
    longest: u64,
}

impl Counts {
    fn since(&self, before: &Counts) -> Counts {
        let (steps, then) = (&self.steps, &before.steps);
        Counts {
            packets: self.packets - before.packets,
            reads: self.reads - before.reads,
            after_sleep: self.after_sleep - before.after_sleep,
            frames: self.frames - before.frames,
            steps: Steps {
                looks: steps.looks - then.looks,
                waits: steps.waits - then.waits,
                naps: steps.naps - then.naps,
            },
            sleeps: self.sleeps - before.sleeps,
            stalls: self.stalls - before.stalls,
            ..*self
        }
    }
}

impl Capture {
    pub(super) fn new(setting: Setting) -> Capture {
        Capture { setting, listening: None, counts: Counts::default(), ended: None }
    }
}

impl Listening {
    fn begin(setting: &Setting) -> Result<Listening> {
        let ticks = hz()? / 1e9;
        let cable = Cable::new()?;
        let settings = setting.source()?;
        let (source, far) = cable.namespace().run(|| -> Result<_, SourceError> {
            Ok((Source::open(Cable::RIGHT, &settings)?, Watch::on(Cable::LEFT)?))
        })??;
        Ok(Listening {
            cable,
            note: Note::new()?,
            source,
            far,
            observer: Observer::new(setting.size.handed(), setting.kept(), steps(setting.work)),
            // AF_XDP frames have no stamp of the kernel's.
            latency: Latency::new(PacketClock::new(ClockKind::Vdso)?, ticks, setting.kind != Kind::AfXdp),
            clock: PacketClock::new(ClockKind::Vdso)?,
            ticks,
        })
    }

    /// One read, which waits for frames for at most `timeout`; false if none came.
    #[inline]
    fn read(&mut self, timeout: Duration, counts: &mut Counts) -> Result<bool> {
        let Listening { source, observer, latency, clock, .. } = self;
        let waits = source.steps().waits;
        let stamp = |kernel: Option<Timestamp>| kernel.unwrap_or_else(|| clock.now());
        latency.begin(observer.packets());
        let read = source.read(MOST, timeout, stamp, |packet| {
            latency.see(&packet);
            observer.look(packet);
        })?;
        counts.steps = source.steps();
        counts.packets = observer.packets();
        let mut slept = false;
        if counts.steps.waits > waits {
            let before = std::mem::replace(&mut counts.sleeps, sleeps()?);
            slept = counts.sleeps > before;
        }
        match read {
            Read::Frames(frames) => {
                counts.reads += 1;
                counts.after_sleep += u64::from(slept);
                counts.frames += frames;
                Ok(true)
            }
            Read::Idle | Read::Interrupted | Read::Stopped => Ok(false),
        }
    }

    /// Reads until the window closes, and records what that cost. Returns what went with the packets recorded; `None`
    /// where none was.
    fn measure(
        &mut self,
        window: &Window,
        stall: Duration,
        recorder: &mut Recorder,
        counts: &mut Counts,
    ) -> Result<Option<Counts>> {
        let clock = RunClock::chosen();
        let (mut opened, mut recorded) = (None, None);
        let mut spent = thread_time::thread();
        let mut seen = self.observer.packets();
        let between_stalls = (stall.as_nanos() as f64 * self.ticks) as u64 * STALLS_APART;
        // The first in the middle, so that the window ends as it began.
        let mut next_stall = window.open + between_stalls / 2;
        let mut before = window.close;
        loop {
            let now = clock.now();
            if opened.is_some() {
                counts.longest = counts.longest.max(now.saturating_sub(before));
                before = now;
            }
            if now >= window.close {
                return Ok(recorded);
            }
            if opened.is_none() && now >= window.open {
                (opened, spent, seen) = (Some(*counts), thread_time::thread(), self.observer.packets());
                self.latency.on = true;
                before = now;
            }
            if between_stalls > 0 && now >= next_stall {
                next_stall += between_stalls;
                counts.stalls += 1;
                std::thread::sleep(stall);
            }
            let left = (window.close - now) as f64 / self.ticks;
            let came = self.read(Duration::from_nanos(left as u64), counts)?;
            let packets = self.observer.packets() - seen;
            let Some(opened) = opened.as_ref().filter(|_| came && packets >= LEAST) else { continue };
            if window.planted > 0 {
                // What is planted is a share of what one operation takes: see the last line of `run`.
                delay(window.planted.saturating_mul(packets as u32));
            }
            let now = thread_time::thread();
            let ticks = ((now - spent).as_nanos() as f64 * self.ticks) as u64;
            record(recorder, packets, ticks);
            (recorded, spent, seen) = (Some(counts.since(opened)), now, self.observer.packets());
        }
    }

    /// Reads the rest, until nothing has come for a while after the generator said what it sent.
    fn drain(&mut self, counts: &mut Counts) -> Result<Books> {
        self.observer.steps = 0;
        self.latency.on = false;
        let begun = Instant::now();
        let sent = loop {
            let heard = self.note.read();
            let came = self.read(QUIET, counts)?;
            match heard {
                Some(sent) if !came => break sent,
                None if begun.elapsed() > PATIENCE => {
                    let reason = "it did not say what it sent within 20 s of the window's end".into();
                    return Err(Error::Tenant { tenant: super::GENERATOR.into(), reason });
                }
                _ => {}
            }
        };
        let Listening { source, observer, clock, far, .. } = self;
        let before = observer.packets();
        let stamp = |kernel: Option<Timestamp>| kernel.unwrap_or_else(|| clock.now());
        let source = source.finish(stamp, |packet| observer.look(packet))?;
        if observer.packets() > before {
            counts.reads += 1;
            counts.frames += observer.packets() - before;
        }
        let (first, now) = (far.first().counters, far.look()?.counters);
        Ok(Books {
            sent,
            carried: now.sent - first.sent,
            lost: now.send_dropped - first.send_dropped,
            source,
        })
    }
}

/// Records what some packets cost, as a sample for every 64 of them: else a read of thousands would weigh as much among
/// samples as a read of one.
fn record(recorder: &mut Recorder, packets: u64, ticks: u64) {
    let samples = (packets / LEAST).max(1);
    let part = |of: u64, i: u64| of * (i + 1) / samples - of * i / samples;
    for i in 0..samples {
        recorder.set_batch(part(packets, i) as u32);
        recorder.sample(part(ticks, i));
    }
}

impl Actor for Capture {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let listening = self.listening.insert(Listening::begin(&self.setting)?);
        Ok(address(&listening.cable, &listening.note))
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(listening) = &mut self.listening else { return Ok(()) };
        let begun = thread_time::thread();
        let first = Counts { sleeps: sleeps()?, ..Counts::default() };
        let mut counts = first;
        let recorded = listening.measure(window, self.setting.stall, recorder, &mut counts)?;
        let in_time = counts.frames;
        self.ended = Some(listening.drain(&mut counts)?);
        let (late, longest) = (counts.frames - in_time, counts.longest);
        let packets = listening.observer.packets();
        let counts = recorded.unwrap_or(Counts { packets, ..counts.since(&first) });
        self.counts = Counts { late, longest, ..counts };
        if recorded.is_none() && packets > 0 {
            // The window was too short for a sample: all of the run is one.
            let spent = (thread_time::thread() - begun).as_nanos() as f64;
            record(recorder, packets, (spent * listening.ticks) as u64);
        }
        // Samples cover different numbers of packets, so that none of them can be told from one that was interrupted.
        recorder.set_batch(1);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let (Some(listening), Some(books)) = (&self.listening, &self.ended) else {
            return Err(Error::Wrong("nothing was captured".into()));
        };
        listening.observer.verify()?;
        books.balance(&self.setting, listening.observer.packets())
    }

    fn tally(&mut self) -> Tally {
        let Counts { packets, reads, after_sleep, frames, steps, sleeps, stalls, late, longest } =
            self.counts;
        let (Some(listening), Some(books)) = (&self.listening, &self.ended) else { return Tally::default() };
        let Books { carried, lost, source, .. } = books;
        let dropped = source.dropped.unwrap_or_default();
        let longest = (longest as f64 / listening.ticks) as u64;
        let asleep = sleeps.saturating_sub(steps.naps + stalls).min(steps.waits);
        // What was sent is known of the whole run, and what was recorded is a part of it.
        let part = packets as f64 / source.delivered.max(1) as f64;
        let sent = (*carried as f64 * part).round() as u64;
        let tally = Tally::default()
            .counter("operations", packets)
            .counter("delivered", source.delivered)
            .counter("dropped", dropped)
            .counter("filtered_out", carried.saturating_sub(source.delivered + dropped))
            .counter("lost_on_cable", *lost)
            .counter("reordered", listening.observer.reordered())
            .counter("reads", reads)
            .counter("read_late", late)
            .gauge("longest_between_reads_ns", longest)
            .visited(SENDING, sent)
            .visited(TAPPING, sent)
            .visited(WAKING, asleep)
            .visited(WAITING, steps.waits - asleep)
            .visited(NAPPING, steps.naps)
            .visited(LOOKING, steps.looks)
            .visited(TAKING_FIRST, after_sleep)
            .visited(TAKING, frames - after_sleep);
        let tally = listening.latency.told(tally);
        match self.setting.filters_here() {
            true => tally.visited(FILTERING, frames),
            false => tally.visited(FILTERING_BEFORE, sent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_read_weighs_as_much_as_its_packets() {
        let mut recorder = Recorder::new();
        record(&mut recorder, 3, 30);
        record(&mut recorder, 64, 6_400);
        record(&mut recorder, 1_000, 3_001);
        let spread = recorder.spread();
        assert_eq!((spread.ops, spread.ticks, spread.samples()), (1_067, 9_431, 17));
        assert!((spread.quantile(0.5).unwrap() - 3.0).abs() < 0.1, "{spread:?}");
    }
}
