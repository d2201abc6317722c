//! STREAM itself, as a program `stream` of PATH: run once with bounded time, and what it printed.
//!
//! Array size and passes were fixed when it was compiled. How many threads it takes it is told by OMP_NUM_THREADS, which only one that was
//! compiled with OpenMP heeds: such a one says how many it took.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tollway_core::{Error, Missing, Result};
use tollway_host::program::{Given, output};
use tollway_host::requirement;

use super::stream::Kernel;

/// How long it may take: 10 rounds over arrays of 10 million numbers take one second, of 1000 million one or two minutes.
pub const LONGEST: Duration = Duration::from_secs(180);

/// What STREAM printed.
#[derive(Clone, Debug, PartialEq)]
pub struct Printed {
    /// Numbers of each array.
    pub numbers: u64,
    /// Passes of each kernel, of which the first does not count.
    pub times: u32,
    /// Threads that it took.
    pub threads: u32,
    /// What it says of each kernel, in the order of [`Kernel::ALL`].
    pub rates: [Line; 4],
}

/// What it says of a kernel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    /// Bytes a second of the best pass.
    pub best: f64,
    /// Seconds of a pass: on average, at least, at most.
    pub seconds: [f64; 3],
}

impl Printed {
    /// Understands its output.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it says that its results are wrong, [`Error::System`] if this is not what STREAM prints.
    pub fn parse(text: &str) -> Result<Printed> {
        let strange = |what: &str| Error::system("reading what `stream` printed", what);
        if !text.contains("STREAM version") {
            return Err(strange("it is not STREAM"));
        }
        if text.contains("Failed Validation") || !text.contains("Solution Validates") {
            return Err(Error::Wrong("STREAM says that its results do not validate".into()));
        }
        // The first word behind a beginning of a line, as a number.
        let number = |name: &str| -> Option<u64> {
            let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
            rest.split_whitespace().next()?.parse().ok()
        };
        let rate = |kernel: Kernel| -> Option<Line> {
            let mut lines = text.lines().filter_map(|line| line.split_once(':'));
            let (_, figures) = lines.find(|(name, _)| name.eq_ignore_ascii_case(kernel.name()))?;
            let figures: Vec<f64> = figures.split_whitespace().map_while(|word| word.parse().ok()).collect();
            match figures[..] {
                [best, mean, least, most] if figures.iter().all(|figure| *figure > 0.0) => {
                    Some(Line { best: best * 1e6, seconds: [mean, least, most] })
                }
                _ => None,
            }
        };
        let rates = Kernel::ALL.map(rate);
        let [Some(copy), Some(scale), Some(add), Some(triad)] = rates else {
            return Err(strange("not every kernel has a rate and three times"));
        };
        let narrow = |number: Option<u64>| number.and_then(|n| u32::try_from(n).ok());
        Ok(Printed {
            numbers: number("Array size =").filter(|n| *n > 0).ok_or_else(|| strange("no array size"))?,
            times: narrow(number("Each kernel will be executed"))
                .filter(|n| *n > 1)
                .ok_or_else(|| strange("no number of passes"))?,
            threads: narrow(number("Number of Threads counted =")).unwrap_or(1),
            rates: [copy, scale, add, triad],
        })
    }

    /// What it says of one kernel.
    pub fn rate(&self, kernel: Kernel) -> Line {
        self.rates[kernel as usize]
    }
}

/// The program.
///
/// # Errors
/// [`Missing`] if there is none of that name in PATH.
pub fn find() -> Result<PathBuf, Missing> {
    requirement::program("stream", "stream").map_err(|missing| Missing {
        what: "STREAM, as a program `stream`".into(),
        remedy:
            "gcc -O3 -fopenmp stream.c -o stream, in a folder of PATH (https://www.cs.virginia.edu/stream)"
                .into(),
        ..missing
    })
}

/// Runs it once with so many threads, which may be on these processors; it ends when the calling thread does.
///
/// # Errors
/// [`Error::Missing`] if there is no STREAM, or none that takes several threads; [`Error::System`] if it fails or takes longer than
/// [`LONGEST`]; what [`Printed::parse`] says.
pub fn run(threads: u32, processors: &[u32]) -> Result<Printed> {
    let program = find().map_err(Error::Missing)?;
    let mut command = Command::new(program);
    command.env("OMP_NUM_THREADS", threads.to_string());
    let given = Given { cpus: processors, ..Given::default() };
    let printed = Printed::parse(&output(&mut command, given, LONGEST)?)?;
    if printed.threads != threads {
        return Err(Error::Missing(Missing::new(
            format!("STREAM with {threads} threads"),
            format!("the program `stream` takes {}", printed.threads),
            "compile it with -fopenmp",
        )));
    }
    Ok(printed)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of STREAM 5.10 by gcc 12 with -O3 -fopenmp, two threads.
    const RECORDED: &str = include_str!("stream-5.10.txt");

    #[test]
    fn what_stream_prints_is_understood() {
        let printed = Printed::parse(RECORDED).unwrap();
        assert_eq!((printed.numbers, printed.times, printed.threads), (10_000_000, 10, 2));
        for kernel in Kernel::ALL {
            let Line { best, seconds: [mean, least, most] } = printed.rate(kernel);
            assert!(least <= mean && mean <= most);
            // Its rate is that of the shortest time, which it prints to a microsecond.
            let rate = kernel.bytes() as f64 * 1e7 / least;
            assert!((rate / best - 1.0).abs() < 1e-3, "{kernel:?}: {rate} and {best}");
        }
    }

    #[test]
    fn results_that_stream_calls_wrong_are_refused() {
        let wrong = RECORDED.replace("Solution Validates", "Failed Validation on array a[]");
        assert!(matches!(Printed::parse(&wrong), Err(Error::Wrong(_))));
    }

    #[test]
    fn what_is_cut_short_or_is_another_program_is_refused() {
        assert!(Printed::parse("Usage: stream [options ...] file").is_err());
        for line in
            ["Array size", "Each kernel will", "Copy:", "Scale:", "Add:", "Triad:", "Solution Validates"]
        {
            let lines = RECORDED.lines().filter(|l| !l.starts_with(line));
            assert!(Printed::parse(&lines.collect::<Vec<_>>().join("\n")).is_err(), "without {line}");
        }
        assert!(Printed::parse(&RECORDED.replace("0.012907", "-")).is_err());
        let without = RECORDED.replace("Array size = 10000000", "Array size = 0");
        assert!(Printed::parse(&without).is_err());
    }

    #[test]
    fn stream_itself_runs_where_it_is() {
        match find() {
            Err(missing) => requirement::skip_test(&["stream"], &missing),
            Ok(_) => {
                let cpu = tollway_host::cpu::current_cpu();
                let printed = run(1, &[cpu]).unwrap();
                assert!(printed.rates.iter().all(|line| line.best > 1e8), "{printed:?}");
            }
        }
    }
}
