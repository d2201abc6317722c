//! Every model of the catalogue, asked with what nobody should write and with what someone will: it answers with finite
//! figures that fit each other, or with an error that names a parameter; soon, and never with a panic.

mod invariants;
mod texts;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tollway_model::catalogue::{self, Model};
use tollway_model::{ModelError, Solution};

/// An answer takes less than this, in a build that is not optimised.
const PROMPT: Duration = Duration::from_secs(1);
/// Past this there is no answer.
const HANG: Duration = Duration::from_secs(20);

type Pairs = Vec<(&'static str, String)>;

/// What came of a question, or the words of a panic; and how long it took.
type Answer = (Result<Result<Solution, ModelError>, String>, Duration);

/// A thread that asks models, given up where it does not answer.
struct Worker {
    ask: Sender<(&'static Model, Pairs)>,
    answer: Receiver<Answer>,
}

impl Worker {
    fn new() -> Self {
        let (ask, asked) = channel::<(&'static Model, Pairs)>();
        let (tell, answer) = channel();
        std::thread::spawn(move || {
            for (model, pairs) in asked {
                let begun = Instant::now();
                let solved = catch_unwind(AssertUnwindSafe(|| {
                    let given = model.given(pairs.iter().map(|(name, text)| (*name, text.as_str())))?;
                    model.solve(&given)
                }));
                let solved = solved.map_err(|panic| {
                    let told = panic.downcast_ref::<String>().cloned();
                    told.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
                });
                if tell.send((solved, begun.elapsed())).is_err() {
                    return;
                }
            }
        });
        Self { ask, answer }
    }

    /// What is wrong with the answer, and whether there are figures. `changed`: the parameter that is no value.
    fn judge(
        &mut self,
        model: &'static Model,
        pairs: &Pairs,
        changed: Option<&str>,
    ) -> (Option<String>, bool) {
        for attempt in 0.. {
            self.ask.send((model, pairs.clone())).unwrap();
            let Ok((solved, took)) = self.answer.recv_timeout(HANG) else {
                *self = Worker::new();
                return (Some(format!("no answer in {HANG:?}")), false);
            };
            if took > PROMPT && attempt < 2 {
                continue; // perhaps something else was running
            }
            let wrong = (took > PROMPT).then(|| format!("it took {:.1} s", took.as_secs_f64()));
            return match solved {
                Err(panic) => (Some(format!("panic: {panic}")), false),
                Ok(Ok(_)) if changed.is_some() => (Some("figures where there is no value".into()), false),
                Ok(Ok(solution)) => (wrong.or_else(|| invariants::broken(&solution)), true),
                Ok(Err(error)) => (wrong.or_else(|| unnamed(model, &error, changed)), false),
            };
        }
        unreachable!()
    }
}

/// What is wrong with an error: it begins with a parameter's name, that of the one without a value where there is one.
fn unnamed(model: &Model, error: &ModelError, changed: Option<&str>) -> Option<String> {
    let told = error.to_string();
    let begins =
        |name: &str| told.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    let named = match changed {
        Some(name) => begins(name),
        None => model.parameters.iter().any(|p| begins(p.name) || told.contains(p.name)),
    };
    (!named).then(|| format!("an error that names no parameter: {told}"))
}

fn examples(model: &'static Model) -> Pairs {
    model.parameters.iter().map(|p| (p.name, p.example.to_owned())).collect()
}

fn with(pairs: &Pairs, name: &str, text: &str) -> Pairs {
    pairs.iter().map(|(n, t)| (*n, if *n == name { text.to_owned() } else { t.clone() })).collect()
}

fn shown(model: &Model, pairs: &Pairs) -> String {
    let short = |text: &str| {
        if text.len() < 90 {
            text.to_owned()
        } else {
            format!("{}…", text.chars().take(80).collect::<String>())
        }
    };
    let pairs: Vec<String> = pairs.iter().map(|(name, text)| format!("{name}='{}'", short(text))).collect();
    format!("{} {}", model.name, pairs.join(" "))
}

/// Only the model that TOLLWAY_MODEL names, where it does: for work on one.
fn models() -> Vec<&'static Model> {
    let only = std::env::var("TOLLWAY_MODEL").ok();
    let asked = |model: &&Model| only.as_ref().is_none_or(|name| name == model.name);
    catalogue::all().into_iter().filter(asked).collect()
}

/// Quiet while models are asked: a panic is told with its parameters at the end.
fn finish(asked: usize, wrong: &[String]) {
    println!("{asked} questions, {} answered wrongly", wrong.len());
    assert!(wrong.is_empty(), "{} of {asked}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn what_is_no_value_is_refused_by_name() {
    let (mut worker, mut wrong, mut asked) = (Worker::new(), Vec::new(), 0);
    for model in models() {
        for parameter in model.parameters {
            for text in texts::NONE {
                let plain = matches!(parameter.kind, catalogue::Kind::Number | catalogue::Kind::Numbers);
                if plain && text.parse::<f64>().is_ok_and(f64::is_finite) {
                    continue; // a model may take any finite number
                }
                let pairs = with(&examples(model), parameter.name, text);
                asked += 1;
                if let (Some(told), _) = worker.judge(model, &pairs, Some(parameter.name)) {
                    wrong.push(format!("{}: {told}", shown(model, &pairs)));
                }
            }
        }
    }
    finish(asked, &wrong);
}

#[test]
fn the_ends_of_ranges_give_figures_that_fit_or_an_error() {
    let (mut worker, mut wrong, mut asked) = (Worker::new(), Vec::new(), 0);
    for model in models() {
        for parameter in model.parameters {
            for text in texts::tried(parameter) {
                let pairs = with(&examples(model), parameter.name, &text);
                asked += 1;
                if let (Some(told), _) = worker.judge(model, &pairs, None) {
                    wrong.push(format!("{}: {told}", shown(model, &pairs)));
                }
            }
        }
    }
    finish(asked, &wrong);
}

#[test]
fn two_ends_at_once_too() {
    let (mut worker, mut wrong, mut asked) = (Worker::new(), Vec::new(), 0);
    for model in models() {
        for (at, one) in model.parameters.iter().enumerate() {
            for other in &model.parameters[at + 1..] {
                let some = |p| {
                    texts::tried(p).into_iter().filter(|text| text.len() < 60).step_by(7).collect::<Vec<_>>()
                };
                for first in some(one) {
                    for second in some(other) {
                        let pairs = with(&with(&examples(model), one.name, &first), other.name, &second);
                        asked += 1;
                        if let (Some(told), _) = worker.judge(model, &pairs, None) {
                            wrong.push(format!("{}: {told}", shown(model, &pairs)));
                        }
                    }
                }
            }
        }
    }
    finish(asked, &wrong);
}

/// Values at random, of any order of magnitude, that fit together well enough for half of them to have a steady state.
#[test]
fn values_at_random_give_figures_that_fit() {
    let cases = std::env::var("TOLLWAY_CASES").ok().and_then(|text| text.parse().ok()).unwrap_or(60);
    let (mut worker, mut wrong, mut asked) = (Worker::new(), Vec::new(), 0);
    let mut answered: BTreeMap<&str, usize> = BTreeMap::new();
    for model in models() {
        let mut runner =
            TestRunner::new_with_rng(Config::default(), TestRng::deterministic_rng(RngAlgorithm::ChaCha));
        let strategy = (-13.0..13.0f64).prop_flat_map(move |e| {
            model.parameters.iter().map(|p| texts::at_random(p, 10f64.powf(e))).collect::<Vec<_>>()
        });
        for _ in 0..cases {
            let drawn = strategy.new_tree(&mut runner).unwrap().current();
            let pairs: Pairs = model.parameters.iter().map(|p| p.name).zip(drawn).collect();
            asked += 1;
            let (told, figures) = worker.judge(model, &pairs, None);
            *answered.entry(model.name).or_default() += usize::from(figures);
            if let Some(told) = told {
                wrong.push(format!("{}: {told}", shown(model, &pairs)));
            }
        }
    }
    println!("figures of {cases} each: {answered:?}");
    let never: Vec<_> = answered.iter().filter(|(_, figures)| **figures * 50 < cases).collect();
    assert!(never.is_empty(), "hardly ever figures: {never:?}");
    finish(asked, &wrong);
}
