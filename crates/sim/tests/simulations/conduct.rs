//! How a simulation conducts itself: repeatable, the same both ways, interruptible, sparing of memory, and with an error
//! instead of a panic or an endless run.

use std::alloc::{GlobalAlloc, Layout, System};
use std::collections::HashSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use tollway_model::ModelError;
use tollway_model::spec::Spec;
use tollway_sim::{Engine, Options, Outcome, SimError, StoppedBy, simulate};

/// Counts the bytes that each thread asks for.
struct Counting;

thread_local! {
    static ASKED: AtomicUsize = const { AtomicUsize::new(0) };
}

// SAFETY: every call goes to the system's allocator as it came; the counter is a thread's own and allocates nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.with(|asked| asked.fetch_add(layout.size(), Ordering::Relaxed));
        // SAFETY: as it came.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as it came.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

const ONE: &str = r#"
    [[source]]
    name = "machines"
    interarrival = "exponential(125us)"
    [[station]]
    name = "device"
    service = "gamma(2, 100us)"
"#;

const MANY: &str = r#"
    [[class]]
    name = "high"
    [[class]]
    name = "low"
    priority = 1
    [[source]]
    name = "a"
    class = "high"
    interarrival = "exponential(400us)"
    to = "device"
    [[source]]
    name = "b"
    class = "low"
    mmpp = { rates = ["8k/s", "1k/s"], stays = ["1ms", "1ms"] }
    batch = [[1, 0.5], [2, 0.5]]
    to = "device"
    [[station]]
    name = "device"
    service = "lognormal(50us, 2)"
    order = "preemptive-resume"
    to = { interrupts = 0.8, device = 0.1, exit = 0.1 }
    [[coalescer]]
    name = "interrupts"
    count = 4
    timer = "1ms"
"#;

fn spec(text: &str, customers: u64, replications: u32) -> Spec {
    let mut spec = Spec::from_toml(text).unwrap();
    (spec.stop.customers, spec.stop.replications) = (customers, replications);
    spec
}

fn simulated(spec: &Spec, options: Options) -> Outcome {
    simulate(spec, &options).unwrap()
}

#[test]
fn the_same_seed_gives_the_same_outcome_for_any_number_of_threads() {
    for text in [ONE, MANY] {
        let spec = spec(text, 5000, 5);
        let of = |seed, threads| simulated(&spec, Options { seed, threads, ..Options::default() });
        let one = of(7, 1);
        for threads in [0, 2, 3] {
            assert_eq!(of(7, threads), one);
        }
        assert_ne!(of(8, 1).estimates, one.estimates);
    }
}

#[test]
fn no_more_threads_than_asked_for_are_at_work() {
    let spec = spec(include_str!("../../../../examples/simulate/priorities.toml"), 200_000, 8);
    for threads in [1, 2] {
        let seen = Mutex::new(HashSet::new());
        let progress = |_| {
            seen.lock().unwrap().insert(std::thread::current().id());
        };
        simulated(&spec, Options { threads, progress: Some(&progress), ..Options::default() });
        let seen = seen.lock().unwrap().len();
        assert!((1..=threads).contains(&seen), "{seen} at work for {threads}");
    }
}

#[test]
fn the_recursion_and_the_events_tell_the_same() {
    let sources = [
        "interarrival = \"exponential(125us)\"",
        "interarrival = \"uniform(50us, 200us)\"",
        "mmpp = { rates = [\"16k/s\", \"2k/s\"], stays = [\"1ms\", \"2ms\"] }",
        "trace = [\"100us\", \"150us\", \"10us\", \"400us\"]",
    ];
    for source in sources {
        for service in ["exponential(100us)", "constant(90us)", "weibull(0.7, 80us)"] {
            let text = format!(
                "[[source]]\nname = \"s\"\n{source}\n[[station]]\nname = \"device\"\nservice = \"{service}\"\n"
            );
            let spec = spec(&text, 20_000, 3);
            let fast = simulated(&spec, Options::default());
            let events = simulated(&spec, Options { lindley: false, ..Options::default() });
            assert_eq!((fast.engine, events.engine), (Engine::Lindley, Engine::Events));
            assert_eq!((fast.warm_up, fast.customers), (events.warm_up, events.customers));
            for estimate in &fast.estimates {
                let other = events.get(&estimate.name).unwrap_or_else(|| panic!("{}", estimate.name));
                let apart = (estimate.value - other.value).abs();
                // The clock of the events rounds; a wait of zero may come out as some units in its last place.
                let slack = match &*estimate.name {
                    "wait.probability" => 1e-3,
                    name if name.contains(".p") => 1e-6,
                    _ => 1e-9,
                };
                assert!(apart <= slack * other.value.abs() + 1e-15, "{text}: {estimate:?} {other:?}");
            }
        }
    }
}

#[test]
fn only_where_the_recursion_tells_everything_it_is_taken() {
    for more in [
        "servers = 2",
        "capacity = 9",
        "wake = { count = 2 }",
        "bulk = { most = 2 }",
        "order = \"processor-sharing\"",
    ] {
        let outcome = simulated(&spec(&format!("{ONE}{more}\n"), 100, 1), Options::default());
        assert_eq!(outcome.engine, Engine::Events, "{more}");
    }
}

#[test]
fn a_precision_is_reached_and_no_more_is_simulated_than_it_takes() {
    let mut wanted = spec(ONE, 10_000_000, 4);
    wanted.stop.precision = Some(0.02);
    let outcome = simulated(&wanted, Options::default());
    assert_eq!(outcome.stopped_by, StoppedBy::Precision);
    let response = outcome.get("response.mean").unwrap().interval.unwrap();
    assert!(response.relative_half_width().unwrap() <= 0.02);
    assert!(outcome.customers < 4_000_000, "{}", outcome.customers);
    wanted.stop.customers = 2000;
    assert_eq!(simulated(&wanted, Options::default()).stopped_by, StoppedBy::Customers);
}

#[test]
fn an_interruption_keeps_what_was_simulated() {
    let interrupted = AtomicBool::new(false);
    let seen = AtomicU64::new(0);
    let progress = |done: tollway_sim::Done| {
        seen.fetch_max(done.customers, Ordering::Relaxed);
        if done.customers > 500_000 {
            interrupted.store(true, Ordering::Relaxed);
        }
    };
    let options =
        Options { progress: Some(&progress), interrupted: Some(&interrupted), ..Options::default() };
    let outcome = simulated(&spec(ONE, 1_000_000_000, 2), options);
    assert_eq!(outcome.stopped_by, StoppedBy::Interruption);
    assert!(outcome.customers > 100_000 && outcome.customers < 100_000_000, "{}", outcome.customers);
    assert!(outcome.get("wait.mean").unwrap().interval.is_some());
    assert!(seen.load(Ordering::Relaxed) > 500_000);
    let at_once = AtomicBool::new(true);
    let options = Options { interrupted: Some(&at_once), ..Options::default() };
    assert_eq!(simulate(&spec(ONE, 1_000_000, 2), &options), Err(SimError::Interrupted));
}

#[test]
fn memory_does_not_grow_with_the_number_of_customers() {
    for text in [ONE, MANY] {
        let bytes = |customers| {
            let spec = spec(text, customers, 2);
            let before = ASKED.with(|asked| asked.load(Ordering::Relaxed));
            simulated(&spec, Options { threads: 1, lindley: false, ..Options::default() });
            ASKED.with(|asked| asked.load(Ordering::Relaxed)) - before
        };
        let (few, many) = (bytes(100_000), bytes(1_600_000));
        // A rare crowd may need room for some hundred customers more.
        assert!(many < few + 200_000, "{few} bytes for a few, {many} for sixteen times as many");
    }
}

fn refused(text: &str) -> SimError {
    let spec = Spec::from_toml(text).unwrap();
    simulate(&spec, &Options { threads: 1, ..Options::default() }).unwrap_err()
}

#[test]
fn more_work_than_can_be_done_is_refused_or_piles_up_to_an_error() {
    let mut overloaded = Spec::from_toml(ONE).unwrap();
    overloaded.stations[0].service = tollway_model::spec::ByClass::All("exponential(200us)".parse().unwrap());
    let told = simulate(&overloaded, &Options::default()).unwrap_err();
    assert!(matches!(told, SimError::Spec(ModelError::Unstable { .. })), "{told}");
    // Behind a station that loses customers the load is not known beforehand.
    let text = r#"
        [[source]]
        name = "s"
        interarrival = "exponential(1us)"
        to = "first"
        [[station]]
        name = "first"
        service = "exponential(1us)"
        capacity = 5
        to = "second"
        [[station]]
        name = "second"
        service = "exponential(50us)"
    "#;
    match refused(text) {
        SimError::Overflow { part, inside } => {
            assert_eq!(part, "station second");
            assert!(inside > 900_000);
        }
        other => panic!("{other}"),
    }
}

#[test]
fn a_system_that_keeps_its_customers_is_an_error() {
    // A gap that takes longer than all looks of a year, each an event.
    let text = r#"
        [[source]]
        name = "s"
        interarrival = "exponential(1e9s)"
        [[station]]
        name = "device"
        service = "constant(1s)"
        wake = { poll = "uniform(0s, 2us)" }
    "#;
    let told = refused(text);
    assert!(matches!(&told, SimError::Stuck { part, .. } if part == "station device"), "{told}");
}

#[test]
fn too_many_looks_one_by_one_are_refused_before_they_are_made() {
    let text = r#"
        [[source]]
        name = "s"
        interarrival = "exponential(125us)"
        [[station]]
        name = "device"
        service = "exponential(50us)"
        wake = { poll = "uniform(0s, 2ns)" }
    "#;
    let spec = |customers, replications| spec(text, customers, replications);
    match simulate(&spec(1_000_000, 8), &Options::default()) {
        Err(SimError::Looks { part, each, all }) => {
            assert_eq!(part, "station device");
            assert!((0.5e5..1e5).contains(&each) && all == 8e6 * each, "{each} {all}");
        }
        other => panic!("{other:?}"),
    }
    assert!(simulate(&spec(50, 2), &Options::default()).is_ok());
}

#[test]
fn looks_that_find_nobody_cost_nothing_and_are_counted() {
    for poll in ["constant(1ns)", "exponential(1ns)"] {
        let text = format!(
            r#"
            [[source]]
            name = "s"
            interarrival = "exponential(125us)"
            [[station]]
            name = "device"
            service = "exponential(50us)"
            wake = {{ poll = "{poll}" }}
            [stop]
            customers = 50000
            "#
        );
        let spec = Spec::from_toml(&text).unwrap();
        let outcome = simulate(&spec, &Options { events: Some(1_000_000), ..Options::default() }).unwrap();
        // All idle time is looked through: 0.6 of it, a look each nanosecond.
        for (name, exact, margin) in [("polls.rate", 0.6e9, 0.02), ("response.mean", 50e-6 / 0.6, 0.03)] {
            let told = outcome.get(name).unwrap().value;
            assert!((told / exact - 1.0).abs() < margin, "{poll}: {name}: {told}");
        }
    }
}

#[test]
fn times_that_do_not_fit_a_clock_are_an_error() {
    let text = r#"
        [[source]]
        name = "s"
        trace = ["1e9s"]
        [[source]]
        name = "people"
        closed = { customers = 1 }
        to = "device"
        [[station]]
        name = "device"
        service = "constant(1e-15s)"
    "#;
    let text = text.replacen("trace = [\"1e9s\"]", "trace = [\"1e9s\"]\n        to = \"device\"", 1);
    let told =
        simulate(&Spec::from_toml(&text).unwrap(), &Options { events: Some(100_000), ..Options::default() });
    assert!(
        told.is_ok() || matches!(told, Err(SimError::Precision { .. } | SimError::Events { .. })),
        "{told:?}"
    );
}

#[test]
fn options_are_checked() {
    for confidence in [0.0, 1.0, -1.0, f64::NAN] {
        let told = simulate(&spec(ONE, 100, 1), &Options { confidence, ..Options::default() });
        assert!(matches!(told, Err(SimError::Option { name: "confidence", .. })));
    }
    // None of these may begin a single thread.
    for threads in [Options::MAX_THREADS + 1, 1_000_000, usize::MAX] {
        let told = simulate(&spec(ONE, 100, 1), &Options { threads, ..Options::default() });
        assert!(matches!(told, Err(SimError::Option { name: "threads", .. })), "{told:?}");
    }
    let told = simulate(&spec(ONE, 1_000_000, 1), &Options { events: Some(100_000), ..Options::default() });
    assert_eq!(told, Err(SimError::Events { events: 100_000 }));
}

/// Where all is constant, nothing is left to chance: every figure is the exact one, and so is its interval. The time before the
/// first customer comes once made them some parts in a million too low, beside the truth.
#[test]
fn what_is_constant_is_exact() {
    let alone = "[[source]]\nname = 's'\ninterarrival = 'constant(100us)'\n[[station]]\nname = 'q'\n\
                 service = 'constant(30us)'\n[stop]\ncustomers = 5000\n";
    let tandem = "[[source]]\nname = 's'\ninterarrival = 'constant(100us)'\nto = 'q'\n[[station]]\nname = 'q'\n\
                  service = 'constant(30us)'\nto = 'r'\n[[station]]\nname = 'r'\nservice = 'constant(20us)'\n\
                  [stop]\ncustomers = 5000\n";
    let figures = [("response.mean", 30e-6), ("utilization", 0.3), ("throughput", 1e4), ("number.mean", 0.3)];
    let of_two = [
        ("response.mean", 50e-6),
        ("station.q.utilization", 0.3),
        ("station.r.number.mean", 0.2),
        ("throughput", 1e4),
        ("number.mean", 0.5),
        ("idle", 0.5),
    ];
    for (text, wanted) in [(alone, &figures[..]), (tandem, &of_two[..])] {
        for lindley in [true, false] {
            let options = Options { lindley, ..Options::default() };
            let outcome = simulate(&Spec::from_toml(text).unwrap(), &options).unwrap();
            for (name, exact) in wanted {
                let estimate = outcome.estimates.iter().find(|estimate| estimate.name == *name).unwrap();
                let interval = estimate.interval.map(|interval| [interval.lo, interval.hi]);
                for value in interval.into_iter().flatten().chain([estimate.value]) {
                    assert!((value / exact - 1.0).abs() < 1e-9, "{name}: {estimate:?} is not {exact}");
                }
            }
        }
    }
}
