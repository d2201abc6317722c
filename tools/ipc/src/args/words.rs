//! What stands behind the options: lists of numbers, sizes, times, choices by name; all within what the path can do.

use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use tollway_ipc::engine::matrix::Matrices;
use tollway_ipc::engine::message::{LONGEST, SHORTEST};

/// The most requests or calls on their way at once that a list names.
pub const MOST_REQUESTS: u64 = 1024;

/// The most connections: as many as the network stack has.
pub const MOST_CONNECTIONS: u64 = tollway_ipc::engine::tcp::MOST_CONNECTIONS as u64;

/// The longest service that advice is given for.
pub const LONGEST_SERVICE: Duration = Duration::from_millis(10);

/// Which ways are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Style {
    /// The synchronous ones: a thread for each request, which waits for it.
    Sync,
    /// The asynchronous one: all requests in one thread.
    Async,
    /// These and that.
    Both,
}

impl Style {
    /// Whether synchronous ways are among them.
    pub fn has_sync(self) -> bool {
        self != Style::Async
    }

    /// Whether asynchronous ways are.
    pub fn has_async(self) -> bool {
        self != Style::Sync
    }
}

/// By what an asynchronous end is woken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Notice {
    /// A futex.
    Futex,
    /// An eventfd, for ends that sleep on other descriptors as well.
    Eventfd,
    /// A user interrupt, where processor and kernel have them.
    UserInterrupt,
}

impl Notice {
    /// The word of the path's axis.
    pub fn word(self) -> &'static str {
        match self {
            Notice::Futex => "futex",
            Notice::Eventfd => "eventfd",
            Notice::UserInterrupt => "user-interrupt",
        }
    }
}

/// Whether both sides have one core or two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Cores {
    /// They take turns on one.
    One,
    /// Each has its own.
    Two,
}

impl Cores {
    /// The word of the path's axis.
    pub fn word(self) -> &'static str {
        match self {
            Cores::One => "one",
            Cores::Two => "two",
        }
    }

    /// How many there are.
    pub fn number(self) -> u32 {
        match self {
            Cores::One => 1,
            Cores::Two => 2,
        }
    }

    /// As it is said of something that is done there.
    pub fn phrase(self) -> &'static str {
        match self {
            Cores::One => "on one core",
            Cores::Two => "on two cores",
        }
    }
}

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Cores, String> {
        match text {
            "1" => Ok(Cores::One),
            "2" => Ok(Cores::Two),
            _ => Err(format!("`{text}` is neither 1 nor 2: both sides share a core, or each has one")),
        }
    }
}

/// What a word between commas stands for: a number, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps(pub Vec<u64>);

/// All numbers of a list, each once, in ascending order.
pub fn ladder(list: &[Steps]) -> Vec<u64> {
    let mut all: Vec<u64> = list.iter().flat_map(|steps| steps.0.iter().copied()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// A number, or two with `..` between them: the first, and doubled up to the second.
fn steps(text: &str, most: u64) -> Result<Steps, String> {
    let wrong =
        || format!("`{text}` is no number from 1 to {most}, nor two with `..` between them, as in 1..32");
    let number = |text: &str| text.parse::<u64>().ok().filter(|n| (1..=most).contains(n)).ok_or_else(wrong);
    let Some((first, last)) = text.split_once("..") else { return Ok(Steps(vec![number(text)?])) };
    let (first, last) = (number(first)?, number(last)?);
    let doubled = std::iter::successors(Some(first), |step| step.checked_mul(2));
    let steps: Vec<u64> = doubled.take_while(|step| *step <= last).collect();
    if steps.is_empty() { Err(wrong()) } else { Ok(Steps(steps)) }
}

/// Requests or system calls on their way.
///
/// # Errors
/// It is no number within bounds, nor two.
pub fn concurrency(text: &str) -> Result<Steps, String> {
    steps(text, MOST_REQUESTS)
}

/// Connections.
///
/// # Errors
/// As [`concurrency`].
pub fn connections(text: &str) -> Result<Steps, String> {
    steps(text, MOST_CONNECTIONS)
}

fn whole(text: &str, least: u64, most: u64, what: &str) -> Result<u64, String> {
    let number = text.parse::<u64>().ok().filter(|n| (least..=most).contains(n));
    number.ok_or_else(|| format!("`{text}` is no {what} from {least} to {most}"))
}

/// Bytes of a message: as the path's axis has them.
///
/// # Errors
/// It is no number within bounds.
pub fn size(text: &str) -> Result<u64, String> {
    whole(text, SHORTEST as u64, LONGEST as u64, "number of bytes")
}

/// Cycles of work.
///
/// # Errors
/// As [`size`].
pub fn work(text: &str) -> Result<u64, String> {
    whole(text, 0, 100_000_000, "number of cycles")
}

/// Rows and columns of a matrix.
///
/// # Errors
/// As [`size`].
pub fn matrix(text: &str) -> Result<u64, String> {
    whole(text, 0, Matrices::MOST as u64, "number of rows and columns")
}

/// Pages of memory.
///
/// # Errors
/// As [`size`].
pub fn pages(text: &str) -> Result<u64, String> {
    whole(text, 1, 1024, "number of pages")
}

/// Requests on their way at once, one number.
///
/// # Errors
/// As [`size`].
pub fn requests(text: &str) -> Result<u64, String> {
    whole(text, 1, MOST_REQUESTS, "number of requests")
}

/// Seconds of a measurement.
///
/// # Errors
/// It is no number within bounds.
pub fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.1..=1e6).contains(&number) => Ok(number),
        _ => Err(format!("`{text}` is no number of seconds from 0.1 to 1000000")),
    }
}

/// A time that a service takes: `0`, `800ns`, `2us`, `1.5ms`.
///
/// # Errors
/// It is none, or longer than [`LONGEST_SERVICE`].
pub fn service(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no time: write 0, 800ns, 2.5us or 1ms");
    if text == "0" {
        return Ok(Duration::ZERO);
    }
    let units = [("ns", 1e-9), ("us", 1e-6), ("µs", 1e-6), ("ms", 1e-3), ("s", 1.0)];
    let (digits, unit) = units
        .into_iter()
        .find_map(|(word, unit)| text.strip_suffix(word).map(|digits| (digits, unit)))
        .ok_or_else(wrong)?;
    let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let number: f64 = if plain { digits.parse().map_err(|_| wrong())? } else { return Err(wrong()) };
    let seconds = number * unit;
    if seconds > LONGEST_SERVICE.as_secs_f64() {
        return Err(format!("`{text}` is longer than {} ms", LONGEST_SERVICE.as_millis()));
    }
    Ok(Duration::from_nanos((seconds * 1e9).round() as u64))
}

/// Requests a second: `100`, `20k`, `1.5M`.
///
/// # Errors
/// It is no number from 1 to a thousand million.
pub fn rate(text: &str) -> Result<f64, String> {
    let (digits, factor) = match text.strip_suffix(['k', 'M']) {
        Some(digits) if text.ends_with('k') => (digits, 1e3),
        Some(digits) => (digits, 1e6),
        None => (text, 1.0),
    };
    let number = digits.parse::<f64>().ok().map(|number| number * factor);
    let number = number.filter(|number| (1.0..=1e9).contains(number));
    number.ok_or_else(|| {
        format!("`{text}` is no rate from 1 to 1000M requests a second: write 500, 20k or 1.5M")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_numbers_and_doubled_ones() {
        let of = |text: &str| concurrency(text).map(|steps| steps.0);
        assert_eq!(of("100"), Ok(vec![100]));
        assert_eq!(of("1..32").unwrap(), [1, 2, 4, 8, 16, 32]);
        assert_eq!(of("3..20").unwrap(), [3, 6, 12]);
        for text in
            ["", "0", "1..", "8..1", "many", "1025", "1000000000", "-1", "1...4", "99999999999999999999"]
        {
            let error = of(text).unwrap_err();
            assert!(error.contains("from 1 to 1024") && error.contains("1..32"), "{error}");
        }
        assert!(connections("257").unwrap_err().contains("from 1 to 256"));
        assert!(concurrency("1024").is_ok());
        assert_eq!(ladder(&[Steps(vec![4, 8]), Steps(vec![1, 4])]), [1, 4, 8]);
    }

    #[test]
    fn times_and_rates_are_read_with_their_units() {
        let ns = |text: &str| service(text).unwrap().as_nanos();
        assert_eq!(
            ["0", "800ns", "2.5us", "2µs", "1ms", "0.01s"].map(ns),
            [0, 800, 2500, 2000, 1_000_000, 10_000_000]
        );
        for text in ["", "5", "us", "-1us", "1e3us", "nanus", "1..2us", "11ms", "infs"] {
            assert!(service(text).is_err(), "{text}");
        }
        assert_eq!(["500", "20k", "1.5M"].map(|text| rate(text).unwrap()), [500.0, 20e3, 1.5e6]);
        for text in ["", "0", "k", "-5", "2G", "1e12", "nan", "inf"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_out_of_bounds_is_told_with_the_bounds() {
        for (error, says) in [
            (size("0").unwrap_err(), "from 8 to 4096"),
            (size("70000").unwrap_err(), "number of bytes from"),
            (requests("0").unwrap_err(), "from 1 to 1024"),
            (requests("1000000000").unwrap_err(), "from 1 to 1024"),
            (work("-1").unwrap_err(), "cycles"),
            (matrix("x").unwrap_err(), "rows"),
            ("3".parse::<Cores>().unwrap_err(), "neither 1 nor 2"),
            (seconds("nan").unwrap_err(), "seconds"),
        ] {
            assert!(error.contains(says), "{error}");
        }
    }
}
