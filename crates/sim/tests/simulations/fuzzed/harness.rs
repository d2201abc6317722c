//! Any text as a specification: refused with a place, or read, solved by its formula and simulated for a moment, without a
//! panic, a figure that is no number, or a broken law.

use std::time::Duration;

use crate::processor_time::processor_time;
use tollway_model::ModelError;
use tollway_model::spec::{Spec, Stop};
use tollway_sim::{Options, SimError, simulate};

/// Of a processor: nothing may take longer, in a build without optimisation.
const PROMPT: Duration = Duration::from_secs(60);

/// Events after which a simulation is given up.
const EVENTS: u64 = 20_000;

/// Reads, solves, simulates; whether it was a specification.
pub fn read(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else { return false };
    let begun = processor_time();
    let spec = match Spec::from_toml(text) {
        Ok(spec) => spec,
        Err(error) => {
            told(&error, text);
            is_prompt(begun, text);
            return false;
        }
    };
    assert_eq!(spec.clone().checked().as_ref(), Ok(&spec), "checked again it is another\n{text}");
    let written = toml::to_string(&spec).unwrap_or_else(|error| panic!("{error} for\n{text}"));
    assert_eq!(Spec::from_toml(&written).as_ref(), Ok(&spec), "written and read it is another\n{text}");
    if let Some(formula) = spec.formula() {
        match formula.solution {
            Ok(solution) => solution.metrics().iter().for_each(|metric| {
                assert!(metric.value.is_finite(), "{} of {} for\n{text}", metric.name, formula.model.name);
            }),
            Err(error) => told(&error, text),
        }
    }
    let short = Spec { stop: Stop { customers: 200, precision: None, replications: 2 }, ..spec };
    match simulate(&short, &Options { threads: 1, events: Some(EVENTS), ..Options::default() }) {
        Ok(outcome) => outcome.estimates.iter().for_each(|estimate| {
            assert!(estimate.value.is_finite() && estimate.value >= 0.0, "{} for\n{text}", estimate.name);
        }),
        Err(error @ SimError::Invariant { .. }) => panic!("{error} for\n{text}"),
        Err(error) => assert!(!error.to_string().is_empty()),
    }
    is_prompt(begun, text);
    true
}

fn is_prompt(begun: Duration, text: &str) {
    let took = processor_time() - begun;
    assert!(took < PROMPT, "{took:?} for\n{text}");
}

/// An error names a place and a remedy.
fn told(error: &ModelError, text: &str) {
    if let ModelError::Parameter { name, reason, remedy } = error {
        assert!(![name, reason, remedy].iter().any(|part| part.is_empty()), "{error:?} for\n{text}");
    }
}
