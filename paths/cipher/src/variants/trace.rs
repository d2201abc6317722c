//! Requests as they came somewhere: a file of starts, and of bytes, that is played again and again.
//!
//! A line is a request. Without a heading its first column is when it came, in seconds of any clock, and the second, where there is
//! one, how many bytes it had. A heading names columns in any order, by the words that `tollway fit` knows, so that one file serves
//! both: `arrival` or `gap`, with `_ms`, `_us` or `_ns` where the unit is not the second, and `bytes`; others are not read.

use std::fs::{self, File};
use std::io::Read;
use std::sync::Arc;

use tollway_core::{Error, Params, Result, Ticks};

use crate::engine::device::LONGEST;

/// The one that comes with the program: `tests/recorded.rs` has the law by which it was drawn.
const SESSIONS: &str = include_str!("../../traces/sessions.csv");

/// The longest file that is read, in bytes.
const LONGEST_FILE: u64 = 64 << 20;

/// How many bytes requests of different sizes may have together: what must come of each is kept.
const ALL_SIZES: usize = 16 << 20;

/// What was recorded.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trace {
    /// Seconds after the first, rising.
    starts: Vec<f64>,
    /// Seconds after which the first comes again.
    period: f64,
    /// How many bytes each had, up to the next multiple of 16.
    pub(super) bytes: Option<Vec<u32>>,
}

/// Columns that mean something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Column {
    /// Picoseconds of its unit.
    Arrival(i128),
    Gap(i128),
    Bytes,
    Other,
}

/// Picoseconds in a second.
const SECOND: i128 = 1_000_000_000_000;

impl Trace {
    /// The one that the axes `arrivals` and `trace` name; `None` where they name none.
    ///
    /// # Errors
    /// [`Error::Input`] with file, line and remedy for what cannot be used; [`Error::System`] for a file that cannot be read.
    pub(super) fn of(params: &Params) -> Result<Option<Trace>> {
        let file = params.word("trace").unwrap_or_default();
        match (params.word("arrivals") == Ok("trace"), file) {
            (true, "") => Trace::read("traces/sessions.csv", SESSIONS).map(Some),
            (true, file) => {
                let failed = |e| Error::system(format!("reading the trace {file}"), e);
                // A queue of one would wait for its other end to open it.
                if !fs::metadata(file).map_err(failed)?.is_file() {
                    let reason = "it is no regular file".into();
                    return Err(refused(file, reason, "write what it says to a file"));
                }
                let mut bytes = Vec::new();
                let opened = File::open(file).map_err(failed)?;
                opened.take(LONGEST_FILE + 1).read_to_end(&mut bytes).map_err(failed)?;
                if bytes.len() as u64 > LONGEST_FILE {
                    let remedy = "cut it: it is played again when it is over";
                    return Err(refused(
                        file,
                        format!("it has more than {} MiB", LONGEST_FILE >> 20),
                        remedy,
                    ));
                }
                let text = String::from_utf8(bytes).map_err(|_| {
                    refused(file, "it is no text".into(), "give lines of `seconds` or `seconds,bytes`")
                })?;
                Trace::read(file, &text).map(Some)
            }
            (false, "") => Ok(None),
            (false, _) => Err(Error::Input {
                place: "axis `trace`".into(),
                reason: "a file is named, and requests come otherwise".into(),
                remedy: "say arrivals=trace, or name none".into(),
            }),
        }
    }

    fn read(file: &str, text: &str) -> Result<Trace> {
        let mut lines = text
            .lines()
            .enumerate()
            .map(|(at, line)| (at + 1, line.trim_start_matches('\u{feff}').trim()))
            .filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
            .peekable();
        let first = lines.peek().map_or("", |(_, line)| *line);
        let (columns, headed) = columns(file, first)?;
        if headed {
            lines.next();
        }
        let mut rows = Rows { file, columns, came: Vec::new(), now: 0, bytes: Vec::new() };
        lines.try_for_each(|(line, text)| rows.add(line, text))?;
        rows.whole()
    }

    /// How many requests it has.
    pub(super) fn requests(&self) -> usize {
        self.starts.len()
    }

    /// Requests a second, as they were recorded.
    pub(super) fn rate(&self) -> f64 {
        self.starts.len() as f64 / self.period
    }

    /// Starts in ticks, from the request of number `first` on, `ticks` of them being a recorded second.
    pub(super) fn played(self: &Arc<Trace>, first: usize, ticks: f64) -> Played {
        let first = first % self.starts.len();
        Played { trace: self.clone(), next: first, rounds: -self.starts[first], ticks }
    }
}

/// Starts, without end and without drift.
pub(super) struct Played {
    trace: Arc<Trace>,
    next: usize,
    /// The whole rounds so far, in seconds, less when the first that was played had come.
    rounds: f64,
    ticks: f64,
}

impl Iterator for Played {
    type Item = Ticks;

    #[inline]
    fn next(&mut self) -> Option<Ticks> {
        let at = (self.rounds + self.trace.starts[self.next]) * self.ticks;
        self.next += 1;
        if self.next == self.trace.starts.len() {
            self.next = 0;
            self.rounds += self.trace.period;
        }
        Some(at as Ticks)
    }
}

/// What the columns of a file hold, and whether its first line says so.
fn columns(file: &str, first: &str) -> Result<(Vec<Column>, bool)> {
    let fields: Vec<&str> = fields(first).collect();
    if fields[0].starts_with(|c: char| c.is_ascii_digit() || ".+-".contains(c)) {
        return Ok((
            [Column::Arrival(SECOND), Column::Bytes].into_iter().take(fields.len()).collect(),
            false,
        ));
    }
    let columns: Vec<Column> = fields.iter().map(|name| named(name)).collect();
    let starts =
        columns.iter().filter(|column| matches!(column, Column::Arrival(_) | Column::Gap(_))).count();
    let sizes = columns.iter().filter(|column| **column == Column::Bytes).count();
    if starts != 1 || sizes > 1 {
        let what = if first.is_empty() {
            "it has no line".into()
        } else {
            format!("`{first}` names {starts} columns of starts, and {sizes} of bytes")
        };
        return Err(refused(
            file,
            what,
            "give one column `arrival` or `gap`, like arrival_us, and at most one `bytes`",
        ));
    }
    Ok((columns, true))
}

fn named(name: &str) -> Column {
    let name = name.to_lowercase();
    let (word, unit) = match name.rsplit_once('_') {
        Some((word, "s")) => (word, SECOND),
        Some((word, "ms")) => (word, SECOND / 1000),
        Some((word, "us" | "µs")) => (word, SECOND / 1_000_000),
        Some((word, "ns")) => (word, 1000),
        _ => (&*name, SECOND),
    };
    match word {
        "arrival" | "arrived" | "arrivals" | "submitted" | "time" | "timestamp" => Column::Arrival(unit),
        "gap" | "gaps" | "interarrival" => Column::Gap(unit),
        "bytes" | "size" | "length" => Column::Bytes,
        _ => Column::Other,
    }
}

fn fields(line: &str) -> impl Iterator<Item = &str> {
    line.split([',', ';', '\t']).map(|field| field.trim().trim_matches('"').trim())
}

struct Rows<'f> {
    file: &'f str,
    columns: Vec<Column>,
    /// When each came, in picoseconds.
    came: Vec<i128>,
    /// Of gaps, all so far.
    now: i128,
    bytes: Vec<u32>,
}

impl Rows<'_> {
    fn add(&mut self, line: usize, text: &str) -> Result<()> {
        let bad =
            |reason: String, remedy: &str| refused(&format!("{}, line {line}", self.file), reason, remedy);
        let fields: Vec<&str> = fields(text).collect();
        if fields.len() < self.columns.len() {
            return Err(bad(
                format!("it has {} columns, and the first has {}", fields.len(), self.columns.len()),
                "mend the line, or take it out",
            ));
        }
        for (column, field) in self.columns.iter().zip(fields) {
            let time = |unit: i128| {
                picoseconds(field, unit)
                    .ok_or_else(|| bad(format!("`{field}` is no time"), "write a number, like 0.000125"))
            };
            match column {
                Column::Arrival(unit) => {
                    let at = time(*unit)?;
                    if self.came.last().is_some_and(|last| at < *last) {
                        return Err(bad(
                            format!("`{field}` is before the one that precedes it"),
                            "sort the lines by their starts",
                        ));
                    }
                    self.came.push(at);
                }
                Column::Gap(unit) => {
                    let gap = time(*unit)?;
                    if gap < 0 {
                        return Err(bad(
                            format!("`{field}` is less than nothing"),
                            "write the time since the one before",
                        ));
                    }
                    self.now += gap;
                    self.came.push(self.now);
                }
                Column::Bytes => {
                    let bytes = field.parse::<u64>().ok().filter(|bytes| (1..=LONGEST).contains(bytes));
                    let bytes = bytes.ok_or_else(|| {
                        bad(
                            format!("`{field}` is no number of bytes from 1 to {LONGEST}"),
                            "cut longer requests into several lines",
                        )
                    })?;
                    self.bytes.push(bytes.next_multiple_of(16) as u32);
                }
                Column::Other => {}
            }
        }
        Ok(())
    }

    fn whole(self) -> Result<Trace> {
        let Rows { file, columns, came, now, bytes } = self;
        let (Some(first), Some(last)) = (came.first().copied(), came.last().copied()) else {
            return Err(refused(file, "it has no request".into(), "give a line for each"));
        };
        // After the last comes the first again: after the gap that it came after, or after one like the others.
        let gaps = columns.iter().any(|column| matches!(column, Column::Gap(_)));
        let period = match came.len() {
            _ if gaps => now as f64,
            1 => 0.0,
            n => (last - first) as f64 * n as f64 / (n - 1) as f64,
        };
        if period <= 0.0 {
            let reason = "no time passes from its first request to its last".into();
            return Err(refused(file, reason, "give requests of different moments"));
        }
        let mut sizes = bytes.clone();
        sizes.sort_unstable();
        sizes.dedup();
        let all = sizes.iter().map(|size| *size as usize).sum::<usize>();
        if all > ALL_SIZES {
            let reason = format!("its {} different sizes are {all} bytes together", sizes.len());
            return Err(refused(file, reason, "round them, so that they are fewer"));
        }
        Ok(Trace {
            starts: came.iter().map(|at| (at - first) as f64 / SECOND as f64).collect(),
            period: period / SECOND as f64,
            bytes: (!bytes.is_empty()).then_some(bytes),
        })
    }
}

/// A number of times of `unit` picoseconds, exact where it is written in plain decimals, as seconds since 1970 with nanoseconds
/// behind the point must be; `None` where it is none, or beyond 10^15 seconds.
fn picoseconds(text: &str, unit: i128) -> Option<i128> {
    let found = match text.split_once('.') {
        None => text.parse::<i128>().ok().and_then(|whole| whole.checked_mul(unit)),
        Some((whole, behind)) if behind.len() <= 18 && behind.bytes().all(|byte| byte.is_ascii_digit()) => {
            let parts = 10i128.pow(behind.len() as u32);
            let digits = format!("{whole}{behind}").parse::<i128>().ok();
            digits.and_then(|digits| digits.checked_mul(unit)).map(|all| all / parts)
        }
        Some(_) => None,
    };
    let most = 1_000_000_000_000_000 * SECOND;
    let rounded = || {
        text.parse::<f64>().ok().map(|number| number * unit as f64).filter(|found| found.abs() < most as f64)
    };
    found.or_else(|| rounded().map(|found| found as i128)).filter(|found| (-most..most).contains(found))
}

fn refused(place: &str, reason: String, remedy: &str) -> Error {
    Error::Input { place: format!("trace {place}"), reason, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace> {
        Trace::read("t.csv", text)
    }

    #[test]
    fn columns_are_found_by_their_names_or_by_their_places() {
        let plain = read(
            "# seconds, bytes\n1700000000.000000100,100\n\n1700000000.000000300,16\n1700000000.0000005, 17\n",
        )
        .unwrap();
        assert_eq!(plain.starts, [0.0, 200e-9, 400e-9]);
        assert_eq!(plain.bytes, Some(vec![112, 16, 32]));
        // Two gaps for three requests: after the last there is one like them.
        assert!((plain.period - 600e-9).abs() < 1e-18 && (plain.rate() * 200e-9 - 1.0).abs() < 1e-9);
        let named = read(
            "colour;bytes;arrival_ns\nred;100;1700000000000000100\nred;16;1700000000000000300\nblue;17;1700000000000000500\n",
        );
        assert_eq!(named.unwrap(), plain);
        let gaps = read("gap_us\n10\n20.5\n1e1\n").unwrap();
        assert_eq!((gaps.starts, gaps.bytes), (vec![0.0, 20.5e-6, 30.5e-6], None));
        assert!((gaps.period - 40.5e-6).abs() < 1e-15);
    }

    #[test]
    fn it_is_played_again_and_from_anywhere() {
        let trace = Arc::new(read("0\n1\n3\n").unwrap());
        let played: Vec<Ticks> = trace.played(0, 10.0).take(7).collect();
        assert_eq!(played, [0, 10, 30, 45, 55, 75, 90]);
        let played: Vec<Ticks> = trace.played(5, 10.0).take(4).collect();
        assert_eq!(played, [0, 15, 25, 45]);
        // A million rounds on it is where arithmetic puts it.
        assert_eq!(trace.played(0, 1e3).nth(3_000_001), Some(4_500_001_000));
    }

    #[test]
    fn what_cannot_be_used_names_file_line_and_remedy() {
        for (text, place) in [
            ("", "trace t.csv: it has no line"),
            ("# nothing\n", "trace t.csv: it has no line"),
            ("colour,bytes\nred,1\n", "trace t.csv: `colour,bytes` names 0 columns of starts"),
            ("arrival,gap\n1,1\n", "trace t.csv: `arrival,gap` names 2 columns"),
            (
                "arrival,size,bytes\n1,1,1\n",
                "trace t.csv: `arrival,size,bytes` names 1 columns of starts, and 2",
            ),
            ("arrival\n", "trace t.csv: it has no request"),
            ("5\n", "trace t.csv: no time passes"),
            ("5\n5\n", "trace t.csv: no time passes"),
            ("gap\n0\n0\n", "trace t.csv: no time passes"),
            ("1\n\nx\n", "trace t.csv, line 3: `x` is no time"),
            ("1\nNaN\n", "trace t.csv, line 2: `NaN` is no time"),
            ("1\n1e300\n", "trace t.csv, line 2: `1e300` is no time"),
            ("2\n1\n", "trace t.csv, line 2: `1` is before"),
            ("gap\n1\n-1\n", "trace t.csv, line 3: `-1` is less"),
            ("1,16\n2\n", "trace t.csv, line 2: it has 1 columns"),
            ("1,16\n2,0\n", "trace t.csv, line 2: `0` is no number of bytes"),
            ("1,16\n2,1048577\n", "trace t.csv, line 2: `1048577` is no number of bytes"),
            ("1,16\n2,-5\n", "trace t.csv, line 2: `-5` is no number of bytes"),
        ] {
            let told = read(text).unwrap_err().to_string();
            assert!(told.starts_with(place), "{text:?}: {told}");
        }
        let many: String = (0..4096).map(|n| format!("{n},{}\n", n * 16 + 1)).collect();
        let told = read(&many).unwrap_err().to_string();
        assert!(told.contains("4096 different sizes"), "{told}");
    }

    #[test]
    fn a_file_is_named_where_requests_come_by_it() {
        let params =
            |arrivals: &str, trace: &str| Params::new().with("arrivals", arrivals).with("trace", trace);
        assert_eq!(Trace::of(&params("poisson", "")).unwrap(), None);
        assert!(Trace::of(&params("trace", "")).unwrap().unwrap().requests() > 1000);
        assert!(Trace::of(&params("regular", "x.csv")).unwrap_err().to_string().contains("axis `trace`"));
        let told = Trace::of(&params("trace", "/nowhere/x.csv")).unwrap_err().to_string();
        assert!(told.contains("/nowhere/x.csv"), "{told}");
        let told = Trace::of(&params("trace", "/dev/zero")).unwrap_err().to_string();
        assert!(told.contains("/dev/zero") && told.contains("no regular file"), "{told}");
    }
}
