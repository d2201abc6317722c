//! Any bytes as a trace: read and fitted to finite figures, or refused with a place and a remedy; neither a panic nor more
//! time than a trace of its size deserves. And as one that is to be played again.

use std::time::Duration;

use crate::processor_time::processor_time;
use tollway_model::ModelError;
use tollway_model::fit::{Options, Requests, Trace, fit};

/// Of a processor: no trace of this size may take longer.
const PROMPT: Duration = Duration::from_secs(60);

/// Larger ones are only read.
const FITTED: usize = 2000;

/// Reads and fits; whether there was an answer.
pub fn fits(input: &[u8]) -> bool {
    let begun = processor_time();
    plays(input);
    let answer = Trace::read(input, None).and_then(|trace| {
        if trace.customers > FITTED { Ok(None) } else { fit(&trace, Options::default()).map(Some) }
    });
    let took = processor_time() - begun;
    assert!(took < PROMPT, "{took:?} for {} bytes", input.len());
    match answer {
        Ok(None) => true,
        Ok(Some(found)) => {
            for estimate in &found.estimates {
                let figures = [Some(estimate.value), estimate.lo, estimate.hi];
                assert!(figures.iter().flatten().all(|x| x.is_finite()), "{estimate:?}");
                assert!(estimate.lo <= estimate.hi, "{estimate:?}");
            }
            for p in found.tests.iter().map(|t| t.p).chain(found.models.iter().map(|m| m.p)) {
                assert!((0.0..=1.0).contains(&p), "{p}");
            }
            for judged in found.models.iter().chain(&found.delivery) {
                assert_eq!(judged.rejected, !judged.reasons.is_empty(), "{judged:?}");
                let figures = [judged.predicted_mean, judged.mean_off, judged.predicted_p99, judged.p99_off];
                assert!(figures.iter().flatten().all(|x| x.is_finite()), "{judged:?}");
            }
            for (lo, hi) in
                found.coalescing.iter().flat_map(|c| [c.rate_interval, c.batch_interval]).flatten()
            {
                assert!(lo <= hi && hi.is_finite(), "{lo} … {hi}");
            }
            true
        }
        Err(ModelError::Parameter { name, reason, remedy }) => {
            assert!(![name, reason, remedy].iter().any(String::is_empty));
            false
        }
        Err(other) => panic!("{other}"),
    }
}

fn plays(input: &[u8]) {
    match Requests::read(input) {
        Ok(Requests { starts, period, bytes }) => {
            assert!(
                starts[0] == 0.0 && starts.is_sorted() && starts.iter().all(|at| at.is_finite()),
                "{starts:?}"
            );
            assert!(period > 0.0 && period.is_finite() && period >= starts[starts.len() - 1], "{period}");
            assert!(bytes.is_none_or(|bytes| bytes.len() == starts.len() && !bytes.contains(&0)));
        }
        Err(ModelError::Parameter { name, reason, remedy }) => {
            assert!(![name, reason, remedy].iter().any(String::is_empty));
        }
        Err(other) => panic!("{other}"),
    }
}
