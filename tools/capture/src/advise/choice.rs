//! Which way to capture is advised, and what of today's way to change first.

use serde::Serialize;
use tollway_core::Result;
use tollway_stats::Interval;

use super::capacity::{Limit, Predicted, patience, predict, quotient};
use super::measured::{Measured, exactly};
use super::setup::{Asked, Setup, size_word, source_word};

/// What a way must take beyond the rate that was asked for.
const HEADROOM: f64 = 1.25;

/// Rates that differ by less are the same: the cheaper way is advised.
const SAME: f64 = 0.97;

/// A change that brings less is not worth it.
const WORTH: f64 = 1.05;

/// The advice.
#[derive(Clone, Debug, PartialEq)]
pub struct Advice {
    /// The way that is advised.
    pub best: Predicted,
    /// Today's way.
    pub now: Option<Predicted>,
    /// What to change, the first first.
    pub changes: Vec<Change>,
    /// Every source in the advised way's buffer and batches, on one core.
    pub sources: Vec<Predicted>,
}

/// One change, made after those before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// What is changed.
    pub what: Part,
    /// From what.
    pub from: String,
    /// To what.
    pub to: String,
    /// What the way before it will do.
    pub before: Predicted,
    /// What the way with it will do.
    pub after: Predicted,
    /// How many times as good, by rate, or where both rates are enough by cycles.
    pub gain: Interval,
    /// Whether it is worth it.
    pub worth: Worth,
}

/// What can be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// By which way packets come.
    Source,
    /// Memory for packets that wait.
    Buffer,
    /// Whether packets wait for others, and how long.
    Batch,
    /// How many processors capture.
    Cores,
    /// Half of the application's work on each packet.
    Application,
}

/// Whether a change is worth it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Worth {
    /// It is.
    Yes,
    /// Alone it brings little, but the others do less without it.
    WithTheOthers,
    /// It seems to bring something, but its interval does not exclude that it does not.
    NotSeparable,
    /// It is not.
    No,
}

impl Part {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Part::Source => "source",
            Part::Buffer => "buffer",
            Part::Batch => "batch",
            Part::Cores => "cores",
            Part::Application => "application",
        }
    }

    fn named(self, setup: &Setup) -> String {
        match self {
            Part::Source => source_word(setup.kind).into(),
            Part::Buffer => size_word(setup.buffer),
            Part::Batch => setup.batching(),
            Part::Cores => setup.cores.to_string(),
            Part::Application => "its work".into(),
        }
    }
}

/// Advises; `None` where nothing that may be advised was measured.
///
/// # Errors
/// When a measured figure is not usable.
pub fn advise(asked: &Asked, measured: &Measured) -> Result<Option<Advice>> {
    let Some(best) = best(asked, measured)? else { return Ok(None) };
    let now = predict(asked.now, asked, measured)?;
    let changes = match &now {
        Some(now) => changes(now, &best, asked, measured)?,
        None => Vec::new(),
    };
    let mut sources = Vec::new();
    for way in measured.ways.iter().filter(|way| way.immediate == best.setup.immediate) {
        let setup = Setup { kind: way.kind, cores: 1, ..best.setup };
        if sources.iter().all(|s: &Predicted| s.setup.kind != way.kind) {
            sources.extend(predict(setup, asked, measured)?);
        }
    }
    Ok(Some(Advice { best, now, changes, sources }))
}

/// Of all ways the one that takes the rate at least cost; where none does, or as much as possible is wanted, the one that
/// takes most.
fn best(asked: &Asked, measured: &Measured) -> Result<Option<Predicted>> {
    let mut all: Vec<Predicted> = Vec::new();
    let mut kinds: Vec<_> = measured.ways.iter().map(|way| way.kind).collect();
    kinds.dedup();
    for kind in kinds.into_iter().filter(|kind| asked.allows(*kind)) {
        for buffer in &asked.buffers {
            for cores in 1..=asked.cores {
                let setup = Setup { kind, buffer: *buffer, immediate: false, patience: 1, cores };
                let setup = match patience(setup, asked, measured)? {
                    Some(patience) => Setup { patience, ..setup },
                    None => Setup { immediate: true, ..setup },
                };
                all.extend(predict(setup, asked, measured)?.filter(|p| bridges(p, asked, measured)));
            }
        }
    }
    let most = all.iter().map(|p| p.rate.estimate).fold(0.0, f64::max);
    let needed = asked.rate.map(|rate| rate * HEADROOM).filter(|rate| most >= *rate);
    // How much the sender gives varies: who takes all of it is not worse for having been given less.
    all.retain(|p| {
        p.rate.estimate >= needed.unwrap_or(most * SAME) || (needed, p.limit) == (None, Limit::Sender)
    });
    // A buffer is to bridge the longest pause that was seen, if there is one that does.
    let longest = asked.stall.as_secs_f64() + measured.pause.hi;
    let roomy = |p: &Predicted| {
        let frames = measured.room(p.setup.kind).map_or(0.0, |room| room.frames(p.setup.buffer));
        frames * f64::from(p.setup.cores) >= needed.unwrap_or(p.rate.estimate) * longest
    };
    if all.iter().any(roomy) {
        all.retain(roomy);
    }
    let dearness = |p: &Predicted| (p.setup.cores, p.cycles.estimate, p.setup.buffer);
    Ok(all
        .into_iter()
        .min_by(|a, b| dearness(a).partial_cmp(&dearness(b)).unwrap_or(std::cmp::Ordering::Equal)))
}

/// Whether its blocks bridge a stall at low rates too, where they are handed over before they are full.
fn bridges(predicted: &Predicted, asked: &Asked, measured: &Measured) -> bool {
    let setup = predicted.setup;
    let stall = asked.stall.as_secs_f64();
    let least = measured.room(setup.kind).and_then(|room| room.least_patience(setup.buffer, stall));
    setup.immediate || stall == 0.0 || least.is_none_or(|least| least <= setup.patience)
}

/// The way from now to the best, the change that brings most first; then half of the application's work.
fn changes(now: &Predicted, best: &Predicted, asked: &Asked, measured: &Measured) -> Result<Vec<Change>> {
    let mut left: Vec<Part> = [Part::Source, Part::Buffer, Part::Batch, Part::Cores]
        .into_iter()
        .filter(|part| part.named(&now.setup) != part.named(&best.setup))
        .filter(|part| {
            *part != Part::Batch || now.setup.immediate != best.setup.immediate || waits(now, best)
        })
        .collect();
    let mut changes: Vec<Change> = Vec::new();
    let mut at = now.clone();
    while !left.is_empty() {
        let mut next: Option<(usize, Change)> = None;
        for (place, part) in left.iter().enumerate() {
            let Some(after) = predict(with(at.setup, *part, &best.setup), asked, measured)? else { continue };
            let Some(gain) = gain((at.setup, asked), (after.setup, asked), measured)? else { continue };
            if next.as_ref().is_none_or(|(_, change)| gain.estimate > change.gain.estimate) {
                let (from, to) = (part.named(&at.setup), part.named(&best.setup));
                let worth = worth(&gain);
                next =
                    Some((place, Change { what: *part, from, to, before: at.clone(), after, gain, worth }));
            }
        }
        let Some((place, change)) = next else { break };
        left.remove(place);
        at = change.after.clone();
        changes.push(change);
    }
    let end = at;
    for change in changes.iter_mut().filter(|change| change.worth == Worth::No) {
        let without = with(end.setup, change.what, &now.setup);
        let gain = gain((without, asked), (end.setup, asked), measured)?;
        if gain.is_some_and(|gain| worth(&gain) == Worth::Yes) {
            change.worth = Worth::WithTheOthers;
        }
    }
    changes.extend(half_the_work(&end, asked, measured)?);
    Ok(changes)
}

/// Only blocks are handed over by the patience of their socket.
fn waits(now: &Predicted, best: &Predicted) -> bool {
    [now, best].iter().all(|p| p.setup.kind == tollway_capture::engine::source::Kind::TpacketV3)
}

fn with(setup: Setup, part: Part, of: &Setup) -> Setup {
    match part {
        Part::Source => Setup { kind: of.kind, ..setup },
        Part::Buffer => Setup { buffer: of.buffer, ..setup },
        Part::Batch => Setup { immediate: of.immediate, patience: of.patience, ..setup },
        Part::Cores => Setup { cores: of.cores, ..setup },
        Part::Application => setup,
    }
}

/// What it would bring if the application did its work on a packet in half of the cycles.
fn half_the_work(end: &Predicted, asked: &Asked, measured: &Measured) -> Result<Option<Change>> {
    if asked.work < 2 {
        return Ok(None);
    }
    let faster = Asked { work: asked.work / 2, ..asked.clone() };
    let Some(after) = predict(end.setup, &faster, measured)? else { return Ok(None) };
    let Some(gain) = gain((end.setup, asked), (end.setup, &faster), measured)? else { return Ok(None) };
    Ok(Some(Change {
        what: Part::Application,
        from: format!("{} cycles", asked.work),
        to: format!("{} cycles", faster.work),
        before: end.clone(),
        after,
        worth: worth(&gain),
        gain,
    }))
}

/// How many times as good: by the rate as far as it is needed; where both take enough, or all that the sender gives, by
/// cycles. What both have in common, the share of a processor that there is, is in no doubt here.
fn gain(before: (Setup, &Asked), after: (Setup, &Asked), measured: &Measured) -> Result<Option<Interval>> {
    let sure = Measured { share: exactly(measured.share.estimate), ..measured.clone() };
    let of = |(setup, asked): (Setup, &Asked)| predict(setup, asked, &sure);
    let needed = after.1.rate.map(|rate| rate * HEADROOM);
    let (Some(before), Some(after)) = (of(before)?, of(after)?) else { return Ok(None) };
    let is_enough = |p: &Predicted| needed.map_or(p.limit == Limit::Sender, |rate| p.rate.estimate >= rate);
    if is_enough(&before) && is_enough(&after) {
        if before.cycles == after.cycles {
            // The same figures, not two that happen to agree.
            return Ok(Some(exactly(1.0)));
        }
        return Ok(Some(quotient(before.cycles, after.cycles)));
    }
    let most = needed.unwrap_or(f64::INFINITY);
    Ok(Some(quotient(capped(after.rate, most), capped(before.rate, most))))
}

fn capped(of: Interval, most: f64) -> Interval {
    Interval { estimate: of.estimate.min(most), lo: of.lo.min(most), hi: of.hi.min(most), ..of }
}

fn worth(gain: &Interval) -> Worth {
    if gain.estimate < WORTH {
        Worth::No
    } else if gain.lo <= 1.0 {
        Worth::NotSeparable
    } else {
        Worth::Yes
    }
}
