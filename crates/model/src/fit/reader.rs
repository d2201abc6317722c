//! Reads a trace: CSV with a header, or plain numbers, one customer a line, in one pass and with bounded memory. Whoever reads
//! says what of it is wanted: [`Trace`](super::Trace) what can be fitted, [`Requests`](super::Requests) what can be played again.
//!
//! Each line is read once; of what is wanted 8 bytes a customer are kept for each column of times, 4 for its bytes and 2 for
//! its class. Readings of a clock are read exactly, in femtoseconds since the first of them, so that nanoseconds since 1970
//! keep their last digit.

use std::collections::HashMap;
use std::io::{BufRead, Read};
use std::ops::Range;

use super::column::{Column, FEMTOSECONDS, Number, Quantity, Wanted, femtoseconds};
use super::moment::moment;
use super::precision::{Precision, Seen};
use super::text::time;
use crate::{ModelError, Result};

/// More classes than this are no classes.
const MOST_CLASSES: usize = 1000;

/// The longest line, in bytes: a file that is no trace is not read into memory whole.
const LONGEST: u64 = 1 << 16;

/// What some programs write before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// The same of text in 16 bits a character, either half first.
const MARKS_OF_UTF_16: [&[u8]; 2] = [b"\xFF\xFE", b"\xFE\xFF"];

/// Lines with times out of order that are kept in mind, since the clock may have been set back in the midst of them; more of
/// them, and times are of several clocks.
const MOST_CROSSED: usize = 64;

/// The columns as they were read, in the order of lines.
#[derive(Default)]
pub(super) struct Table {
    /// Times in seconds: durations, or since the first reading of any clock.
    pub(super) times: HashMap<Quantity, Vec<f64>>,
    /// How exactly each is known.
    pub(super) precision: HashMap<Quantity, Precision>,
    /// The class of each line, by its place among the names.
    pub(super) classes: Vec<u16>,
    /// Names of classes, in the order of their first line.
    pub(super) class_names: Vec<String>,
    /// The bytes of each line; empty where there is no such column.
    pub(super) bytes: Vec<u32>,
    /// Columns that are not used.
    pub(super) unknown: Vec<String>,
    /// Whether columns have no names, so that the first was taken for arrivals.
    pub(super) guessed: bool,
    /// Rows whose times are out of order, with what to say of them: an error, unless the clock was set back meanwhile.
    pub(super) crossed: Vec<(usize, ModelError)>,
    /// Lines of the rows from which on these are not one after the other.
    lines: Vec<(usize, u64)>,
}

impl Table {
    /// Reads what is wanted. `columns` names them (`arrival_us,end_us`) where the file has no header.
    ///
    /// # Errors
    /// On a line or column that cannot be used, with its place and what to do.
    pub(super) fn read(input: impl BufRead, wanted: &Wanted, columns: Option<&str>) -> Result<Table> {
        let mut lines = Lines { input, bytes: Vec::new(), number: 0 };
        let Some((number, first)) = lines.next()? else {
            return Err(ModelError::parameter("trace", "it is empty", "give a line for each customer"));
        };
        let separator = separator_of(first);
        let mut rows = Rows::new(first, separator, wanted, columns)?;
        if !rows.first_was_header {
            rows.add(first, number)?;
        }
        while let Some((number, line)) = lines.next()? {
            rows.add(line, number)?;
        }
        rows.finish()
    }

    /// The line of a row, as it was read.
    pub(super) fn line(&self, row: usize) -> u64 {
        let place = self.lines.partition_point(|(first, _)| *first <= row);
        self.lines[..place].last().map_or(0, |(first, line)| line + (row - first) as u64)
    }

    /// Whether lines are in the order of arrivals, as far as it is known when these were.
    pub(super) fn is_in_order(&self) -> bool {
        self.times.get(&Quantity::Arrival).is_none_or(|arrivals| arrivals.is_sorted())
    }

    /// Puts times and bytes of these rows into the order of arrivals. (Classes are counted only.)
    pub(super) fn sort(&mut self, rows: Range<usize>) {
        let Some(arrivals) = self.times.get(&Quantity::Arrival) else { return };
        if arrivals[rows.clone()].is_sorted() {
            return;
        }
        let mut order: Vec<usize> = (0..arrivals.len()).collect();
        order[rows].sort_by(|a, b| arrivals[*a].total_cmp(&arrivals[*b]));
        self.take(&order);
    }

    /// These rows, in this order.
    pub(super) fn take(&mut self, order: &[usize]) {
        for values in self.times.values_mut() {
            *values = order.iter().map(|i| values[*i]).collect();
        }
        if !self.bytes.is_empty() {
            self.bytes = order.iter().map(|i| self.bytes[*i]).collect();
        }
    }
}

/// What stands between the columns of a line: the first of these that there is, but for commas between digits where each
/// column by another is a number with its comma.
fn separator_of(line: &str) -> char {
    let is_number = |field: &str| is_time(field) || with_point(field).is_some();
    let commas_are_decimal =
        [';', '\t'].into_iter().find(|other| line.contains(*other) && fields(line, *other).all(is_number));
    commas_are_decimal
        .unwrap_or_else(|| [',', ';', '\t'].into_iter().find(|s| line.contains(*s)).unwrap_or(','))
}

/// Lines that are neither blank nor a comment, with their numbers.
struct Lines<R> {
    input: R,
    bytes: Vec<u8>,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<(u64, &str)>> {
        loop {
            self.bytes.clear();
            self.number += 1;
            let bad = |reason: String| {
                let remedy = "give text in UTF-8: CSV, or one number a line";
                ModelError::parameter(format!("line {}", self.number), reason, remedy)
            };
            let read = self.input.by_ref().take(LONGEST).read_until(b'\n', &mut self.bytes);
            match read.map_err(|error| bad(error.to_string()))? as u64 {
                0 => return Ok(None),
                LONGEST => return Err(bad(format!("it is longer than {LONGEST} bytes"))),
                _ => {}
            }
            let begin = if self.number == 1 && self.bytes.starts_with(BYTE_ORDER_MARK) {
                BYTE_ORDER_MARK.len()
            } else {
                0
            };
            let text = self.bytes[begin..].trim_ascii();
            if text.is_empty() || text[0] == b'#' {
                continue;
            }
            if MARKS_OF_UTF_16.iter().any(|mark| self.number == 1 && text.starts_with(mark)) {
                return Err(bad("it is UTF-16, by the byte-order mark that it begins with".into()));
            }
            if str::from_utf8(text).is_err() {
                return Err(bad("it is no UTF-8".into()));
            }
            break;
        }
        let is_marked = self.number == 1 && self.bytes.starts_with(BYTE_ORDER_MARK);
        let bytes = &self.bytes[if is_marked { BYTE_ORDER_MARK.len() } else { 0 }..];
        Ok(str::from_utf8(bytes).ok().map(|line| (self.number, line.trim())))
    }
}

/// The fields of a line. Quotes may stand around one that has no separator in it.
fn fields(line: &str, separator: char) -> impl Iterator<Item = &str> {
    line.split(separator).map(|field| {
        let field = field.trim();
        field.strip_prefix('"').and_then(|f| f.strip_suffix('"')).unwrap_or(field).trim()
    })
}

/// Lines as they come in.
struct Rows {
    /// What to do with each column; `None`: nothing.
    columns: Vec<Option<Column>>,
    names: Vec<String>,
    separator: char,
    first_was_header: bool,
    table: Table,
    /// In the order of `columns`; empty where nothing is kept.
    values: Vec<Vec<f64>>,
    /// Digits of each.
    seen: Vec<Option<Seen>>,
    origin: Option<i128>,
    class_places: HashMap<String, u16>,
    /// The line's times in femtoseconds, by column.
    row: Vec<i128>,
    /// Rows so far.
    rows: usize,
    /// Columns of readings of a clock, in the order in which they must rise.
    rising: Vec<usize>,
}

impl Rows {
    fn new(first: &str, separator: char, wanted: &Wanted, columns: Option<&str>) -> Result<Rows> {
        let first: Vec<&str> = fields(first, separator).collect();
        // `nan` is no name of a column, and what it stands for no time: the line is refused as any other.
        let is_number = |field: &str| is_time(field) || is_not_finite(field) || with_point(field).is_some();
        let first_was_header = !first.iter().any(|field| is_number(field));
        let mut guessed = false;
        let names: Vec<String> = match columns {
            Some(columns) => columns.split(',').map(|name| name.trim().to_owned()).collect(),
            None if first_was_header => first.iter().map(|name| (*name).to_owned()).collect(),
            None if first.len() <= wanted.unnamed.len() => {
                guessed = true;
                wanted.unnamed[..first.len()].iter().map(|quantity| quantity.name().into()).collect()
            }
            None => {
                return Err(ModelError::parameter(
                    "line 1",
                    format!("its {} columns have no names", first.len()),
                    format!("put a header before it{}", wanted.otherwise),
                ));
            }
        };
        let found: Vec<Option<Column>> = match columns {
            Some(_) => names.iter().map(|name| wanted.expected(name).map(Some)).collect::<Result<_>>()?,
            None => names.iter().map(|name| wanted.column(name)).collect(),
        };
        let holds: Vec<Quantity> = found.iter().flatten().map(|c| c.holds).collect();
        if let Some(twice) = holds.iter().enumerate().find(|(i, q)| holds[..*i].contains(q)) {
            let reason = format!("two columns are the {}", twice.1.name());
            let remedy = format!("leave one out{}", wanted.otherwise);
            return Err(ModelError::parameter("header", reason, remedy));
        }
        if !holds.iter().any(|q| q.is_time()) {
            return Err(ModelError::parameter(
                "header",
                format!("`{}` has no column that is known", names.join(",")),
                format!("name columns {}; a unit may follow, as in arrival_us", wanted.names()),
            ));
        }
        let unknown = names.iter().zip(&found).filter(|(_, f)| f.is_none()).map(|(n, _)| n.clone()).collect();
        let place = |holds| found.iter().position(|c| c.is_some_and(|c| c.holds == holds));
        let rising = [Quantity::Arrival, Quantity::Start, Quantity::End, Quantity::Delivered];
        Ok(Rows {
            rising: rising.into_iter().filter_map(place).collect(),
            values: vec![Vec::new(); found.len()],
            seen: found.iter().map(|column| column.as_ref().map(Seen::of)).collect(),
            row: vec![0; found.len()],
            rows: 0,
            columns: found,
            names,
            separator,
            first_was_header,
            table: Table { unknown, guessed, ..Table::default() },
            origin: None,
            class_places: HashMap::new(),
        })
    }

    fn add(&mut self, text: &str, line: u64) -> Result<()> {
        let found = fields(text, self.separator).count();
        if found != self.columns.len() {
            return Err(self.bad_count(found, line));
        }
        let expected = self.table.lines.last().map_or(0, |(first, begun)| begun + (self.rows - first) as u64);
        if line != expected {
            self.table.lines.push((self.rows, line));
        }
        for (at, field) in fields(text, self.separator).enumerate() {
            let Some(column) = self.columns[at] else { continue };
            match column.holds {
                Quantity::Class => self.class(field, line)?,
                Quantity::Bytes => self.bytes(at, field, line)?,
                _ => self.time(at, column, field, line)?,
            }
        }
        self.check_order(line)?;
        self.rows += 1;
        Ok(())
    }

    fn bad_count(&self, found: usize, line: u64) -> ModelError {
        let wanted = self.columns.len();
        let columns = if found == 1 { "column" } else { "columns" };
        let reason = format!("it has {found} {columns} instead of {wanted}");
        // One more for each number, at the most.
        let remedy = if self.separator == ',' && (wanted + 1..=2 * wanted).contains(&found) {
            "mend the line or take it out; where its numbers have decimal commas, write points (0.5), or put ; between the columns"
        } else {
            "mend the line or take it out"
        };
        ModelError::parameter(format!("line {line}"), reason, remedy)
    }

    fn time(&mut self, at: usize, column: Column, field: &str, line: u64) -> Result<()> {
        let number = self.number(at, column, field, line)?;
        let value = number.femtoseconds;
        if value < 0 && !column.holds.is_stamp() {
            let reason = format!("`{field}` is negative");
            return Err(self.bad(at, line, (reason, "a time that something takes is 0 or above".into())));
        }
        self.row[at] = value;
        if let Some(seen) = &mut self.seen[at] {
            seen.add(field, &number);
        }
        let from = if column.holds.is_stamp() { *self.origin.get_or_insert(value) } else { 0 };
        self.values[at].push((value - from) as f64 / FEMTOSECONDS as f64);
        Ok(())
    }

    /// Times are numbers; readings of a clock may be dates with a time of day.
    fn number(&self, at: usize, column: Column, field: &str, line: u64) -> Result<Number> {
        if let Some(number) = femtoseconds(field, column.unit) {
            return Ok(number);
        }
        let of_day = moment(field).filter(|_| column.holds.is_stamp());
        if of_day.is_some() && column.unit != FEMTOSECONDS {
            let reason = format!("`{}` is a date and a time of day, and has no unit", shortened(field));
            let remedy = format!("name the column {} alone", column.holds.name());
            return Err(self.bad(at, line, (reason, remedy)));
        }
        of_day.ok_or_else(|| self.bad(at, line, no_number(field, column.holds.is_stamp())))
    }

    /// Nobody is served before coming, ends before beginning, or is told before the end: unless the clock was set back.
    fn check_order(&mut self, line: u64) -> Result<()> {
        for pair in self.rising.windows(2) {
            let back = self.row[pair[0]] - self.row[pair[1]];
            if back > 0 {
                let by = time(back as f64 / FEMTOSECONDS as f64);
                let reason = format!("it is before {}, by {by}", self.names[pair[0]]);
                let remedy = "take all times from one clock; where it was set back, leave that line out";
                let error = self.bad(pair[1], line, (reason, remedy.into()));
                if self.table.crossed.len() == MOST_CROSSED {
                    return Err(self.table.crossed.swap_remove(0).1);
                }
                self.table.crossed.push((self.rows, error));
                break;
            }
        }
        Ok(())
    }

    fn bad(&self, at: usize, line: u64, (reason, remedy): (String, String)) -> ModelError {
        ModelError::parameter(format!("line {line}, column {}", self.names[at]), reason, remedy)
    }

    fn bytes(&mut self, at: usize, field: &str, line: u64) -> Result<()> {
        let Some(bytes) = field.parse::<u32>().ok().filter(|bytes| *bytes > 0) else {
            let reason = format!("`{}` is no number of bytes", shortened(field));
            return Err(self.bad(at, line, (reason, "write a whole number, 1 or above".into())));
        };
        self.table.bytes.push(bytes);
        Ok(())
    }

    fn class(&mut self, field: &str, line: u64) -> Result<()> {
        let place = match self.class_places.get(field) {
            Some(place) => *place,
            None => {
                let place = self.table.class_names.len();
                if place == MOST_CLASSES {
                    let reason = format!("there are more than {MOST_CLASSES} classes");
                    let remedy = "leave out the column `class`, or name fewer";
                    return Err(ModelError::parameter(format!("line {line}, column class"), reason, remedy));
                }
                self.table.class_names.push(field.to_owned());
                self.class_places.insert(field.to_owned(), place as u16);
                place as u16
            }
        };
        self.table.classes.push(place);
        Ok(())
    }

    fn finish(mut self) -> Result<Table> {
        let columns = self.columns.iter().zip(self.values).zip(&self.seen);
        for ((column, values), seen) in columns {
            let (Some(&Column { holds, .. }), Some(seen)) = (column.as_ref(), seen) else { continue };
            if !holds.is_time() {
                continue;
            }
            self.table.precision.insert(holds, seen.precision());
            self.table.times.insert(holds, values);
        }
        Ok(self.table)
    }
}

fn no_number(field: &str, stamp: bool) -> (String, String) {
    let shown = shortened(field);
    if field.is_empty() {
        return ("it is empty".into(), "write a finite number, or take the line out".into());
    }
    if let Some(number) = with_point(field) {
        let reason = format!("`{shown}` is no number: it has a decimal comma");
        return (reason, format!("write a point: {number}"));
    }
    if field.contains('\u{feff}') {
        let reason = "it has a byte-order mark (U+FEFF), as where files were put one after the other";
        return (reason.into(), "take the mark out".into());
    }
    let or = if stamp { ", or a moment like 2026-10-25T02:59:59.123Z" } else { "" };
    (format!("`{shown}` is no number"), format!("write a finite number{or}, or take the line out"))
}

fn is_time(field: &str) -> bool {
    femtoseconds(field, FEMTOSECONDS).is_some() || moment(field).is_some()
}

/// A number that has a decimal comma, with a point.
fn with_point(field: &str) -> Option<String> {
    let number = field.contains(',').then(|| field.replacen(',', ".", 1))?;
    femtoseconds(&number, FEMTOSECONDS).is_some().then_some(number)
}

/// What programs write for no number, or one without end.
fn is_not_finite(field: &str) -> bool {
    // A number that is too large for any clock is one all the same.
    let has_digits = field.bytes().any(|byte| byte.is_ascii_digit());
    !has_digits && field.parse::<f64>().is_ok_and(|value| !value.is_finite())
}

fn shortened(field: &str) -> String {
    field.chars().take(40).collect()
}
