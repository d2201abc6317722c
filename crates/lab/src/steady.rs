//! The check before a run: whether the machine is steady.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use tollway_host::steadiness::{self, Steadiness};

/// So long a check holds for further runs of the same process: another would find what the run before has done.
const HOLDS: Duration = Duration::from_secs(60);

/// Where the check stands in a fingerprint.
const FIELD: &str = "steadiness";

/// What was found just now, or a moment ago.
pub(crate) fn check() -> Steadiness {
    static LAST: Mutex<Option<(Instant, Steadiness)>> = Mutex::new(None);
    let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
    match &*last {
        Some((at, found)) if at.elapsed() < HOLDS => found.clone(),
        _ => last.insert((Instant::now(), steadiness::examine())).1.clone(),
    }
}

/// A fingerprint with what was found.
pub(crate) fn noted(mut fingerprint: serde_json::Value, found: Option<&Steadiness>) -> serde_json::Value {
    if let Some(found) = found
        && let Some(fields) = fingerprint.as_object_mut()
        && let Ok(found) = serde_json::to_value(found)
    {
        fields.insert(FIELD.into(), found);
    }
    fingerprint
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_holds_for_the_next_run_of_the_process_and_is_noted() {
        let found = check();
        // Another one would have other figures.
        assert_eq!(check(), found);
        let noted = noted(serde_json::json!({ "cores": 2 }), Some(&found));
        assert_eq!(noted["cores"], 2);
        assert_eq!(noted[FIELD]["summary"], found.summary);
    }
}
