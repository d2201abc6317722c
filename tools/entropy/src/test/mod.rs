//! `tollway entropy test`: in the place of rngtest, with a verdict.
//!
//! ```text
//! Input (large reads, or block by block) → Stream (FIPS tests) ┬→ Output (blocks that passed, --pipe)
//!                                          Duplicates          └→ Statistics: rngtest's lines, ours, or a document
//! ```

mod bytes;
mod document;
mod input;
mod output;
mod rate;
mod signals;
mod statistics;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Result;
use tollway_entropy::engine::fips::{BLOCK_BYTES, Bootstrap, Implementation, Stream, Verdict};

use crate::args::test::Test;
pub use document::TestDocument;
use document::{BlocksDocument, Ended, MostCommonByte, RatesDocument, SCHEMA_VERSION, VerdictDocument};
use input::Input;
use output::{Output, Written};
use signals::Signals;
use statistics::Statistics;

/// rngtest's exit codes. Source: exits.h of rng-tools 6.17.
const FAILED: u8 = 1;
/// That of a command line that cannot be.
pub const USAGE: u8 = 10;
const INPUT_OR_OUTPUT: u8 = 11;
const SYSTEM: u8 = 12;

/// Tests, tells, and returns rngtest's exit code. `json`: tells it as a document on standard output.
///
/// # Errors
/// The document cannot be printed.
pub fn run(options: &Test, json: bool) -> Result<u8> {
    if options.pipe && json {
        return Ok(usage("--json: with --pipe standard output is for the blocks that pass; leave one out"));
    }
    if options.pipe && io::stdout().is_terminal() {
        return Ok(usage("--pipe: standard output is a terminal; redirect it, or leave --pipe out"));
    }
    let quiet = options.pipe || json;
    if !quiet {
        say(concat!("tollway ", env!("CARGO_PKG_VERSION"), " in the place of rngtest\n\n"));
    }
    let name = options.file.as_deref().unwrap_or(Path::new("-"));
    let opened = Input::open(options.file.as_deref()).map_err(|error| {
        say(&format!(
            "rngtest: error opening {}: {error}; is it there, and may it be read?\n",
            name.display()
        ));
        INPUT_OR_OUTPUT
    });
    let (mut input, output, signals) =
        match opened.and_then(|input| Ok((input, system(Output::open())?, system(Signals::watch())?))) {
            Ok(opened) => opened,
            Err(code) => return Ok(code),
        };
    if !quiet {
        say("rngtest: starting FIPS tests...\n");
    }
    let mut session = Session::new(options, quiet, output, signals);
    let ended = session.run(&mut input);
    session.tell(name, ended, json)
}

/// What the system refused before anything could begin.
fn system<T>(result: io::Result<T>) -> Result<T, u8> {
    result.map_err(|error| {
        say(&format!("rngtest: {error}\n"));
        SYSTEM
    })
}

/// A test on its way.
struct Session<'a> {
    options: &'a Test,
    quiet: bool,
    output: Output,
    signals: Signals,
    stream: Stream,
    statistics: Statistics,
    /// Blocks since statistics were printed, and when that was.
    since: u64,
    printed: Instant,
    /// Time spent reading what is not a block yet.
    waited: Duration,
    /// What passed and is not written yet.
    passed: Vec<u8>,
    error: Option<String>,
}

impl<'a> Session<'a> {
    fn new(options: &'a Test, quiet: bool, output: Output, signals: Signals) -> Session<'a> {
        let bootstrap = if options.pipe { Bootstrap::ThrownAway } else { Bootstrap::Compared };
        Session {
            options,
            quiet,
            output,
            signals,
            stream: Stream::new(bootstrap),
            statistics: Statistics::new(),
            since: 0,
            printed: Instant::now(),
            waited: Duration::ZERO,
            passed: Vec::new(),
            error: None,
        }
    }

    /// Reads and tests until something ends it.
    fn run(&mut self, input: &mut Input) -> Ended {
        loop {
            if self.signals.stop() {
                return Ended::CalledOff;
            }
            if self.signals.take_statistics() {
                self.print();
            }
            // Before the first block only what comes before it.
            let most = if self.stream.has_begun() { self.wanted() } else { 1 };
            let begun = Instant::now();
            let read = input.read(self.stream.missing(), most);
            self.waited += begun.elapsed();
            let ended = match read {
                Ok(None) => None,
                Ok(Some([])) => {
                    if !self.quiet {
                        say("rngtest: entropy source drained\n");
                    }
                    Some(Ended::EndOfInput)
                }
                Ok(Some(chunk)) => self.test(chunk),
                Err(error) => Some(self.fail(Ended::InputFailed, "reading input", &error)),
            };
            if let Some(ended) = ended {
                return ended;
            }
        }
    }

    /// Blocks that may still be read.
    fn wanted(&self) -> u64 {
        match self.options.block_count {
            0 => u64::MAX,
            count => count - self.statistics.tally.blocks(),
        }
    }

    /// Tests what was read; how that ended it, if it did.
    fn test(&mut self, mut chunk: &[u8]) -> Option<Ended> {
        if !self.stream.has_begun() {
            // Not a block's time.
            self.waited = Duration::ZERO;
        } else if let Some(more) = chunk.len().checked_sub(self.stream.missing()) {
            let blocks = 1 + (more / BLOCK_BYTES) as u64;
            self.statistics.reading.add(std::mem::take(&mut self.waited), blocks);
        }
        while !chunk.is_empty() {
            // Up to where statistics are due.
            let until = match (self.options.block_stats, self.stream.has_begun()) {
                (0, true) => u64::MAX,
                (every, true) => every - self.since,
                (_, false) => 1,
            };
            let bytes =
                (until - 1).saturating_mul(BLOCK_BYTES as u64).saturating_add(self.stream.missing() as u64);
            let (now, rest) = chunk.split_at(chunk.len().min(usize::try_from(bytes).unwrap_or(usize::MAX)));
            chunk = rest;
            self.push(now);
            if let Some(ended) = self.write() {
                return Some(ended);
            }
            if self.stream.has_begun() && self.wanted() == 0 {
                return Some(Ended::Count);
            }
            let by_count = self.options.block_stats > 0 && self.since >= self.options.block_stats;
            let every = self.options.timed_stats;
            let by_time = every > 0 && self.printed.elapsed() > Duration::from_secs(every);
            if by_count || by_time && self.since > 0 {
                self.print();
            }
        }
        None
    }

    fn push(&mut self, chunk: &[u8]) {
        let Session { stream, statistics, passed, options, .. } = self;
        statistics.received += chunk.len() as u64;
        let before = statistics.tally.blocks();
        let begun = Instant::now();
        stream.push(chunk, |block, failed| {
            statistics.tally.add(failed);
            statistics.duplicates.seen(block);
            statistics.bytes.add(block);
            if options.pipe && failed.none() {
                passed.extend_from_slice(block);
            }
        });
        let blocks = statistics.tally.blocks() - before;
        statistics.testing.add(begun.elapsed(), blocks);
        self.since += blocks;
    }

    /// Writes what passed; how that ended it, if it did.
    fn write(&mut self) -> Option<Ended> {
        if self.passed.is_empty() {
            return None;
        }
        let begun = Instant::now();
        let written = self.output.write(&self.passed, &mut self.statistics.sent, &self.signals);
        self.statistics.writing.add(begun.elapsed(), (self.passed.len() / BLOCK_BYTES) as u64);
        self.passed.clear();
        match written {
            Ok(Written::All) => None,
            Ok(Written::Closed) => Some(Ended::OutputClosed),
            Ok(Written::CalledOff) => Some(Ended::CalledOff),
            Err(error) => Some(self.fail(Ended::OutputFailed, "writing to output", &error)),
        }
    }

    fn fail(&mut self, ended: Ended, doing: &str, error: &io::Error) -> Ended {
        let text = format!("error {doing}: {error}");
        say(&format!("rngtest: {text}\n"));
        self.error = Some(text);
        ended
    }

    fn print(&mut self) {
        say(&self.statistics.lines(self.options.pipe));
        self.since = 0;
        self.printed = Instant::now();
    }

    /// Tells how it ended, and returns the exit code.
    fn tell(&self, name: &Path, ended: Ended, json: bool) -> Result<u8> {
        if json {
            let mut text = serde_json::to_vec_pretty(&self.document(name, ended))?;
            text.push(b'\n');
            let mut out = io::stdout().lock();
            match output::is_open().and_then(|()| out.write_all(&text)).and_then(|()| out.flush()) {
                Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                    say(&format!("rngtest: error writing to output: {error}\n"));
                    return Ok(INPUT_OR_OUTPUT);
                }
                _ => {}
            }
        } else if self.stream.has_begun() {
            say(&self.statistics.lines(self.options.pipe));
        }
        let tally = &self.statistics.tally;
        Ok(match ended {
            Ended::InputFailed | Ended::OutputFailed if self.stream.has_begun() => INPUT_OR_OUTPUT,
            _ if tally.failed > 0 || tally.passed == 0 => FAILED,
            _ => 0,
        })
    }

    fn document(&self, name: &Path, ended: Ended) -> TestDocument {
        let Statistics { tally, duplicates, bytes, reading, testing, received, .. } = &self.statistics;
        TestDocument {
            schema_version: SCHEMA_VERSION,
            input: name.display().to_string(),
            bytes_received: *received,
            blocks: BlocksDocument::of(tally),
            verdict: VerdictDocument::of(&Verdict::of(tally)),
            duplicate_blocks: duplicates.found(),
            most_common_byte: bytes.estimate().map(|estimate| MostCommonByte::of(estimate, bytes.counted())),
            input_bits_per_second: reading.rates().map(RatesDocument::of),
            tests_bits_per_second: testing.rates().map(RatesDocument::of),
            seconds: self.statistics.elapsed().as_secs_f64(),
            implementation: Implementation::best().name().into(),
            ended,
            error: self.error.clone(),
        }
    }
}

/// Says something on standard error. Nobody is left to tell where that is closed.
fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

fn usage(text: &str) -> u8 {
    say(&format!("rngtest: {text}\n"));
    USAGE
}
