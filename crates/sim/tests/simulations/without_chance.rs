//! Systems in which nothing is drawn, and which repeat over several customers: a run ends within a period nearly always, all
//! replications are one and the same, and an interval over what does not differ has no width. So it may have none only
//! where it is the truth.

use tollway_model::spec::Spec;
use tollway_sim::{Options, Outcome, simulate};

/// A system, and the exact value of some figures, in seconds.
struct Case {
    name: &'static str,
    /// Customers in a period.
    period: u64,
    text: String,
    exact: Vec<(&'static str, f64)>,
}

fn source(name: &str, arrivals: &str) -> String {
    format!("[[source]]\nname = '{name}'\n{arrivals}\nto = 'q'\n")
}

fn every(name: &str, gap: u32) -> String {
    source(name, &format!("interarrival = 'constant({gap}s)'"))
}

fn station(service: u32, more: &str) -> String {
    format!("[[station]]\nname = 'q'\nservice = 'constant({service}s)'\n{more}\n")
}

/// Two sources of unlike periods, of which the second is longer by `more`: in a period of the two each distance between one of the
/// one and one of the other comes once, and of two that come within a service of 30 s one waits.
fn beating(name: &'static str, gap: u32, more: u32) -> Case {
    let [gaps, services, longer] = [gap, 30, gap + more].map(f64::from);
    let customers = gaps + longer;
    let waits = services + 2.0 * (1..30).map(f64::from).sum::<f64>();
    let exact = vec![
        ("wait.mean", waits / customers),
        ("wait.probability", 59.0 / customers),
        ("response.mean", services + waits / customers),
        ("throughput", customers / (gaps * longer)),
        ("source.a.throughput", 1.0 / gaps),
    ];
    let text = every("a", gap) + &every("b", gap + more) + &station(30, "");
    Case { name, period: u64::from(2 * gap + more), text, exact }
}

fn sources() -> Vec<Case> {
    vec![
        Case {
            name: "two sources, five customers in a period",
            period: 5,
            text: every("a", 100) + &every("b", 150) + &station(40, ""),
            exact: vec![
                ("wait.mean", 8.0),
                ("wait.probability", 0.2),
                ("response.mean", 48.0),
                ("throughput", 1.0 / 60.0),
                ("utilization", 2.0 / 3.0),
                ("idle", 1.0 / 3.0),
                ("number.mean", 0.8),
                ("wait.p50", 0.0),
                ("wait.p90", 40.0),
            ],
        },
        beating("a beat of 201 customers", 100, 1),
        beating("a beat of 2001 customers", 1000, 1),
        Case {
            name: "batches of three",
            period: 3,
            text: source("a", "interarrival = 'constant(100s)'\nbatch = [[3, 1.0]]") + &station(30, ""),
            exact: vec![
                ("wait.mean", 30.0),
                ("wait.probability", 2.0 / 3.0),
                ("number.mean", 1.8),
                ("utilization", 0.9),
                ("throughput", 0.03),
                ("wait.p50", 30.0),
            ],
        },
        Case {
            name: "a trace of four gaps",
            period: 4,
            text: source("a", "trace = ['100s', '150s', '10s', '400s']") + &station(60, ""),
            exact: vec![
                ("wait.mean", 12.5),
                ("wait.probability", 0.25),
                ("throughput", 4.0 / 660.0),
                ("utilization", 240.0 / 660.0),
            ],
        },
        Case {
            name: "three who come back, one at a time",
            period: 3,
            text: source("a", "closed = { customers = 3, think = 'constant(70s)' }") + &station(50, ""),
            exact: vec![
                ("wait.mean", 30.0),
                ("response.mean", 80.0),
                ("throughput", 0.02),
                ("number.mean", 1.6),
            ],
        },
    ]
}

fn servers() -> Vec<Case> {
    let coalescer = "[[coalescer]]\nname = 'c'\ncount = 4\n";
    vec![
        // Those who come 10, 20, … s before a service ends, up to 170: who comes as one ends waits for the next.
        Case {
            name: "bulks of two at most, 17 customers in a period",
            period: 17,
            text: every("a", 100) + &station(170, "bulk = { most = 2 }"),
            exact: vec![
                ("wait.mean", 90.0),
                ("response.mean", 260.0),
                ("batch.mean", 1.7),
                ("throughput", 0.01),
                ("queue.mean", 0.9),
            ],
        },
        Case {
            name: "a server woken by the third",
            period: 3,
            text: every("a", 100) + &station(20, "wake = { count = 3 }"),
            exact: vec![
                ("wait.mean", 120.0),
                ("interrupts.rate", 1.0 / 300.0),
                ("utilization", 0.2),
                ("number.mean", 1.4),
                ("idle", 40.0 / 300.0),
            ],
        },
        Case {
            name: "four completions in an interrupt",
            period: 4,
            text: every("a", 100) + &station(20, "to = 'c'") + coalescer,
            exact: vec![
                ("delay.mean", 150.0),
                ("interrupts.rate", 1.0 / 400.0),
                ("batch.mean", 4.0),
                ("response.mean", 170.0),
            ],
        },
    ]
}

fn simulated(text: &str, customers: u64, replications: u32, lindley: bool) -> Outcome {
    let mut spec = Spec::from_toml(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    (spec.stop.customers, spec.stop.replications) = (customers, replications);
    simulate(&spec, &Options { lindley, ..Options::default() }).unwrap()
}

/// Whether something differs from a value by more than rounding, or the bins that quantiles are read from.
fn is_beside(name: &str, distance: f64, value: f64) -> bool {
    let share = if name.contains(".p") { 0.004 } else { 1e-9 };
    distance > share * value.abs() + 1e-12
}

#[test]
fn no_interval_without_width_is_beside_the_truth() {
    let mut without_width = 0;
    for Case { name, period, text, exact } in sources().into_iter().chain(servers()) {
        // Of a period that is longer than the run, no run knows.
        let long_enough = [97, 500, 1000, 1001, 5003].into_iter().filter(|customers| *customers > 2 * period);
        for (customers, replications) in
            long_enough.flat_map(|customers| [(customers, 8), (customers, 2), (customers, 1)])
        {
            for lindley in [true, false] {
                let outcome = simulated(&text, customers, replications, lindley);
                for (figure, exact) in &exact {
                    let estimate = outcome.get(figure).unwrap_or_else(|| panic!("{name}: no {figure}"));
                    let Some(interval) = estimate.interval else { continue };
                    let half = interval.half_width();
                    without_width += u32::from(!is_beside(figure, half, *exact));
                    let distance = (interval.estimate - exact).abs();
                    // Student's interval is missed once in twenty; by several times its half-width never.
                    assert!(
                        !is_beside(figure, distance - 6.0 * half, *exact),
                        "{name}, {replications} times {customers}: {figure} {interval:?} is not {exact}"
                    );
                }
            }
        }
    }
    // What repeats with each customer is still exact.
    assert!(without_width > 50, "{without_width}");
}
