//! The figures of a bill in words, for the terminal and the page alike.

use crate::columns::printable;
use crate::document::{BillDocument, ChangeDocument, GateDocument, Span};
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

/// What a reader of a gate that was switched off has to know.
pub(crate) const KNOCK_OUT: &str =
    "knock-out: what is saved by switching it off, not measured alone; never part of a sum";

/// A gate's name, marked where only a knock-out is known.
pub(crate) fn name(gate: &GateDocument) -> String {
    printable(&if gate.knock_out { format!("{} (knock-out)", gate.name) } else { gate.name.clone() })
}

/// What other roles pay for, by role, in the order of the gates.
pub(crate) fn others(bill: &BillDocument) -> Vec<(String, Vec<&GateDocument>)> {
    let mut others: Vec<(String, Vec<&GateDocument>)> = Vec::new();
    for gate in &bill.apart {
        let title = printable(&format!("paid by the {}, not in the sum", gate.role));
        match others.iter_mut().find(|(other, _)| *other == title) {
            Some((_, gates)) => gates.push(gate),
            None => others.push((title, vec![gate])),
        }
    }
    others
}

/// A bill whose resolution is more than this share of the whole would close with a tenth of it missing.
const COARSE: f64 = 0.05;

/// What a change is, and where: `after instead of before, group=1`.
pub(crate) fn change(change: &ChangeDocument) -> String {
    let at = if change.departures.is_empty() { String::new() } else { format!(", {}", change.departures) };
    printable(&format!("{} instead of {}{at}", change.variant, change.instead_of))
}

/// Whether a bill closes.
pub(crate) fn verdict(bill: &BillDocument) -> String {
    let resolution = bill.resolution_ticks.map(count).unwrap_or_default();
    let coarse = bill.resolution_ticks.is_some_and(|r| r > COARSE * bill.measured.ticks.estimate);
    match bill.closes {
        Some(true) if coarse => format!(
            "closes within twice its resolution of {resolution} c, which is too coarse to tell much: take more runs"
        ),
        Some(true) => format!("closes: within 5 % of the whole, or twice its resolution of {resolution} c"),
        Some(false) => {
            format!("does not close: beyond 5 % of the whole and twice its resolution of {resolution} c")
        }
        None => "does not say whether it closes: not every gate was measured alone".into(),
    }
}
