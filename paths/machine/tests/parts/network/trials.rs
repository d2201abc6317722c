//! The variants, their roles played by threads of this process.

use std::sync::{Barrier, Mutex};
use std::thread;

use tollway_core::{
    Address, Clock, Error, Lot, Params, Place, Preset, Recorder, Result, Spread, Tally, TenantKind, Variant,
    Window,
};
use tollway_host::clock::RunClock;
use tollway_host::{cpu, requirement};

use crate::turn::turn;

/// Of the path, those that are of the network.
const VARIANTS: [&str; 3] = ["tcp-streams", "tcp-requests", "udp-datagrams"];

struct Played {
    spread: Spread,
    stretch: Option<u64>,
    tally: Tally,
}

/// Server and client in a thread each; a window of so many milliseconds.
fn play(variant: &dyn Variant, params: &Params, window_ms: u64) -> Result<Played> {
    let (_turn, plan) = (turn(), variant.plan(params)?);
    plan.requires.iter().try_for_each(requirement::check).map_err(Error::Missing)?;
    let cpus = cpu::allowed_cpus()?;
    let met: Mutex<Option<(Vec<Address>, u64)>> = Mutex::default();
    let (server_is_ready, both_are) = (Barrier::new(2), Barrier::new(2));
    let (clock, hz) = (RunClock::chosen(), tollway_host::clock::hz()?);
    let ticks = |ms: u64| (ms as f64 * hz / 1e3) as u64;
    let play = |at: usize| {
        let role = &plan.roles[at];
        cpu::pin_current_thread(cpus[role.core as usize])?;
        let mut actor = variant.actor(&role.name, params)?;
        let place = |peers| Place {
            tenant: role.tenant,
            peers,
            doorbells: Vec::new(),
            exits: None,
            lot: Lot::default(),
        };
        let mut ready = Err(Error::Wrong("there is no server".into()));
        if at == 0 {
            ready = actor.ready(&place(Vec::new())).map(|address| {
                *met.lock().unwrap() = Some((vec![address], clock.now() + ticks(50)));
            });
        }
        server_is_ready.wait();
        let found = met.lock().unwrap().clone();
        if at == 1
            && let Some((addresses, _)) = &found
        {
            ready = actor.ready(&place(addresses.clone())).map(drop);
            if ready.is_err() {
                *met.lock().unwrap() = None;
            }
        }
        both_are.wait();
        ready?;
        let Some((_, warm)) = met.lock().unwrap().clone() else {
            return Err(Error::Wrong("there is no client".into()));
        };
        let open = warm + ticks(1);
        let window = Window { warm, open, close: open + ticks(window_ms), batch: 0, planted: 0 };
        let mut recorder = Recorder::new();
        actor.run(&window, &mut recorder)?;
        actor.park();
        actor.verify()?;
        Ok((recorder, actor.tally()))
    };
    let outcomes = thread::scope(|scope| {
        let play = &play;
        let both = [scope.spawn(move || play(0)), scope.spawn(move || play(1))];
        both.map(|thread| thread.join().expect("an actor panicked"))
    });
    let mut tally = Tally::default();
    let mut measured = None;
    for (role, outcome) in plan.roles.iter().zip(outcomes) {
        let (recorder, counted) = outcome?;
        tally.merge(&counted);
        if role.measured {
            measured = Some((recorder.spread(), recorder.stretch()));
        }
    }
    let (spread, stretch) = measured.expect("a role is measured");
    Ok(Played { spread, stretch, tally })
}

fn at(variant: &dyn Variant, axes: &[(&str, &str)]) -> Params {
    let set = |params: Params, (name, value): &(&str, &str)| match value.parse::<u64>() {
        Ok(number) => params.with(*name, number),
        Err(_) => params.with(*name, *value),
    };
    axes.iter().fold(Params::new(), set).complete(&variant.axes()).unwrap()
}

/// The points of a preset that are of the network.
fn points(preset: &str) -> Vec<(String, Params)> {
    let path = tollway_machine::path();
    let preset: Preset = toml::from_str(path.preset(preset).unwrap()).unwrap();
    preset.points().into_iter().filter(|(name, _)| VARIANTS.contains(&&**name)).collect()
}

#[test]
fn every_point_of_the_quick_preset_runs_and_verifies_in_a_short_window_too() {
    let path = tollway_machine::path();
    let points = points("quick");
    for name in VARIANTS {
        assert!(points.iter().any(|(of, _)| of == name), "{name} is not in quick.toml");
    }
    for (name, params) in points {
        let variant = path.variant(&name).unwrap();
        let params = params.complete(&variant.axes()).unwrap();
        for window_ms in [2, 50] {
            match play(variant, &params, window_ms) {
                Ok(Played { spread, tally, .. }) => {
                    println!("{name} {params}: {} ops in {} ms, {:?}", spread.ops, window_ms, tally.counters);
                    assert!(spread.samples() > 0, "{name} {params}");
                }
                Err(Error::Missing(missing)) => println!("{name} {params}: skipped: {missing}"),
                Err(error) => panic!("{name} {params}: {error}"),
            }
        }
    }
}

#[test]
fn every_point_of_the_suite_has_a_plan() {
    let path = tollway_machine::path();
    for (name, params) in points("suite") {
        let variant = path.variant(&name).unwrap();
        let params = params.complete(&variant.axes()).unwrap();
        let plan = variant.plan(&params).unwrap();
        assert_eq!(plan.roles.iter().filter(|role| role.measured).count(), 1);
        for role in &plan.roles {
            variant.actor(&role.name, &params).unwrap();
        }
    }
}

/// What came through loopback in the window, by the path's own way of telling a rate, in its headline's unit a second.
fn rate(variant: &dyn Variant, params: &Params, window_ms: u64) -> (f64, Tally) {
    let played = play(variant, params, window_ms).unwrap();
    let hz = tollway_host::clock::hz().unwrap();
    let seconds = played.stretch.map_or(window_ms as f64 / 1e3, |ticks| ticks as f64 / hz);
    (played.spread.ops as f64 * variant.yields(params)[0].each / seconds, played.tally)
}

/// How often a rate may be disturbed by other programs before it is not judged.
const TRIES: usize = 8;

fn too_busy(seen: &[f64]) {
    println!("{seen:?} of what it should be");
    requirement::skip_test(
        &["quiet"],
        &"the machine is too busy to judge a rate: run this where nothing else does",
    );
}

#[test]
fn a_rate_that_is_asked_for_is_the_rate_that_is_told() {
    let path = tollway_machine::path();
    let variant = path.variant("udp-datagrams").unwrap();
    let params = at(variant, &[("rate", "20"), ("size", "1000")]);
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (told, tally) = rate(variant, &params, 100);
        let (lost, sent) = (tally.counters["lost_datagrams"], tally.counters["sent_datagrams"]);
        assert_eq!(tally.counters["received_datagrams"] + lost, sent);
        seen.push(told / 20e6 / (1.0 - lost as f64 / sent as f64));
        if seen.last().is_some_and(|ratio| (ratio - 1.0).abs() < 0.05) {
            return;
        }
    }
    too_busy(&seen);
}

#[test]
fn streams_are_told_by_what_was_received() {
    let path = tollway_machine::path();
    let variant = path.variant("tcp-streams").unwrap();
    let mut seen = Vec::new();
    for _ in 0..TRIES {
        let (told, tally) = rate(variant, &at(variant, &[("streams", "2")]), 100);
        assert_eq!(tally.counters["received_bytes"], tally.counters["sent_bytes"]);
        // It was sent in 101 ms; what was on its way then came later.
        seen.push(told / (tally.counters["received_bytes"] as f64 * 8.0 / 0.101));
        if seen.last().is_some_and(|ratio| (ratio - 1.0).abs() < 0.15) {
            return;
        }
    }
    too_busy(&seen);
}

#[test]
fn iperf3_measures_in_the_place_of_ours() {
    let path = tollway_machine::path();
    for name in ["tcp-streams", "udp-datagrams"] {
        let variant = path.variant(name).unwrap();
        let params = at(variant, &[("by", "iperf3")]);
        if let Err(error) = play(variant, &params, 2).map(|played| {
            assert!(
                played.stretch.is_some_and(|ticks| ticks as f64 > 0.9 * tollway_host::clock::hz().unwrap())
            );
            println!("{name}: {} ops, {:?}", played.spread.ops, played.tally.counters);
        }) {
            let Error::Missing(missing) = error else { panic!("{name}: {error}") };
            requirement::skip_test(&["iperf3"], &missing);
        }
    }
}

#[test]
fn ends_live_where_the_axes_say() {
    let path = tollway_machine::path();
    let variant = path.variant("tcp-requests").unwrap();
    let plan = |between: &str| {
        variant.plan(&at(variant, &[("tenant", "linux-guest"), ("between", between)])).unwrap()
    };
    let places = |between: &str| {
        let plan = plan(between);
        let devices: Vec<_> = plan.guests.iter().map(|guest| format!("{:?}", guest.devices)).collect();
        (plan.roles.iter().map(|role| (role.tenant, role.guest)).collect::<Vec<_>>(), devices.join(" "))
    };
    let guest = TenantKind::LinuxGuest;
    assert_eq!(places("loopback"), (vec![(guest, 0), (guest, 0)], "[]".into()));
    assert_eq!(places("guests"), (vec![(guest, 0), (guest, 1)], "[Wire(0)] [Wire(0)]".into()));
    let host = (vec![(TenantKind::Process, 0), (guest, 0)], "[HostNetwork]".into());
    assert_eq!(places("host"), host);
}

#[test]
fn what_cannot_be_is_refused_by_the_axis() {
    let path = tollway_machine::path();
    let refused = |name: &str, axes: &[(&str, &str)], wanted: &str| {
        let variant = path.variant(name).unwrap();
        let said = variant.plan(&at(variant, axes)).unwrap_err().to_string();
        assert!(said.contains(wanted), "{said}");
    };
    refused("tcp-streams", &[("between", "guests")], "axis `between`");
    refused("tcp-streams", &[("between", "namespaces"), ("tenant", "linux-guest")], "axis `between`");
    refused("udp-datagrams", &[("by", "iperf3"), ("tenant", "linux-guest")], "axis `tenant`");
    refused("tcp-streams", &[("by", "iperf3"), ("buffer", "1000")], "512 MiB");
    refused("tcp-streams", &[("by", "iperf3"), ("block", "1048577")], "1 MiB");
    refused("tcp-requests", &[("disk", "luks")], "axis `disk`");
}

#[test]
fn a_window_that_the_kernel_does_not_grant_is_told() {
    let path = tollway_machine::path();
    let variant = path.variant("tcp-streams").unwrap();
    let error = play(variant, &at(variant, &[("buffer", "1024")]), 2).map(drop).unwrap_err();
    assert!(matches!(&error, Error::Missing(missing) if missing.reason.contains("grants")), "{error}");
}
