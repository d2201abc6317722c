//! Plays a variant by threads of one process: planned, made, run and verified; the figures are the laboratory's. Tests of several paths take this file in.

use std::sync::mpsc;
use std::thread;

use tollway_core::{
    Clock, Lot, Params, Path, Place, Plan, Recorder, Result, Spread, Tally, TenantKind, Value, Window,
};
use tollway_host::clock::{RunClock, hz};

/// How long actors wait and run once they are ready, in milliseconds. In between they warm up, for 5 ms.
pub struct Times {
    /// Until they warm up.
    pub lead: f64,
    /// While they are recorded.
    pub window: f64,
}

/// A point, by the variant's name and the axes that are not at their defaults.
pub fn point(path: &Path, name: &str, axes: &[(&str, Value)]) -> Result<(Plan, Params)> {
    let variant = path.variant(name)?;
    let params = axes.iter().fold(Params::new(), |p, (axis, value)| p.with(*axis, value.clone()));
    let params = params.complete(&variant.axes())?;
    Ok((variant.plan(&params)?, params))
}

/// What the measured role recorded, and what all counted.
pub fn play(path: &Path, name: &str, axes: &[(&str, Value)], times: &Times) -> Result<(Spread, Tally)> {
    let (plan, params) = point(path, name, axes)?;
    let variant = path.variant(name)?;
    let mut actors = Vec::new();
    for role in &plan.roles {
        for number in 0..role.count {
            actors.push((role.measured, number, variant.actor(&role.name, &params)?));
        }
    }
    // All are made ready, one after the other; then all run in one window.
    let mut place = Place {
        tenant: TenantKind::Thread,
        peers: Vec::new(),
        doorbells: Vec::new(),
        exits: None,
        lot: Lot::default(),
    };
    for (_, number, actor) in &mut actors {
        place.lot.number = *number;
        let address = actor.ready(&place)?;
        place.peers.push(address);
    }
    let ms = |n: f64| (n * hz().unwrap() / 1000.0) as u64;
    let warm = RunClock::chosen().now() + ms(times.lead);
    let open = warm + ms(5.0);
    let window = Window { warm, open, close: open + ms(times.window), batch: 0, planted: 0 };
    let (send, ended) = mpsc::channel();
    thread::scope(|scope| {
        for (measured, _, mut actor) in actors {
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
