//! Stores with made-up trials: seeded, so that every form of a report can be compared with what it was.
//!
//! The costs are those of no machine in particular; they are of the order that a virtual machine of two cores shows.

#![allow(dead_code, reason = "each test uses a part of it")]

pub mod billed;
pub mod guests;

use jiff::{Timestamp, ToSpan};
use serde_json::json;
use tempfile::TempDir;
use tollway_core::{
    ActorRecord, Crossing, Forecast, Missing, Params, Placement, Quoted, Recorder, Tally, TenantKind,
    TollKey, Unit, Warmth, Yield,
};
use tollway_store::{NewTrial, PointId, PointSpec, PointState, RunId, RunSpec, RunState, Store};

/// What stays when a terminal's styles are taken away, as they are for a file.
pub fn unstyled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\u{1b}') {
        out.push_str(before);
        rest = after.split_once('m').map_or("", |(_, after)| after);
    }
    out + rest
}

/// Ticks per second of the made-up clock.
pub const HZ: f64 = 2.1e9;

/// A store in a folder that goes with it.
pub struct Made {
    pub store: Store,
    _folder: TempDir,
}

impl Made {
    pub fn new() -> Made {
        let folder = tempfile::tempdir().unwrap();
        Made { store: Store::open(folder.path().join("tollway.db")).unwrap(), _folder: folder }
    }
}

/// Numbers that look random and are not (xorshift64*; Vigna 2016, ACM TOMS 42:30).
pub struct Noise(u64);

impl Noise {
    pub fn seeded(seed: u64) -> Noise {
        Noise(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// Uniform in [0, 1).
    fn uniform(&mut self) -> f64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Nearly normal: mean 0, deviation 1.
    pub fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}

pub fn start() -> Timestamp {
    "2026-03-14T09:26:53Z".parse().unwrap()
}

pub fn spec(title: &str, sides: &[&str]) -> RunSpec {
    RunSpec {
        started: start(),
        title: title.into(),
        argv: ["tollway", "run", "--seed", "7"].map(String::from).into(),
        version: "0.1.0".into(),
        seed: 7,
        machine: "f3a9c2d1e0b7a6f5".into(),
        hz: HZ,
        sides: sides.iter().map(|s| (*s).into()).collect(),
        fingerprint: json!({
            "kernel": "Linux 6.18.5 #1 SMP PREEMPT_DYNAMIC",
            "kernel_release": "6.18.5",
            "command_line": "root=/dev/vda quiet",
            "distribution": "Debian GNU/Linux 12 (bookworm)",
            "cpu_model": "Intel(R) Xeon(R) Processor @ 2.10GHz",
            "cpu_family": 6, "cpu_model_number": 143, "cpu_stepping": 8,
            "microcode": "0x1", "governor": "none", "smt": "notsupported",
            "mitigations": {"meltdown": "Not affected", "spectre_v2": "Mitigation: Enhanced / Automatic IBRS"},
            "clocksource": "tsc", "virtualisation": "kvm", "hypervisor": "KVMKVMKVM",
            "cpus_online": 2, "cores": 2, "packages": 1, "cpus_allowed": [0, 1],
            "memory": 25_769_803_776u64, "load": [0.4, 0.3, 0.2], "huge_pages": "madvise", "hz": HZ
        }),
        plan: json!({}),
    }
}

pub fn toll(key: TollKey) -> PointSpec {
    let mut params = Params::new();
    if let Some(p) = key.placement {
        params.set("placement", p.name());
    }
    if let Some(w) = key.warmth {
        params.set("warmth", w.name());
    }
    if let Some(size) = key.size {
        params.set("size", size);
    }
    if let Some(depth) = key.depth {
        params.set("depth", u64::from(depth));
    }
    PointSpec {
        side: None,
        path: "crossings".into(),
        variant: key.crossing.name().into(),
        params,
        operation: "crossing".into(),
        boundary: Some(key.crossing.boundary()),
        title: key.title(),
        caveats: match key.placement {
            Some(_) => {
                "Half of it is the way back; what wakes and what is woken are processes of their own.".into()
            }
            None => String::new(),
        },
        gates: Vec::new(),
        changes: None,
        yields: Vec::new(),
        headline: false,
        toll: Some(key),
    }
}

/// Blocks of 4096 bytes read from a disk of that kind.
pub fn rated(disk: &str) -> PointSpec {
    PointSpec {
        path: "machine".into(),
        variant: "disk".into(),
        params: Params::new().with("disk", disk),
        operation: "block".into(),
        boundary: None,
        title: format!("random read, 4 KiB, {disk}"),
        yields: vec![Yield::one(Unit::Accesses), Yield::bytes(4096)],
        toll: None,
        ..toll(TollKey::of(Crossing::DirectRead))
    }
}

/// The same trial of one actor that did one operation after the other, all the time.
pub fn one_after_the_other(trial: NewTrial) -> NewTrial {
    let window = (trial.spread.ticks as f64 / HZ * 1e9) as u64;
    let actor =
        ActorRecord { ops: Some(trial.spread.ops), window_ns: Some(window), ..ActorRecord::default() };
    NewTrial { actors: vec![actor], ..trial }
}

/// How a made-up figure behaves.
#[derive(Clone, Copy)]
pub struct Behaviour {
    /// Its median, in ticks.
    pub ticks: f64,
    /// Deviation between processes, as a share.
    pub between: f64,
    /// Deviation between samples, as a share.
    pub within: f64,
    /// Share of trials that are not quiet.
    pub noisy: f64,
}

impl Behaviour {
    pub fn calm(ticks: f64) -> Behaviour {
        Behaviour { ticks, between: 0.012, within: 0.03, noisy: 0.05 }
    }

    /// Operations that one sample covers: short ones are timed together.
    fn batch(self) -> u32 {
        if self.ticks < 200.0 { 1000 } else { 1 }
    }

    pub fn trial(self, noise: &mut Noise, level: f64, block: u32, ordinal: u32) -> NewTrial {
        let mut recorder = Recorder::new();
        recorder.set_batch(self.batch());
        for _ in 0..160 {
            let tail = if noise.uniform() < 0.03 { 1.0 + 2.0 * noise.uniform() } else { 1.0 };
            let ticks = self.ticks * level * (1.0 + self.within * noise.normal()).max(0.3) * tail;
            recorder.sample((ticks * f64::from(self.batch())) as u64);
        }
        let loud = noise.uniform() < self.noisy;
        NewTrial {
            block,
            ordinal,
            started: start() + i64::from(ordinal).seconds(),
            spread: recorder.spread(),
            noise: loud.then(|| "2.1 % stolen, 1.4 % foreign processor time".into()),
            tally: Tally::default(),
            meters: json!({"seconds": 0.01}),
            lost_ticks: if loud { 160.0 * self.ticks * 0.01 } else { 0.0 },
            actors: Vec::new(),
        }
    }
}

/// Writes the trials of points: for each block, each point `repeats` times.
pub fn measure(store: &mut Store, points: &[(PointId, Behaviour)], blocks: u32, repeats: u32, seed: u64) {
    let mut noise = Noise::seeded(seed);
    let mut ordinal = 0;
    for block in 0..blocks {
        for (point, behaviour) in points {
            let level = 1.0 + behaviour.between * noise.normal();
            for _ in 0..repeats {
                store.record_trial(*point, &behaviour.trial(&mut noise, level, block, ordinal)).unwrap();
                ordinal += 1;
            }
        }
    }
    for (point, _) in points {
        store.set_point_state(*point, &PointState::Done).unwrap();
    }
}

/// The price list's keys and costs, in ticks.
pub fn costs() -> Vec<(TollKey, f64)> {
    use Crossing::*;
    let mut costs: Vec<(TollKey, f64)> = [
        (EmptyLoop, 2.1),
        (EmptyStamp, 54.0),
        (EmptyCall, 4.3),
        (Rdtsc, 32.0),
        (RdtscFenced, 48.0),
        (Rdtscp, 45.0),
        (ClockVdso, 57.0),
        (Rdrand, 80.0),
        (Rdseed, 1640.0),
        (ClockRaw, 287.0),
        (Getppid, 218.0),
        (ReadByte, 359.0),
        (Signal, 2650.0),
        (MinorFault, 1800.0),
        (MmapMunmap, 2864.0),
        (ThreadStart, 61_000.0),
        (ProcessStart, 1.9e6),
        (ExitInside, 52_000.0),
        (ExitPort, 31_000.0),
        (ExitMmio, 30_000.0),
        (ExitIoeventfd, 11_400.0),
        (ExitCpuid, 13_100.0),
        (AtomicAlone, 18.0),
        (AtomicContended, 310.0),
    ]
    .map(|(crossing, ticks)| (TollKey::of(crossing), ticks))
    .into();
    for (depth, ticks) in [(1, 366.0), (2, 205.0), (8, 93.0), (32, 64.0), (128, 60.0)] {
        costs.push((TollKey::of(IoUringNop).depth(depth), ticks));
    }
    for (crossing, same, across) in [
        (Futex, 4763.0, 18_869.0),
        (Pipe, 7064.0, 17_059.0),
        (Eventfd, 4417.0, 17_895.0),
        (UnixStream, 8431.0, 17_807.0),
    ] {
        costs.push((TollKey::of(crossing).placement(Placement::Same), same));
        costs.push((TollKey::of(crossing).placement(Placement::Across), across));
    }
    let line = TollKey::of(CacheLine).placement(Placement::Across);
    costs.push((line.clone(), 954.0));
    costs.push((line.tenant(TenantKind::MicroGuest), 990.0));
    for (size, hot, cold) in [(64, 4.2, 344.0), (1514, 18.0, 720.0), (65_536, 3100.0, 9800.0)] {
        costs.push((TollKey::of(Copy).size(size).warmth(Warmth::Hot), hot));
        costs.push((TollKey::of(Copy).size(size).warmth(Warmth::Cold), cold));
    }
    costs
}

/// A run that has everything a report can meet: figures, skipped and failed points, a single trial, predictions that
/// hold and miss, noisy trials, hostile texts.
pub fn price_list(store: &mut Store) -> RunId {
    let run = store.begin_run(&spec("the price list", &[])).unwrap();
    let costs = costs();
    let specs: Vec<PointSpec> = costs.iter().map(|(key, _)| toll(key.clone())).collect();
    let ids = store.add_points(run, &specs).unwrap();
    let forecast = |ticks: f64, from: &[TollKey]| Forecast {
        of: Quoted::Median,
        ticks,
        lo: ticks * 0.9,
        hi: ticks * 1.1,
        model: "fixed + per operation / depth".into(),
        from: from.into(),
        p99: None,
        counts: Default::default(),
        sharing: None,
    };
    let from = [TollKey::of(Crossing::IoUringNop).depth(1), TollKey::of(Crossing::IoUringNop).depth(128)];
    for ((key, ticks), id) in costs.iter().zip(&ids) {
        let guess = match (key.crossing, key.depth) {
            (Crossing::IoUringNop, Some(8)) => ticks * 1.02,
            (Crossing::IoUringNop, Some(32)) => ticks * 0.96,
            (Crossing::IoUringNop, Some(2)) => ticks * 1.24,
            _ => continue,
        };
        store.predict(*id, &forecast(guess, &from), start()).unwrap();
    }
    let points: Vec<(PointId, Behaviour)> = costs
        .iter()
        .zip(&ids)
        .map(|((key, ticks), id)| {
            let mut behaviour = Behaviour::calm(*ticks);
            if key.crossing == Crossing::ProcessStart {
                behaviour = Behaviour { between: 0.2, within: 0.3, noisy: 0.6, ..behaviour };
            }
            (*id, behaviour)
        })
        .collect();
    measure(store, &points, 6, 1, 7);
    setbacks(store, run);
    store.end_run(run, RunState::Complete, start() + 161.seconds()).unwrap();
    run
}

fn setbacks(store: &mut Store, run: RunId) {
    let mut hostile = toll(TollKey::of(Crossing::Fsync));
    hostile.title = "write and fsync <script>alert(1)</script>".into();
    let specs = [
        toll(TollKey::of(Crossing::DirectRead).size(4096)),
        toll(TollKey::of(Crossing::DirectWrite).size(4096)),
        hostile,
        toll(TollKey::of(Crossing::SchedYield)),
        toll(TollKey::of(Crossing::Mprotect)),
    ];
    let ids = store.add_points(run, &specs).unwrap();
    let missing = Missing::new(
        "direct I/O",
        "the store's folder is on tmpfs, which has none",
        "name a folder on a disk with --scratch",
    );
    store.set_point_state(ids[0], &PointState::Skipped(missing.clone())).unwrap();
    store.set_point_state(ids[1], &PointState::Skipped(missing)).unwrap();
    let error = "tenant server: died of signal 11 \u{1b}[31m\"><img src=x onerror=alert(1)>".to_string();
    store.set_point_state(ids[2], &PointState::Failed(error)).unwrap();
    // One trial: no interval, and so no figure.
    measure(store, &[(ids[3], Behaviour::calm(2846.0))], 1, 1, 9);
    // Ids[4] stays pending, without a trial.
}

/// A run with sides, each figure of the second one so many times the first's; trials of both sides side by side.
pub fn sides(store: &mut Store, labels: [&str; 2], factor: impl Fn(usize) -> f64, blocks: u32) -> RunId {
    let run = store.begin_run(&spec("two builds", &labels)).unwrap();
    let costs: Vec<(TollKey, f64)> =
        costs().into_iter().filter(|(k, _)| k.crossing != Crossing::ProcessStart).collect();
    let mut specs = Vec::new();
    for (key, _) in &costs {
        for label in labels {
            specs.push(PointSpec { side: Some(label.into()), ..toll(key.clone()) });
        }
    }
    let ids = store.add_points(run, &specs).unwrap();
    let mut noise = Noise::seeded(11);
    let mut ordinal = 0;
    for block in 0..blocks {
        for (i, (_, ticks)) in costs.iter().enumerate() {
            // The last figures scatter so much that nothing can be told.
            let between = if i + 3 > costs.len() { 0.25 } else { 0.006 };
            let drift = 1.0 + 0.1 * noise.normal();
            for side in 0..2 {
                let times = if side == 1 { factor(i) } else { 1.0 };
                let behaviour = Behaviour {
                    noisy: if between > 0.1 { 0.9 } else { 0.0 },
                    ..Behaviour::calm(ticks * times)
                };
                let level = drift * (1.0 + between * noise.normal());
                let trial = behaviour.trial(&mut noise, level, block, ordinal);
                store.record_trial(ids[2 * i + side], &trial).unwrap();
                ordinal += 1;
            }
        }
    }
    for id in ids {
        store.set_point_state(id, &PointState::Done).unwrap();
    }
    store.end_run(run, RunState::Complete, start() + 300.seconds()).unwrap();
    run
}

/// Two runs of one set of points on different days; the second has a slower futex, another kernel and one point less.
pub fn two_days(store: &mut Store) -> [RunId; 2] {
    [0u32, 1].map(|day| {
        let mut run_spec = spec(if day == 0 { "before" } else { "after" }, &[]);
        if day == 1 {
            run_spec.started += 30.hours();
            run_spec.fingerprint["kernel_release"] = json!("6.19.1");
            run_spec.fingerprint["load"] = json!([3.0, 1.0, 0.1]);
            run_spec.fingerprint["hz"] = json!(HZ + 12_000.5);
        }
        let run = store.begin_run(&run_spec).unwrap();
        let mut chosen: Vec<(TollKey, f64)> =
            costs().into_iter().filter(|(k, _)| k.warmth.is_none()).take(30).collect();
        if day == 1 {
            chosen.retain(|(key, _)| key.crossing != Crossing::Rdtscp);
            for (key, ticks) in &mut chosen {
                if matches!(key.crossing, Crossing::Signal | Crossing::ThreadStart) {
                    *ticks *= 1.35;
                }
            }
        }
        let specs: Vec<PointSpec> = chosen.iter().map(|(key, _)| toll(key.clone())).collect();
        let ids = store.add_points(run, &specs).unwrap();
        let points: Vec<_> =
            ids.into_iter().zip(chosen).map(|(id, (_, ticks))| (id, Behaviour::calm(ticks))).collect();
        measure(store, &points, 6, 1, 20 + u64::from(day));
        store.end_run(run, RunState::Complete, run_spec.started + 90.seconds()).unwrap();
        run
    })
}
