//! Reads a trace: CSV with a header, or plain numbers, one customer a line, in one pass and with bounded memory. Whoever reads
//! says what of it is wanted: [`Trace`](super::Trace) what can be fitted, [`Requests`](super::Requests) what can be played again.
//!
//! Each line is read once; of what is wanted 8 bytes a customer are kept for each column of times, 4 for its bytes and 2 for
//! its class. Readings of a clock are read exactly, in femtoseconds since the first of them, so that nanoseconds since 1970
//! keep their last digit.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use super::column::{Column, FEMTOSECONDS, Quantity, Wanted, femtoseconds};
use super::precision::{Precision, Seen};
use crate::{ModelError, Result};

/// More classes than this are no classes.
const MOST_CLASSES: usize = 1000;

/// The longest line, in bytes: a file that is no trace is not read into memory whole.
const LONGEST: u64 = 1 << 16;

/// What some programs write before the first line.
const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

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
        let separator = *[',', ';', '\t'].iter().find(|s| first.contains(**s)).unwrap_or(&',');
        let mut rows = Rows::new(first, separator, wanted, columns)?;
        if !rows.first_was_header {
            rows.add(first, number)?;
        }
        while let Some((number, line)) = lines.next()? {
            rows.add(line, number)?;
        }
        rows.finish()
    }

    /// Whether lines are in the order of arrivals, as far as it is known when these were.
    pub(super) fn is_in_order(&self) -> bool {
        self.times.get(&Quantity::Arrival).is_none_or(|arrivals| arrivals.is_sorted())
    }

    /// Puts times and bytes into the order of arrivals. (Classes are counted only.)
    pub(super) fn sort(&mut self) {
        let Some(arrivals) = self.times.get(&Quantity::Arrival) else { return };
        let mut order: Vec<usize> = (0..arrivals.len()).collect();
        order.sort_by(|a, b| arrivals[*a].total_cmp(&arrivals[*b]));
        for values in self.times.values_mut() {
            *values = order.iter().map(|i| values[*i]).collect();
        }
        if !self.bytes.is_empty() {
            self.bytes = order.iter().map(|i| self.bytes[*i]).collect();
        }
    }
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
                let remedy = "give text: CSV, or one number a line";
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
            if str::from_utf8(text).is_err() {
                return Err(bad("it is no UTF-8".into()));
            }
            break;
        }
        let bytes = self.bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(&self.bytes);
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
    /// Columns of readings of a clock, in the order in which they must rise.
    rising: Vec<usize>,
}

impl Rows {
    fn new(first: &str, separator: char, wanted: &Wanted, columns: Option<&str>) -> Result<Rows> {
        let first: Vec<&str> = fields(first, separator).collect();
        let is_number = |field: &str| femtoseconds(field, FEMTOSECONDS).is_some();
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
            return Err(ModelError::parameter(
                format!("line {line}"),
                format!("it has {found} columns instead of {}", self.columns.len()),
                "mend the line or take it out",
            ));
        }
        for (at, field) in fields(text, self.separator).enumerate() {
            let Some(column) = self.columns[at] else { continue };
            match column.holds {
                Quantity::Class => self.class(field, line)?,
                Quantity::Bytes => self.bytes(at, field, line)?,
                _ => self.time(at, column, field, line)?,
            }
        }
        self.check_order(line)
    }

    fn time(&mut self, at: usize, column: Column, field: &str, line: u64) -> Result<()> {
        let number = femtoseconds(field, column.unit).ok_or_else(|| self.bad(at, line, no_number(field)))?;
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

    /// Nobody is served before coming, ends before beginning, or is told before the end.
    fn check_order(&self, line: u64) -> Result<()> {
        for pair in self.rising.windows(2) {
            if self.row[pair[1]] < self.row[pair[0]] {
                let reason = format!("it is before {}", self.names[pair[0]]);
                return Err(self.bad(pair[1], line, (reason, "take all times from one clock".into())));
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

fn no_number(field: &str) -> (String, String) {
    let reason = match field {
        "" => "it is empty".into(),
        _ => format!("`{}` is no number", shortened(field)),
    };
    (reason, "write a finite number, or take the line out".into())
}

fn shortened(field: &str) -> String {
    field.chars().take(40).collect()
}
