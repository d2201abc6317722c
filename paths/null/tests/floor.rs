//! The variants play by the contract: planned, made, ready, run, verified, tallied.

use tollway_core::{Clock, Lot, Params, Place, Recorder, TenantKind, Window};
use tollway_host::clock::{RunClock, hz};

#[test]
fn both_floors_run_and_are_not_zero() {
    for variant in tollway_null::path().variants {
        let plan = variant.plan(&Params::new()).unwrap();
        assert_eq!(plan.roles.iter().filter(|r| r.measured).count(), 1);
        let mut actor = variant.actor(&plan.roles[0].name, &Params::new()).unwrap();
        let place = Place {
            tenant: TenantKind::Thread,
            peers: Vec::new(),
            doorbells: Vec::new(),
            exits: None,
            lot: Lot::default(),
        };
        actor.ready(&place).unwrap();
        let now = RunClock::chosen().now();
        let ms = (hz().unwrap() / 1e3) as u64;
        let window = Window { warm: now, open: now + ms, close: now + 3 * ms, batch: 0, planted: 0 };
        let mut recorder = Recorder::new();
        actor.run(&window, &mut recorder).unwrap();
        actor.verify().unwrap();
        let median = recorder.spread().quantile(0.5).unwrap();
        // A loop that the compiler deleted would show as next to nothing.
        assert!((0.1..5_000.0).contains(&median), "{}: {median} ticks", variant.name());
        assert!(actor.tally().counters["operations"] > 0);
    }
}
