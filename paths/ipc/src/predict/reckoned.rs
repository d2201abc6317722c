//! A figure by a formula over tolls, and how far it may be off.
//!
//! Each toll on its own is moved to either end of its interval, and each kind of step by how far off such steps were; the differences are added in
//! quadrature.
//!
//! How steps compare with their tolls, and how far they are off, is learnt from eight runs on two days (presets crossover, ping-pong, alloc-server,
//! server-load) on a processor of AMD's (EPYC, 2 processors of a virtual machine, no PCID), which foretold before they measured:
//!
//! - **One core, switches and wake-ups** cost more than their tolls, never less: the fast path took 1.27 to 1.5 times `sched-yield/same` (so did the same in
//!   plain C), rings and futures 1.16 to 1.5 times. What is evicted by a switch, and has to be fetched again after it, is more the more an end does. So
//!   1.35 times the toll is foretold.
//! - **Of many threads** that take turns each is colder than of few: the fast path took 1.43 and 1.65 times its toll at 64, 1.52 and 1.82 at 128.
//! - **One core, datagrams** 1.04 to 1.21 times, alone; of many threads 0.97 to 1.23.
//! - **One core, instructions** 0.86 to 1.15 times: the clock rate is that of who works for long, and tolls of messages differ by a twentieth from run to run.
//! - **Two cores, wake-ups** 0.81 to 1.28 times, on a machine with nothing else to do, up to 1.39 with matrices in the caches.
//! - **Two cores, messages** 0.87 to 1.27 times.
//!
//! Of network stacks nothing has been learnt by itself. They are left as much as wake-ups across cores are, since with few connections
//! stack and client wake each other so for every message.
//!
//! Where nothing was seen below a toll, a tenth is left for it. What is learnt so cannot be tried by the same runs; the next ones grade it.

use std::collections::BTreeMap;

use tollway_core::{
    Crossing, Error, Forecast, Missing, Placement, Quoted, Result, Toll, TollKey, TollSource,
};

/// What steps of a kind cost where they are at work, as parts of their tolls: at the least, usually, and at the most.
#[derive(Clone, Copy, Debug, PartialEq)]
struct AtWork {
    least: f64,
    usual: f64,
    most: f64,
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
    /// A network stack and its client, with all of these in it.
    Stack,
}

impl Kind {
    const ALL: [Kind; 4] = [Kind::Switch, Kind::Datagram, Kind::Instructions, Kind::Stack];

    fn of(crossing: Crossing) -> Kind {
        match crossing {
            Crossing::SchedYield | Crossing::Futex | Crossing::Notice => Kind::Switch,
            Crossing::UnixSeqpacket | Crossing::CrowdedCall => Kind::Datagram,
            Crossing::StackRequest => Kind::Stack,
            _ => Kind::Instructions,
        }
    }

    /// `threads` are those of an end.
    fn at_work(self, placement: Placement, threads: usize) -> AtWork {
        match (placement, self) {
            (_, Kind::Stack) => AtWork { least: 0.8, usual: 1.0, most: 1.4 },
            (Placement::Same, Kind::Switch) => {
                let colder = COLDER * f64::log2(threads.max(1) as f64);
                AtWork { least: 0.95, usual: 1.35 + colder, most: 1.6 + colder }
            }
            (Placement::Same, Kind::Datagram) => AtWork { least: 0.9, usual: 1.0, most: 1.25 },
            (Placement::Same, Kind::Instructions) => AtWork { least: 0.84, usual: 1.0, most: 1.17 },
            (Placement::Across, Kind::Switch | Kind::Datagram) => {
                AtWork { least: 0.8, usual: 1.0, most: 1.4 }
            }
            (Placement::Across, Kind::Instructions) => AtWork { least: 0.8, usual: 1.0, most: 1.3 },
        }
    }
}

/// By so much a switch costs more for each doubling of the threads that take turns.
const COLDER: f64 = 0.03;

/// By which formula something is foretold, and of what.
pub(super) struct How {
    pub(super) words: &'static str,
    pub(super) placement: Placement,
    /// Of an end.
    pub(super) threads: usize,
}

/// What steps are taken to cost.
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

/// A forecast by a formula over what steps of such tolls cost at work, which is told besides.
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
    let at_work = |kind: Kind| kind.at_work(how.placement, how.threads);
    let usual: Vec<f64> = keys.iter().map(|key| at_work(Kind::of(key.crossing)).usual).collect();
    let costs: Vec<f64> = tolls.iter().zip(&usual).map(|(toll, usual)| toll.median * usual).collect();
    let cost = |ticks: &[f64]| cost(&Ticks { keys, ticks });
    let ticks = cost(&costs);
    let mut off = Off::default();
    for (at, toll) in tolls.iter().enumerate() {
        off.by([toll.lo, toll.hi].map(|end| {
            let mut moved = costs.clone();
            moved[at] = end * usual[at];
            cost(&moved) - ticks
        }));
    }
    for kind in Kind::ALL {
        let AtWork { least, usual, most } = at_work(kind);
        off.by([least / usual, most / usual].map(|times| {
            let is_of_it = |key: &TollKey| Kind::of(key.crossing) == kind;
            let scaled =
                keys.iter().zip(&costs).map(|(key, ticks)| ticks * if is_of_it(key) { times } else { 1.0 });
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
    Ok((forecast, costs))
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
