//! Rounds: each has every point once, in an order of its own, with cards of its own.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::sleep;
use std::time::Duration;

use tollway_core::{Error, Missing, Result};
use tollway_lab::order;
use tollway_lab::progress::Progress;

use super::card::{Connected, Workshop};
use super::kernel;
use super::library::Caller;
use super::plan::{Plan, Point};
use super::round::{self, Round};
use super::texts::Texts;
use crate::args::bench::{Bench, Word};

/// What was measured.
#[derive(Default)]
pub(super) struct Measured {
    /// Of each point of the plan the rounds that it was measured in.
    pub(super) points: Vec<Vec<(u32, Round)>>,
    /// What turned out not to be there.
    pub(super) skipped: Vec<Missing>,
    /// Points that failed, by their titles, and why.
    pub(super) failed: Vec<(String, Error)>,
    /// Whether it was ended before its time.
    pub(super) interrupted: bool,
}

/// What a trial takes besides, in seconds: others' cards go to sleep, both texts are tried.
const OVERHEAD: f64 = 0.004;

/// How many measurements there are, and how long they take together, in seconds.
pub(super) fn takes(plan: &Plan, options: &Bench) -> (u64, f64) {
    let trials = plan.points.len() as u64 * u64::from(options.runs);
    (trials, trials as f64 * (round::takes(options.time) + OVERHEAD + options.spin.as_secs_f64()))
}

/// Measures all of it.
pub(super) fn all(
    plan: &Plan,
    options: &Bench,
    program: &Path,
    interrupted: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Measured> {
    let (trials, seconds) = takes(plan, options);
    progress.planned(trials, seconds);
    let mut texts: HashMap<(&str, usize), Texts> = HashMap::new();
    for point in &plan.points {
        if let std::collections::hash_map::Entry::Vacant(place) = texts.entry((point.cipher.name, point.size))
        {
            place.insert(Texts::of(point.cipher, point.size)?);
        }
    }
    let workshop = Workshop { plan, program, socket: options.socket.as_deref(), spin: options.spin };
    let mut measured = Measured { points: vec![Vec::new(); plan.points.len()], ..Measured::default() };
    let mut given_up = vec![false; plan.points.len()];
    for round in 0..options.runs {
        progress.stage(&format!("round {}", round + 1));
        let numbers: Vec<(usize, u32)> = (0..plan.points.len()).map(|number| (number, 1)).collect();
        let mut cards: Vec<(Point, Connected)> = Vec::new();
        for slot in order::block(options.seed, round, &numbers, 1) {
            if interrupted.load(Ordering::Relaxed) {
                measured.interrupted = true;
                return Ok(measured);
            }
            if given_up[slot.point] {
                continue;
            }
            let point = &plan.points[slot.point];
            progress.playing(&point.title());
            let texts = &texts[&(point.cipher.name, point.size)];
            match trial(&workshop, &mut cards, point, texts, options.time) {
                Ok(one) => {
                    measured.points[slot.point].push((round, one));
                    progress.played();
                }
                Err(error) => {
                    let left = u64::from(options.runs - round);
                    given_up[slot.point] = true;
                    // Whatever it was, the next one is to meet a card that is as new.
                    cards.retain(|(other, _)| !alike(other, point));
                    match error {
                        Error::Missing(missing) => {
                            progress.skipped(&point.title(), &missing, left);
                            if !measured.skipped.contains(&missing) {
                                measured.skipped.push(missing);
                            }
                        }
                        error => {
                            progress.failed(&point.title(), &error, left);
                            measured.failed.push((point.title(), error));
                        }
                    }
                }
            }
        }
    }
    Ok(measured)
}

/// Whether two points use the same card.
fn alike(one: &Point, other: &Point) -> bool {
    (one.by, one.waiting, one.tasks) == (other.by, other.waiting, other.tasks)
}

fn trial(
    workshop: &Workshop<'_>,
    cards: &mut Vec<(Point, Connected)>,
    point: &Point,
    texts: &Texts,
    seconds: f64,
) -> Result<Round> {
    let cpus = &workshop.plan.askers;
    let callers = |copies| -> Result<Vec<Caller<'_>>> {
        (0..point.tasks).map(|_| Caller::new(point.cipher, texts, copies)).collect()
    };
    match point.by {
        Word::Library | Word::Copies => {
            sleep(workshop.spin + Duration::from_millis(1));
            let callers = callers(point.by == Word::Copies)?;
            round::all(callers, cpus, seconds, |mut caller, window| caller.run(window))
        }
        Word::AfAlg | Word::DevCrypto => {
            let callers: Result<Vec<_>> = (0..point.tasks)
                .map(|_| kernel::Caller::new(point.by, point.driver.as_deref(), point.cipher, texts))
                .collect();
            sleep(workshop.spin + Duration::from_millis(1));
            round::all(callers?, cpus, seconds, kernel::Caller::run)
        }
        Word::Inside | Word::Neighbour | Word::Socket => {
            let at = match cards.iter().position(|(other, _)| alike(other, point)) {
                Some(at) => at,
                None => {
                    cards.push((point.clone(), workshop.start(point)?));
                    cards.len() - 1
                }
            };
            // Cards that were used last look for requests for a while, on the same processor.
            sleep(workshop.spin + Duration::from_millis(1));
            cards[at].1.measure(point, texts, cpus, seconds)
        }
    }
}
