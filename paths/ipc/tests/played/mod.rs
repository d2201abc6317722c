//! Plays a variant by threads of this process: planned, made, run and verified; the figures are the laboratory's.

use std::sync::mpsc;
use std::thread;

use tollway_core::{
    Clock, Lot, Params, Place, Plan, Recorder, Result, Spread, Tally, TenantKind, Value, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::requirement::{check, skip_test};

/// A point, by the variant's name and the axes that are not at their defaults.
pub fn point(name: &str, axes: &[(&str, Value)]) -> Result<(Plan, Params)> {
    let path = tollway_ipc::path();
    let variant = path.variant(name)?;
    let params = axes.iter().fold(Params::new(), |p, (axis, value)| p.with(*axis, value.clone()));
    let params = params.complete(&variant.axes())?;
    Ok((variant.plan(&params)?, params))
}

/// What the measured role recorded, and what all counted.
pub fn play(name: &str, axes: &[(&str, Value)]) -> Result<(Spread, Tally)> {
    let (plan, params) = point(name, axes)?;
    let path = tollway_ipc::path();
    let variant = path.variant(name)?;
    let mut actors = Vec::new();
    for role in &plan.roles {
        actors.push((role.measured, variant.actor(&role.name, &params)?));
    }
    // All are made ready, one after the other; then all run in one window.
    let mut place = Place {
        tenant: TenantKind::Thread,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot: Lot::default(),
    };
    for (_, actor) in &mut actors {
        let address = actor.ready(&place)?;
        place.peers.push(address);
    }
    let ms = |n: f64| (n * hz().unwrap() / 1000.0) as u64;
    let warm = RunClock::chosen().now() + ms(10.0);
    let window = Window { warm, open: warm + ms(5.0), close: warm + ms(30.0), batch: 0, planted: 0 };
    let (send, ended) = mpsc::channel();
    thread::scope(|scope| {
        for (measured, mut actor) in actors {
            let send = send.clone();
            scope.spawn(move || {
                let mut recorder = Recorder::new();
                let outcome = actor.run(&window, &mut recorder).and_then(|()| {
                    actor.park();
                    actor.verify()
                });
                let spread = if measured { recorder.spread() } else { Spread::default() };
                send.send(outcome.map(|()| (spread, actor.tally()))).unwrap();
            });
        }
    });
    drop(send);
    let mut all = (Spread::default(), Tally::default());
    for outcome in ended {
        let (spread, tally) = outcome?;
        all.0.merge(&spread);
        all.1.merge(&tally);
    }
    Ok(all)
}

/// The same, of what must succeed and record something; nothing where the machine lacks what it needs.
pub fn played(name: &str, axes: &[(&str, Value)]) -> Option<(Spread, Tally)> {
    let (plan, _) = point(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    for need in &plan.requires {
        if let Err(missing) = check(need) {
            skip_test(&["cores", "io-uring"], &missing);
            return None;
        }
    }
    let (spread, tally) = play(name, axes).unwrap_or_else(|error| panic!("{name} {axes:?}: {error}"));
    assert!(spread.ops > 0, "{name} {axes:?}: nothing was recorded");
    Some((spread, tally))
}
