//! The business beside a part of the suite: two roles more, which no part knows of.
//!
//! The load goes on from when the last actor is ready until the part has ended its work, however long that is. Server and clients
//! are not pinned: they are where the scheduler puts them, as a business' processes are.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Clock, Error, Forecast, Params, Place, Plan, Recorder, Result, Role, Tally,
    TollSource, Variant, Window, Yield,
};
use tollway_host::clock::{self, RunClock};
use tollway_host::cpu::{cpus_of_process, set_affinity};
use tollway_host::scratch;

use super::service::{ANSWERED, ServerActor, connect};
use crate::engine::service::{Keep, Load, Pace};
use crate::params;

/// What the service's database needs of a disk, in MiB: users stay few, and the log is a few MiB.
pub(crate) const ROOM_MIB: u64 = 64;

const SERVER: &str = "business-server";
const CLIENTS: &str = "business-clients";

/// How many clients there are, and for how many seconds each thinks between two requests on average: at most 800 requests a second.
const HOW_MANY: usize = 8;
const THINK: f64 = 0.01;

/// Whether it is asked for; not by a variant that has no such axis.
pub(crate) fn is_on(params: &Params) -> bool {
    params.word(params::BUSINESS).is_ok_and(|word| word == params::SERVICE)
}

/// The roles that it adds to a plan. They come last, so that those of the part find each other where they are used to.
pub(crate) fn roles() -> [Role; 2] {
    [Role::serving(SERVER), Role::serving(CLIENTS)]
}

/// The same part of the suite, which can have a business beside it.
pub(super) fn beside(part: Box<dyn Variant>) -> Box<dyn Variant> {
    Box::new(Beside(part))
}

struct Beside(Box<dyn Variant>);

impl Variant for Beside {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn about(&self) -> &str {
        self.0.about()
    }

    fn caveats(&self) -> &str {
        self.0.caveats()
    }

    fn axes(&self) -> Vec<Axis> {
        self.0.axes()
    }

    fn changes(&self) -> Option<&str> {
        self.0.changes()
    }

    fn pinned(&self, params: Params) -> Result<Params> {
        self.0.pinned(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        self.0.plan(params)
    }

    fn title(&self, params: &Params) -> Option<String> {
        self.0.title(params)
    }

    fn yields(&self, params: &Params) -> Vec<Yield> {
        self.0.yields(params)
    }

    fn patience(&self, params: &Params) -> Duration {
        let own = self.0.patience(params);
        if is_on(params) { own.max(ANSWERED) } else { own }
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        match role {
            SERVER => Ok(Box::new(Roaming(ServerActor::new(Keep::Sqlite(scratch::folder()))))),
            CLIENTS => Ok(Box::new(Roaming(Customers::default()))),
            _ => self.0.actor(role, params),
        }
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        self.0.predict(params, tolls)
    }
}

/// An actor whose threads run on any processor that its process may use.
struct Roaming<A>(A);

impl<A: Actor> Actor for Roaming<A> {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        // Only threads of actors are pinned, and a thread starts where the one that makes it may run.
        set_affinity(&cpus_of_process()?)?;
        self.0.ready(place)
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.0.run(window, recorder)
    }

    fn park(&mut self) {
        self.0.park();
    }

    fn verify(&mut self) -> Result<()> {
        self.0.verify()
    }

    fn tally(&mut self) -> Tally {
        self.0.tally()
    }
}

/// Clients that work until they are parked.
#[derive(Default)]
struct Customers {
    stop: Arc<AtomicBool>,
    working: Option<JoinHandle<Result<(Load, Worked)>>>,
    worked: Option<Worked>,
    load: Option<Result<Load>>,
}

/// How the business went.
#[derive(Clone, Copy, Debug)]
struct Worked {
    requests_a_second: f64,
    p50_ns: f64,
    p99_ns: f64,
}

fn work(mut load: Load, seed: u64, stop: &AtomicBool) -> Result<(Load, Worked)> {
    let (clock, hz) = (RunClock::chosen(), clock::hz()?);
    let mut recorder = Recorder::new();
    let begun = clock.now();
    let done = Cell::new(0u64);
    load.drive(
        clock,
        hz,
        Pace::Closed { think: THINK },
        seed,
        |_| done.get() == 0 || !stop.load(Ordering::Relaxed),
        |request| {
            done.set(done.get() + 1);
            recorder.sample(request.ended.saturating_sub(request.begun));
        },
    )?;
    let seconds = clock.now().saturating_sub(begun) as f64 / hz;
    let spread = recorder.spread();
    let ns = |quantile| spread.quantile(quantile).unwrap_or_default() / hz * 1e9;
    let worked = Worked { requests_a_second: done.get() as f64 / seconds, p50_ns: ns(0.5), p99_ns: ns(0.99) };
    Ok((load, worked))
}

impl Actor for Customers {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let seed = place.lot.seed;
        let load = connect(place.peers.last(), HOW_MANY, seed)?;
        let stop = self.stop.clone();
        let body = move || work(load, seed, &stop);
        let thread = thread::Builder::new().name("customers".into()).spawn(body);
        self.working = Some(thread.map_err(|e| Error::system("starting the clients' thread", e))?);
        Ok(Address::none())
    }

    /// Their own thread works, beyond the window too: what is measured may take longer.
    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        Ok(())
    }

    fn park(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let panicked = |_| Err(Error::Wrong("the business' clients panicked".into()));
        let Some(working) = self.working.take() else { return };
        self.load = Some(working.join().unwrap_or_else(panicked).map(|(load, worked)| {
            self.worked = Some(worked);
            load
        }));
    }

    fn verify(&mut self) -> Result<()> {
        match self.load.take() {
            Some(load) => load?.holds().map(drop),
            None => Err(Error::Wrong("the business' clients never worked".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        let Some(worked) = self.worked else { return Tally::default() };
        Tally::default()
            .gauge("business_requests_a_second", worked.requests_a_second.round() as u64)
            .gauge("business_p50_ns", worked.p50_ns as u64)
            .gauge("business_p99_ns", worked.p99_ns as u64)
    }
}

impl Drop for Customers {
    fn drop(&mut self) {
        self.park();
    }
}

#[cfg(test)]
mod tests {
    use tollway_core::{Lot, TenantKind};

    use super::*;
    use crate::surroundings;

    /// A part that does nothing.
    struct Part;

    struct Idle;

    impl Actor for Idle {
        fn ready(&mut self, place: &Place) -> Result<Address> {
            assert!(place.peers.is_empty());
            Ok(Address("of the part".into()))
        }

        fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
            thread::sleep(Duration::from_millis(300));
            Ok(())
        }

        fn verify(&mut self) -> Result<()> {
            Ok(())
        }
    }

    impl Variant for Part {
        fn name(&self) -> &str {
            "part"
        }

        fn about(&self) -> &str {
            ""
        }

        fn axes(&self) -> Vec<Axis> {
            surroundings::axes()
        }

        fn plan(&self, params: &Params) -> Result<Plan> {
            let plan = Plan {
                operation: "nothing".into(),
                roles: vec![Role::measured("part")],
                gates: Vec::new(),
                provides: None,
                needs: Vec::new(),
                requires: Vec::new(),
                guests: Vec::new(),
            };
            surroundings::settled(plan, params, None)
        }

        fn actor(&self, _: &str, _: &Params) -> Result<Box<dyn Actor>> {
            Ok(Box::new(Idle))
        }
    }

    fn at(business: &str, tenant: &str) -> Params {
        let params = Params::new().with(params::BUSINESS, business).with("tenant", tenant);
        params.complete(&Beside(Box::new(Part)).axes()).unwrap()
    }

    #[test]
    fn it_goes_on_for_as_long_as_the_part_works_and_tells_how_it_went() {
        let variant = Beside(Box::new(Part));
        let params = at("service", "process");
        let plan = variant.plan(&params).unwrap();
        let mut peers = Vec::new();
        let actors: Vec<_> = plan
            .roles
            .iter()
            .map(|role| {
                let mut actor = variant.actor(&role.name, &params).unwrap();
                let lot = Lot { number: 0, seed: 3 };
                let (doorbells, exits) = (Vec::new(), None);
                let place = Place { tenant: role.tenant, peers: peers.clone(), doorbells, exits, lot };
                peers.push(actor.ready(&place).unwrap());
                actor
            })
            .collect();
        let window = Window { warm: 0, open: 0, close: 0, batch: 1, planted: 0 };
        // All are told to run, and when all have, all are told to finish: as the laboratory does.
        let mut run: Vec<_> = thread::scope(|scope| {
            let body = |mut actor: Box<dyn Actor>| {
                actor.run(&window, &mut Recorder::new()).unwrap();
                actor
            };
            let threads: Vec<_> = actors.into_iter().map(|actor| scope.spawn(move || body(actor))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        thread::scope(|scope| {
            for actor in &mut run {
                scope.spawn(|| {
                    actor.park();
                    actor.verify().unwrap();
                });
            }
        });
        let tally = run[2].tally();
        let rate = tally.gauges["business_requests_a_second"];
        // Eight clients that think for 10 ms; far fewer on a machine that is busy with other tests.
        assert!((20..=1200).contains(&rate), "{tally:?}");
        assert!(tally.gauges["business_p99_ns"] >= tally.gauges["business_p50_ns"]);
    }

    #[test]
    fn it_is_where_the_part_is_and_only_where_it_is_asked_for() {
        let variant = Beside(Box::new(Part));
        assert_eq!(variant.plan(&at("none", "process")).unwrap().roles.len(), 1);
        let plan = variant.plan(&at("service", "linux-guest")).unwrap();
        let lives: Vec<_> = plan.roles.iter().map(|role| (&*role.name, role.tenant, role.guest)).collect();
        let guest = TenantKind::LinuxGuest;
        assert_eq!(
            lives,
            [("part", guest, 0), ("business-server", guest, 0), ("business-clients", guest, 0)]
        );
        // And a disk for the service, which the part has no need of.
        assert_eq!((plan.guests[0].devices.len(), plan.cores()), (1, 1));
    }
}
