//! The variants with a fake back end: every point of the price list, played by plain threads of this process.
//!
//! What is proven here is that each point can be planned, made, run and verified, and that its figure stands in the
//! right relation to others where nothing else runs; the figures themselves are only printed (`--nocapture`, best in a release build).
//! Roles in micro-guests need the agent and are skipped, as is what the machine lacks.

use std::collections::BTreeMap;
use std::sync::{Barrier, Mutex};
use std::thread;

use tollway_core::{
    Address, Clock, Error, Lot, Params, Place, Plan, Preset, Recorder, Result, Spread, Tally, TenantKind,
    Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::{cpu, requirement};

use crate::quiet::is_quiet;
use crate::turn::alone;

/// Ticks of windows, about 2 ms to 2 s: the first is long enough where actors have a processor in it; all of them together
/// are taken away by nothing but a hang.
const WINDOWS: [u64; 4] = [5_000_000, 50_000_000, 500_000_000, 5_000_000_000];

/// Ticks of the warm-up before it: about 0.2 ms.
const WARM_UP: u64 = 500_000;

/// Between the making of actors and the warm-up.
const LEAD: u64 = 200_000;

struct Played {
    spread: Spread,
    tally: Tally,
}

fn preset(name: &str) -> Preset {
    let path = tollway_crossings::path();
    toml::from_str(path.preset(name).unwrap()).unwrap()
}

fn price_list() -> Preset {
    preset("quick")
}

/// Every role of the plan in a thread of its own, for as long as it takes to record something; `None` where one of them is no thread's.
fn play(variant: &dyn Variant, params: &Params) -> Result<Option<Played>> {
    let mut last = Ok(None);
    for window in WINDOWS {
        last = play_for(window, variant, params);
        if !matches!(&last, Ok(Some(played)) if played.spread.samples() == 0) {
            break;
        }
    }
    last
}

fn play_for(window: u64, variant: &dyn Variant, params: &Params) -> Result<Option<Played>> {
    let plan = variant.plan(params)?;
    if plan.roles.iter().any(|r| r.tenant == TenantKind::MicroGuest) {
        return Ok(None);
    }
    for requirement in &plan.requires {
        requirement::check(requirement).map_err(Error::Missing)?;
    }
    let cpus = cpu::allowed_cpus()?;
    let addresses: Mutex<Vec<Address>> = Mutex::default();
    let opening: Mutex<u64> = Mutex::new(0);
    let turns: Vec<Barrier> = plan.roles.iter().map(|_| Barrier::new(plan.roles.len())).collect();
    let start = Barrier::new(plan.roles.len());
    let outcomes = thread::scope(|scope| {
        let actors: Vec<_> = (0..plan.roles.len())
            .map(|at| {
                let (plan, addresses, opening, turns, start) = (&plan, &addresses, &opening, &turns, &start);
                let cpu = cpus[plan.roles[at].core as usize];
                scope.spawn(move || {
                    cpu::pin_current_thread(cpu)?;
                    act(window, variant, plan, at, params, addresses, opening, turns, start)
                })
            })
            .collect();
        actors.into_iter().map(|a| a.join().expect("an actor panicked")).collect::<Vec<_>>()
    });
    let mut played = Played { spread: Spread::default(), tally: Tally::default() };
    // The first failure explains the others.
    for (role, outcome) in plan.roles.iter().zip(outcomes) {
        let (spread, tally) = outcome?;
        played.tally.merge(&tally);
        if role.measured {
            played.spread = spread;
        }
    }
    Ok(Some(played))
}

#[expect(clippy::too_many_arguments, reason = "what the threads of one trial share, named once")]
fn act(
    window: u64,
    variant: &dyn Variant,
    plan: &Plan,
    at: usize,
    params: &Params,
    addresses: &Mutex<Vec<Address>>,
    opening: &Mutex<u64>,
    turns: &[Barrier],
    start: &Barrier,
) -> Result<(Spread, Tally)> {
    let mut actor = variant.actor(&plan.roles[at].name, params)?;
    let mut ready = Ok(());
    for (turn, barrier) in turns.iter().enumerate() {
        if turn == at {
            let peers = addresses.lock().unwrap().clone();
            let place = Place {
                tenant: plan.roles[at].tenant,
                peers,
                doorbells: Vec::new(),
                exits: None,
                lot: Lot::default(),
            };
            match actor.ready(&place) {
                Ok(address) => addresses.lock().unwrap().push(address),
                Err(error) => ready = Err(error),
            }
        }
        barrier.wait();
    }
    let clock = RunClock::chosen();
    if at == 0 {
        *opening.lock().unwrap() = clock.now() + LEAD;
    }
    start.wait();
    // Somebody who did not get ready leaves the others without a peer.
    if addresses.lock().unwrap().len() < plan.roles.len() {
        ready?;
        return Ok((Spread::default(), Tally::default()));
    }
    let warm = *opening.lock().unwrap();
    let open = warm + WARM_UP;
    let window = Window { warm, open, close: open + window, batch: 0, planted: 0 };
    let mut recorder = Recorder::new();
    actor.run(&window, &mut recorder)?;
    actor.park();
    actor.verify()?;
    Ok((recorder.spread(), actor.tally()))
}

/// The median of one variant at one point, or `None` where it cannot run here.
fn median(name: &str, params: &Params) -> Option<f64> {
    let path = tollway_crossings::path();
    let variant = path.variant(name).unwrap();
    let complete = params.clone().complete(&variant.axes()).unwrap();
    match play(variant, &complete) {
        Ok(played) => played.and_then(|p| p.spread.quantile(0.5)),
        Err(Error::Missing(_)) => None,
        Err(error) => panic!("{name} {params}: {error}"),
    }
}

/// Plays both, and checks that the first costs less than the second where nothing else runs.
fn cheaper(less: (&str, Params), more: (&str, Params)) {
    let (Some(a), Some(b)) = (median(less.0, &less.1), median(more.0, &more.1)) else { return };
    println!("{} {}: {a}; {} {}: {b}", less.0, less.1, more.0, more.1);
    assert!(
        !is_quiet() || a < b,
        "{} {} should cost less than {} {}: {a}, {b}",
        less.0,
        less.1,
        more.0,
        more.1
    );
}

fn at<const N: usize>(axes: [(&str, tollway_core::Value); N]) -> Params {
    axes.into_iter().fold(Params::new(), |params, (name, value)| params.with(name, value))
}

#[test]
fn every_point_of_the_price_list_runs_and_verifies() {
    every_point_runs_and_verifies("quick");
}

#[test]
fn every_call_that_a_bill_prices_runs_and_verifies() {
    every_point_runs_and_verifies("calls");
}

fn every_point_runs_and_verifies(of: &str) {
    let _alone = alone();
    let path = tollway_crossings::path();
    let mut failures = Vec::new();
    for (name, params) in preset(of).points() {
        let variant = path.variant(&name).unwrap();
        let params = params.complete(&variant.axes()).unwrap();
        let what = variant.plan(&params).unwrap().provides.map_or(name.clone(), |key| key.to_string());
        match play(variant, &params) {
            Ok(Some(Played { spread, tally })) => {
                let counted: BTreeMap<_, _> = tally.visits.iter().chain(&tally.counters).collect();
                match (spread.quantile(0.5), spread.mean()) {
                    (Some(median), Some(mean)) => println!(
                        "{what:45} median {median:10.1} mean {mean:10.1} batch {:6} n {:6} {counted:?}",
                        spread.batch,
                        spread.samples()
                    ),
                    _ => failures.push(format!("{what}: nothing was recorded")),
                }
            }
            Ok(None) => println!("{what:45} skipped: it needs a micro-guest"),
            Err(Error::Missing(missing)) => println!("{what:45} skipped: {missing}"),
            Err(error) => failures.push(format!("{what}: {error}")),
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

#[test]
fn every_variant_stands_in_the_price_list() {
    let points = price_list().points();
    for variant in tollway_crossings::path().variants {
        assert!(
            points.iter().any(|(name, _)| name == variant.name()),
            "{} is not in quick.toml",
            variant.name()
        );
    }
}

#[test]
fn points_of_a_preset_have_keys_of_their_own() {
    ["quick", "calls"].into_iter().for_each(points_have_keys_of_their_own);
}

fn points_have_keys_of_their_own(of: &str) {
    let path = tollway_crossings::path();
    let mut keys = BTreeMap::new();
    for (name, params) in preset(of).points() {
        let variant = path.variant(&name).unwrap();
        let params = params.complete(&variant.axes()).unwrap();
        let key =
            variant.plan(&params).unwrap().provides.unwrap_or_else(|| panic!("{name} provides no toll"));
        assert_eq!(key.to_string().parse(), Ok(key.clone()));
        if let Some(other) = keys.insert(key.clone(), params.to_string()) {
            panic!("{key} is provided by {name} at {params} and at {other}");
        }
    }
}

#[test]
fn what_a_prediction_needs_is_in_the_price_list() {
    let path = tollway_crossings::path();
    let plans: Vec<Plan> = price_list()
        .points()
        .into_iter()
        .map(|(name, params)| {
            let variant = path.variant(&name).unwrap();
            variant.plan(&params.complete(&variant.axes()).unwrap()).unwrap()
        })
        .collect();
    let needed: Vec<_> = plans.iter().flat_map(|p| &p.needs).collect();
    assert!(!needed.is_empty());
    for key in needed {
        assert!(plans.iter().any(|p| p.provides.as_ref() == Some(key)), "nothing provides {key}");
    }
}

#[test]
fn the_vdso_is_cheaper_than_the_kernel() {
    let _alone = alone();
    for kind in ["monotonic-coarse", "realtime-coarse", "monotonic"] {
        let kind = || at([("kind", kind.into())]);
        cheaper(("clock-vdso", kind()), ("clock-raw", kind()));
    }
}

#[test]
fn one_entry_for_many_no_ops_is_cheaper_than_one_for_each() {
    let _alone = alone();
    let depth = |n: u64| at([("depth", n.into())]);
    cheaper(("io-uring-nop", depth(32)), ("io-uring-nop", depth(1)));
}

#[test]
fn more_bytes_and_colder_bytes_cost_more() {
    let _alone = alone();
    let copy = |size: u64, warmth: &str| at([("size", size.into()), ("warmth", warmth.into())]);
    cheaper(("copy", copy(64, "hot")), ("copy", copy(1 << 20, "hot")));
    cheaper(("copy", copy(64, "hot")), ("copy", copy(64, "cold")));
    cheaper(("copy", copy(65536, "hot")), ("copy", copy(65536, "cold")));
}

#[test]
fn a_touched_page_costs_more_than_an_untouched_one() {
    let _alone = alone();
    let kind = |kind: &str| at([("kind", kind.into())]);
    cheaper(("mmap-munmap", kind("untouched")), ("mmap-munmap", kind("touched")));
    cheaper(("minor-fault", Params::new()), ("madvise-dontneed", Params::new()));
}

#[test]
fn small_things_are_cheaper_than_large_ones() {
    let _alone = alone();
    let chain = ["empty-call", "getppid", "signal", "thread-start"];
    for pair in chain.windows(2) {
        cheaper((pair[0], Params::new()), (pair[1], Params::new()));
    }
    cheaper(("thread-start", Params::new()), ("process-start", at([("kind", "spawn".into())])));
    cheaper(("page-cache-read", Params::new()), ("direct-read", Params::new()));
    cheaper(("rdtsc", Params::new()), ("exit-inside", Params::new()));
}

#[test]
fn a_system_call_takes_less_than_twenty_microseconds() {
    let _alone = alone();
    // 20 µs are 100,000 ticks at 5 GHz, which no time-stamp counter exceeds.
    let ticks = median("getppid", &Params::new()).unwrap();
    assert!(ticks > 0.0 && (!is_quiet() || ticks < 100_000.0), "{ticks}");
}
