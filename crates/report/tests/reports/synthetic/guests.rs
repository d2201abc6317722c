//! A made-up run in this machine, in micro-guests and in Linux guests.

use jiff::ToSpan;
use tollway_core::{
    Accelerator, ActorRecord, Crossing, GuestFacts, KvmKind, LinuxGuestFacts, Missing, Params, Placement,
    TenantKind, TollKey,
};
use tollway_store::{PointId, PointSpec, PointState, RunId, RunState, Store};

use super::{Behaviour, Noise, spec, start, toll};

/// A crossing, what it costs here in ticks, and how many times that in a micro-guest and in a Linux guest.
const COSTS: [(Crossing, f64, Option<f64>, f64); 12] = [
    (Crossing::EmptyLoop, 2.1, Some(1.0), 8.1),
    (Crossing::EmptyCall, 4.3, Some(1.0), 11.0),
    (Crossing::Rdtsc, 32.0, Some(1.0), 4.2),
    (Crossing::Rdrand, 80.0, Some(1.003), 3.1),
    (Crossing::ClockVdso, 57.0, None, 12.0),
    (Crossing::Getppid, 218.0, None, 19.0),
    (Crossing::ReadByte, 359.0, None, 21.0),
    (Crossing::MinorFault, 1800.0, None, 14.0),
    (Crossing::Futex, 18_869.0, None, 6.4),
    (Crossing::Pipe, 17_059.0, None, 7.0),
    (Crossing::AtomicAlone, 18.0, Some(1.06), 2.2),
    (Crossing::IoUringNop, 366.0, None, 1.0),
];

/// What the virtual machines of the made-up run were.
pub fn facts() -> GuestFacts {
    GuestFacts {
        micro_guests: Some(KvmKind::Software),
        linux_guests: Some(LinuxGuestFacts {
            accelerator: Accelerator::Tcg,
            why: "Linux did not boot under KVM within 10 s: this KVM has no hardware beneath it".into(),
            qemu: "10.0.2".into(),
            kernel: "6.1.0-49-amd64".into(),
            memory_mib: 192,
            boot_ms: vec![2512.0, 2475.5, 2698.25],
        }),
    }
}

fn elsewhere(key: &TollKey, tenant: TenantKind) -> PointSpec {
    let point = toll(key.clone().tenant(tenant));
    PointSpec { params: point.params.clone().with("tenant", tenant.name()), ..point }
}

/// So many tenants at once have no toll.
fn crowd(tenant: TenantKind, tenants: u64) -> PointSpec {
    let params = Params::new().with("tenant", tenant.name()).with("tenants", tenants);
    PointSpec {
        title: format!("crossings rdrand {params}"),
        toll: None,
        boundary: None,
        params,
        ..toll(TollKey::of(Crossing::Rdrand))
    }
}

struct Planned {
    spec: PointSpec,
    behaviour: Behaviour,
    tenant: TenantKind,
    tenants: u32,
}

fn planned() -> Vec<Planned> {
    let mut points = Vec::new();
    let mut plan = |spec, ticks, tenant, tenants| {
        let between = if tenant == TenantKind::LinuxGuest { 0.03 } else { 0.002 };
        let behaviour = Behaviour { between, noisy: 0.0, ..Behaviour::calm(ticks) };
        points.push(Planned { spec, behaviour, tenant, tenants });
    };
    for (crossing, ticks, micro, linux) in COSTS {
        let mut key = TollKey::of(crossing);
        if matches!(crossing, Crossing::Futex | Crossing::Pipe) {
            key = key.placement(Placement::Across);
        }
        plan(elsewhere(&key, TenantKind::Process), ticks, TenantKind::Process, 1);
        if let Some(times) = micro {
            plan(elsewhere(&key, TenantKind::MicroGuest), ticks * times, TenantKind::MicroGuest, 1);
        }
        plan(elsewhere(&key, TenantKind::LinuxGuest), ticks * linux, TenantKind::LinuxGuest, 1);
    }
    for tenant in [TenantKind::Process, TenantKind::MicroGuest] {
        for tenants in [8, 60] {
            plan(crowd(tenant, tenants), 80.0, tenant, u32::try_from(tenants).unwrap());
        }
    }
    // Only in a micro-guest: nothing to compare with.
    plan(toll(TollKey::of(Crossing::ExitPort)), 31_000.0, TenantKind::MicroGuest, 1);
    points
}

/// What actors got who share two processors: the first a little more than the last.
fn actors(planned: &Planned, noise: &mut Noise) -> Vec<ActorRecord> {
    (0..planned.tenants)
        .map(|number| {
            let window_ns = 10_000_000u64;
            let fair = (2.0 / f64::from(planned.tenants)).min(0.99);
            let luck =
                1.0 + 0.04 * (0.5 - f64::from(number) / f64::from(planned.tenants)) + 0.01 * noise.normal();
            let share = (fair * luck).min(1.0);
            let used = |share: f64| Some((share * 1.2 * window_ns as f64) as u64);
            let ns = planned.behaviour.ticks / super::HZ * 1e9;
            let guest = planned.tenant == TenantKind::LinuxGuest;
            ActorRecord {
                role: "caller".into(),
                number,
                tenant: Some(planned.tenant),
                own_ns: (planned.tenant != TenantKind::MicroGuest).then(|| used(share)).flatten(),
                given_ns: used(if guest { 0.93 } else { share }),
                span_ns: Some(12_000_000),
                window_ns: Some(window_ns),
                ops: Some((share * window_ns as f64 / ns) as u64),
                mean_ticks: Some(planned.behaviour.ticks),
                ..ActorRecord::default()
            }
        })
        .collect()
}

/// A run with everything that the table of hosts and guests can meet: what is the same, dearer, not separable, skipped
/// and failed in a guest, what is measured there only, many tenants at once.
pub fn host_and_guests(store: &mut Store) -> RunId {
    let run = store.begin_run(&spec("host against guest", &[])).unwrap();
    store.note_guests(run, &facts()).unwrap();
    let points = planned();
    let specs: Vec<PointSpec> = points.iter().map(|p| p.spec.clone()).collect();
    let ids = store.add_points(run, &specs).unwrap();
    let is = |p: &Planned, crossing, tenant| p.spec.variant == Crossing::name(crossing) && p.tenant == tenant;
    let mut noise = Noise::seeded(5);
    let mut ordinal = 0;
    for block in 0..6 {
        let drift = 1.0 + 0.1 * noise.normal();
        for (id, planned) in ids.iter().zip(&points) {
            if is(planned, Crossing::IoUringNop, TenantKind::LinuxGuest)
                || is(planned, Crossing::ReadByte, TenantKind::LinuxGuest)
            {
                continue;
            }
            let level = drift * (1.0 + planned.behaviour.between * noise.normal());
            let trial = planned.behaviour.trial(&mut noise, level, block, ordinal);
            let actors = actors(planned, &mut noise);
            store.record_trial(*id, &tollway_store::NewTrial { actors, ..trial }).unwrap();
            ordinal += 1;
        }
    }
    for (id, planned) in ids.iter().zip(&points) {
        store.set_point_state(*id, &state(planned, &is)).unwrap();
    }
    store.end_run(run, RunState::Complete, start() + 95.seconds()).unwrap();
    run
}

fn state(planned: &Planned, is: &dyn Fn(&Planned, Crossing, TenantKind) -> bool) -> PointState {
    if is(planned, Crossing::IoUringNop, TenantKind::LinuxGuest) {
        return PointState::Skipped(Missing::new(
            "io_uring",
            "the guest's kernel refuses it (ENOSYS)",
            "name a kernel that has it with --guest-kernel",
        ));
    }
    if is(planned, Crossing::ReadByte, TenantKind::LinuxGuest) {
        return PointState::Failed("tenant caller: its guest ended before it answered".into());
    }
    PointState::Done
}

/// The points of that crossing, for whoever asks for one of them.
pub fn point_of(store: &Store, run: RunId, crossing: Crossing, tenant: TenantKind) -> PointId {
    let points = store.points(run).unwrap();
    let key = TollKey::of(crossing).tenant(tenant);
    points.iter().find(|p| p.spec.toll.as_ref() == Some(&key)).unwrap().id
}
