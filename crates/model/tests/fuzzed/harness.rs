//! Any text as a question to the catalogue: the first line names the model, each other line is `key=value`. It is answered
//! with finite figures or refused with a parameter and a remedy; it neither panics nor takes its time.

use std::time::{Duration, Instant};

use tollway_model::{ModelError, catalogue};

/// No question may take longer, in a build without optimisation on a busy machine.
const PROMPT: Duration = Duration::from_secs(20);

/// Asks; whether there was an answer.
pub fn ask(input: &[u8]) -> bool {
    let Ok(text) = std::str::from_utf8(input) else { return false };
    let mut lines = text.lines();
    let Ok(model) = catalogue::find(lines.next().unwrap_or_default()) else { return false };
    let pairs = lines.map(|line| line.split_once('=').unwrap_or((line, "")));
    let begun = Instant::now();
    let answer = model.given(pairs).and_then(|given| model.solve(&given));
    assert!(begun.elapsed() < PROMPT, "{:?} for\n{text}", begun.elapsed());
    match answer {
        Ok(solution) => {
            for metric in solution.metrics() {
                assert!(metric.value.is_finite(), "{} is {} for\n{text}", metric.name, metric.value);
            }
            true
        }
        Err(ModelError::Parameter { name, reason, remedy }) => {
            assert!(![name, reason, remedy].iter().any(String::is_empty), "{text}");
            false
        }
        Err(ModelError::Unstable { name, load, .. }) => {
            assert!(!name.is_empty() && load >= 1.0, "load {load} for\n{text}");
            false
        }
        Err(ModelError::Numerical { .. }) => false,
    }
}
