//! Texts for parameters: what nobody should write, the ends of the range, and values at random that fit together.

use proptest::prelude::*;
use tollway_model::catalogue::{Kind, Parameter};
use tollway_model::{Distribution, quantity};

/// No value of any kind but a word's, or beyond every range.
pub const NONE: [&str; 14] = [
    "",
    " ",
    "-1",
    "NaN",
    "inf",
    "-inf",
    "1e300",
    "-1e-300",
    "three",
    "0x10",
    "1..2",
    "3 parsecs",
    "µ\0",
    "()",
];

/// Numbers that may or may not be in range.
const EDGES: [&str; 19] = [
    "0",
    "-0",
    "1e-300",
    "1e-16",
    "1e-15",
    "1e-9",
    "0.5",
    "1",
    "1.5",
    "2",
    "100",
    "65537",
    "1000000",
    "1e6",
    "1e9",
    "999999999999",
    "1e15",
    "18446744073709551615",
    "18446744073709551616",
];

/// Texts of every kind, for parameters of every other.
pub const OF_OTHER_KINDS: [&str; 28] = [
    "1,2",
    "1;2",
    "1,2;3,4",
    "1,,2",
    ",",
    ";",
    "0,0",
    "1e15,1e-15",
    "1e-320",
    "99999999999999999999",
    "é",
    "\u{0}",
    "exponential(1us)",
    "exponential(1e15)",
    "exponential(1e-15)",
    "constant(1us)",
    "erlang(0, 1us)",
    "exponential(NaN)",
    "exponential(",
    "((((((((",
    "hyperexponential(0.5, 1e-15, 0.5, 1e15)",
    "constant(1us);exponential(1s)",
    "1/s",
    "10M/s",
    "1us",
    "99.9%",
    "100%",
    "two",
];

/// The value of a parameter's example in base units, where it is a single rate or time.
pub fn scalar(parameter: &Parameter) -> Option<f64> {
    matches!(parameter.kind, Kind::Rate | Kind::Time).then(|| entries(parameter)[0])
}

/// The example's value in base units, of a scalar or of each entry of a list.
fn entries(parameter: &Parameter) -> Vec<f64> {
    let read = |text: &str| match parameter.kind {
        Kind::Rate | Kind::Rates => quantity::rate(parameter.name, text),
        _ => quantity::time(parameter.name, text).or_else(|_| quantity::number(parameter.name, text)),
    };
    parameter.example.split([',', ';']).map(|text| read(text).unwrap_or(1.0)).collect()
}

fn mean(text: &str) -> f64 {
    text.parse::<Distribution>().map_or(1.0, |distribution| distribution.mean())
}

/// Every kind of distribution with this mean, also at the ends of their ranges.
fn distributions(mean: f64) -> Vec<String> {
    let branches = |many: usize| {
        let each = format!("{}, {mean:e}", 1.0 / many as f64);
        format!("hyperexponential({})", vec![each; many].join(", "))
    };
    let mut all = vec![
        format!("exponential({mean:e})"),
        format!("constant({mean:e})"),
        format!("uniform(0, {:e})", 2.0 * mean),
        format!("uniform({:e}, {:e})", mean * (1.0 - 1e-12), mean * (1.0 + 1e-12)),
        format!("hyperexponential(0.5, {:e}, 0.5, {:e})", 1e-3 * mean, 1.999 * mean),
        format!("hyperexponential(0.999999, {:e}, 0.000001, {:e})", 0.5 * mean, 5e5 * mean),
        branches(64),
    ];
    all.extend([1, 2, 100, 10_000].map(|shape| format!("erlang({shape}, {mean:e})")));
    all.extend(["0.01", "0.5", "1", "33.3", "10000"].map(|shape| format!("gamma({shape}, {mean:e})")));
    all.extend(["0.01", "0.2", "1", "7", "10000"].map(|shape| format!("weibull({shape}, {mean:e})")));
    all.extend(["0.000001", "0.1", "1", "50", "10000"].map(|scv| format!("lognormal({mean:e}, {scv})")));
    all
}

/// Values of a parameter that someone might try.
pub fn tried(parameter: &Parameter) -> Vec<String> {
    let edges = || EDGES.iter().map(ToString::to_string);
    let example = parameter.example;
    match parameter.kind {
        Kind::Word(words) => words.iter().map(ToString::to_string).collect(),
        Kind::Distribution => {
            let mean = mean(example);
            let scaled = [1e-15, 1e-9, 1e-3, 1.0, 1.0 + 1e-9, 1e15].iter();
            edges().chain(scaled.flat_map(|by| distributions(mean * by))).collect()
        }
        Kind::Distributions => {
            let texts: Vec<&str> = example.split(';').collect();
            let mut all: Vec<String> = edges().collect();
            for (at, text) in texts.iter().enumerate() {
                let others = |new: &str| {
                    let mut list: Vec<String> = texts.iter().map(ToString::to_string).collect();
                    list[at] = new.to_owned();
                    list.join(";")
                };
                all.extend(
                    [1e-9, 1.0].iter().flat_map(|by| distributions(mean(text) * by)).map(|new| others(&new)),
                );
            }
            all.push(vec![texts[0]; 1000].join(";"));
            all
        }
        Kind::Rates | Kind::Times | Kind::Numbers => {
            let cut = |at: &usize| -> Vec<String> {
                let mut starts = vec![0];
                starts.extend(example.match_indices([',', ';']).map(|(i, _)| i + 1));
                starts.push(example.len() + 1);
                let (from, to) = (starts[*at], starts[at + 1] - 1);
                edges().map(|edge| format!("{}{edge}{}", &example[..from], &example[to..])).collect()
            };
            let count = entries(parameter).len();
            let mut all: Vec<String> = (0..count).collect::<Vec<_>>().iter().flat_map(cut).collect();
            all.extend(edges());
            all.push(vec!["1"; 1000].join(","));
            all.push(vec!["1"; 1000].join(";"));
            all.push(vec!["1e-9"; 65537].join(","));
            all.push(format!("{example},{example}"));
            all.push(format!("{example};{example}"));
            all.push("1;2,3".into());
            all
        }
        Kind::Rate | Kind::Time | Kind::Number | Kind::Count => {
            let value = entries(parameter)[0];
            let near = [1e-9, 1e-3, 0.5, 1.0 - 1e-9, 1.0 + 1e-9, 2.0, 1e3, 1e9];
            let mut all: Vec<String> = edges().collect();
            if parameter.kind != Kind::Count {
                all.extend(near.iter().map(|by| format!("{:e}", value * by)));
            }
            all
        }
    }
}

/// Texts at random such that rates are near `scale` and times near its inverse.
pub fn at_random(parameter: &'static Parameter, scale: f64) -> BoxedStrategy<String> {
    let spread = -2.0..2.0f64;
    let rates = move |e: f64| format!("{:e}", (scale * 10f64.powf(e)).clamp(1e-15, 1e15));
    let times = move |e: f64| format!("{:e}", (10f64.powf(e) / scale).clamp(1e-15, 1e15));
    match parameter.kind {
        Kind::Rate => spread.prop_map(rates).boxed(),
        Kind::Time => prop_oneof![9 => spread.prop_map(times), 1 => Just("0".to_owned())].boxed(),
        Kind::Count => prop_oneof![
            (0.0..1.5f64).prop_map(|e| 10f64.powf(e).round().to_string()),
            (0.0..6.0f64).prop_map(|e| 10f64.powf(e).round().to_string()),
        ]
        .boxed(),
        Kind::Number => prop_oneof![
            (0.0..1.0f64).prop_map(|x| x.to_string()),
            (-3.0..4.0f64).prop_map(|e| 10f64.powf(e).to_string())
        ]
        .boxed(),
        Kind::Distribution => distribution_near(scale),
        Kind::Distributions => {
            let many = parameter.example.split(';').count();
            prop::collection::vec(distribution_near(scale), many).prop_map(|all| all.join("; ")).boxed()
        }
        Kind::Rates | Kind::Times | Kind::Numbers => lists_like_the_example(parameter, scale),
        Kind::Word(words) => prop::sample::select(words).prop_map(str::to_owned).boxed(),
    }
}

/// Entries in the proportions of the example, or each by itself, near the scale; plain numbers mostly as they are.
fn lists_like_the_example(parameter: &'static Parameter, scale: f64) -> BoxedStrategy<String> {
    let entries = entries(parameter);
    let separators: Vec<char> = parameter.example.chars().filter(|c| matches!(c, ',' | ';')).collect();
    let largest = entries.iter().copied().fold(0.0, f64::max);
    let unit = match parameter.kind {
        Kind::Rates => scale / largest,
        Kind::Times => 1.0 / scale / largest,
        _ if parameter.example.ends_with('s') => 1.0 / scale / largest, // rows of times
        _ => 1.0,
    };
    let plain = unit == 1.0;
    let each = prop::collection::vec(-1.0..1.0f64, entries.len());
    (prop::bool::ANY, -1.5..1.5f64, each)
        .prop_map(move |(alike, all, each)| {
            let mut text = String::new();
            for (at, (entry, own)) in entries.iter().zip(each).enumerate() {
                let by = if alike { all } else { own };
                let value = match (plain, alike) {
                    (true, true) => *entry,
                    (true, false) => (entry * 10f64.powf(by)).round(),
                    _ => entry * unit * 10f64.powf(by),
                };
                text += &if plain { format!("{value}") } else { format!("{value:e}") };
                text.extend(separators.get(at));
            }
            text
        })
        .boxed()
}

fn distribution_near(scale: f64) -> BoxedStrategy<String> {
    ((-2.5..1.0f64), 0..26usize)
        .prop_map(move |(e, which)| {
            let all = distributions((10f64.powf(e) / scale).clamp(1e-12, 1e8));
            all[which % all.len()].clone()
        })
        .boxed()
}
