//! Tenants in micro-guests: their bytes are right, and each exit is seen as often as it was made. The laboratory's agent does the
//! same; here a test is the agent, so that it can plant what must be found.
//!
//! Without `/dev/kvm` this says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

use std::sync::MutexGuard;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::Duration;

use tollway_core::{
    Clock, Error, Lot, Params, Place, Recorder, Result, Spread, Tally, TenantKind, Value, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::cpu;
use tollway_tenant::micro::{self, Devices, Limits, MicroGuest, Options};

use crate::turn::turn;

/// One guest at a time, if this machine has any; else says why not.
fn possible() -> Option<MutexGuard<'static, ()>> {
    match micro::check() {
        Ok(_) => Some(turn()),
        Err(error) => {
            tollway_host::requirement::skip_test(&["micro-guest", "kvm"], &error);
            None
        }
    }
}

fn complete(name: &str, axes: &[(&str, Value)]) -> Params {
    let path = tollway_cipher::path();
    let params = Params::new().with("tenant", "micro-guest");
    let params = axes.iter().fold(params, |p, (axis, value)| p.with(*axis, value.clone()));
    params.complete(&path.variant(name).unwrap().axes()).unwrap()
}

/// A card in a thread, and a tenant of it in a micro-guest; `plant` is called between its run and its verification.
fn play(name: &str, axes: &[(&str, Value)], plant: impl FnOnce(&Place)) -> Result<(Spread, Tally)> {
    let (path, params) = (tollway_cipher::path(), complete(name, axes));
    let variant = path.variant(name)?;
    let plan = variant.plan(&params)?;
    let [card, tenant] = &plan.roles[..] else { panic!("{plan:?}") };
    assert_eq!((card.tenant, tenant.tenant), (TenantKind::Process, TenantKind::MicroGuest));
    let [mut card, mut actor] = [card, tenant].map(|role| variant.actor(&role.name, &params).unwrap());
    let place =
        |tenant, peers| Place { tenant, peers, doorbells: Vec::new(), exits: None, lot: Lot::default() };
    let address = card.ready(&place(TenantKind::Thread, Vec::new()))?;
    let devices = Devices::new(tenant.doorbells)?;
    let place = Place {
        doorbells: devices.doorbells(),
        exits: Some(devices.exits()),
        ..place(TenantKind::MicroGuest, vec![address])
    };
    actor.ready(&place)?;
    let (mut recorder, mut outcome) = (Recorder::new(), None);
    let mut guest = MicroGuest::over_own_memory(&devices, &Options::default())?;
    let ms = |n: f64| (n * hz().unwrap() / 1000.0) as u64;
    let warm = RunClock::chosen().now() + ms(20.0);
    let window = Window { warm, open: warm + ms(5.0), close: warm + ms(105.0), batch: 0, planted: 0 };
    // Two that look without end are not to share a core.
    let cpus = cpu::allowed_cpus()?;
    cpu::pin_current_thread(cpus[0])?;
    thread::scope(|scope| {
        let serving = scope.spawn(move || {
            cpu::pin_current_thread(cpus[cpus.len() - 1])?;
            let done = card.run(&window, &mut Recorder::new()).and_then(|()| card.verify());
            done.map(|()| card.tally())
        });
        let limits = Limits { time: Duration::from_secs(10) };
        // SAFETY: an actor's `run` makes no system call in a micro-guest, does not allocate and does not unwind; what it works on
        // was there when the guest was made, and this thread's stack is mapped whole.
        let ran = unsafe { guest.run(limits, || outcome = Some(actor.run(&window, &mut recorder))) };
        let seen = devices.exits().seen;
        let exits = ran?.exits;
        seen.port.store(exits.port, Ordering::Relaxed);
        seen.mmio.store(exits.mmio, Ordering::Relaxed);
        seen.idle.store(exits.idle, Ordering::Relaxed);
        outcome.unwrap()?;
        plant(&place);
        actor.park();
        actor.verify()?;
        let mut tally = actor.tally();
        tally.merge(&serving.join().unwrap()?);
        Ok((recorder.spread(), tally))
    })
}

fn played(name: &str, axes: &[(&str, Value)]) -> Tally {
    let (spread, tally) = play(name, axes, |_| ()).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    assert!(spread.ops > 0, "{name} {axes:?}: nothing was recorded");
    // What the tenant compared with the library's is all that the card did.
    assert_eq!(tally.counters["operations"], tally.counters["card_requests"], "{name} {axes:?}");
    tally
}

#[test]
fn a_card_that_is_awake_and_a_guest_that_looks_need_no_exit() {
    let Some(_one) = possible() else { return };
    for axes in [
        vec![],
        vec![("depth", Value::from(8)), ("size", 64.into())],
        vec![("cipher", "aes-256-gcm".into())],
        vec![("cipher", "sha256".into()), ("rate", 1000.into())],
    ] {
        let axes = [axes, vec![("card", "awake".into())]].concat();
        let tally = played("busy", &axes);
        // Until the card has seen its first request it has not said that it looks for itself.
        assert!(tally.counters["exits"] <= 2, "{axes:?}: {:?}", tally.counters);
        assert!(tally.counters["work"] > 0);
    }
}

#[test]
fn a_card_that_sleeps_costs_a_ring_each() {
    let Some(_one) = possible() else { return };
    let tally = played("busy", &[]);
    let (exits, requests) = (tally.counters["exits"], tally.counters["operations"]);
    // Where the two are one core's, the card may find the next request before it sleeps.
    assert!(exits > 0 && exits <= requests, "{exits} exits of {requests} requests");
    assert_eq!((tally.visits["exit of the doorbell"], tally.counters["kicks"]), (exits, exits));
}

#[test]
fn who_is_told_idles_and_is_called() {
    let Some(_one) = possible() else { return };
    for way in ["interrupt", "coalesced", "capped", "adaptive", "hybrid"] {
        let axes: &[(&str, Value)] = if way == "hybrid" { &[("spin", 1.into())] } else { &[] };
        let tally = played(way, axes);
        let count = |name: &str| tally.counters[name];
        assert_eq!(count("exits"), count("kicks") + count("sleeps"), "{way}: {tally:?}");
        assert_eq!(tally.visits["exit to idle"], count("sleeps"));
        assert!(count("sleeps") > 0 && count("card_interrupts") > 0, "{way}: {tally:?}");
    }
}

#[test]
fn a_wrong_count_is_found() {
    let Some(_one) = possible() else { return };
    let ring = |place: &Place, bell: usize| {
        let wakes = place.doorbells[bell].wakes;
        // SAFETY: open as long as the devices.
        let wakes = unsafe { std::os::fd::BorrowedFd::borrow_raw(wakes) };
        rustix::io::write(wakes, &1u64.to_ne_bytes()).unwrap();
    };
    let plants: [&dyn Fn(&Place); 4] = [
        &|place| ring(place, 0),
        &|place| ring(place, 1),
        &|place| _ = place.exits.as_ref().unwrap().seen.idle.fetch_add(1, Ordering::Relaxed),
        &|place| _ = place.exits.as_ref().unwrap().seen.port.fetch_add(1, Ordering::Relaxed),
    ];
    for (number, plant) in plants.into_iter().enumerate() {
        match play("interrupt", &[], plant) {
            Err(Error::Wrong(reason)) => assert!(reason.contains("exits made"), "{number}: {reason}"),
            other => panic!("{number}: {other:?}"),
        }
    }
}

#[test]
fn what_needs_a_kernel_is_refused() {
    let path = tollway_cipher::path();
    for (way, axes, reason) in [
        ("epoll", vec![], "epoll is the kernel's"),
        ("periodic", vec![], "nothing there ends a sleep"),
        ("interrupt", vec![("rate", Value::from(1000))], "when the next request is due"),
        ("busy", vec![("tasks", 2.into())], "no threads"),
    ] {
        let error = path.variant(way).unwrap().plan(&complete(way, &axes)).unwrap_err().to_string();
        assert!(error.contains("micro-guest") && error.contains(reason), "{way}: {error}");
    }
}
