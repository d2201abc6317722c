//! Every model of the catalogue, asked with what nobody should write and with what someone will: it answers with finite
//! figures that fit each other, or with an error that names a parameter; soon, and never with a panic.

mod asked;
mod texts;

use std::collections::BTreeMap;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tollway_model::catalogue::{self, Model};
use tollway_model::{ModelError, Solution};

use crate::processor_time::processor_time;

/// An answer takes less than this, of processor time.
const PROMPT: Duration = Duration::from_secs(1);
/// Past this there is no answer.
const HANG: Duration = Duration::from_secs(600);

type Pairs = Vec<(String, String)>;

/// What came of a question, or the words of a panic; and what processor time it took.
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
                let begun = processor_time();
                let pairs: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                let solved = catch_unwind(AssertUnwindSafe(|| asked::answer(model, &pairs)));
                let solved = solved.map_err(|panic| {
                    let told = panic.downcast_ref::<String>().cloned();
                    told.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
                });
                if tell.send((solved, processor_time() - begun)).is_err() {
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
        self.ask.send((model, pairs.clone())).unwrap();
        let Ok((solved, took)) = self.answer.recv_timeout(HANG) else {
            *self = Worker::new();
            return (Some(format!("no answer in {HANG:?}")), false);
        };
        let wrong = (took > PROMPT).then(|| format!("it took {:.1} s", took.as_secs_f64()));
        match solved {
            Err(panic) => (Some(format!("panic: {panic}")), false),
            Ok(answer) => {
                let wrong = wrong.or_else(|| asked::wrong(model, &answer));
                (wrong.or_else(|| changed.and_then(|name| unnamed(&answer, name))), answer.is_ok())
            }
        }
    }
}

/// What is wrong with the answer to a question where this parameter has no value: an error begins with its name.
fn unnamed(answer: &Result<Solution, ModelError>, name: &str) -> Option<String> {
    let Err(error) = answer else { return Some("figures where there is no value".into()) };
    let told = error.to_string();
    let begins = told.strip_prefix(name).is_some_and(|rest| !rest.starts_with(char::is_alphanumeric));
    (!begins).then(|| format!("{name} has no value, but: {told}"))
}

fn examples(model: &'static Model) -> Pairs {
    model.parameters.iter().map(|p| (p.name.to_owned(), p.example.to_owned())).collect()
}

fn with(pairs: &Pairs, name: &str, text: &str) -> Pairs {
    pairs.iter().map(|(n, t)| (n.clone(), if n == name { text.to_owned() } else { t.clone() })).collect()
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
            for text in texts::tried(parameter).into_iter().chain(texts::OF_OTHER_KINDS.map(String::from)) {
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
            let pairs: Pairs = model.parameters.iter().map(|p| p.name.to_owned()).zip(drawn).collect();
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

/// Where a steady state ends: the largest value of a parameter that has one, to the last digit.
#[test]
fn at_the_edge_of_stability() {
    let (mut worker, mut wrong, mut asked) = (Worker::new(), Vec::new(), 0);
    let mut edges = 0;
    for model in models() {
        for parameter in model.parameters {
            let Some(value) = texts::scalar(parameter) else { continue };
            let at = |times: f64| with(&examples(model), parameter.name, &format!("{:e}", value * times));
            let stable = |times: f64| {
                let pairs = at(times);
                let pairs: Vec<_> = pairs.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
                !matches!(asked::answer(model, &pairs), Err(ModelError::Unstable { .. }))
            };
            let (mut inside, mut outside) = match (stable(1e-3), stable(1e3)) {
                (true, false) => (1e-3, 1e3),
                (false, true) => (1e3, 1e-3),
                _ => continue,
            };
            for _ in 0..60 {
                let middle = 0.5 * (inside + outside);
                *(if stable(middle) { &mut inside } else { &mut outside }) = middle;
            }
            edges += 1;
            let inwards = (inside - outside).signum();
            for times in [outside, inside, inside * (1.0 + inwards * 1e-15), inside * (1.0 + inwards * 1e-12)]
            {
                asked += 1;
                if let (Some(told), _) = worker.judge(model, &at(times), None) {
                    wrong.push(format!("{}: {told}", shown(model, &at(times))));
                }
            }
        }
    }
    assert!(edges >= 20 || std::env::var_os("TOLLWAY_MODEL").is_some(), "only {edges} edges");
    finish(asked, &wrong);
}

/// What a fuzzer found worth keeping (`make soak fuzz TARGET=model` goes on for longer).
#[test]
fn what_was_found_before() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/model");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty());
    let (mut worker, mut wrong) = (Worker::new(), Vec::new());
    for file in &files {
        let input = fs::read(file).unwrap();
        let Some((model, pairs)) = asked::read(&input) else { panic!("{} is no question", file.display()) };
        let pairs = pairs.into_iter().map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        if let (Some(told), _) = worker.judge(model, &pairs, None) {
            wrong.push(format!("{}: {told}", shown(model, &pairs)));
        }
    }
    finish(files.len(), &wrong);
}
