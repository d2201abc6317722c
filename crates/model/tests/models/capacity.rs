//! Capacity: answers against those by hand, on models of the catalogue and on made-up ones whose levels are kept where
//! no queue would keep them.

use proptest::prelude::*;
use tollway_model::capacity::{Binds, CapacityError, Derived, Goal, Level, Question, Sensitivity};
use tollway_model::catalogue::{Family, Given, Kind, Model, Parameter, all, find};
use tollway_model::{ModelError, Result, Solution, Unit};

use crate::processor_time::processor_time;

fn question(model: &'static Model, given: &[(&str, &str)], vary: &str, keep: &str) -> Question {
    Question::new(model, given.iter().copied(), vary, Level::several(keep).unwrap()).unwrap()
}

fn of_mm1(keep: &str) -> Question {
    question(find("mm1").unwrap(), &[("mu", "10k/s")], "lambda", keep)
}

fn elasticity(all: &[Sensitivity], of: &str) -> f64 {
    all.iter().find(|sensitivity| sensitivity.of == of).unwrap_or_else(|| panic!("{of}: {all:?}")).elasticity
}

fn close(a: f64, b: f64, within: f64) -> bool {
    (a / b - 1.0).abs() < within
}

#[test]
fn the_load_of_a_single_queue_is_as_by_hand() {
    // W = 1/(μ − λ) < T: λ = μ − 1/T = 8000.
    let answer = of_mm1("response.mean<500us").answer().unwrap();
    assert!(close(answer.value, 8000.0, 1e-12), "{answer:?}");
    assert!(answer.figures.get("response.mean").unwrap() < 500e-6);
    assert_eq!(answer.binds, Binds::Levels(vec!["response.mean<500us".into()]));
    assert_eq!(answer.kept.len(), 1);
    assert!(answer.kept[0].from_first && !answer.kept[0].to_last);
    // ∂λ/∂μ · μ/λ = 10000/8000; ∂λ/∂T · T/λ = (1/T)/λ; ∂W/∂λ · λ/W = λ/(μ − λ).
    assert!(close(elasticity(&answer.of_answer, "mu"), 1.25, 1e-3), "{answer:?}");
    assert!(close(elasticity(&answer.of_answer, "response.mean<500us"), 0.25, 1e-3));
    assert!(close(elasticity(&answer.of_figures, "response.mean"), 4.0, 1e-2));
}

#[test]
fn quantiles_are_kept_as_means_are() {
    // The response of M/M/1 is exponential: p99 = ln(100)/(μ − λ).
    let answer = of_mm1("response.p99<5ms").answer().unwrap();
    assert!(close(answer.value, 10_000.0 - 100f64.ln() / 5e-3, 1e-10), "{answer:?}");
}

#[test]
fn of_several_levels_the_tightest_binds() {
    let answer = of_mm1("response.mean<500us, utilization<0.7").answer().unwrap();
    assert!(close(answer.value, 7000.0, 1e-12));
    assert_eq!(answer.binds, Binds::Levels(vec!["utilization<0.7".into()]));
    assert_eq!(elasticity(&answer.of_answer, "response.mean<500us"), 0.0);
}

#[test]
fn a_level_that_no_load_breaks_ends_at_the_steady_state() {
    let answer = of_mm1("utilization<2").answer().unwrap();
    assert_eq!(answer.binds, Binds::NoSteadyState);
    assert!(answer.value < 10_000.0 && close(answer.value, 10_000.0, 1e-8));
}

#[test]
fn what_cannot_be_kept_says_the_best_there_is() {
    let told = of_mm1("response.mean<50us").answer().unwrap_err();
    assert!(matches!(told, CapacityError::NeverKept { .. }));
    let told = told.to_string();
    assert!(
        told.contains("cannot be kept at any lambda") && told.contains("response.mean is 100 µs"),
        "{told}"
    );
}

#[test]
fn what_is_always_kept_says_the_end_of_the_range() {
    let asked = of_mm1("response.mean<500us").within(None, Some(5000.0)).unwrap();
    let told = asked.answer().unwrap_err();
    assert!(matches!(told, CapacityError::AlwaysKept { to: 5000.0, .. }), "{told:?}");
    assert!(told.to_string().contains("5 k/s is the end of the range"), "{told}");
    assert!(of_mm1("response.mean<500us").within(Some(5.0), Some(1.0)).is_err());
}

#[test]
fn counts_are_whole_and_the_largest() {
    // Two equal stations: X = N/(D(N + 1)), so R = N/X = D(N + 1) < 8.5 D up to N = 7.
    let asked = question(find("mva").unwrap(), &[("demands", "1ms,1ms")], "customers", "response.mean<8.5ms");
    let answer = asked.answer().unwrap();
    assert_eq!((answer.value, answer.unit), (7.0, Unit::Count));
    // Between whole numbers R = D(N + 1) crosses at 7.5, which moves as T/D: by 8.5/7.5.
    assert!(close(elasticity(&answer.of_answer, "demands"), -8.5 / 7.5, 1e-3), "{answer:?}");
}

#[test]
fn a_list_of_rates_is_varied_as_a_whole() {
    let given = [("devices", "4"), ("lambdas", "1/s,3/s"), ("services", "exponential(100us)")];
    let asked = question(find("cloud").unwrap(), &given, "lambdas", "utilization<0.5");
    let answer = asked.answer().unwrap();
    assert!(close(answer.value, 20_000.0, 1e-12));
    let [one, two] =
        ["1", "2"].map(|class| answer.figures.get(&format!("class.{class}.number.mean")).unwrap());
    assert!(close(two / one, 3.0, 1e-12));
    assert!(close(elasticity(&answer.of_answer, "services"), -1.0, 1e-3));
    assert!(close(elasticity(&answer.of_answer, "devices"), 1.0, 0.1), "{answer:?}");
}

#[test]
fn derived_figures_are_kept_too() {
    let cpu: Derived = "cpu=200us*throughput+0.5".parse().unwrap();
    let given = [("arrivals", "1/s"), ("mus", "10k/s"), ("routing", "0")];
    let asked = question(find("jackson").unwrap(), &given, "arrivals", "cpu<=1.5").deriving(vec![cpu]);
    let answer = asked.answer().unwrap();
    assert!(close(answer.value, 5000.0, 1e-12), "{answer:?}");
    assert!(close(answer.figures.get("cpu").unwrap(), 1.5, 1e-12));
}

#[test]
fn what_is_no_question_is_told() {
    let mm1 = find("mm1").unwrap();
    let level = || Level::several("response.mean<1s").unwrap();
    let told = |given: &[(&str, &str)], vary: &str, keep: Vec<Level>| {
        let asked = Question::new(mm1, given.iter().copied(), vary, keep);
        asked.map_err(CapacityError::from).and_then(|q| q.answer()).unwrap_err().to_string()
    };
    assert!(told(&[], "lambda", level()).starts_with("mu: it is missing"));
    assert!(told(&[("mu", "1")], "nu", level()).contains("its parameters are lambda, mu"));
    assert!(told(&[("mu", "1"), ("lambda", "1")], "lambda", level()).contains("varied and given"));
    assert!(told(&[("mu", "1")], "lambda", vec![]).starts_with("keep: "));
    assert!(told(&[("mu", "0")], "lambda", level()).starts_with("mu: 0 is not usable"));
    assert!(told(&[("mu", "1")], "lambda", Level::several("loss<1").unwrap()).contains("no figure `loss`"));
    assert!(
        told(&[("mu", "1")], "lambda", Level::several("utilization<1s").unwrap()).contains("write a number")
    );
}

/// A model of one parameter whose figure is what it is made to be.
const fn made_up(solve: fn(&Given) -> Result<Solution>) -> Model {
    Model {
        name: "made-up",
        title: "made up",
        family: Family::Scaling,
        summary: "",
        formula: "",
        assumptions: "",
        source: "",
        holds: "",
        parameters: &[Parameter { name: "x", kind: Kind::Rate, means: "", default: None, example: "1/s" }],
        solve,
    }
}

/// Batches of 32 wait for each other at low loads and for the server at high ones; least at x = 7975, 2.437 ms.
static WINDOW: Model = made_up(|given| {
    let x = given.rate("x")?;
    let server = if x < 10_000.0 { 1.0 / (10_000.0 - x) } else { return Err(overload(x)) };
    Ok(Solution::new().with("delay.mean", 31.0 / (2.0 * x) + server, Unit::Seconds))
});

fn overload(x: f64) -> ModelError {
    ModelError::Unstable { name: "x".into(), load: x / 10_000.0, remedy: "give less".into() }
}

/// Kept around every power of ten from 1 to 10⁶.
static WAVES: Model = made_up(|given| {
    let wave = (std::f64::consts::TAU * given.rate("x")?.log10()).cos();
    Ok(Solution::new().with("delay.mean", 2.0 - wave, Unit::Seconds))
});

/// Answers up to 1000 only, in steps.
static STEPS: Model = made_up(|given| {
    let x = given.rate("x")?;
    if x > 1000.0 {
        return Err(ModelError::parameter("x", "it is too large", "give 1000 or less"));
    }
    Ok(Solution::new().with("number.p99", (x / 7.0).floor(), Unit::Count))
});

#[test]
fn a_window_has_two_ends() {
    let asked = question(&WINDOW, &[], "x", "delay.mean<10ms");
    let largest = asked.answer().unwrap();
    let smallest = asked.asking(Goal::Smallest).answer().unwrap();
    for answer in [&largest, &smallest] {
        assert!(!answer.kept[0].from_first && !answer.kept[0].to_last);
        assert!(close(answer.figures.get("delay.mean").unwrap(), 10e-3, 1e-9), "{answer:?}");
    }
    assert!(smallest.value > 1560.0 && smallest.value < 1570.0, "{smallest:?}");
    assert!(largest.value > 9880.0 && largest.value < 9890.0, "{largest:?}");
    // So narrow that no point of the first look lies in it.
    let narrow = question(&WINDOW, &[], "x", "delay.mean<2.438ms").answer().unwrap();
    assert!(narrow.kept[0].from > 7900.0 && narrow.kept[0].to < 8050.0, "{narrow:?}");
    let told = question(&WINDOW, &[], "x", "delay.mean<1ms").answer().unwrap_err().to_string();
    assert!(told.contains("x = 7.97") && told.contains("delay.mean is 2.43"), "{told}");
}

#[test]
fn a_level_that_is_kept_here_and_there_is_told_so() {
    let asked = question(&WAVES, &[], "x", "delay.mean<1.5s").within(Some(1.0), Some(1e6)).unwrap();
    // cos = 1/2 a sixth of a decade beside each power of ten.
    let answer = asked.clone().within(None, Some(3e5)).unwrap().answer().unwrap();
    assert_eq!(answer.kept.len(), 6);
    assert!(close(answer.value, 10f64.powf(5.0 + 1.0 / 6.0), 1e-9), "{answer:?}");
    let first = asked.answer().unwrap_err();
    assert!(matches!(first, CapacityError::AlwaysKept { .. }), "{first:?}");
}

#[test]
fn steps_and_the_end_of_a_model() {
    let answer = question(&STEPS, &[], "x", "number.p99<10").answer().unwrap();
    assert!(answer.value < 70.0 && close(answer.value, 70.0, 1e-12), "{answer:?}");
    let answer = question(&STEPS, &[], "x", "number.p99<1e6").answer().unwrap();
    assert!(matches!(&answer.binds, Binds::Model(why) if why.contains("give 1000 or less")), "{answer:?}");
    assert!(close(answer.value, 1000.0, 1e-8), "{answer:?}");
}

proptest! {
    #[test]
    fn the_answer_keeps_the_level_and_a_little_more_does_not(
        mu in 1e-3..1e9f64, slack in 1.0001..1e6f64,
    ) {
        // A level of `slack` mean services: λ = μ(1 − 1/slack).
        let keep = format!("response.mean<={}", slack / mu);
        let given = format!("{mu}");
        let asked = question(find("mm1").unwrap(), &[("mu", &given)], "lambda", &keep).within(Some(1e-9), None).unwrap();
        let answer = asked.answer().unwrap();
        prop_assert!(close(answer.value, mu * (1.0 - 1.0 / slack), 1e-9), "{:?}", answer);
        prop_assert!(answer.figures.get("response.mean").unwrap() <= slack / mu);
        let beyond = asked.figures(answer.value * (1.0 + 1e-9));
        prop_assert!(beyond.is_err() || beyond.unwrap().get("response.mean").unwrap() > slack / mu);
    }
}

/// Services whose transform is a formula: those of the example of M/G/1 are integrated at each of the ten thousands of
/// points that a search asks for, which `hostile` does for its ends.
const QUICK: &str = "hyperexponential(0.9, 50us, 0.1, 550us)";

/// Every model, each of its parameters that can be varied, and each of its figures at its own example as a level: an
/// answer that keeps it, or an error.
#[test]
fn every_model_can_be_planned_with() {
    let mut answers = 0;
    for model in all() {
        let example =
            |p: &Parameter| if model.name == "mg1" && p.name == "service" { QUICK } else { p.example };
        let examples: Vec<(&str, &str)> = model.parameters.iter().map(|p| (p.name, example(p))).collect();
        let at_example = model.solve(&model.given(examples.iter().copied()).unwrap()).unwrap();
        for varied in model.parameters {
            let others = examples.iter().copied().filter(|(name, _)| *name != varied.name);
            let given: Vec<(&str, &str)> = match varied.kind {
                Kind::Rates => examples.clone(),
                Kind::Rate | Kind::Time | Kind::Count | Kind::Number => others.collect(),
                _ => continue,
            };
            let begun = processor_time();
            for metric in at_example.metrics().iter().filter(|metric| metric.value > 0.0).take(2) {
                let keep = format!("{}<={}", metric.name, 1.01 * metric.value);
                let asked = question(model, &given, varied.name, &keep);
                match asked.answer() {
                    Ok(answer) => {
                        answers += 1;
                        let figure = asked.figures(answer.value).unwrap().get(&metric.name).unwrap();
                        assert!(figure <= 1.01 * metric.value, "{} {} {keep}", model.name, varied.name);
                        let numbers = answer.of_answer.iter().chain(&answer.of_figures);
                        assert!(numbers.clone().all(|s| s.elasticity.is_finite()), "{answer:?}");
                    }
                    Err(error) => assert!(!error.to_string().contains("NaN"), "{error}"),
                }
            }
            let took = processor_time() - begun;
            println!("{} {}: {:.2} s", model.name, varied.name, took.as_secs_f64());
            assert!(took.as_secs() < 120, "{} {}", model.name, varied.name);
        }
    }
    assert!(answers > 100, "{answers}");
}
