//! A trace as the fitter uses it: what was seen, in order of arrival, and what follows from it.

use std::io::BufRead;
use std::ops::Range;

use super::clock_steps::Steps;
use super::column::{Quantity, Wanted};
use super::precision::Precision;
use super::reader::Table;
use super::series;
use crate::{ModelError, Result};

/// Columns that a fit knows.
const FITTED: Wanted = Wanted {
    quantities: &[
        Quantity::Arrival,
        Quantity::Start,
        Quantity::End,
        Quantity::Delivered,
        Quantity::Gap,
        Quantity::Service,
        Quantity::Wait,
        Quantity::Response,
        Quantity::Class,
    ],
    unnamed: &[Quantity::Arrival],
    otherwise: ", or name them: --columns arrival,end",
};

/// Times of one kind, in seconds, in order of arrival.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// The times.
    pub values: Vec<f64>,
    /// By how much a value may be off because readings are rounded, in seconds; 0 where that is not known.
    pub resolution: f64,
    /// What readings of one constant may differ by, in seconds.
    pub rounding: f64,
}

/// What was seen of customers, in order of arrival. All that is known is set; times are in seconds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Customers.
    pub customers: usize,
    /// How many customers each stretch has between which the clock was set back, in order; empty: all are of one clock.
    pub stretches: Vec<usize>,
    /// Gaps between arrivals; none between stretches.
    pub gaps: Option<Series>,
    /// Times of service.
    pub services: Option<Series>,
    /// Times between arrival and service.
    pub waits: Option<Series>,
    /// Times between arrival and end.
    pub responses: Option<Series>,
    /// Waits of those who found the one server idle: what it takes to wake it.
    pub setups: Option<Series>,
    /// When each completion came about and when it was told, in order of being told; the former where it is known.
    pub deliveries: Option<Deliveries>,
    /// The most customers that were in service at one time.
    pub servers_seen: Option<u32>,
    /// Names of classes and how many customers each has.
    pub classes: Vec<(String, u64)>,
    /// Stamps that services are differences of; `None` where services were written themselves.
    pub service_stamps: Option<Stamps>,
    /// The same of responses.
    pub response_stamps: Option<Stamps>,
    /// The same of waits.
    pub wait_stamps: Option<Stamps>,
    /// Whether the rounding of the same readings is in gaps and in services: it makes either depend on the other.
    pub is_rounding_shared: bool,
    /// What a reader of the figures should know about how they were come by.
    pub notes: Vec<String>,
}

/// How far differences of two stamps can be known.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Stamps {
    /// The unit of the coarser one, seconds.
    pub unit: f64,
    /// What read them.
    pub clocks: Clocks,
}

/// What read two stamps, which decides by how much rounding moves the mean of their differences.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Clocks {
    /// One clock: by nothing, since what rounding takes from one difference it adds to another.
    #[default]
    One,
    /// The later stamp was read, the earlier one is it less a time that was measured: by little while the unit is below them.
    Derived,
    /// Two clocks: by up to half the coarser unit.
    Unlike,
}

impl Stamps {
    /// Whether the mean of such differences, which read `mean`, cannot be known.
    pub(super) fn hide(self, mean: f64) -> bool {
        let largest_share = match self.clocks {
            Clocks::One => 1.0,
            Clocks::Derived => series::COARSE,
            Clocks::Unlike => 0.1,
        };
        self.unit > largest_share * mean * (1.0 + 1e-9)
    }

    /// Whether a test by the mean of these differences, as many as `values` and `mean` as they read, may reject for the rounding alone.
    pub(super) fn mislead(self, mean: f64, values: usize) -> bool {
        self.clocks != Clocks::One && 0.5 * self.unit * (values as f64).sqrt() > series::SHARED * mean
    }
}

/// When completions were told.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Deliveries {
    /// When each was told, seconds, rising.
    pub told: Vec<f64>,
    /// When each came about, seconds, in the same order.
    pub completed: Option<Vec<f64>>,
    /// What the clock tells apart, seconds.
    pub resolution: f64,
}

impl Series {
    /// Of times that are known so exactly.
    pub(super) fn known(values: Vec<f64>, precision: Precision) -> Series {
        Series { values, resolution: precision.resolution(), rounding: precision.rounding() }
    }

    /// One time after the other.
    fn and_then(&self, next: &Series) -> Series {
        let values = self.values.iter().zip(&next.values).map(|(first, second)| first + second).collect();
        Series {
            values,
            resolution: self.resolution.max(next.resolution),
            rounding: self.rounding + next.rounding,
        }
    }
}

impl Trace {
    /// Reads a trace. `columns` names them (`arrival_us,end_us`) where the file has no header.
    ///
    /// # Errors
    /// On a line or column that cannot be used, with its place and what to do; on fewer than two lines.
    pub fn read(input: impl BufRead, columns: Option<&str>) -> Result<Trace> {
        Trace::of(Table::read(input, &FITTED, columns)?)
    }

    /// From what was read.
    fn of(mut table: Table) -> Result<Trace> {
        let customers = table.times.values().next().map_or(0, Vec::len);
        if customers < 2 {
            if let Some((_, crossed)) = table.crossed.pop() {
                return Err(crossed);
            }
            return Err(ModelError::parameter(
                "trace",
                format!(
                    "it has {}",
                    if customers == 0 { "a header but no customer" } else { "one customer" }
                ),
                "give two at least; intervals want hundreds",
            ));
        }
        let mut notes = Vec::new();
        if !table.unknown.is_empty() {
            notes.push(format!("not used: column {}", table.unknown.join(", ")));
        }
        if table.guessed {
            if !table.is_in_order() && Steps::of(&table).0.is_empty() {
                return Err(ModelError::parameter(
                    "trace",
                    "its numbers have no name, and are not in order as arrivals would be",
                    "say what they are: --columns gap, --columns service or --columns response",
                ));
            }
            notes.push("numbers without a name, in order: taken for arrivals, in seconds".into());
        }
        let stretches = one_clock(&mut table, &mut notes)?;
        let derived = table.derive_arrivals(&mut notes);
        let all = 0..table.times.values().next().map_or(0, Vec::len);
        if stretches.len() < 2 && !table.is_in_order() {
            notes.push("lines were not in order of arrival; they were sorted".into());
        }
        for stretch in &stretches {
            table.sort(stretch.clone());
        }
        let mut trace = Trace { customers, notes, ..Trace::default() };
        trace.classes = classes(&table);
        trace.gaps = table.series(Quantity::Gap).or_else(|| table.gaps(&stretches));
        trace.waits =
            table.series(Quantity::Wait).or_else(|| table.between(Quantity::Arrival, Quantity::Start));
        trace.responses =
            table.series(Quantity::Response).or_else(|| table.between(Quantity::Arrival, Quantity::End));
        trace.services =
            table.series(Quantity::Service).or_else(|| table.between(Quantity::Start, Quantity::End));
        if let (None, Some(waits), Some(services)) = (&trace.responses, &trace.waits, &trace.services) {
            trace.responses = Some(waits.and_then(services));
        }
        if trace.services.is_none() {
            trace.services = table.services_in_turn(&stretches, derived, &mut trace.notes);
            if trace.services.is_some() {
                let between = || table.stamps(Quantity::Arrival, Quantity::End);
                let rebuilt = derived.map(|unit| Stamps { unit, clocks: Clocks::Derived });
                trace.service_stamps = rebuilt.or_else(between);
            }
        } else if !table.times.contains_key(&Quantity::Service) {
            trace.service_stamps = table.stamps(Quantity::Start, Quantity::End);
        }
        let are_written = |of: Quantity| table.times.contains_key(&of);
        if !are_written(Quantity::Wait) {
            trace.wait_stamps = table.stamps(Quantity::Arrival, Quantity::Start);
        }
        if !are_written(Quantity::Response) {
            let whole = table.stamps(Quantity::Arrival, Quantity::End);
            trace.response_stamps = whole.or(trace.wait_stamps);
        }
        trace.is_rounding_shared =
            !are_written(Quantity::Gap) && (trace.service_stamps.is_some() || derived.is_some());
        if let (Some(starts), Some(ends)) =
            (table.times.get(&Quantity::Start), table.times.get(&Quantity::End))
        {
            let at_once = |rows: &Range<usize>| most_at_once(&starts[rows.clone()], &ends[rows.clone()]);
            trace.servers_seen = stretches.iter().map(at_once).max();
        }
        trace.setups = table.setups(&stretches).filter(|_| trace.servers_seen == Some(1));
        // Whoever tells of completions counts and waits across all of them: one stretch has to do.
        let longest = stretches.iter().max_by_key(|rows| rows.len()).cloned();
        trace.deliveries = table.deliveries(longest.unwrap_or(all));
        if stretches.len() > 1 {
            trace.stretches = stretches.iter().map(|rows| rows.len()).collect();
        }
        Ok(trace)
    }

    /// From times that somebody has already: gaps and services in order of arrival, of which either may be missing.
    pub fn from_series(gaps: Option<Vec<f64>>, services: Option<Vec<f64>>) -> Trace {
        let series = |values| Series { values, resolution: 0.0, rounding: 0.0 };
        let customers = gaps.as_ref().or(services.as_ref()).map_or(0, Vec::len);
        Trace { customers, gaps: gaps.map(series), services: services.map(series), ..Trace::default() }
    }
}

/// The rows of each stretch between which the clock was set back, in the order in which they were read; one stretch where it
/// was not. Rows whose own times are of both sides are left out.
///
/// # Errors
/// On a row whose own times are out of order for another reason.
fn one_clock(table: &mut Table, notes: &mut Vec<String>) -> Result<Vec<Range<usize>>> {
    let rows = |table: &Table| table.times.values().next().map_or(0, Vec::len);
    let steps = Steps::of(table);
    steps.explain(table)?;
    if steps.0.is_empty() {
        let whole = 0..rows(table);
        return Ok(vec![whole]);
    }
    notes.extend(steps.0.iter().map(|step| Steps::told(step, table)));
    let stretches = steps.stretches(table);
    let kept: Vec<usize> = stretches.iter().flat_map(Clone::clone).collect();
    let lost = rows(table) - kept.len();
    table.take(&kept);
    let each = "no gap, rate or number of servers is across; where lines are only out of order, sort them by arrival";
    notes.push(match lost {
        0 => each.into(),
        1 => format!("one line that may have times of both sides is left out; {each}"),
        lost => format!("{lost} lines that may have times of both sides are left out; {each}"),
    });
    let mut begin = 0;
    let moved = stretches.iter().map(|rows| {
        let rows = begin..begin + rows.len();
        begin = rows.end;
        rows
    });
    Ok(moved.collect())
}

impl Table {
    /// Arrivals where only what came of them is known: a server that logs when it has answered writes its ends and responses.
    /// Returns the unit of the coarsest clock that they were derived from.
    fn derive_arrivals(&mut self, notes: &mut Vec<String>) -> Option<f64> {
        if self.times.contains_key(&Quantity::Arrival) || self.times.contains_key(&Quantity::Gap) {
            return None;
        }
        let known = |of: &Quantity| self.times.contains_key(of);
        let ways: [(Quantity, &[Quantity]); 3] = [
            (Quantity::End, &[Quantity::Response]),
            (Quantity::Start, &[Quantity::Wait]),
            (Quantity::End, &[Quantity::Wait, Quantity::Service]),
        ];
        let (of, less) = ways.iter().find(|(of, less)| known(of) && less.iter().all(known))?;
        let mut unit = self.stamp_unit(*of);
        let mut arrivals = self.times[of].clone();
        let mut precision = self.precision[of];
        if unit > precision.resolution() {
            precision.blur = unit;
        }
        for took in *less {
            for (arrival, took) in arrivals.iter_mut().zip(&self.times[took]) {
                *arrival -= took;
            }
            let other = self.precision[took];
            unit = unit.max(other.resolution());
            // By the finer digits, but off by as much as the coarser: it is no clock's reading any more.
            precision = Precision {
                written: precision.written.min(other.written),
                blur: precision.blur.max(other.blur).max(precision.written.max(other.written)),
            };
        }
        let names: Vec<&str> = less.iter().map(|of| of.name()).collect();
        notes.push(format!("arrivals are {} less {}", of.name(), names.join(" and ")));
        self.times.insert(Quantity::Arrival, arrivals);
        self.precision.insert(Quantity::Arrival, precision);
        Some(unit)
    }

    /// The unit of the clock that a column of stamps was read by.
    ///
    /// Ends that fall together on multiples of more than their last digit were read by a clock of that. Arrivals that do
    /// may have been sent so, by a timer: of them, and of starts, only the last digit is taken.
    fn stamp_unit(&self, of: Quantity) -> f64 {
        let times = &self.times[&of];
        let resolution = self.precision[&of].resolution();
        let first = times.iter().copied().fold(f64::INFINITY, f64::min);
        let ascending = series::thinned(&times.iter().map(|time| time - first).collect::<Vec<f64>>());
        match of {
            Quantity::End => series::unit(&ascending, resolution),
            // Where hardly any two fall together, zeros may have been left off: `1`, `2` beside ends of `1.25`, `2.5`.
            _ if !series::are_tied(&ascending) => 0.0,
            _ => resolution,
        }
    }

    /// How far differences of these two are known; `None` where either is missing.
    fn stamps(&self, from: Quantity, to: Quantity) -> Option<Stamps> {
        if ![from, to].iter().all(|of| self.times.contains_key(of)) {
            return None;
        }
        let (first, last) = (self.stamp_unit(from), self.stamp_unit(to));
        let unit = first.max(last);
        let are_multiples = |of: Quantity| {
            let times = &self.times[&of];
            let is_multiple = |units: f64| (units - units.round()).abs() <= 1e-3;
            times.iter().all(|time| is_multiple((time - times[0]) / unit))
        };
        let is_one = unit == 0.0 || (are_multiples(from) && are_multiples(to));
        Some(Stamps { unit, clocks: if is_one { Clocks::One } else { Clocks::Unlike } })
    }

    fn series(&self, of: Quantity) -> Option<Series> {
        let values = self.times.get(&of)?.clone();
        Some(Series::known(values, self.precision[&of]))
    }

    /// How exactly differences between two columns are known: by the finer of their last digits, but to no less than what
    /// readings are kept to (a femtosecond) and floating point rounds the largest of them to.
    fn precision_between(&self, from: Quantity, to: Quantity) -> Precision {
        let (from_it, to_it) = (self.precision[&from], self.precision[&to]);
        let largest =
            [from, to].iter().flat_map(|of| &self.times[of]).fold(0.0_f64, |most, x| most.max(x.abs()));
        Precision {
            written: from_it.written.min(to_it.written).max(1e-15).max(largest * f64::EPSILON),
            blur: from_it.blur.max(to_it.blur),
        }
    }

    fn between(&self, from: Quantity, to: Quantity) -> Option<Series> {
        let (begun, ended) = (self.times.get(&from)?, self.times.get(&to)?);
        let precision = self.precision_between(from, to);
        let values = begun.iter().zip(ended).map(|(b, e)| rounded(e - b, precision)).collect();
        Some(Series::known(values, precision))
    }

    fn gaps(&self, stretches: &[Range<usize>]) -> Option<Series> {
        let arrivals = self.times.get(&Quantity::Arrival)?;
        let precision = self.precision_between(Quantity::Arrival, Quantity::Arrival);
        let pairs = stretches.iter().flat_map(|rows| arrivals[rows.clone()].windows(2));
        let values = pairs.map(|pair| rounded(pair[1] - pair[0], precision)).collect();
        Some(Series::known(values, precision))
    }

    /// Services where only arrivals and ends are known: those of one server that takes customers as they come.
    fn services_in_turn(
        &self,
        stretches: &[Range<usize>],
        derived: Option<f64>,
        notes: &mut Vec<String>,
    ) -> Option<Series> {
        let arrivals = self.times.get(&Quantity::Arrival)?;
        let ends = self.times.get(&Quantity::End)?;
        let mut ends = ends.clone();
        if let Some(unit) = derived {
            // Two roundings may put arrivals in the wrong order. If nobody was overtaken by more than these,
            // nobody was: then ends in order belong to arrivals in order.
            for rows in stretches {
                if !overtake(&arrivals[rows.clone()], &ends[rows.clone()], 2.0 * unit) {
                    ends[rows.clone()].sort_unstable_by(f64::total_cmp);
                }
            }
        }
        if !stretches.iter().all(|rows| ends[rows.clone()].is_sorted()) {
            notes.push(
                "no service times: customers overtake each other, and `start` is not in the trace".into(),
            );
            return None;
        }
        notes.push(
            "service times are those of one server, first come first served: `start` is not in the trace"
                .into(),
        );
        let mut precision = self.precision_between(Quantity::Arrival, Quantity::End);
        let unlike = self.stamps(Quantity::Arrival, Quantity::End).filter(|s| s.clocks == Clocks::Unlike);
        if let Some(stamps) = unlike.filter(|s| derived.is_none() && s.unit > precision.resolution()) {
            precision.blur = stamps.unit;
        }
        let mut values = Vec::with_capacity(ends.len());
        for rows in stretches {
            let mut free = f64::NEG_INFINITY;
            for (arrival, end) in arrivals[rows.clone()].iter().zip(&ends[rows.clone()]) {
                // An arrival that is off by a unit may be after its end.
                values.push(rounded(end - arrival.max(free), precision).max(0.0));
                free = *end;
            }
        }
        Some(Series::known(values, precision))
    }

    /// Waits of those who found nobody before them; `None` where none of them waited.
    fn setups(&self, stretches: &[Range<usize>]) -> Option<Series> {
        let [arrivals, starts, ends] =
            [Quantity::Arrival, Quantity::Start, Quantity::End].map(|of| self.times.get(&of));
        let (arrivals, starts, ends) = (arrivals?, starts?, ends?);
        let precision = self.precision_between(Quantity::Arrival, Quantity::Start);
        let mut values = Vec::new();
        for rows in stretches {
            // Whom the first of a stretch found that is not the trace's first, nobody knows.
            let mut free = if rows.start == 0 { f64::NEG_INFINITY } else { f64::INFINITY };
            for at in rows.clone() {
                // Who came at the reading of an end may have come before it, and waited for that.
                if arrivals[at] > free {
                    values.push(rounded(starts[at] - arrivals[at], precision));
                }
                free = if free == f64::INFINITY { ends[at] } else { free.max(ends[at]) };
            }
        }
        let any = values.iter().any(|wait| *wait > precision.resolution());
        any.then(|| Series::known(values, precision))
    }

    fn deliveries(&self, rows: Range<usize>) -> Option<Deliveries> {
        let told = self.times.get(&Quantity::Delivered)?;
        let ends = self.times.get(&Quantity::End);
        let mut order: Vec<usize> = rows.collect();
        order.sort_by(|a, b| {
            let by_end = ends.map_or(std::cmp::Ordering::Equal, |e| e[*a].total_cmp(&e[*b]));
            told[*a].total_cmp(&told[*b]).then(by_end)
        });
        Some(Deliveries {
            told: order.iter().map(|i| told[*i]).collect(),
            completed: ends.map(|ends| order.iter().map(|i| ends[*i]).collect()),
            resolution: self.precision[&Quantity::Delivered].resolution(),
        })
    }
}

/// A difference of two readings without the dust of floating point: a whole number of units of the clock.
fn rounded(difference: f64, precision: Precision) -> f64 {
    let units = (1.0 / precision.written).round();
    match precision.written {
        // A whole number over a power of ten has no dust of its own.
        r if r < 1.0 => (difference * units).round() / units,
        r => (difference / r).round() * r,
    }
}

/// Whether somebody came after another, by more than `unit`, and left before.
fn overtake(arrivals: &[f64], ends: &[f64], unit: f64) -> bool {
    let (mut before, mut latest) = (0, f64::NEG_INFINITY);
    arrivals.iter().zip(ends).any(|(arrival, end)| {
        while arrivals[before] < arrival - unit {
            latest = latest.max(ends[before]);
            before += 1;
        }
        *end < latest
    })
}

fn classes(table: &Table) -> Vec<(String, u64)> {
    let mut counts = vec![0_u64; table.class_names.len()];
    for class in &table.classes {
        counts[usize::from(*class)] += 1;
    }
    table.class_names.iter().cloned().zip(counts).collect()
}

/// The most services that were going on at one time; one that begins when another ends takes its place.
fn most_at_once(starts: &[f64], ends: &[f64]) -> u32 {
    let (mut starts, mut ends) = (starts.to_vec(), ends.to_vec());
    starts.sort_unstable_by(f64::total_cmp);
    ends.sort_unstable_by(f64::total_cmp);
    let (mut ended, mut most) = (0, 1);
    for (begun, start) in starts.iter().enumerate() {
        while ended < begun && ends[ended] <= *start {
            ended += 1;
        }
        most = most.max(begun + 1 - ended);
    }
    most as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace> {
        Trace::read(text.as_bytes(), None)
    }

    #[test]
    fn all_that_follows_from_three_readings_of_a_clock() {
        let trace = read("arrival_us,start_us,end_us,class\n0,0,5,a\n2,5,8,b\n10,10,12,a\n").unwrap();
        let us = |series: &Option<Series>| {
            let values = &series.as_ref().unwrap().values;
            values.iter().map(|v| (v * 1e9).round() / 1e3).collect::<Vec<f64>>()
        };
        assert_eq!(us(&trace.gaps), [2.0, 8.0]);
        assert_eq!(us(&trace.services), [5.0, 3.0, 2.0]);
        assert_eq!(us(&trace.waits), [0.0, 3.0, 0.0]);
        assert_eq!(us(&trace.responses), [5.0, 6.0, 2.0]);
        assert_eq!(trace.setups, None);
        let parts = read("gap_us,wait_us,service_us\n0,0,5\n2,3,3\n8,0,2\n").unwrap();
        assert_eq!(us(&parts.responses), [5.0, 6.0, 2.0]);
        let woken = read("arrival_us,start_us,end_us\n0,1,5\n2,5,8\n8,8,9\n10,13,15\n").unwrap();
        // The third came as the second left, by this clock: whether it found the server idle nobody knows.
        assert_eq!(us(&woken.setups), [1.0, 3.0]);
        assert_eq!(trace.servers_seen, Some(1));
        assert_eq!(trace.classes, [("a".to_owned(), 2), ("b".to_owned(), 1)]);
        assert_eq!(trace.services.unwrap().resolution, 1e-6);
    }

    #[test]
    fn without_starts_one_server_serves_in_turn() {
        let trace = read("arrival;end\n0;5\n2;8\n10;12\n").unwrap();
        assert_eq!(trace.services.unwrap().values, [5.0, 3.0, 2.0]);
        assert!(trace.notes.iter().any(|n| n.contains("first come first served")));
        let overtaking = read("arrival,end\n0,9\n2,8\n10,12\n").unwrap();
        assert_eq!(overtaking.services, None);
    }

    #[test]
    fn nanoseconds_since_1970_keep_their_last_digit() {
        let trace = read(
            "arrival_ns,colour\n1700000000000000001,red\n1700000000000000004,red\n1700000000000000011,blue",
        )
        .unwrap();
        let gaps = trace.gaps.unwrap();
        assert!((gaps.values[0] - 3e-9).abs() < 1e-20 && (gaps.values[1] - 7e-9).abs() < 1e-20);
        assert_eq!(trace.notes, ["not used: column colour"]);
    }

    #[test]
    fn lines_out_of_order_are_sorted_with_all_that_belongs_to_them() {
        let trace = read("arrival,service\n3,30\n1,10\n2,20\n").unwrap();
        assert_eq!(trace.gaps.unwrap().values, [1.0, 1.0]);
        assert_eq!(trace.services.unwrap().values, [10.0, 20.0, 30.0]);
    }

    #[test]
    fn plain_numbers_are_arrivals_if_they_rise_and_else_want_a_name() {
        let trace = read("# seconds\n0.5\n\n1.5\n1.75\n").unwrap();
        assert_eq!(trace.gaps.unwrap().values, [1.0, 0.25]);
        let told = read("3\n1\n2\n").unwrap_err().to_string();
        assert!(told.contains("--columns service"), "{told}");
        let named = Trace::read("3\n1\n2\n".as_bytes(), Some("service_ms")).unwrap();
        assert_eq!(named.services.unwrap().values, [0.003, 0.001, 0.002]);
    }

    #[test]
    fn what_cannot_be_used_names_its_place_and_the_remedy() {
        for (text, place) in [
            ("", "trace: it is empty"),
            ("\n# nothing\n\n", "trace: it is empty"),
            ("arrival\n", "trace: it has a header but no customer"),
            ("arrival\n5\n", "trace: it has one customer"),
            ("colour,shape\nred,round\n", "header: `colour,shape` has no column that is known"),
            ("class\na\nb\n", "header: "),
            ("arrival,arrived\n1,1\n", "header: two columns are the arrival"),
            ("1,2\n3,4\n", "line 1: its 2 columns have no names"),
            ("arrival\n1\nx\n", "line 3, column arrival: `x` is no number"),
            ("arrival\n1\n\nNaN\n", "line 4, column arrival: `NaN` is no number"),
            ("arrival,end\n1,\n", "line 2, column end: it is empty"),
            ("arrival,end\n1\n", "line 2: it has 1 column instead of 2"),
            ("arrival,end\n2,1\n", "line 2, column end: it is before arrival"),
            ("arrival,start,end\n1,2,3\n1,2,1\n", "line 3, column end: it is before start"),
            ("gap\n1\n-1\n", "line 3, column gap: `-1` is negative"),
            ("arrival\n1e300\n", "line 2, column arrival: `1e300` is no number"),
        ] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.starts_with(place), "{text:?}: {told}");
        }
        let told = Trace::read(&b"arrival\n1\n\xff\n"[..], None).unwrap_err().to_string();
        assert!(told.starts_with("line 3: it is no UTF-8"), "{told}");
        let told = Trace::read(&b"1\n2\n"[..], Some("colour")).unwrap_err().to_string();
        assert!(told.starts_with("columns: `colour` is not known"), "{told}");
    }

    #[test]
    fn services_at_one_time() {
        assert_eq!(most_at_once(&[0.0, 1.0, 2.0], &[1.0, 2.0, 3.0]), 1);
        assert_eq!(most_at_once(&[0.0, 0.5, 0.6], &[5.0, 1.0, 0.9]), 3);
    }
}
