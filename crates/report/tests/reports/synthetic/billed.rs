//! A run with tolls and paths whose sums are known.

use tollway_core::{Crossing, Gate, Params, Tally, TollKey, Visits};
use tollway_store::{PointId, PointSpec, RunId};

use super::{Behaviour, Made, Noise};

pub const BLOCKS: u32 = 12;

pub fn read(size: u64) -> TollKey {
    TollKey::of(Crossing::BufferRead).size(size)
}

pub fn stamp() -> TollKey {
    TollKey::of(Crossing::PacketStamp)
}

/// What a packet passes: a stamp, a read every hundred packets, whose short form is the call alone, and a wake that is
/// counted.
pub fn gates() -> Vec<Gate> {
    let often = Visits::Fixed(0.01);
    vec![
        Gate::new("timestamp", "path", stamp()),
        Gate::new("call", "path", read(84)).visits(often),
        Gate::new("copy 2", "path", read(8400)).less(read(84)).visits(often),
        Gate::new("wake", "path", TollKey::of(Crossing::Futex)).visits(Visits::Counted),
    ]
}

/// 30 + 0.01 × 2000 + 0.25 × 4000.
pub const SUM: f64 = 1050.0;

pub fn path(variant: &str, gates: Vec<Gate>) -> PointSpec {
    PointSpec {
        path: "capture".into(),
        variant: variant.into(),
        params: Params::new().with("size", 60),
        operation: "packet".into(),
        toll: None,
        boundary: None,
        title: format!("capture {variant}"),
        changes: (variant != "before").then(|| "before".into()),
        gates,
        ..super::toll(stamp())
    }
}

/// A run with the tolls and these paths, each with what it costs. In every other block the machine is slower by a third.
pub fn run(made: &mut Made, paths: &[(PointSpec, f64)]) -> RunId {
    let tolls =
        [(stamp(), 30.0), (read(84), 300.0), (read(8400), 2000.0), (TollKey::of(Crossing::Futex), 4000.0)];
    let run = made.store.begin_run(&super::spec("bills", &[])).unwrap();
    let mut specs: Vec<PointSpec> = tolls.iter().map(|(key, _)| super::toll(key.clone())).collect();
    specs.extend(paths.iter().map(|(spec, _)| spec.clone()));
    let ids = made.store.add_points(run, &specs).unwrap();
    let costs = tolls.iter().map(|(_, ticks)| *ticks).chain(paths.iter().map(|(_, ticks)| *ticks));
    let points: Vec<(PointId, f64)> = ids.into_iter().zip(costs).collect();
    let mut noise = Noise::seeded(3);
    let mut ordinal = 0;
    for block in 0..BLOCKS {
        let level = if block % 2 == 0 { 1.0 } else { 1.33 };
        for (point, ticks) in &points {
            let behaviour = Behaviour { within: 0.001, ..Behaviour::calm(*ticks) };
            let mut trial = behaviour.trial(&mut noise, level, block, ordinal);
            // Without the tail that other tests want: the mean is what was asked for.
            let mut recorder = tollway_core::Recorder::new();
            recorder.set_batch(100);
            (0..200).for_each(|_| recorder.sample((ticks * level * 100.0) as u64));
            trial.spread = recorder.spread();
            // The larger the block, the more is dropped.
            let dropped = u64::from(block + 1) * 10;
            let tally = Tally::default().counter("operations", 40_000).visited("wake", 10_000);
            trial.tally = tally.counter("dropped", dropped).counter("sent", 1000);
            let spec = &specs[points.iter().position(|(id, _)| id == point).unwrap()];
            if spec.params.get("profile").is_some_and(|often| *often != tollway_core::Value::Int(0)) {
                trial.tally = trial.tally.sampled("call + copy 2", 25).sampled("wake", 75);
            }
            made.store.record_trial(*point, &trial).unwrap();
            ordinal += 1;
        }
    }
    for (point, _) in &points {
        made.store.set_point_state(*point, &tollway_store::PointState::Done).unwrap();
    }
    run
}
