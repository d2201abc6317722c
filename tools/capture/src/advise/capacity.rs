//! The largest rate without loss of a way to capture, and what sets it: the processor, the buffer, or the sender.

use serde::Serialize;
use tollway_core::{Error, Result};
use tollway_model::scaling::{Amortisation, Saturation};
use tollway_stats::Interval;

use super::measured::{Load, Measured, Way, exactly};
use super::setup::{Asked, Setup};

/// Of its time an application that stalls now and then has this part: a stall in ten of its lengths.
const BETWEEN_STALLS: f64 = 0.9;

/// What wake-ups may cost a packet more than in endless batches.
const WAKE_UPS: f64 = 0.05;

/// What holds a rate where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
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
    let free = if asked.stall.is_zero() { 1.0 } else { BETWEEN_STALLS };
    let processor =
        quotient(scaled(measured.share, measured.hz * free), plus(busy.full.cycles, f64::from(asked.work)));
    let buffer = bridged(room.frames(setup.buffer), asked.stall.as_secs_f64(), busy.full.pause);
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
        cycles: plus(cycles, f64::from(asked.work)),
        processor: scaled(processor, cores as f64),
        buffer: scaled(buffer, cores as f64),
        sender,
        rate,
        limit,
    }))
}

/// Cycles a packet at a rate, application included. Wake-ups are about as many a second at any rate below full speed, so
/// what they add to a packet goes by the packets that share them: cost = each + wake-ups / rate, through what was measured
/// at two rates.
pub fn cycles_at(way: &Way, rate: f64, work: u32) -> Interval {
    let (light, full) = (&way.light, &way.full);
    let (few, many) = (light.carried.estimate, full.carried.estimate);
    // Two rates that are nearly one tell nothing of others.
    let part = if many > few * 1.2 { (many / rate - 1.0) / (many / few - 1.0) } else { 0.0 };
    let part = part.max(0.0);
    let estimate = part * light.cycles.estimate + (1.0 - part) * full.cycles.estimate;
    let far = |a: fn(&Interval) -> f64, b: fn(&Interval) -> f64| {
        let other = if part > 1.0 { b(&full.cycles) } else { a(&full.cycles) };
        part * a(&light.cycles) + (1.0 - part) * other
    };
    let (lo, hi) = (far(|i| i.lo, |i| i.hi), far(|i| i.hi, |i| i.lo));
    // Nothing costs less than at full speed; where that is what the line says, it says nothing of the rate.
    let floor = full.cycles.lo.min(light.cycles.lo);
    let estimate = estimate.max(floor);
    plus(
        Interval { estimate, lo: lo.clamp(floor, estimate), hi: hi.max(estimate), ..light.cycles },
        f64::from(work),
    )
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
        let each = each + f64::from(asked.work);
        let model = Amortisation::new(wake_up, each).map_err(|e| Error::Wrong(e.to_string()))?;
        if let Ok(Some(batch)) = model.batch_within(WAKE_UPS) {
            patience = (batch / asked.light_rate() * 1e3).ceil().clamp(1.0, 1000.0) as u32;
        }
    }
    let pause = batched.map_or(0.0, |load| (load.pause - f64::from(asked.delay) / 1e3).max(0.0));
    let pause = pause + asked.stall.as_secs_f64();
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

/// The rate at which a buffer of so many frames is full just when a pause ends: one as long as the longest that was seen,
/// after a stall. One twice or half as long cannot be excluded.
fn bridged(frames: f64, stall: f64, pause: f64) -> Interval {
    // A clock's tick, where no pause was seen.
    let rate = |pause: f64| frames / (stall + pause).max(1e-6);
    Interval { lo: rate(2.0 * pause), hi: rate(0.5 * pause), ..exactly(rate(pause)) }
}

/// The least of some bounds, end by end, and which it is.
fn least(bounds: &[(Limit, Interval); 2]) -> (Limit, Interval) {
    let [a, b] = bounds;
    let limit = if b.1.estimate < a.1.estimate { b.0 } else { a.0 };
    let of = |end: fn(&Interval) -> f64| end(&a.1).min(end(&b.1));
    (limit, Interval { lo: of(|i| i.lo), hi: of(|i| i.hi), ..exactly(of(|i| i.estimate)) })
}

/// An estimate and so much more, which is certain.
fn plus(of: Interval, more: f64) -> Interval {
    Interval { estimate: of.estimate + more, lo: of.lo + more, hi: of.hi + more, ..of }
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
