//! Every exchange, played by its own actors in two threads: each must be answered in full, and neither side may be
//! left behind when the other is gone.

use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use tollway_core::{
    Actor, Address, Clock, Doorbell, Error, Lot, Params, Place, Plan, Recorder, Registry, Spread, TenantKind,
    Variant, Window,
};
use tollway_host::clock::{RunClock, hz};
use tollway_host::{cpu, descriptor};

use crate::pause::pause;
use crate::turn::alone;

/// Only an end that does not find out that the other is gone needs longer.
const HANG_TIMEOUT: Duration = Duration::from_secs(120);

/// Windows in milliseconds: the first is long enough where both ends have a processor in it; all of them together are taken
/// away by nothing but a hang.
const WINDOWS: [u64; 4] = [10, 100, 1000, 10_000];

/// A length below that many microseconds, of the n-th pause: they differ, and are the same each time (Knuth's multiplicative hash).
fn drawn(n: u32, below: u32) -> Duration {
    Duration::from_micros((n.wrapping_mul(2_654_435_761) % below).into())
}

/// Everything with two roles, at every placement that it offers and this machine has, with stand-ins for doorbells.
fn every_exchange(mut play: impl FnMut(&dyn Variant, &Params, &Plan, &Place)) {
    let _alone = alone();
    let registry = Registry { paths: vec![tollway_crossings::path()] };
    let cores = cpu::allowed_cpus().unwrap().len();
    let mut played = 0;
    for variant in registry.paths[0].variants.iter().map(|v| &**v) {
        for placement in ["same", "across"] {
            let Some(params) = at(variant, placement) else { continue };
            let plan = variant.plan(&params).unwrap();
            if plan.roles.len() < 2 || plan.roles.iter().any(|r| r.core as usize >= cores) {
                continue;
            }
            let bells: Vec<_> = (0..plan.roles[1].doorbells).map(|_| StandInBell::new()).collect();
            let doorbells = bells.iter().map(StandInBell::doorbell).collect();
            let place = Place {
                tenant: TenantKind::Thread,
                peers: Vec::new(),
                doorbells,
                exits: None,
                lot: Lot::default(),
            };
            play(variant, &params, &plan, &place);
            played += 1;
        }
    }
    assert!(played >= 10, "only {played} were played");
}

/// The variant's point at a placement, or at its only point under the name `across`.
fn at(variant: &dyn Variant, placement: &str) -> Option<Params> {
    let params = match variant.axes().iter().any(|a| a.name == "placement") {
        true => Params::new().with("placement", placement),
        false if placement == "across" => Params::new(),
        false => return None,
    };
    params.complete(&variant.axes()).ok()
}

/// Stands in for a micro-guest's doorbell: a word that is watched, and an eventfd that counts the stores to it.
struct StandInBell {
    word: Arc<AtomicU64>,
    event: Arc<OwnedFd>,
    over: Arc<AtomicBool>,
}

impl StandInBell {
    fn new() -> Self {
        let event = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).unwrap();
        let bell = StandInBell { word: Arc::default(), event: Arc::new(event), over: Arc::default() };
        let (word, event, over) = (bell.word.clone(), bell.event.clone(), bell.over.clone());
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                if word.swap(0, Ordering::Acquire) != 0 {
                    rustix::io::write(&*event, &1u64.to_ne_bytes()).unwrap();
                }
                thread::yield_now();
            }
        });
        bell
    }

    fn doorbell(&self) -> Doorbell {
        Doorbell { store_to: self.word.as_ptr() as usize, wakes: self.event.as_raw_fd() }
    }
}

impl Drop for StandInBell {
    fn drop(&mut self) {
        self.over.store(true, Ordering::Relaxed);
    }
}

fn window(length_ms: u64) -> Window {
    let ms = (hz().unwrap() / 1e3) as u64;
    let warm = RunClock::chosen().now() + ms;
    Window { warm, open: warm + ms, close: warm + (1 + length_ms) * ms, batch: 0, planted: 0 }
}

/// Runs `work` on a thread of its own, on the core of that slot; fails where it does not end.
fn within_limit<T: Send + 'static>(
    what: &str,
    slot: u32,
    work: impl FnOnce() -> T + Send + 'static,
) -> impl FnOnce() -> T {
    let (tell, told) = channel();
    thread::spawn(move || {
        let cpus = cpu::allowed_cpus().unwrap();
        cpu::pin_current_thread(cpus[slot as usize]).unwrap();
        let _ = tell.send(work());
    });
    let what = what.to_string();
    move || told.recv_timeout(HANG_TIMEOUT).unwrap_or_else(|_| panic!("{what}: it did not end"))
}

/// Server and caller, both ready.
fn ready(
    variant: &dyn Variant,
    params: &Params,
    plan: &Plan,
    place: &Place,
) -> (Box<dyn Actor>, Box<dyn Actor>) {
    let mut server = variant.actor(&plan.roles[0].name, params).unwrap();
    let mut caller = variant.actor(&plan.roles[1].name, params).unwrap();
    let address = server.ready(&Place { doorbells: Vec::new(), ..place.clone() }).unwrap();
    assert_ne!(address, Address::none());
    caller.ready(&Place { peers: vec![address], ..place.clone() }).unwrap();
    (server, caller)
}

#[test]
fn every_request_is_answered() {
    every_exchange(|variant, params, plan, place| {
        let what = format!("{} {params}", variant.name());
        let mut windows = WINDOWS.into_iter();
        let spread = loop {
            let length = windows.next().unwrap_or_else(|| panic!("{what}: nothing was recorded"));
            let spread = answered(&what, length, variant, params, plan, place);
            if spread.samples() > 0 {
                break spread;
            }
        };
        println!("{what}: {} c", spread.quantile(0.5).unwrap());
    });
}

/// Plays an exchange for so many milliseconds: what was asked was answered. What was recorded.
fn answered(
    what: &str,
    length: u64,
    variant: &dyn Variant,
    params: &Params,
    plan: &Plan,
    place: &Place,
) -> Spread {
    let (mut server, mut caller) = ready(variant, params, plan, place);
    let window = window(length);
    let serving = within_limit(what, plan.roles[0].core, move || {
        server.run(&window, &mut Recorder::new()).unwrap();
        server.park();
        server
    });
    let calling = within_limit(what, plan.roles[1].core, move || {
        let mut recorder = Recorder::new();
        caller.run(&window, &mut recorder).unwrap();
        caller.park();
        (caller, recorder.spread())
    });
    let ((mut caller, spread), mut server) = (calling(), serving());
    if spread.samples() > 0 {
        server.verify().unwrap_or_else(|e| panic!("{what}: {e}"));
        caller.verify().unwrap_or_else(|e| panic!("{what}: {e}"));
    }
    let (asked, served) = (caller.tally().counters, server.tally().counters["served"]);
    assert!(asked.get("asked").is_none_or(|asked| *asked == served || variant.name() == "atomic-contended"));
    spread
}

#[test]
fn a_server_ends_when_its_caller_is_gone() {
    let mut number = 0;
    every_exchange(|variant, params, plan, place| {
        let what = format!("{} {params}", variant.name());
        let (mut server, caller) = ready(variant, params, plan, place);
        let window = window(1);
        let serving = within_limit(&what, plan.roles[0].core, move || {
            // Whether it calls that an error is its own affair: nobody is left to hear it.
            let _ = server.run(&window, &mut Recorder::new());
        });
        // It has not begun yet, is in its window, or waits.
        pause(drawn(number, 6000));
        number += 1;
        drop(caller);
        serving();
    });
}

#[test]
fn a_caller_ends_when_its_server_goes() {
    a_caller_without_a_server(false);
}

#[test]
fn a_caller_ends_when_its_server_was_gone_before() {
    a_caller_without_a_server(true);
}

fn a_caller_without_a_server(gone_before: bool) {
    let mut number = 0;
    every_exchange(|variant, params, plan, place| {
        let what = format!("{} {params}", variant.name());
        let mut caller = variant.actor(&plan.roles[1].name, params).unwrap();
        let (listener, name) = descriptor::listen_anonymously().unwrap();
        caller.ready(&Place { peers: vec![Address(name)], ..place.clone() }).unwrap();
        let (link, _) = listener.accept().unwrap();
        let ends = descriptor::receive(&link).unwrap();
        let window = window(4);
        let mut held = Some((ends, link));
        if gone_before {
            held = None;
        }
        let calling = within_limit(&what, plan.roles[1].core, move || {
            let _ = caller.run(&window, &mut Recorder::new());
            caller.verify()
        });
        if !gone_before {
            pause(drawn(number, 6000));
            number += 1;
        }
        drop(held);
        let verdict = calling();
        assert!(verdict.is_err(), "{what}: nobody served, and yet it was verified");
    });
}

#[test]
fn spinning_on_one_core_is_refused() {
    let path = tollway_crossings::path();
    for name in ["cache-line", "atomic-contended"] {
        let axes = path.variant(name).unwrap().axes();
        let refused = Params::new().with("placement", "same").complete(&axes);
        assert!(matches!(refused, Err(Error::Input { .. })), "{name}: {refused:?}");
    }
}

#[test]
fn a_server_is_told_the_wrong_number_of_descriptors() {
    every_exchange(|variant, params, plan, place| {
        let mut server = variant.actor(&plan.roles[0].name, params).unwrap();
        let Address(name) = server.ready(place).unwrap();
        let link = descriptor::connect(&name).unwrap();
        let many: Vec<OwnedFd> = (0..5).map(|_| rustix::pipe::pipe().unwrap().0).collect();
        descriptor::send(&link, &many).unwrap();
        let refused = server.run(&window(1), &mut Recorder::new());
        assert!(matches!(refused, Err(Error::Tenant { .. })), "{}: {refused:?}", variant.name());
    });
}
