//! A figure by a formula over tolls, and how far it may be off.
//!
//! Each toll on its own is moved to either end of its interval, and each kind of step by how far off such steps were; the differences are added in
//! quadrature.
//!
//! How far steps were off is learnt from four runs (presets crossover, ping-pong, alloc-server, server-load) on a processor of AMD's (EPYC, 2
//! processors of a virtual machine, no PCID), which foretold before they measured:
//!
//! - **One core, switches and wake-ups** cost more than their tolls, never less. Against 5.7 thousand ticks of `sched-yield/same` the fast path took 1.30 to
//!   1.34 times as much (so did the same in plain C), and rings and futures 1.2 to 1.5 times, less what they took for looking in vain, in one wait of 64
//!   then: what is evicted by a switch, and has to be fetched again after it, is more the more an end does. Which of the two it is differs from
//!   process to process, so that a toll may be of either.
//! - **One core, datagrams** 1.04 to 1.07 times, alone; of many threads 0.97 to 1.23, where what 48 of them add is taken from the same runs: it was no
//!   toll yet.
//! - **One core, instructions** 0.86 to 1.15 times: the clock rate is that of who works for long, and tolls of messages differ by a twentieth from run to run.
//! - **Of many threads** that take turns each is colder than of few: the fast path took 1.43 times its toll at 64, 1.52 at 128, 1.69 at 256.
//! - **Two cores, wake-ups** 0.81 to 1.28 times, on a machine with nothing else to do, up to 1.39 with matrices in the caches.
//! - **Two cores, messages** 0.89 to 1.27 times, where what was measured with 8 on their way is taken for the toll at that depth, which was none yet.
//!
//! Where nothing was seen below a toll, a tenth is left for it. What is learnt so cannot be tried by the same runs; the next ones grade it.

use std::collections::BTreeMap;

use tollway_core::{
    Crossing, Error, Forecast, Missing, Placement, Quoted, Result, Toll, TollKey, TollSource,
};

/// How far steps of a kind may cost less and more than their tolls, as parts of these.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Slack {
    less: f64,
    more: f64,
}

/// Steps that are off together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// A switch, a sleep, a wake-up.
    Switch,
    /// A datagram, which has two switches in it.
    Datagram,
    /// What a processor does without them.
    Instructions,
}

impl Kind {
    const ALL: [Kind; 3] = [Kind::Switch, Kind::Datagram, Kind::Instructions];

    fn of(crossing: Crossing) -> Kind {
        match crossing {
            Crossing::SchedYield | Crossing::Futex | Crossing::Notice => Kind::Switch,
            Crossing::UnixSeqpacket | Crossing::CrowdedCall => Kind::Datagram,
            _ => Kind::Instructions,
        }
    }

    /// `threads` are those of an end.
    fn slack(self, placement: Placement, threads: usize) -> Slack {
        match (placement, self) {
            (Placement::Same, Kind::Switch) => {
                Slack { less: 0.1, more: 0.5 + COLDER * f64::log2(threads.max(1) as f64) }
            }
            (Placement::Same, Kind::Datagram) => Slack { less: 0.1, more: 0.25 },
            (Placement::Same, Kind::Instructions) => Slack { less: 0.16, more: 0.17 },
            (Placement::Across, Kind::Switch | Kind::Datagram) => Slack { less: 0.2, more: 0.4 },
            (Placement::Across, Kind::Instructions) => Slack { less: 0.2, more: 0.3 },
        }
    }
}

/// By so much a switch may cost more for each doubling of the threads that take turns.
const COLDER: f64 = 0.03;

/// By which formula something is foretold, and of what.
pub(super) struct How {
    pub(super) words: &'static str,
    pub(super) placement: Placement,
    /// Of an end.
    pub(super) threads: usize,
}

/// What tolls are taken to be.
pub(super) struct Ticks<'a> {
    pub(super) keys: &'a [TollKey],
    /// In the same order.
    pub(super) ticks: &'a [f64],
}

impl Ticks<'_> {
    /// The toll of that key, if it is among them.
    pub(super) fn get(&self, key: &TollKey) -> Option<f64> {
        let at = self.keys.iter().position(|known| known == key)?;
        self.ticks.get(at).copied()
    }

    /// The toll of a key that is among them: else nothing is foretold, which shows.
    pub(super) fn of(&self, key: &TollKey) -> f64 {
        self.get(key).unwrap_or(f64::NAN)
    }
}

/// A forecast by a formula over the medians of tolls, which are told besides.
pub(super) fn by_tolls(
    keys: &[TollKey],
    known: &dyn TollSource,
    how: &How,
    cost: impl Fn(&Ticks<'_>) -> f64,
) -> Result<(Forecast, Vec<f64>)> {
    let known = |key: &TollKey| {
        known.toll(key).ok_or_else(|| {
            Error::Missing(Missing::new(
                format!("toll {key}"),
                "it was not measured on this machine",
                "`tollway measure ipc` measures what a prediction needs first",
            ))
        })
    };
    let tolls = keys.iter().map(known).collect::<Result<Vec<Toll>>>()?;
    let medians: Vec<f64> = tolls.iter().map(|toll| toll.median).collect();
    let cost = |ticks: &[f64]| cost(&Ticks { keys, ticks });
    let ticks = cost(&medians);
    let mut off = Off::default();
    for (at, toll) in tolls.iter().enumerate() {
        off.by([toll.lo, toll.hi].map(|end| {
            let mut moved = medians.clone();
            moved[at] = end;
            cost(&moved) - ticks
        }));
    }
    for kind in Kind::ALL {
        let Slack { less, more } = kind.slack(how.placement, how.threads);
        off.by([1.0 - less, 1.0 + more].map(|times| {
            let is_of_it = |key: &TollKey| Kind::of(key.crossing) == kind;
            let scaled =
                keys.iter().zip(&medians).map(|(key, ticks)| ticks * if is_of_it(key) { times } else { 1.0 });
            cost(&scaled.collect::<Vec<_>>()) - ticks
        }));
    }
    let forecast = Forecast {
        of: Quoted::Median,
        ticks,
        lo: (ticks - off.down.sqrt()).max(0.0),
        hi: ticks + off.up.sqrt(),
        model: how.words.into(),
        from: keys.to_vec(),
        p99: None,
        counts: BTreeMap::new(),
        sharing: None,
    };
    Ok((forecast, medians))
}

/// How far a figure may be off, squared.
#[derive(Default)]
struct Off {
    down: f64,
    up: f64,
}

impl Off {
    /// By what it differs where something is at either of its ends.
    fn by(&mut self, ends: [f64; 2]) {
        let (least, most) = (ends[0].min(ends[1]).min(0.0), ends[0].max(ends[1]).max(0.0));
        self.down += least * least;
        self.up += most * most;
    }
}
