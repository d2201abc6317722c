//! The figures of a bill in words, for the terminal and the page alike.

use crate::document::{BillDocument, Span};
use crate::number::{count, percent};

/// How often a gate is passed: `1.00`, `0.520`, `1/3250`; `#` before it where that was counted.
pub(crate) fn often(visits: f64, counted: bool) -> String {
    let text = match 1.0 / visits {
        every if every >= 10.0 && every.is_finite() => format!("1/{}", every.round()),
        _ => count(visits),
    };
    if counted { format!("#{text}") } else { text }
}

/// The ends of an interval.
pub(crate) fn ends(span: &Span) -> String {
    format!("[{}, {}]", signless(span.lo), signless(span.hi))
}

/// A number of ticks, with a sign only where it is below 0.
pub(crate) fn signless(x: f64) -> String {
    if x < 0.0 { format!("−{}", count(-x)) } else { count(x) }
}

/// A number of ticks with its sign.
pub(crate) fn signed(x: f64) -> String {
    if x < 0.0 { format!("−{}", count(-x)) } else { format!("+{}", count(x)) }
}

/// A share with its sign.
pub(crate) fn signed_percent(share: f64) -> String {
    if share < 0.0 { format!("−{}", percent(-share)) } else { format!("+{}", percent(share)) }
}

/// Whether a bill closes.
pub(crate) fn verdict(bill: &BillDocument) -> String {
    let resolution = bill.resolution_ticks.map(count).unwrap_or_default();
    match bill.closes {
        Some(true) => format!("closes: within 5 % of the whole, or twice its resolution of {resolution} c"),
        Some(false) => {
            format!("does not close: beyond 5 % of the whole and twice its resolution of {resolution} c")
        }
        None => "does not say whether it closes: not every gate is known".into(),
    }
}
