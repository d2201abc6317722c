//! Clock steps: where the clock of a trace was set back, as at the end of summer time, and by how much.
//!
//! Lines are written as things happen, in the order of one column. Where that column falls and goes on from there, the clock
//! was set back: times on one side say nothing of those on the other. Sorted instead, both sides would lie on top of each
//! other, at twice the rate and as if served by two servers. A line that is late by itself was only written late.

use std::ops::Range;

use super::column::Quantity;
use super::reader::Table;
use super::text::time;
use crate::{ModelError, Result};

/// So many lines in a row that are before one above them are of a clock that was set back, not late.
const STRONG: usize = 5;

/// Where times fall in more than one line of this number, and more than once, lines are merely out of order.
const LINES_A_FALL: usize = 20;
/// Of more steps than this each has to be a strong one.
const FEW_STEPS: usize = 8;

/// Sources of steps that have a name, in seconds.
const NAMED: [(f64, &str); 2] = [
    (3600.0, "an hour, as at the end of summer time"),
    (86_400.0, "a day, as of times without a date at midnight"),
];

/// A line from which on times are of a clock that was set back.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    /// Its row in the table, as it was read.
    pub(super) row: usize,
    /// By how many seconds it is before the latest line above it, which is what the clock went back by less the time that
    /// passed between the two lines.
    pub(super) back: f64,
    /// How many lines in a row are before the latest of those above.
    lines: usize,
}

/// Where a table's clock was set back; none where lines are in order, or out of order for other reasons.
#[derive(Debug, Default)]
pub(super) struct Steps(pub(super) Vec<Step>);

impl Steps {
    pub(super) fn of(table: &Table) -> Steps {
        let stamps = [Quantity::Arrival, Quantity::Start, Quantity::End, Quantity::Delivered];
        // Lines were written in the order of the column that falls least often.
        let falls = stamps.iter().filter_map(|of| table.times.get(of)).map(|times| falls(times));
        let mut steps = falls.min_by_key(Vec::len).unwrap_or_default();
        let rows = table.times.values().next().map_or(0, Vec::len);
        if steps.len() > (rows / LINES_A_FALL).max(1) {
            return Steps::default();
        }
        // A customer whose end is before its arrival, or one server that seems to be two once lines are sorted, tells a step
        // from lines that are late.
        let shows = !table.crossed.is_empty() || (alone(table, &steps) && !alone_when_sorted(table));
        if !shows || steps.len() > FEW_STEPS {
            steps.retain(|step| step.lines >= STRONG);
        }
        Steps(steps)
    }

    /// What to tell of a step: where, and by how much.
    pub(super) fn told(step: &Step, table: &Table) -> String {
        let typical = typical_gap(table);
        let by = match NAMED.iter().find(|(of, _)| (step.back..=step.back + 20.0 * typical).contains(of)) {
            Some((_, named)) => {
                format!("{} and the time that passed since the line above: {named}", time(step.back))
            }
            None => format!("{} and the time that passed since the line above", time(step.back)),
        };
        format!("line {}: the clock goes back there, by {by}", table.line(step.row))
    }

    /// The rows between steps, without those whose own times may be of both sides.
    pub(super) fn stretches(&self, table: &Table) -> Vec<Range<usize>> {
        let rows = table.times.values().next().map_or(0, Vec::len);
        let begins: Vec<usize> = std::iter::once(0).chain(self.0.iter().map(|step| step.row)).collect();
        let ends = begins.iter().skip(1).copied().chain([rows]);
        let lost = self.lost(table);
        begins.iter().zip(ends).flat_map(|(begin, end)| runs(*begin..end, &lost)).collect()
    }

    /// Rows of which some times are of one side and others of the other, or may be.
    fn lost(&self, table: &Table) -> Vec<usize> {
        let mut lost: Vec<usize> = table.crossed.iter().map(|(row, _)| *row).collect();
        let ends = table.times.get(&Quantity::End);
        let arrivals = table.times.get(&Quantity::Arrival);
        for Step { row, .. } in &self.0 {
            if let (Some(ends), Some(arrivals)) = (ends, arrivals) {
                // Who was there when the last line before the step was written may have been there when the clock was set.
                let last = arrivals[row - 1];
                let near = row.saturating_sub(1000)..*row;
                lost.extend(near.filter(|at| ends[*at] > last && arrivals[*at] <= last));
            }
            if table.times.contains_key(&Quantity::End) && !table.times.contains_key(&Quantity::Start) {
                // Nobody knows when the server was free for it.
                lost.push(*row);
            }
        }
        lost.sort_unstable();
        lost.dedup();
        lost
    }

    /// Rows whose own times are out of order are no error where the clock was set back near them by as much.
    ///
    /// # Errors
    /// On the first row that is one.
    pub(super) fn explain(&self, table: &mut Table) -> Result<()> {
        let near = |row: usize| self.0.iter().any(|step| row.abs_diff(step.row) <= 1000);
        match table.crossed.iter().position(|(row, _)| !near(*row)) {
            Some(first) => Err(table.crossed.swap_remove(first).1),
            None => Ok(()),
        }
    }

    /// The same as an error, for whoever cannot do without one clock.
    pub(super) fn refused(&self, table: &Table) -> Option<ModelError> {
        let step = self.0.first()?;
        let place = format!("line {}", table.line(step.row));
        let reason = format!(
            "the clock goes back there, by {} and the time that passed since the line above",
            time(step.back)
        );
        let remedy =
            "cut the trace there and use one part; where lines are only out of order, sort them by arrival";
        Some(ModelError::parameter(place, reason, remedy))
    }
}

/// Runs of consecutive rows that are not lost; `lost` rises.
fn runs(rows: Range<usize>, lost: &[usize]) -> Vec<Range<usize>> {
    let mut found = Vec::new();
    let mut begin = rows.start;
    for at in lost.iter().copied().filter(|at| rows.contains(at)).chain([rows.end]) {
        if begin < at {
            found.push(begin..at);
        }
        begin = at + 1;
    }
    found
}

/// Where times fall.
fn falls(times: &[f64]) -> Vec<Step> {
    let mut found = Vec::new();
    let mut latest = f64::NEG_INFINITY;
    for (row, at) in times.iter().enumerate() {
        if *at < latest {
            let lines = times[row..].iter().take(STRONG).take_while(|next| **next < latest).count();
            found.push(Step { row, back: latest - at, lines });
            // A line that is late by itself has the one after it go on where the one above was.
            latest = if lines == 1 && row + 1 < times.len() { latest } else { *at };
        } else {
            latest = *at;
        }
    }
    found
}

/// Whether one server that takes customers as they come has served all between steps.
fn alone(table: &Table, steps: &[Step]) -> bool {
    let mut begins = steps.iter().map(|step| step.row).peekable();
    one_server(table, 0..table.times.values().next().map_or(0, Vec::len), |row| {
        begins.next_if_eq(&row).is_some()
    })
}

/// Whether one server has served all, if lines are only out of order.
fn alone_when_sorted(table: &Table) -> bool {
    let Some(arrivals) = table.times.get(&Quantity::Arrival) else { return true };
    let mut order: Vec<usize> = (0..arrivals.len()).collect();
    order.sort_by(|a, b| arrivals[*a].total_cmp(&arrivals[*b]));
    one_server(table, order, |_| false)
}

/// Whether each customer's service begins after, or at least ends after, the end of the one before; `true` where there
/// are no ends.
fn one_server(
    table: &Table,
    order: impl IntoIterator<Item = usize>,
    mut anew: impl FnMut(usize) -> bool,
) -> bool {
    let Some(ends) = table.times.get(&Quantity::End) else { return true };
    let begins = table.times.get(&Quantity::Start).unwrap_or(ends);
    let mut free = f64::NEG_INFINITY;
    for row in order {
        if anew(row) {
            free = f64::NEG_INFINITY;
        }
        if begins[row] < free {
            return false;
        }
        free = ends[row];
    }
    true
}

/// The median of times between lines.
fn typical_gap(table: &Table) -> f64 {
    let stamps = [Quantity::Arrival, Quantity::Start, Quantity::End, Quantity::Delivered];
    let Some(times) = stamps.iter().find_map(|of| table.times.get(of)) else { return 0.0 };
    let mut gaps: Vec<f64> = times.windows(2).map(|pair| (pair[1] - pair[0]).max(0.0)).collect();
    let middle = gaps.len() / 2;
    if gaps.is_empty() { 0.0 } else { *gaps.select_nth_unstable_by(middle, f64::total_cmp).1 }
}
