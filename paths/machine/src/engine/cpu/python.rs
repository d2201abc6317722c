//! The same count in Python, where there is a `python3`: the same loop, timed by itself, without the start of the interpreter.

use std::process::Command;
use std::time::Duration;

use tollway_core::{Error, Result};
use tollway_host::program::{Given, last_words, output};

use super::primes::Count;

/// The program, and the Debian package that has it.
pub const PYTHON: (&str, &str) = ("python3", "python3");

const SCRIPT: &str = include_str!("primes.py");

/// To start and end the interpreter.
const BESIDES: Duration = Duration::from_secs(20);

/// Counts the primes below `below`, or as many of them as it gets to `within` that time, on these processors.
///
/// # Errors
/// [`Error::System`] if it cannot be started or fails.
pub fn count(below: u32, within: Duration, cpus: &[u32]) -> Result<Count> {
    let mut command = Command::new(PYTHON.0);
    command.args(["-c", SCRIPT, &below.to_string(), &within.as_secs_f64().to_string()]);
    let said = output(&mut command, Given { cpus, ..Given::default() }, within + BESIDES)?;
    parsed(&said).ok_or_else(|| Error::system("reading what python3 said", last_words(&said)))
}

fn parsed(said: &str) -> Option<Count> {
    let mut words = said.split_whitespace();
    let mut word = || words.next();
    let (primes, reached) = (word()?.parse().ok()?, word()?.parse().ok()?);
    let took = Duration::try_from_secs_f64(word()?.parse().ok()?).ok()?;
    word().is_none().then_some(Count { primes, reached, took })
}

#[cfg(test)]
mod tests {
    use tollway_core::Requirement;
    use tollway_host::cpu::allowed_cpus;
    use tollway_host::requirement::test_has;

    use super::*;
    use crate::engine::cpu::sieve::primes_below;

    #[test]
    fn what_it_said_once_is_read() {
        let count = parsed("78498 1000000 3.6134128700010479\n").unwrap();
        assert_eq!((count.primes, count.reached, count.took.as_millis()), (78_498, 1_000_000, 3613));
        for other in ["", "1 2", "1 2 3 4", "1 2 nan", "1 2 -3", "Traceback"] {
            assert_eq!(parsed(other), None, "{other}");
        }
    }

    #[test]
    fn it_counts_what_the_sieve_does_and_keeps_within_its_time() {
        if !test_has(&[(Requirement::Program(PYTHON.0.into(), PYTHON.1.into()), "python3")]) {
            return;
        }
        let cpus = allowed_cpus().unwrap();
        let whole = count(20_000, Duration::from_secs(60), &cpus).unwrap();
        assert_eq!((whole.primes, whole.reached), (primes_below(20_000), 20_000));
        // The ends of the axes `below` and `box`.
        let least = count(2, Duration::from_secs(86_400), &cpus).unwrap();
        assert_eq!((least.primes, least.reached), (0, 2));
        let most = count(1_000_000_000, Duration::from_millis(50), &cpus).unwrap();
        assert!(most.reached < 1_000_000_000 && most.reached > 2, "{most:?}");
        let cut = count(u32::MAX, Duration::from_millis(100), &cpus).unwrap();
        assert!((3..u32::MAX.into()).contains(&cut.reached), "{cut:?}");
        let around = primes_below(cut.reached)..=primes_below(cut.reached + 1);
        assert!(around.contains(&cut.primes), "{cut:?}");
    }
}
