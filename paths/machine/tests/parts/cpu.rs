//! The variants of the processor, played by plain threads of this process.
//!
//! What is proven is that each can be planned, made, run, verified and tallied at its points, by ours and by the tools that are installed,
//! and that rates stand in the right relation.

use std::thread;

use crate::quiet::is_quiet;
use tollway_core::{
    Clock, Error, Lot, Params, Place, Recorder, Requirement, Result, Role, Spread, Tally, TenantKind, Value,
    Variant, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::cpu::cpus_of_process;
use tollway_host::requirement::test_has;
use tollway_machine::engine::cpu::peak::OPERATIONS;

struct Played {
    spread: Spread,
    stretch: Option<u64>,
    tally: Tally,
}

fn at<const N: usize>(axes: [(&str, Value); N]) -> Params {
    axes.into_iter().fold(Params::new(), |params, (name, value)| params.with(name, value))
}

fn complete(name: &str, params: Params) -> Result<(Box<dyn Variant>, Params)> {
    let variants = tollway_machine::path().variants;
    let variant = variants.into_iter().find(|variant| variant.name() == name).unwrap();
    let params = variant.pinned(params.complete(&variant.axes())?)?;
    Ok((variant, params))
}

/// All actors of the measured role at once, with a pilot's window.
fn play(name: &str, params: Params) -> Result<Vec<Played>> {
    let (variant, params) = complete(name, params)?;
    let plan = variant.plan(&params)?;
    let Role { name: role, count, .. } = &plan.roles[0];
    let (warm, ms) = (RunClock::chosen().now(), (hz()? / 1e3) as u64);
    let window = Window { warm, open: warm + ms, close: warm + 3 * ms, batch: 0, planted: 0 };
    let act = |number: u32| -> Result<Played> {
        let mut actor = variant.actor(role, &params)?;
        let (tenant, lot) = (TenantKind::Thread, Lot { number, seed: u64::MAX });
        actor.ready(&Place { tenant, peers: Vec::new(), doorbells: Vec::new(), exits: None, lot })?;
        let mut recorder = Recorder::new();
        actor.run(&window, &mut recorder)?;
        actor.park();
        actor.verify()?;
        Ok(Played { spread: recorder.spread(), stretch: recorder.stretch(), tally: actor.tally() })
    };
    thread::scope(|scope| {
        let actors: Vec<_> = (0..*count).map(|number| scope.spawn(move || act(number))).collect();
        actors.into_iter().map(|actor| actor.join().expect("an actor panicked")).collect()
    })
}

fn has(program: &str) -> bool {
    test_has(&[(Requirement::Program(program.into(), program.into()), program)])
}

#[test]
fn a_count_is_one_operation_and_its_time_the_figure() {
    for by in ["tollway", "python3"] {
        if by == "python3" && !has(by) {
            continue;
        }
        let played = play("primes", at([("below", 30_000.into()), ("by", by.into())])).unwrap();
        let Played { spread, stretch, .. } = &played[0];
        assert!(spread.ops >= 1 && *stretch == Some(spread.ticks), "{by}: {stretch:?} {spread:?}");
        println!("{by}: {:.1} ms", spread.mean().unwrap() / hz().unwrap() * 1e3);
    }
}

#[test]
fn what_exceeds_its_box_is_skipped_and_says_how_far_it_came() {
    for by in ["tollway", "python3"] {
        if by == "python3" && !has(by) {
            continue;
        }
        let long = at([("below", 1_000_000_000.into()), ("box", 1.into()), ("by", by.into())]);
        let Err(error) = play("primes", long) else { panic!("{by} counted that in a second") };
        let told = error.to_string();
        assert!(matches!(error, Error::Missing(_)), "{told}");
        assert!(told.contains("not done in 1 s") && told.contains("of 1000000000"), "{told}");
    }
}

#[test]
fn events_are_counted_by_as_many_threads_as_are_asked_for() {
    let events = |params: Params| play("events", params.with("below", 1000)).unwrap();
    let cpus = cpus_of_process().unwrap().len();
    let (one, all) = (events(at([])), events(at([("threads", 0.into())])));
    assert_eq!((one.len(), all.len()), (1, cpus));
    // Of a pilot's 2 ms an event of so few numbers takes 2 %: a last one that ends after the window is told.
    let in_time = |stretch: Option<u64>| stretch.is_none_or(|ticks| ticks > 0);
    assert!(all.iter().chain(&one).all(|actor| actor.spread.ops >= 1 && in_time(actor.stretch)));
}

#[test]
fn by_sysbench_all_threads_are_one_actor_that_keeps_its_own_time() {
    if !has("sysbench") {
        return;
    }
    let played = play("events", at([("by", "sysbench".into()), ("threads", 0.into())])).unwrap();
    let [Played { spread, stretch, tally }] = &played[..] else { panic!("{} actors", played.len()) };
    let seconds = stretch.unwrap() as f64 / hz().unwrap();
    assert!((0.9..10.0).contains(&seconds), "{seconds} s");
    assert_eq!(spread.ops, tally.counters["events that sysbench told of"]);
    assert!(spread.samples() == spread.ops && spread.ops > 10, "{} events", spread.ops);
}

#[test]
fn tools_are_refused_in_guests_and_sets_for_what_has_none() {
    for (name, params, axis) in [
        ("events", at([("by", "sysbench".into()), ("tenant", "linux-guest".into())]), "tenant"),
        ("primes", at([("by", "python3".into()), ("tenant", "linux-guest".into())]), "tenant"),
        ("peak", at([("kind", "integer".into()), ("set", "avx2".into())]), "set"),
    ] {
        let (variant, params) = complete(name, params).unwrap();
        match variant.plan(&params) {
            Err(Error::Input { place, .. }) => assert!(place.contains(axis), "{place}"),
            other => panic!("{name} {params}: {other:?}"),
        }
    }
}

#[test]
fn threads_in_a_guest_are_together_in_it() {
    let (variant, params) =
        complete("events", at([("tenant", "linux-guest".into()), ("threads", 2.into())])).unwrap();
    let plan = variant.plan(&params).unwrap();
    assert!(plan.roles[0].together && plan.roles[0].count == 2 && plan.guests.len() == 1);
}

#[test]
fn peaks_say_by_which_instructions_and_wider_vectors_are_no_slower() {
    let rate = |params: Params| {
        let played = &play("peak", params).unwrap()[0];
        let name = played.tally.counters.keys().next().unwrap().clone();
        let rate = played.spread.ops as f64 / played.spread.ticks as f64;
        println!("{name}: {:.1} G/s", OPERATIONS as f64 * rate * hz().unwrap() / 1e9);
        (name, rate)
    };
    for (kind, set) in [("integer", "scalar"), ("float", "scalar")] {
        for bits in ["32", "64"] {
            let (name, _) = rate(at([("kind", kind.into()), ("bits", bits.into())]));
            assert_eq!(name, format!("operations by {set}"));
        }
    }
    let (name, wide) = rate(at([("bits", "32".into())]));
    assert!(name.starts_with("operations by "), "{name}");
    let (_, narrow) = rate(at([("bits", "32".into()), ("set", "sse2".into())]));
    assert!(!is_quiet() || wide > 0.8 * narrow, "widest {wide}, SSE2 {narrow}");
}

#[test]
fn a_title_says_what_where_and_by_whom() {
    for (name, params, title) in [
        ("primes", at([]), "primes below 1 million"),
        ("primes", at([("below", 1234.into()), ("by", "python3".into())]), "primes below 1234, by python3"),
        ("events", at([("threads", 2.into())]), "events of primes below 10000, 2 threads"),
        ("peak", at([("tenant", "linux-guest".into())]), "vector peak, 64 bits, in a Linux guest"),
        (
            "peak",
            at([("set", "sse2".into()), ("bits", "32".into()), ("threads", 2.into())]),
            "vector peak, 32 bits, sse2, 2 threads",
        ),
        (
            "events",
            at([("tenant", "linux-guest".into()), ("disk", "luks".into()), ("memory", 1024.into())]),
            "events of primes below 10000, in a Linux guest, LUKS disk, memory 1 GiB",
        ),
    ] {
        let (variant, params) = complete(name, params).unwrap();
        assert_eq!(variant.title(&params).as_deref(), Some(title));
    }
}
