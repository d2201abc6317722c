//! Checks of one coalescer.

use super::{LARGEST_SIZE, not_both};
use crate::spec::{Adaptive, Coalescer};
use crate::{ModelError, Result, check};

/// The most steps of an adaptive cap.
const STEPS: u64 = 1000;

pub(super) fn check(coalescer: &Coalescer) -> Result<()> {
    let part = format!("coalescer {}", coalescer.name);
    let name = |what: &str| format!("{part}: {what}");
    let Coalescer { count, timer, cap, poll, adaptive: table, .. } = coalescer;
    if count.is_none() && timer.is_none() && cap.is_none() && poll.is_none() && table.is_none() {
        return Err(ModelError::parameter(
            part,
            "it holds nobody back",
            "give it a count, a timer, a cap, a poll or an adaptive cap, or remove it",
        ));
    }
    if let Some(count) = coalescer.count {
        check::count(&name("count"), count.into(), 1, LARGEST_SIZE)?;
    }
    for (what, value) in [("timer", coalescer.timer), ("cap", coalescer.cap), ("poll", coalescer.poll)] {
        if let Some(value) = value {
            check::positive(&name(what), value)?;
        }
    }
    not_both(&part, ("adaptive", coalescer.adaptive.is_some()), ("cap", coalescer.cap.is_some()))?;
    coalescer.adaptive.as_ref().map_or(Ok(()), |table| adaptive(table, &name("adaptive")))
}

fn adaptive(table: &Adaptive, name: &str) -> Result<()> {
    check::positive(&format!("{name}: window"), table.window)?;
    let from = format!("{name}: from");
    check::count(&from, table.from.len() as u64, 1, STEPS)?;
    if table.caps.len() != table.from.len() {
        return Err(ModelError::parameter(
            format!("{name}: caps"),
            format!("there are {} for {} entries of from", table.caps.len(), table.from.len()),
            "give one cap for each",
        ));
    }
    for rate in &table.from {
        check::non_negative(&from, *rate)?;
    }
    if table.from[0] != 0.0 {
        return Err(ModelError::parameter(from, "it does not begin at 0", "let the first entry be 0"));
    }
    if table.from.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(ModelError::parameter(from, "it does not rise", "write the rates in rising order"));
    }
    for cap in &table.caps {
        check::positive(&format!("{name}: caps"), *cap)?;
    }
    Ok(())
}
