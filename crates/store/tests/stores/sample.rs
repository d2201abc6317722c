//! A small store with one of everything.

#![allow(dead_code)]

use std::path::Path;

use jiff::Timestamp;
use serde_json::json;
use tollway_core::{
    Accelerator, ActorRecord, Boundary, Crossing, Forecast, Gate, GuestFacts, KvmKind, LinuxGuestFacts,
    Missing, Params, Quoted, Recorder, Spread, Tally, TenantKind, TollKey,
};
use tollway_store::{NewTrial, PointId, PointSpec, PointState, RunId, RunSpec, Store};

pub fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_700_000_000 + second).unwrap()
}

pub fn run_spec(second: i64) -> RunSpec {
    RunSpec {
        started: at(second),
        title: "a sample".into(),
        argv: vec!["tollway".into(), "run".into(), "--title".into(), "ein Weg, 3 µs".into()],
        version: "0.1.0".into(),
        seed: u64::MAX - 5,
        machine: "machine-1".into(),
        hz: 2_100_000_123.456_789,
        sides: vec![],
        fingerprint: json!({"cpu": {"model": "none", "cores": 2}, "load": [0.1, 0.25]}),
        plan: json!({"presets": ["floor"], "order": [3, 1, 2]}),
    }
}

pub fn point_spec(toll: Option<TollKey>) -> PointSpec {
    PointSpec {
        side: None,
        path: "crossings".into(),
        variant: "pipe".into(),
        params: Params::new().with("placement", "across").with("size", 64),
        operation: "round trip".into(),
        toll,
        boundary: Some(Boundary::ProcessProcess),
        title: "pipe round trip, across cores".into(),
        changes: None,
        yields: Vec::new(),
        headline: false,
        gates: vec![Gate::new("pipe", "caller", pipe())],
        caveats: "two system calls a side are in it".into(),
    }
}

pub fn pipe() -> TollKey {
    TollKey::of(Crossing::Pipe)
}

pub fn spread(ticks: &[u64]) -> Spread {
    let mut recorder = Recorder::new();
    ticks.iter().for_each(|t| recorder.sample(*t));
    recorder.spread()
}

pub fn trial(block: u32, ordinal: u32, ticks: &[u64]) -> NewTrial {
    NewTrial {
        block,
        ordinal,
        started: at(i64::from(ordinal)),
        spread: spread(ticks),
        noise: ordinal.is_multiple_of(4).then(|| "steal 0.7 %".into()),
        tally: Tally::default().counter("polls", 7).visited("wake", 3),
        meters: json!({"switches": 12}),
        lost_ticks: 1.5,
        actors: vec![actor("client", 0, Some(100)), actor("server", 0, None), actor("server", 1, None)],
    }
}

/// A measured actor has operations.
pub fn actor(role: &str, number: u32, ops: Option<u64>) -> ActorRecord {
    ActorRecord {
        role: role.into(),
        number,
        tenant: Some(TenantKind::LinuxGuest),
        own_ns: Some(1_000_000 + u64::from(number)),
        given_ns: Some(900_000),
        span_ns: Some(2_000_000),
        window_ns: Some(1_500_000),
        ops,
        mean_ticks: ops.map(|_| 1003.25),
        late_ticks: 7,
        voluntary_switches: Some(3),
        ..ActorRecord::default()
    }
}

pub fn guests() -> GuestFacts {
    GuestFacts {
        micro_guests: Some(KvmKind::Software),
        linux_guests: Some(LinuxGuestFacts {
            accelerator: Accelerator::Tcg,
            why: "KVM here is software: Linux does not boot under it".into(),
            qemu: "10.0.2".into(),
            kernel: "6.1.0-49-amd64".into(),
            memory_mib: 192,
            boot_ms: vec![2500.0, 2431.5],
        }),
    }
}

pub fn forecast(ticks: f64) -> Forecast {
    Forecast {
        of: Quoted::Median,
        ticks,
        lo: ticks * 0.9,
        hi: ticks * 1.1,
        model: "2 × pipe".into(),
        from: vec![pipe()],
        p99: None,
        counts: Default::default(),
        sharing: None,
    }
}

pub fn missing() -> Missing {
    Missing::new("/dev/kvm", "there is no such file", "run on a machine with KVM")
}

/// A run with a point that is done (8 trials in 4 blocks, predicted), one that was skipped, one that failed.
pub fn one_of_everything(store: &mut Store) -> (RunId, [PointId; 3]) {
    let run = store.begin_run(&run_spec(0)).unwrap();
    let specs = [point_spec(Some(pipe())), point_spec(None), point_spec(None)];
    let points: [PointId; 3] = store.add_points(run, &specs).unwrap().try_into().unwrap();
    store.predict(points[0], &forecast(1000.0), at(1)).unwrap();
    store.set_batch(points[0], 16).unwrap();
    for n in 0..8u32 {
        let centre = 1000 + 10 * u64::from(n % 3);
        let ticks: Vec<u64> = (0..100).map(|i| centre + i % 7).collect();
        store.record_trial(points[0], &trial(n / 2, n, &ticks)).unwrap();
    }
    store.set_point_state(points[0], &PointState::Done).unwrap();
    store.set_point_state(points[1], &PointState::Skipped(missing())).unwrap();
    store
        .set_point_state(points[2], &PointState::Failed("verification failed: 3 of 4 bytes".into()))
        .unwrap();
    (run, points)
}

/// Reads everything that a store offers; stops at the first error.
pub fn read_everything(file: &Path) -> tollway_store::Result<()> {
    let store = Store::open_read_only(file)?;
    for run in store.runs()? {
        store.record(run.id)?;
        store.tolls_of_run(run.id)?;
        store.unfinished(Some(run.id))?;
        for point in store.points(run.id)? {
            store.spread(point.id)?;
        }
        for trial in store.trials(run.id)? {
            store.spread_of_trial(trial.id)?;
        }
    }
    store.unfinished(None)?;
    store.tolls("machine-1", at(-1))?;
    store.check()
}
