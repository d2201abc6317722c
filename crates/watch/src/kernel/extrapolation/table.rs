//! What a thread did, as numbers that can be parts: of each kind of calls and of what is no call.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::counts::{Calls, Counted, File, Moments, Thread};
use crate::kernel::layout::numbered::OTHERS;

/// A call by number and file; `None` stands for what is no call.
pub(super) type Key = Option<(u32, File)>;

/// Of calls: count, failures, results, seconds inside and away, sleeps, and three kinds of wake-ups. Of the others
/// as in [`figures_of_moments`].
pub(super) type Figures = [f64; 12];

pub(super) type Table = HashMap<Key, Figures>;

/// Which of the figures of calls are seconds inside.
pub(super) const INSIDE: usize = 3;

/// Which of the figures of no call are the timer's interrupts.
pub(super) const TICKS: usize = 4;

/// Which are page faults by kind, known from slices alone, and which are all page faults, which the kernel counts at all times.
pub(super) const FAULTS_BY_KIND: std::ops::RangeInclusive<usize> = 8..=10;
pub(super) const FAULTS: usize = 11;

/// Whether calls of this key are counted by that number.
pub(super) fn is_of(key: &Key, number: u32) -> bool {
    key.is_some_and(|(of, _)| of.min(OTHERS) == number)
}

/// How many of a table are counted by that number, on each kind of file.
pub(super) fn kinds_of(table: &Table, number: u32) -> BTreeMap<Counted, f64> {
    let mut kinds = BTreeMap::new();
    for (key, figures) in table.iter().filter(|(key, _)| is_of(key, number)) {
        if let Some((number, file)) = key {
            *kinds.entry(Counted::Call(*number, file.kind)).or_default() += figures[0];
        }
    }
    kinds
}

/// How many of a table are counted by that number.
pub(super) fn made(table: &Table, number: u32) -> f64 {
    table.iter().filter(|(key, _)| is_of(key, number)).map(|(_, figures)| figures[0]).sum()
}

pub(super) fn add<'t>(
    table: &mut Table,
    other: impl IntoIterator<Item = (&'t Key, &'t Figures)>,
    times: f64,
) {
    for (key, figures) in other {
        let sum = table.entry(*key).or_default();
        for (sum, figure) in sum.iter_mut().zip(figures) {
            *sum += figure * times;
        }
    }
}

/// Figures of a thread of which all that is counted only in slices is known.
pub(super) fn figures(thread: &Thread) -> Table {
    let many = |count: Option<u64>| count.unwrap_or(0) as f64;
    let long = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
    let calls = thread.calls.iter().map(|calls| {
        let figures = [
            calls.count as f64,
            many(calls.failed),
            many(calls.results),
            long(calls.inside),
            long(calls.away),
            many(calls.slept),
            many(calls.woke_here),
            many(calls.woke_across),
            many(calls.woke_busy),
            0.0,
            0.0,
            0.0,
        ];
        (Some((calls.number, calls.file)), figures)
    });
    calls.chain([(None, figures_of_moments(&thread.moments))]).collect()
}

/// What of these figures is counted in slices alone.
pub(super) fn counted(key: &Key, figures: &Figures) -> Vec<(Counted, f64)> {
    let all = match key {
        Some((number, file)) => vec![
            (Counted::Call(*number, file.kind), figures[0]),
            (Counted::WakesHere, figures[6]),
            (Counted::WakesAcross, figures[7]),
            (Counted::WakesBusy, figures[8]),
        ],
        None => vec![
            (Counted::WokenHere, figures[0]),
            (Counted::WokenAcross, figures[1]),
            (Counted::FaultsInUser, figures[8]),
            (Counted::Signals, figures[2]),
            (Counted::Interrupts, figures[3]),
            (Counted::Ticks, figures[TICKS]),
            (Counted::Operations, figures[5]),
            (Counted::Exits, figures[6]),
        ],
    };
    all.into_iter().filter(|(_, count)| *count > 0.0).collect()
}

fn figures_of_moments(moments: &Moments) -> Figures {
    let many = |count: Option<u64>| count.unwrap_or(0) as f64;
    [
        many(moments.woken_here),
        many(moments.woken_across),
        many(moments.signals),
        many(moments.interrupts),
        many(moments.ticks),
        many(moments.operations),
        many(moments.exits),
        many(moments.migrations),
        many(moments.in_user),
        many(moments.reading),
        many(moments.copying),
        many(moments.minor) + many(moments.major),
    ]
}

/// A thread of these figures; what the kernel counts at all times is in none.
pub(super) fn thread(table: &Table) -> Thread {
    let many = |figure: f64| Some(figure.max(0.0).round() as u64);
    let long = |figure: f64| Some(Duration::from_secs_f64(figure.max(0.0)));
    let mut thread = Thread::default();
    for (key, figures) in table {
        let [a, b, c, d, e, f, g, h, i, j, k, _] = *figures;
        match key {
            Some((number, file)) => thread.calls.push(Calls {
                number: *number,
                file: *file,
                count: a.max(0.0).round() as u64,
                failed: many(b),
                results: many(c),
                inside: long(d),
                away: long(e),
                slept: many(f),
                woke_here: many(g),
                woke_across: many(h),
                woke_busy: many(i),
                // Those that were looked at stand for all.
                paths: None,
                paths_failed: None,
            }),
            None => {
                thread.moments = Moments {
                    woken_here: many(a),
                    woken_across: many(b),
                    signals: many(c),
                    interrupts: many(d),
                    ticks: many(e),
                    operations: many(f),
                    exits: many(g),
                    migrations: many(h),
                    in_user: many(i),
                    reading: many(j),
                    copying: many(k),
                    ..Moments::default()
                };
            }
        }
    }
    round_alike(&mut thread.calls, table);
    thread.calls.retain(|calls| calls.count > 0);
    thread.calls = thread.calls.into_iter().map(Calls::with_failures_among_them).collect();
    thread.calls.sort_by_key(|calls| (calls.number, calls.file));
    thread
}

/// Rounds how often each call was made so that the sum of each number is what it was: where that is known, it stays so.
fn round_alike(all: &mut [Calls], table: &Table) {
    let count = |calls: &Calls| {
        table.get(&Some((calls.number, calls.file))).map_or(0.0, |figures| figures[0].max(0.0))
    };
    let mut owed: BTreeMap<u32, f64> = BTreeMap::new();
    all.sort_by_key(|calls| (calls.number, calls.file));
    for calls in all.iter_mut() {
        let owed = owed.entry(calls.number).or_default();
        let exact = count(calls) + *owed;
        calls.count = exact.round() as u64;
        *owed = exact - calls.count as f64;
    }
}
