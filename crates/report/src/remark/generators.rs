//! Rules about generators of random numbers: is one shared, and what do many get of it?

use super::{Facts, Said, sure, times};
use crate::document::Span;
use crate::number::rate;

/// How many virtual machines a generator is divided by in the sentence: those of the study.
const MANY: f64 = 60.0;

/// Bytes that a draw yields.
const BYTES: f64 = 8.0;

/// What two who draw at once get of RDSEED in total, against one alone.
pub(super) fn shared(facts: &Facts<'_>) -> Option<Said> {
    let draw = |kind, depth| {
        facts.takes("entropy", "entropy-draw", &[("kind", kind), ("depth", depth)]).map(|ns| {
            // Two at once draw twice as much in the time that a draw takes each of them.
            let at_once = if depth == "2" { 2.0 } else { 1.0 };
            let per_second = |ns: f64| at_once * BYTES * 1e9 / ns;
            Span { estimate: per_second(ns.estimate), lo: per_second(ns.hi), hi: per_second(ns.lo) }
        })
    };
    let (alone, both) = (draw("rdseed", "1")?, draw("rdseed", "2")?);
    let more = sure(both.over(alone)?)?;
    let of_rdrand = draw("rdrand", "1").zip(draw("rdrand", "2"));
    let of_rdrand = of_rdrand.and_then(|(alone, both)| sure(both.over(alone)?));
    let beside = of_rdrand.map(|more| format!(", of RDRAND {}", times(&more))).unwrap_or_default();
    if more.hi < 1.9 {
        let text = format!(
            "RDSEED is shared: two who draw at once get {} of what one gets{beside}, {} in total, so each of {MANY:.0} virtual machines {} at most.",
            times(&more),
            rate(both.estimate, "B/s"),
            rate(both.hi / MANY, "B/s")
        );
        Some(Said::new(text, 2.0 / more.hi))
    } else {
        None
    }
}
