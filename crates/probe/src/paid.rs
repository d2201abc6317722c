//! What a request paid.

use std::time::Duration;

use tollway_watch::kernel::Totals;

use crate::usage::Usage;

/// What one thread paid between a mark and the end of a request. `None` is what this way of looking cannot see; it is never 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paid {
    /// How long it was.
    pub took: Duration,
    /// System calls.
    pub calls: Option<u64>,
    /// Those of them that failed.
    pub failed: Option<u64>,
    /// How long they were in the kernel and on a processor. What it costs to go there and back is not in it, what it costs to be looked at is in part.
    pub inside: Option<Duration>,
    /// How long they were in the kernel and away from it: asleep, or displaced.
    pub away: Option<Duration>,
    /// Processor time of the thread.
    pub ran: Option<Duration>,
    /// Times that it left its processor to wait.
    pub sleeps: Option<u64>,
    /// Times that it left it although it had work.
    pub displaced: Option<u64>,
    /// Times that it was woken from the processor on which it then ran.
    pub woken_here: Option<u64>,
    /// Times that it was woken from another one.
    pub woken_across: Option<u64>,
    /// How many its calls woke that had slept on the same processor.
    pub wakes_here: Option<u64>,
    /// How many they woke that had slept on another one.
    pub wakes_across: Option<u64>,
    /// Page faults: in user mode by the kernel's tracepoints, all by getrusage(2).
    pub faults: Option<u64>,
    /// Signals that were delivered.
    pub signals: Option<u64>,
    /// Interrupts while it ran.
    pub interrupts: Option<u64>,
    /// Times that it went on on another processor.
    pub migrations: Option<u64>,
}

impl Paid {
    #[inline]
    pub(crate) fn by_the_kernel(took: Duration, before: &Totals, now: &Totals) -> Paid {
        let less = |of: fn(&Totals) -> u64| Some(of(now).wrapping_sub(of(before)));
        Paid {
            took,
            calls: less(|totals| totals.calls),
            failed: less(|totals| totals.failed),
            inside: less(|totals| totals.inside).map(Duration::from_nanos),
            away: less(|totals| totals.away).map(Duration::from_nanos),
            ran: None,
            sleeps: less(|totals| totals.voluntary),
            displaced: less(|totals| totals.involuntary),
            woken_here: less(|totals| totals.woken_here),
            woken_across: less(|totals| totals.woken_across),
            wakes_here: less(|totals| totals.wakes_here),
            wakes_across: less(|totals| totals.wakes_across),
            faults: less(|totals| totals.faults),
            signals: less(|totals| totals.signals),
            interrupts: less(|totals| totals.interrupts),
            migrations: less(|totals| totals.migrations),
        }
    }

    pub(crate) fn by_usage(took: Duration, before: &Usage, now: &Usage) -> Paid {
        Paid {
            took,
            ran: Some(now.ran.saturating_sub(before.ran)),
            sleeps: Some(now.voluntary - before.voluntary),
            displaced: Some(now.involuntary - before.involuntary),
            faults: Some(now.faults - before.faults),
            ..Paid::default()
        }
    }
}
