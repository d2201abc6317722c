//! Trials of live variants, each with its actors in threads of this process.

use std::collections::BTreeMap;
use std::thread;

use tollway_core::{
    Actor, Address, Clock, Error, Lot, Params, Place, Recorder, Requirement, Result, Spread, Tally,
    TenantKind, Value, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::cpu;
use tollway_host::requirement::test_has;

use crate::turn::alone;

/// What a trial brought.
pub struct Trial {
    /// How long its window was.
    pub milliseconds: f64,
    pub spread: Spread,
    pub counters: BTreeMap<String, u64>,
    pub gauges: BTreeMap<String, u64>,
    pub visits: BTreeMap<String, u64>,
}

impl Trial {
    /// A counter or a gauge.
    pub fn count(&self, name: &str) -> u64 {
        *self.counters.get(name).unwrap_or_else(|| &self.gauges[name])
    }

    /// Ticks of the capture's thread a packet.
    pub fn cost(&self) -> f64 {
        self.spread.mean().unwrap()
    }
}

/// Whether this machine has what live variants need; says what it lacks.
pub fn can_run() -> bool {
    test_has(&[
        (Requirement::NetworkNamespaces, "netns"),
        (Requirement::PacketSockets, "packet"),
        (Requirement::AfXdp, "af-xdp"),
        (Requirement::Cores(2), "cores"),
    ])
}

pub fn params(variant: &str, settings: &[(&str, Value)]) -> Result<Params> {
    let path = tollway_capture::path();
    let mut params = Params::new();
    settings.iter().for_each(|(name, value)| params.set(*name, value.clone()));
    params.complete(&path.variant(variant)?.axes())
}

/// A trial of so many milliseconds.
pub fn play(variant: &str, milliseconds: f64, settings: &[(&str, Value)]) -> Result<Trial> {
    let _alone = alone();
    let path = tollway_capture::path();
    let (variant, params) = (path.variant(variant)?, params(variant, settings)?);
    let (cpus, ticks) = (cpu::allowed_cpus()?, hz()? / 1e3);
    let mut ready: Vec<(Box<dyn Actor>, u32)> = Vec::new();
    let mut peers: Vec<Address> = Vec::new();
    for role in &variant.plan(&params)?.roles {
        let mut actor = variant.actor(&role.name, &params)?;
        let place = Place {
            tenant: TenantKind::Process,
            peers: peers.clone(),
            doorbells: Vec::new(),
            exits: None,
            lot: Lot::default(),
        };
        peers.push(actor.ready(&place)?);
        ready.push((actor, cpus[role.core as usize]));
    }
    let warm = RunClock::chosen().now() + (2.0 * ticks) as u64;
    let open = warm + (10.0 * ticks) as u64;
    let window = Window { warm, open, close: open + (milliseconds * ticks) as u64, batch: 0, planted: 0 };
    let results: Vec<Result<_>> = thread::scope(|scope| {
        let run = |(mut actor, cpu): (Box<dyn Actor>, u32)| {
            scope.spawn(move || {
                cpu::pin_current_thread(cpu)?;
                let mut recorder = Recorder::new();
                actor.run(&window, &mut recorder)?;
                actor.park();
                actor.verify()?;
                Ok((recorder.spread(), actor.tally()))
            })
        };
        let running: Vec<_> = ready.into_iter().map(run).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    let (mut spread, mut tally) = (Spread::default(), Tally::default());
    for result in results {
        let (recorded, counted) = result?;
        if recorded.samples() > 0 {
            spread = recorded;
        }
        tally.merge(&counted);
    }
    let Tally { counters, gauges, visits, .. } = tally;
    let trial = Trial { milliseconds, spread, counters, gauges, visits };
    println!("{} {params}: {:.0} c, {:?} {:?}", variant.name(), trial.cost(), trial.counters, trial.visits);
    Ok(trial)
}

/// How many times as long the last window is that is tried: nothing but a hang takes a processor away for all of them.
const LONGEST: f64 = 100.0;

/// A trial that is long enough: where others have the processors, few frames are sent in a short window, or none.
pub fn play_until(
    variant: &str,
    milliseconds: f64,
    settings: &[(&str, Value)],
    is_long_enough: impl Fn(&Trial) -> bool,
) -> Trial {
    let mut longer = 1.0;
    while longer <= LONGEST {
        match play(variant, longer * milliseconds, settings) {
            Ok(trial) if is_long_enough(&trial) => return trial,
            Ok(_) => {}
            Err(Error::Wrong(reason)) if reason == "no frame was sent" => {}
            Err(Error::Tenant { reason, .. }) if reason.starts_with("it got no processor") => {}
            Err(error) => panic!("{variant}: {error}"),
        }
        longer *= 10.0;
    }
    panic!("{variant} {settings:?}: in none of its windows was it as it should be");
}

pub fn word(word: &str) -> Value {
    Value::Text(word.into())
}
