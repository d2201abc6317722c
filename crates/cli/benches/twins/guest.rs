//! The bars of a Linux guest's crypto card: how many requests a second a guest has done by the card, over how many another has done
//! by its QEMU itself (`cryptodev-backend-builtin`).
//!
//! Both have the same kernel, driver and agent, virtual processors that are pinned alike, and one request on its way. On which
//! core the card's engine and QEMU's main loop are is the kernel's choice. What is not alike: the memory of the card's guest is
//! shared, for which Linux had no huge pages, and a card that looks takes what nobody else wants of a core. Each round has
//! guests of its own, which it boots: what differs from boot to boot is in the intervals.

use anyhow::{Context, Result};
use rand::SeedableRng;
use rand::rngs::StdRng;
use tollway_core::TrialSpec;

use crate::bar::{Bar, Row, Verdict};
use crate::figures::At;
use crate::only::Only;
use crate::ours::{Ours, Point};
use crate::turns::{in_turns, ratio};

/// Bytes of a request.
const SIZES: [u64; 4] = [64, 4096, 16_384, 65_536];

/// What cards are called, and for how many microseconds they look for requests before they sleep.
const CARDS: [(&str, u64); 2] = [("card that looks", 1000), ("card that sleeps", 0)];

/// No slower.
const BAR: Bar = Bar::AtLeast(1.0, "");

/// A trial; and one before those of a round that is thrown away, by which what a guest does has been translated once.
const SPEC: TrialSpec = TrialSpec { window_ms: 200.0, warmup_ms: 20.0, runs: 1, repeats: 1 };
const PILOT: TrialSpec = TrialSpec { window_ms: 50.0, warmup_ms: 20.0, runs: 1, repeats: 1 };

/// A card at a size.
struct Figure {
    name: String,
    spin: u64,
    size: u64,
}

/// Measures those that are wanted.
pub fn measure(ours: &Ours<'_>, rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
    let all = CARDS.iter().flat_map(|&(card, spin)| {
        let name = move |size| format!("guest: {card} / QEMU's own, {size} B");
        SIZES.into_iter().map(move |size| Figure { name: name(size), spin, size })
    });
    let wanted: Vec<Figure> = all.filter(|figure| only.wants(&figure.name)).collect();
    if wanted.is_empty() {
        return Vec::new();
    }
    let row = |figure: &Figure, row: Row| Row { name: figure.name.clone(), bar: BAR.to_string(), ..row };
    match play(ours, rounds, seed, &wanted) {
        Ok(rows) => wanted.iter().zip(rows).map(|(figure, measured)| row(figure, measured)).collect(),
        Err(error) => {
            let verdict = Verdict::without_figure(&error);
            let unmeasured = || Row { verdict: verdict.clone(), ..Row::default() };
            wanted.iter().map(|figure| row(figure, unmeasured())).collect()
        }
    }
}

/// All rounds of all figures.
fn play(ours: &Ours<'_>, rounds: u32, seed: u64, wanted: &[Figure]) -> Result<Vec<Row>> {
    let point = |driver: At, spin: u64, size: u64| {
        let tenant = ("tenant", At::Word("linux-guest"));
        let at = [tenant, ("driver", driver), ("spin", At::Whole(spin)), ("size", At::Whole(size))];
        ours.point("cipher", "af-alg", &at)
    };
    let sides = wanted.iter().map(|figure| {
        let card = point(At::Word("card"), figure.spin, figure.size)?;
        Ok((point(At::Word("virtio"), 0, figure.size)?, card))
    });
    let sides = sides.collect::<Result<Vec<(Point, Point)>>>()?;
    sides[0].1.check()?;
    let mut pairs = vec![Vec::new(); sides.len()];
    let mut rng = StdRng::seed_from_u64(seed);
    for _ in 0..rounds {
        let (mut guests, mut crew) = (ours.guests(), ours.crew());
        let mut rate = |point: &Point, spec: &TrialSpec| -> Result<f64> {
            let ticks = ours.trial(point, spec, &mut crew, &mut guests)?.spread.mean();
            Ok(1.0 / ours.seconds(ticks.context("the trial recorded nothing")?))
        };
        for (qemus, card) in &sides {
            rate(qemus, &PILOT)?;
            rate(card, &PILOT)?;
        }
        for ((qemus, card), pairs) in sides.iter().zip(&mut pairs) {
            pairs.extend(in_turns(1, &mut rng, |is_ours| rate(if is_ours { card } else { qemus }, &SPEC))?);
        }
    }
    let judged = pairs.iter().map(|pairs| {
        let (row, measured) = ratio(pairs, |rate| format!("{rate:.0}/s"))?;
        Ok(Row { verdict: BAR.judge(&measured), ..row })
    });
    judged.collect()
}
