//! Requests as they came somewhere: a file of starts, and of bytes, that is played again and again. It is read by the reader of
//! `tollway fit` ([`Requests`]), so that one file serves both.
//!
//! A file may change under its name. A point has in its identity what the file holds, and whoever plays it sees to it that it still
//! does.

use std::fs::{self, File};
use std::io::Read;
use std::sync::Arc;

use tollway_core::{Error, Params, Result, Ticks};
use tollway_model::ModelError;
use tollway_model::fit::Requests;

use crate::engine::device::LONGEST;
use crate::engine::suite::Digest;

/// The one that comes with the program: `tests/cards/recorded.rs` has the law by which it was drawn.
const SESSIONS: &[u8] = include_bytes!("../../traces/sessions.csv");

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

/// What stands between a file's name and the hash of what it holds.
const HOLDING: &str = "#sha256:";

/// The same parameters, with a file that they name told by what it holds as well, so that points that play other requests are other
/// points. One that is told so already must hold that.
///
/// # Errors
/// As [`Trace::of`].
pub(super) fn pinned(params: Params) -> Result<Params> {
    let named = params.word("trace").unwrap_or_default();
    if named.is_empty() || params.word("arrivals") != Ok("trace") {
        return Ok(params);
    }
    let (file, mut content) = read(named)?;
    let pinned = format!("{file}{HOLDING}{}", hash(&mut content));
    Ok(params.with("trace", &*pinned))
}

impl Trace {
    /// The one that the axes `arrivals` and `trace` name; `None` where they name none.
    ///
    /// # Errors
    /// [`Error::Input`] with file, line and remedy for what cannot be used, and for a file that holds something else than it did when it was
    /// [`pinned`]; [`Error::System`] for a file that cannot be read.
    pub(super) fn of(params: &Params) -> Result<Option<Trace>> {
        match (params.word("arrivals") == Ok("trace"), params.word("trace").unwrap_or_default()) {
            (true, "") => Trace::read("traces/sessions.csv", SESSIONS).map(Some),
            (true, named) => {
                let (file, content) = read(named)?;
                Trace::read(file, &content).map(Some)
            }
            (false, "") => Ok(None),
            (false, _) => Err(Error::Input {
                place: "axis `trace`".into(),
                reason: "a file is named, and requests come otherwise".into(),
                remedy: "say arrivals=trace, or name none".into(),
            }),
        }
    }

    fn read(file: &str, content: &[u8]) -> Result<Trace> {
        let Requests { starts, period, bytes } = Requests::read(content).map_err(|error| match error {
            ModelError::Parameter { name, reason, remedy } if name == "trace" => {
                refused(file, reason, &remedy)
            }
            ModelError::Parameter { name, reason, remedy } => {
                refused(&format!("{file}, {name}"), reason, &remedy)
            }
            other => Error::Wrong(format!("trace {file}: {other}")),
        })?;
        let bytes = bytes.map(|bytes| up_to_blocks(file, bytes)).transpose()?;
        Ok(Trace { starts, period, bytes })
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

/// A file's name, and what it holds: what it is told to hold, where it is.
fn read(named: &str) -> Result<(&str, Vec<u8>)> {
    let (file, told) = match named.rsplit_once(HOLDING) {
        Some((file, told)) => (file, Some(told)),
        None => (named, None),
    };
    let failed = |e| Error::system(format!("reading the trace {file}"), e);
    // A queue of one would wait for its other end to open it.
    if !fs::metadata(file).map_err(failed)?.is_file() {
        return Err(refused(file, "it is no regular file".into(), "write what it says to a file"));
    }
    let mut content = Vec::new();
    let opened = File::open(file).map_err(failed)?;
    opened.take(LONGEST_FILE + 1).read_to_end(&mut content).map_err(failed)?;
    if content.len() as u64 > LONGEST_FILE {
        let reason = format!("it has more than {} MiB", LONGEST_FILE >> 20);
        return Err(refused(file, reason, "cut it: it is played again when it is over"));
    }
    match told {
        Some(told) if told != hash(&mut content) => {
            let reason = format!("it does not hold what it did as {told}");
            Err(refused(file, reason, "begin a new run with what it holds now, or put back what it held"))
        }
        _ => Ok((file, content)),
    }
}

/// The first eight bytes of the SHA-256, which tell files apart that nobody forged.
fn hash(content: &mut [u8]) -> String {
    let hashed = Digest::Sha256.of(content);
    hashed[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Bytes of requests, each up to the next multiple of 16.
fn up_to_blocks(file: &str, mut bytes: Vec<u32>) -> Result<Vec<u32>> {
    if let Some((at, long)) = bytes.iter().enumerate().find(|(_, bytes)| u64::from(**bytes) > LONGEST) {
        let reason = format!("request {} has {long} bytes, and {LONGEST} is the most", at + 1);
        return Err(refused(file, reason, "cut longer requests into several lines"));
    }
    bytes.iter_mut().for_each(|bytes| *bytes = bytes.next_multiple_of(16));
    let mut sizes = bytes.clone();
    sizes.sort_unstable();
    sizes.dedup();
    let all = sizes.iter().map(|size| *size as usize).sum::<usize>();
    if all > ALL_SIZES {
        let reason = format!("its {} different sizes are {all} bytes together", sizes.len());
        return Err(refused(file, reason, "round them, so that they are fewer"));
    }
    Ok(bytes)
}

fn refused(place: &str, reason: String, remedy: &str) -> Error {
    Error::Input { place: format!("trace {place}"), reason, remedy: remedy.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Trace> {
        Trace::read("t.csv", text.as_bytes())
    }

    #[test]
    fn requests_are_of_whole_blocks() {
        let trace = read("0,100\n1,16\n2,17\n").unwrap();
        assert_eq!((trace.rate(), trace.bytes), (1.0, Some(vec![112, 16, 32])));
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
            ("", "trace t.csv: it is empty"),
            ("arrival\n", "trace t.csv: it has a header but no request"),
            ("colour\nred\n", "trace t.csv, header: `colour` has no column that is known"),
            ("1\n\nx\n", "trace t.csv, line 3, column arrival: `x` is no number"),
            ("1,16\n2,0\n", "trace t.csv, line 2, column bytes: `0` is no number of bytes"),
            ("1,16\n2,1048577\n", "trace t.csv: request 2 has 1048577 bytes"),
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

    #[test]
    fn a_file_is_told_by_what_it_holds() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let name = file.path().to_str().unwrap();
        let params = |trace: &str| Params::new().with("arrivals", "trace").with("trace", trace);
        fs::write(&file, "0\n1\n").unwrap();
        let before = pinned(params(name)).unwrap();
        // By sha256sum(1).
        assert_eq!(before.word("trace").unwrap(), format!("{name}#sha256:82c1315e6c757f33"));
        assert_eq!(pinned(before.clone()).unwrap(), before);
        assert_eq!(Trace::of(&before).unwrap(), Trace::of(&params(name)).unwrap());
        fs::write(&file, "0\n2\n").unwrap();
        assert_ne!(pinned(params(name)).unwrap(), before);
        for told in [pinned(before.clone()).unwrap_err(), Trace::of(&before).unwrap_err()] {
            assert!(told.to_string().contains("does not hold what it did"), "{told}");
        }
        // What names no file is what it was.
        for params in [params(""), Params::new().with("arrivals", "regular").with("trace", "x.csv")] {
            assert_eq!(pinned(params.clone()).unwrap(), params);
        }
    }
}
