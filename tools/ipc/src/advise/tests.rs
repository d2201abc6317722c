//! Advice by planted predictions: those that the study's figures are, and what becomes of them.

use clap::Parser;
use tollway_core::{Forecast, Quoted};
use tollway_stats::Interval;

use super::asked::{Asked, Way};
use super::choice::{Waiting, advise};
use super::document::{AdviceDocument, CheckDocument, FateDocument, VerifiedDocument};
use super::foretold::{Foreseen, Said};
use super::verify::{cheaper, crossed};
use crate::args::advise::Advise;
use crate::step::StepDocument;

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    options: Advise,
}

/// Ticks a second, so that a tick is a nanosecond.
const HZ: f64 = 1e9;

fn asked(words: &str) -> tollway_core::Result<Asked> {
    let line = Line::parse_from(["advise"].into_iter().chain(words.split_whitespace()));
    Asked::of(&line.options, &tollway_all::registry(), HZ)
}

/// The study's round trips on one core, known to a hundredth: 10550 of asynchronous ones alone, less by 9150 × (1 − 1/c) with c at a time.
fn ticks(way: Way, n: u64) -> f64 {
    match way {
        Way::SlowPath => 8050.0,
        Way::FastPath => 3000.0,
        Way::FastPathAsleep => 13_000.0,
        Way::Async => 1400.0 + 9150.0 / n as f64,
        Way::AsyncAsleep => 1500.0 + 9150.0 / n as f64,
        Way::AsyncAwake => 1400.0,
    }
}

fn foreseen(asked: &Asked, known_to: f64) -> Foreseen {
    let said = |(way, concurrency): (Way, u64)| {
        let ticks = ticks(way, concurrency);
        Said {
            way,
            concurrency,
            params: asked.set(way, concurrency),
            forecast: Forecast {
                of: Quoted::Mean,
                ticks,
                lo: ticks * (1.0 - known_to),
                hi: ticks * (1.0 + known_to),
                p99: None,
                counts: [("notices".to_string(), 0.5)].into(),
                model: "planted".into(),
                from: Vec::new(),
                sharing: None,
            },
        }
    };
    let said = asked.places().into_iter().map(said).collect();
    Foreseen { said, silent: Vec::new(), wake: Some(5000.0), ns: 1.0 }
}

#[test]
fn the_study_s_figures_give_the_study_s_advice() {
    let of = |n: u64| {
        let asked = asked(&format!("--service 0 --concurrency {n} --cores 1")).unwrap();
        let advice = advise(&asked, &foreseen(&asked, 0.01)).unwrap();
        (advice.best, advice.is_certain, advice.crossings)
    };
    assert_eq!((of(1).0, of(4).0, of(8).0, of(64).0), (Way::FastPath, Way::FastPath, Way::Async, Way::Async));
    let (_, certain, crossings) = of(8);
    assert!(certain);
    let found: Vec<_> = crossings.iter().map(|c| (c.below, c.step.from, c.step.earliest)).collect();
    assert_eq!(found, [(Way::SlowPath, Some(2), Some(2)), (Way::FastPath, Some(8), Some(8))]);
}

#[test]
fn what_is_not_known_well_leaves_a_doubt_and_a_wider_crossover() {
    let asked = asked("--service 0 --concurrency 8 --cores 1").unwrap();
    let advice = advise(&asked, &foreseen(&asked, 0.2)).unwrap();
    assert!(advice.best == Way::Async && !advice.is_certain);
    let fast = advice.crossings.iter().find(|c| c.below == Way::FastPath).unwrap();
    assert!(fast.step.earliest < Some(8) && fast.step.latest > Some(8), "{fast:?}");
    let document = AdviceDocument::of(&asked, &foreseen(&asked, 0.2), &advice, &[3, 4]);
    let text = document.to_text(None);
    for part in
        ["does not tell the two apart", "from 8 [4, 16] requests at a time", "run 3, 4", "other end needs"]
    {
        assert!(text.contains(part), "`{part}` is not in\n{text}");
    }
}

#[test]
fn two_cores_look_or_sleep_by_how_long_there_is_nothing_to_do() {
    let of = |words: &str| {
        let asked = asked(&format!("--service 1us --concurrency 32 --cores 2 {words}")).unwrap();
        let advice = advise(&asked, &foreseen(&asked, 0.01)).unwrap();
        let document = AdviceDocument::of(&asked, &foreseen(&asked, 0.01), &advice, &[1]);
        assert!(document.to_text(Some(100)).contains("waiting"));
        advice
    };
    let flat_out = of("");
    assert_eq!((flat_out.waiting, flat_out.together, flat_out.is_enough), (Waiting::Look, 32, None));
    // 10 µs from one request to the next, of which one is done in 3: 7 are more than the 5 of a wake-up.
    let seldom = of("--rate 100k");
    // Asleep in between, the fast path takes 13 µs, the slow one 8.05 as ever, and asynchronous ones 10.65.
    assert_eq!((seldom.waiting, seldom.together, seldom.best), (Waiting::Sleep, 1, Way::SlowPath));
    assert!(seldom.is_asleep && seldom.ticks.estimate == 8050.0, "{seldom:?}");
    assert_eq!(seldom.other, Some(Way::AsyncAsleep));
    assert!((seldom.gain.unwrap().estimate - 10_650.0 / 8050.0).abs() < 1e-9, "{seldom:?}");
    assert!((seldom.gap_ns - 7000.0).abs() < 1.0 && seldom.is_enough == Some(true), "{seldom:?}");
    assert!((seldom.look_from.unwrap() - 1e9 / 8000.0).abs() < 1.0);
    let often = of("--rate 400k");
    // Synchronous requests do no more than 333 k a second; asynchronous ones do with 9 of them on their way, so with 16.
    assert_eq!((often.waiting, often.together, often.best), (Waiting::Look, 16, Way::Async));
    assert!(!often.is_asleep && !flat_out.is_asleep);
    let too_often = of("--rate 900k");
    assert_eq!((too_often.is_enough, too_often.together), (Some(false), 32));
}

#[test]
fn who_asks_seldom_is_told_what_a_request_costs_that_wakes_both_ends() {
    for cores in ["1", "2"] {
        let asked = asked(&format!("--service 0 --concurrency 256 --cores {cores} --rate 1")).unwrap();
        let places = asked.places();
        let each: std::collections::BTreeSet<_> = places.iter().collect();
        assert_eq!(each.len(), places.len(), "each is foretold once");
        let foreseen = foreseen(&asked, 0.01);
        let advice = advise(&asked, &foreseen).unwrap();
        assert!(
            advice.is_asleep && advice.best == Way::SlowPath && advice.is_enough == Some(true),
            "{advice:?}"
        );
        let text = AdviceDocument::of(&asked, &foreseen, &advice, &[1]).to_text(None);
        for part in [
            "advised  slow path: 8.05 µs [7.97 µs, 8.13 µs] a request with its wake-ups\n",
            "instead  async, sleeps at once: 10.7 µs",
            "both ends sleep before the next one comes",
            "requests at a time, one upon another",
        ] {
            assert!(text.contains(part), "`{part}` is not in\n{text}");
        }
        assert!(!text.contains("333 k a second"), "what awake ends do is not the answer\n{text}");
    }
}

#[test]
fn who_asks_for_one_at_a_time_has_each_way_once() {
    let asked = asked("--service 0 --concurrency 1 --cores 2 --rate 10").unwrap();
    let asleep: Vec<_> = asked.places().into_iter().filter(|(way, _)| *way == Way::AsyncAsleep).collect();
    assert_eq!(asleep, [(Way::AsyncAsleep, 1)]);
}

#[test]
fn nobody_looks_without_end_where_the_other_needs_the_core() {
    let one = asked("--service 0 --concurrency 3 --cores 1").unwrap();
    assert!(!one.ways().contains(&Way::AsyncAwake));
    assert_eq!(one.ladder, [1, 2, 3, 4, 8, 16, 32]);
    let two = asked("--service 2us --concurrency 100 --cores 2").unwrap();
    assert!(two.ways().contains(&Way::AsyncAwake));
    assert_eq!((two.work, two.ladder.last()), (2000, Some(&256)));
}

#[test]
fn what_cannot_be_is_refused_with_place_and_remedy() {
    let error = asked("--service 10us --concurrency 4 --cores 2 --rate 200k").unwrap_err().to_string();
    assert!(error.contains("--rate 200000") && error.contains("100000 a second"), "{error}");
}

#[test]
fn a_check_holds_misses_or_says_nothing() {
    let gain = |lo, hi| Interval { estimate: 0.5 * (lo + hi), lo, hi, confidence: 0.95 };
    assert_eq!(cheaper(Some(&gain(1.1, 1.3))), FateDocument::Holds);
    assert_eq!(cheaper(Some(&gain(0.7, 0.9))), FateDocument::Missed);
    assert_eq!(cheaper(Some(&gain(0.9, 1.1))), FateDocument::NotSeparable);
    assert_eq!(cheaper(None), FateDocument::NotTried);
    let step = |earliest, from, latest| StepDocument { from, earliest, latest };
    let foretold = step(Some(2), Some(2), Some(4));
    let fate = |measured| crossed(&measured, &foretold, &[1, 2, 4, 8, 16]);
    assert_eq!(fate(step(Some(1), Some(4), Some(4))), FateDocument::Holds);
    assert_eq!(fate(step(Some(8), Some(8), None)), FateDocument::Missed);
    // On a machine that is busy with something else it may be anywhere, which is no proof.
    assert_eq!(fate(step(Some(1), Some(2), None)), FateDocument::NotSeparable);
    assert_eq!(fate(step(Some(4), Some(16), None)), FateDocument::NotSeparable);
    let of = |fates: &[FateDocument]| {
        let check = |fate: &FateDocument| CheckDocument {
            what: "it".into(),
            foretold: "so".into(),
            measured: "so".into(),
            fate: *fate,
        };
        let checks = fates.iter().map(check).collect();
        VerifiedDocument { run: 1, steps: Vec::new(), checks }.missed()
    };
    use FateDocument::{Holds, Missed, NotSeparable, NotTried};
    assert!(!of(&[Holds, NotSeparable]) && of(&[Holds, Missed]) && of(&[NotTried, NotTried]));
    assert!(!of(&[NotSeparable, NotTried]));
}
