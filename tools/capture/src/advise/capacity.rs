//! The largest rate without loss of a way to capture, and what sets it: the processor, the buffer, or the sender.

use serde::Serialize;
use tollway_core::{Error, Result};
use tollway_model::scaling::{Amortisation, Saturation};
use tollway_stats::Interval;

use super::measured::{Load, Measured, Way, exactly};
use super::setup::{Asked, Setup};

/// How far apart stalls begin, in lengths of one: as in the live variants.
const STALLS_APART: f64 = 10.0;

/// What wake-ups may cost a packet more than in endless batches.
const WAKE_UPS: f64 = 0.05;

/// What holds a rate where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Limit {
    /// The capture's processors.
    Processor,
    /// The buffer: it is full before a pause is over.
    Buffer,
    /// The sender gives no more; the capture could take it.
    Sender,
}

impl Limit {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Limit::Processor => "processor",
            Limit::Buffer => "buffer",
            Limit::Sender => "sender",
        }
    }
}

/// What a way to capture is predicted to do.
#[derive(Clone, Debug, PartialEq)]
pub struct Predicted {
    /// Which.
    pub setup: Setup,
    /// Cycles a packet, application included: at the rate asked for, else at full speed.
    pub cycles: Interval,
    /// What its processors take, in frames per second.
    pub processor: Interval,
    /// What its buffers take, in frames per second: at more they are full before a pause is over.
    pub buffer: Interval,
    /// What the sender gives, in frames per second.
    pub sender: Interval,
    /// The largest rate without loss, in frames per second: the least of these.
    pub rate: Interval,
    /// What sets it.
    pub limit: Limit,
}

/// What a setup will do; `None` where its source was not measured.
///
/// # Errors
/// When a measured figure is not usable.
pub fn predict(setup: Setup, asked: &Asked, measured: &Measured) -> Result<Option<Predicted>> {
    let Some(way) = measured.way(setup.kind, setup.immediate, setup.buffer) else { return Ok(None) };
    let Some(room) = measured.room(setup.kind) else { return Ok(None) };
    // A reader that is never idle never sleeps, however it would wait.
    let busy = measured.way(setup.kind, false, setup.buffer).unwrap_or(way);
    let work = work(asked, measured);
    let available = between_stalls(measured.share, asked.stall.as_secs_f64(), measured.pause);
    let processor = quotient(scaled(available, measured.hz), plus(busy.full.cycles, work));
    let buffer = bridged(room.frames(setup.buffer), asked.stall.as_secs_f64(), measured.pause);
    let one = least(&[(Limit::Processor, processor), (Limit::Buffer, buffer)]);
    let cores = u64::from(setup.cores);
    let all = |one: f64, sender: f64| -> Result<f64> {
        let model = Saturation::new(one, sender).map_err(|e| Error::Wrong(e.to_string()))?;
        Ok(model.throughput(cores).0)
    };
    let sender = way.full.carried;
    let rate = Interval {
        estimate: all(one.1.estimate, sender.estimate)?,
        lo: all(one.1.lo, sender.lo)?,
        hi: all(one.1.hi, sender.hi)?,
        ..sender
    };
    let limit = if rate.estimate < sender.estimate { one.0 } else { Limit::Sender };
    let cycles = if asked.rate.is_some() { way.light.cycles } else { way.full.cycles };
    Ok(Some(Predicted {
        setup,
        cycles: plus(cycles, work),
        processor: scaled(processor, cores as f64),
        buffer: scaled(buffer, cores as f64),
        sender,
        rate,
        limit,
    }))
}

/// Cycles a packet at a rate, without the application's work. Wake-ups are about as many a second at any rate below full speed, so
/// what they add to a packet goes by the packets that share them: cost = each + wake-ups / rate, through what was measured
/// at two rates. Below the lower of them it is bounded by what would be if packets cost nothing but wake-ups.
pub fn cycles_at(way: &Way, rate: f64) -> Interval {
    let (light, full) = (&way.light, &way.full);
    let (few, many) = (light.carried.estimate, full.carried.estimate);
    // Two rates that are nearly one tell nothing of others.
    let part = if many > few * 1.2 { (many / rate - 1.0) / (many / few - 1.0) } else { 1.0 };
    let part = part.max(0.0);
    let line = |of: fn(&Interval) -> f64| part * of(&light.cycles) + (1.0 - part) * of(&full.cycles);
    if part <= 1.0 {
        let estimate = line(|i| i.estimate);
        let (lo, hi) = (line(|i| i.lo), line(|i| i.hi));
        Interval { estimate, lo: lo.min(estimate), hi: hi.max(estimate), ..light.cycles }
    } else {
        let (lo, hi) = (light.cycles.lo, light.cycles.hi * (few / rate).max(1.0));
        Interval { estimate: line(|i| i.estimate).clamp(lo, hi), lo, hi, ..light.cycles }
    }
}

/// Cycles of the application a packet.
pub fn work(asked: &Asked, measured: &Measured) -> Interval {
    scaled(measured.work, f64::from(asked.work))
}

/// What of a share of a processor is left by an application that stalls once in ten lengths of a stall. It stalls for
/// longer than it would, by up to a pause.
fn between_stalls(share: Interval, stall: f64, pause: Interval) -> Interval {
    if stall == 0.0 {
        return share;
    }
    let free = |late: f64| (1.0 - (stall + late) / (STALLS_APART * stall)).max(0.5);
    Interval {
        // It ends at any time within a pause, if at all.
        estimate: share.estimate * free(0.5 * pause.lo),
        lo: share.lo * free(pause.estimate),
        hi: share.hi * free(0.0),
        ..share
    }
}

/// How long packets should wait for others, in milliseconds: until wake-ups cost next to nothing, but no longer than they
/// may, and with blocks that bridge a stall. `None`: not at all.
///
/// # Errors
/// When a measured figure is not usable.
pub fn patience(setup: Setup, asked: &Asked, measured: &Measured) -> Result<Option<u32>> {
    if asked.delay == 0 {
        return Ok(None);
    }
    let mut patience = 1;
    let batched = measured.way(setup.kind, false, setup.buffer).map(|way| &way.light);
    let at_once = measured.way(setup.kind, true, setup.buffer).map(|way| &way.light);
    if let (Some(batched), Some(at_once)) = (batched, at_once)
        && let Some((wake_up, each)) = price_of_wake_up(batched, at_once)
    {
        let each = each + work(asked, measured).estimate;
        let model = Amortisation::new(wake_up, each).map_err(|e| Error::Wrong(e.to_string()))?;
        if let Ok(Some(batch)) = model.batch_within(WAKE_UPS) {
            patience = (batch / asked.light_rate() * 1e3).ceil().clamp(1.0, 1000.0) as u32;
        }
    }
    let pause = measured.pause.hi + asked.stall.as_secs_f64();
    if let Some(least) = measured.room(setup.kind).and_then(|r| r.least_patience(setup.buffer, pause)) {
        patience = patience.max(least);
    }
    Ok(Some(patience.min(asked.delay)))
}

/// What a wake-up costs and what a packet costs without, in cycles, by two ways of batching at one rate. `None` where they
/// batch alike, or the one that batches more costs as much.
pub fn price_of_wake_up(batched: &Load, at_once: &Load) -> Option<(f64, f64)> {
    let (rarely, often) = (1.0 / batched.packets_a_read, 1.0 / at_once.packets_a_read);
    let wake_up = (at_once.cycles.estimate - batched.cycles.estimate) / (often - rarely);
    let each = batched.cycles.estimate - wake_up * rarely;
    (often > 1.2 * rarely && wake_up > 0.0 && each > 0.0).then_some((wake_up, each))
}

/// The rate at which a buffer of so many frames is full just when a pause ends, or a stall and what follows it: seldom a long
/// pause.
fn bridged(frames: f64, stall: f64, pause: Interval) -> Interval {
    // A clock's tick, where no pause was seen.
    let rate = |pause: f64| frames / (stall + pause).max(1e-6);
    match stall {
        0.0 => Interval { lo: rate(pause.hi), hi: rate(pause.lo), ..exactly(rate(pause.estimate)) },
        _ => Interval { lo: rate(pause.estimate), hi: rate(0.0), ..exactly(rate(pause.lo)) },
    }
}

/// The least of some bounds, end by end, and which it is.
fn least(bounds: &[(Limit, Interval); 2]) -> (Limit, Interval) {
    let [a, b] = bounds;
    let limit = if b.1.estimate < a.1.estimate { b.0 } else { a.0 };
    let of = |end: fn(&Interval) -> f64| end(&a.1).min(end(&b.1));
    (limit, Interval { lo: of(|i| i.lo), hi: of(|i| i.hi), ..exactly(of(|i| i.estimate)) })
}

/// The sum of two independent estimates.
pub fn plus(a: Interval, b: Interval) -> Interval {
    let estimate = a.estimate + b.estimate;
    let below = (a.estimate - a.lo).hypot(b.estimate - b.lo);
    let above = (a.hi - a.estimate).hypot(b.hi - b.estimate);
    Interval { estimate, lo: estimate - below, hi: estimate + above, ..a }
}

fn scaled(of: Interval, factor: f64) -> Interval {
    Interval { estimate: of.estimate * factor, lo: of.lo * factor, hi: of.hi * factor, ..of }
}

/// One estimate over another that is independent: their relative errors add up as squares do.
pub fn quotient(over: Interval, under: Interval) -> Interval {
    let estimate = over.estimate / under.estimate;
    let below = (1.0 - over.lo / over.estimate).hypot(under.hi / under.estimate - 1.0);
    let above = (over.hi / over.estimate - 1.0).hypot(1.0 - under.lo / under.estimate);
    // What halves and doubles is far beyond what this is good for.
    Interval { lo: estimate / (1.0 + below), hi: estimate * (1.0 + above), ..exactly(estimate) }
}
