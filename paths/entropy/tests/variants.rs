//! The variants with a fake back end: every kind of source, played by plain threads of this process.
//!
//! What is proven here is that each can be planned, made, run and verified; the figures are the laboratory's.

use std::thread;

use tollway_core::{Clock, Error, Lot, Params, Place, Recorder, Result, Tally, Variant, Window};
use tollway_host::clock::RunClock;
use tollway_host::requirement;

/// Ticks of the window and of the warm-up before it: about 4 ms and 0.2 ms.
const WINDOW: u64 = 10_000_000;
const WARM_UP: u64 = 500_000;

/// Every actor of the only role in a thread of its own.
fn play(variant: &dyn Variant, params: &Params) -> Result<(u64, Tally)> {
    let plan = variant.plan(params)?;
    let [role] = &plan.roles[..] else { panic!("{}: more roles than one", variant.name()) };
    for requirement in &plan.requires {
        requirement::check(requirement).map_err(Error::Missing)?;
    }
    let actors = (0..role.count).map(|_| variant.actor(&role.name, params)).collect::<Result<Vec<_>>>()?;
    let warm = RunClock::chosen().now() + WARM_UP;
    let open = warm + WARM_UP;
    let window = Window { warm, open, close: open + WINDOW, batch: 0, planted: 0 };
    let outcomes = thread::scope(|scope| {
        let running: Vec<_> = actors
            .into_iter()
            .map(|mut actor| {
                let place = Place {
                    tenant: role.tenant,
                    peers: Vec::new(),
                    doorbells: Vec::new(),
                    exits: None,
                    lot: Lot::default(),
                };
                scope.spawn(move || -> Result<(u64, Tally)> {
                    let mut recorder = Recorder::new();
                    actor.ready(&place)?;
                    actor.run(&window, &mut recorder)?;
                    actor.park();
                    actor.verify()?;
                    Ok((recorder.spread().ops, actor.tally()))
                })
            })
            .collect();
        running.into_iter().map(|a| a.join().expect("an actor panicked")).collect::<Vec<_>>()
    });
    let mut all = (0, Tally::default());
    for outcome in outcomes {
        let (ops, tally) = outcome?;
        assert!(ops > 0, "{}: an actor recorded nothing", variant.name());
        all.0 += ops;
        all.1.merge(&tally);
    }
    Ok(all)
}

/// A point that the machine lacks nothing for; `None` where it does.
fn played(name: &str, axes: &[(&str, &str)], count: Option<(&str, u64)>) -> Option<Tally> {
    let path = tollway_entropy::path();
    let variant = path.variant(name).unwrap();
    let params = axes.iter().fold(Params::new(), |p, (axis, word)| p.with(*axis, *word));
    let params = count.iter().fold(params, |p, (axis, n)| p.with(*axis, *n));
    let params = params.complete(&variant.axes()).unwrap();
    match play(variant, &params) {
        Ok((_, tally)) => Some(tally),
        Err(Error::Missing(missing)) => {
            println!("skipped: {name} {params}: {missing}");
            None
        }
        Err(error) => panic!("{name} {params}: {error}"),
    }
}

#[test]
fn every_source_is_drawn_from_alone_and_by_many() {
    for kind in ["rdrand", "rdseed", "rdseed-rested", "rdrand-512", "getrandom"] {
        for (name, count) in [("entropy-draw", None), ("scale", Some(("tenants", 3)))] {
            let Some(tally) = played(name, &[("kind", kind), ("tenant", "thread")], count) else { continue };
            let counted = |name: &str| tally.counters[name];
            assert!(counted("operations") > 0 && counted("tries") > 0, "{name} {kind}: {tally:?}");
            assert!(counted("failures") < counted("tries"), "{name} {kind}: {tally:?}");
        }
    }
}

#[test]
fn a_seed_is_reduced_and_a_stream_is_tested() {
    played("seed", &[], None);
    played("entropy-reduce", &[], None).unwrap();
    played("fips-test", &[], None).unwrap();
    for kind in ["rdrand", "rdseed", "rdrand-512", "getrandom"] {
        let Some(tally) = played("fips", &[("kind", kind)], None) else { continue };
        assert_eq!(tally.counters["fips_blocks"], tally.counters["operations"], "{kind}");
    }
}

#[test]
fn a_micro_guest_has_no_kernel_to_ask() {
    let path = tollway_entropy::path();
    let variant = path.variant("scale").unwrap();
    let params = Params::new().with("kind", "getrandom").with("tenant", "micro-guest");
    let error = variant.plan(&params.complete(&variant.axes()).unwrap()).unwrap_err();
    assert!(error.to_string().contains("micro-guest has none"), "{error}");
}
