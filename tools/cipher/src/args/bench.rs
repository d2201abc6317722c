//! `tollway cipher bench` on the command line.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::{Args, ValueEnum};
use tollway_cipher::engine::device::LONGEST;
use tollway_cipher::engine::driver::Waiting;
use tollway_cipher::engine::suite::Named;

use super::serve::time;

/// `tollway cipher bench`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway cipher bench
  tollway cipher bench --cipher aes-128-cbc --sizes 64..65536 --in-flight 1,8,32 --runs 10
  tollway cipher bench --cipher aes-128-ctr,hmac-sha256 --waiting busy,interrupt,periodic:100us --export waiting.csv
  tollway cipher bench --cipher keyed
  tollway cipher bench --by library,socket --socket /run/user/1000/web.sock
  tollway cipher bench --cipher aes-128-cbc --by library --driver virtio_crypto_aes_cbc

Everything is done with every size, in turns, in an order drawn from the seed. Each result is held against the library's before anything is timed. \
                  docs/cipher.md says how to read the tables.")]
pub struct Bench {
    /// What is done to the bytes, by the names of `openssl speed`, or `all` of these; `keyed` for rsa2048-sign, rsa2048-verify,
    /// ecdsap256-sign, ecdsap256-verify and x25519, whose sources have sizes of their own.
    #[arg(long, value_name = "CIPHER,…", value_delimiter = ',', value_parser = ciphers)]
    #[arg(default_value = "aes-128-cbc,aes-128-ctr,aes-128-gcm,aes-256-xts,sha256,hmac-sha256")]
    pub cipher: Vec<Steps<&'static Named>>,

    /// Bytes of a request; 64..65536 is 64, 128, 256 and so on.
    #[arg(long, value_name = "BYTES,…", value_delimiter = ',', default_value = "64,1024,16384")]
    #[arg(value_parser = |text: &str| steps(text, 1, MOST_BYTES))]
    pub sizes: Vec<Steps<usize>>,

    /// Requests that a task has on their way at once.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1,32")]
    #[arg(value_parser = |text: &str| steps(text, 1, 1024))]
    pub in_flight: Vec<Steps<usize>>,

    /// Threads that ask at once, each with a queue of its own.
    #[arg(long, value_name = "N,…", value_delimiter = ',', default_value = "1")]
    #[arg(value_parser = |text: &str| steps(text, 1, 64))]
    pub tasks: Vec<Steps<usize>>,

    /// How tasks learn that requests are done: busy, interrupt, epoll, periodic:TIME, hybrid:TIME.
    #[arg(long, value_name = "WAY,…", value_delimiter = ',', default_value = "busy", value_parser = waiting)]
    pub waiting: Vec<Waiting>,

    /// By what [default: all that this machine has].
    #[arg(long, value_name = "BACK-END,…", value_delimiter = ',')]
    pub by: Vec<Word>,

    /// Drivers of the kernel that AF_ALG asks, by their names in /proc/crypto [default: the one that the kernel prefers].
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub driver: Vec<String>,

    /// The socket of a card that is served already (`tollway cipher serve`), to be measured, too.
    #[arg(long, value_name = "SOCKET")]
    pub socket: Option<PathBuf>,

    /// How long the cards of this measurement look for requests themselves before they sleep: 0 to 100ms.
    #[arg(long, value_name = "TIME", default_value = "2ms", value_parser = spin)]
    pub spin: Duration,

    /// Seconds of each measurement.
    #[arg(long, value_name = "SECONDS", default_value_t = 0.05, value_parser = seconds)]
    pub time: f64,

    /// How often each is measured, in turns, each time with new cards; intervals are had from 5 on.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: u32,

    /// Seed of the order.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be measured, how long it would take and what it needs; measure nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Tell requests a second, not bytes.
    #[arg(long)]
    pub requests: bool,

    /// Also write the figures to FILE; its ending says how: .json, .csv or .md.
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
}

/// The longest request: as long as a card has them.
const MOST_BYTES: usize = LONGEST as usize;

/// What a word between commas stands for: one thing, or several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Steps<T>(pub Vec<T>);

/// All that the words of a list stand for, each once, in their order.
pub fn each<T: Copy + PartialEq>(list: &[Steps<T>]) -> Vec<T> {
    let mut all: Vec<T> = Vec::new();
    for one in list.iter().flat_map(|steps| &steps.0) {
        if !all.contains(one) {
            all.push(*one);
        }
    }
    all
}

/// By what ciphers are done, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Word {
    /// The library, called in this process: nothing but its call.
    Library,
    /// The same by a caller that writes each request and reads each result, as tasks of a card do.
    Copies,
    /// A card of this process, on another processor.
    Inside,
    /// A card of a process of its own, on another processor, by a socket.
    Neighbour,
    /// The card at --socket.
    Socket,
    /// The kernel, by AF_ALG.
    AfAlg,
    /// The kernel, by /dev/crypto.
    DevCrypto,
}

fn ciphers(text: &str) -> Result<Steps<&'static Named>, String> {
    if text == "all" {
        return Ok(Steps(Named::ALL.iter().collect()));
    }
    if text == "keyed" {
        return Ok(Steps(Named::KEYED.iter().collect()));
    }
    let known =
        || Named::ALL.iter().chain(Named::KEYED).map(|named| named.name).collect::<Vec<_>>().join(", ");
    Named::find(text)
        .or_else(|| Named::find_keyed(text))
        .map(|named| Steps(vec![named]))
        .ok_or_else(|| format!("there is no `{text}` here: write all, keyed, or some of {}", known()))
}

/// A number, or two with `..` between them: the first, and doubled up to the second.
fn steps(text: &str, least: usize, most: usize) -> Result<Steps<usize>, String> {
    let wrong = || format!("`{text}` is no number from {least} to {most}, nor two with `..` between them");
    let number = |text: &str| {
        usize::from_str(text).ok().filter(|number| (least..=most).contains(number)).ok_or_else(wrong)
    };
    let Some((first, last)) = text.split_once("..") else { return Ok(Steps(vec![number(text)?])) };
    let (first, last) = (number(first)?, number(last)?);
    let doubled: Vec<usize> = std::iter::successors(Some(first), |step| step.checked_mul(2))
        .take_while(|step| *step <= last)
        .collect();
    if doubled.is_empty() { Err(wrong()) } else { Ok(Steps(doubled)) }
}

/// How completions are learnt of, in a word.
fn waiting(text: &str) -> Result<Waiting, String> {
    let (word, after) = text.split_once(':').map_or((text, None), |(word, after)| (word, Some(after)));
    let period = |default: &str| {
        time(after.unwrap_or(default))
            .and_then(|time| if time.is_zero() { Err(format!("`{text}`: the time is 0")) } else { Ok(time) })
    };
    match (word, after) {
        ("busy", None) => Ok(Waiting::Busy),
        ("interrupt", None) => Ok(Waiting::Interrupt),
        ("epoll", None) => Ok(Waiting::Epoll),
        ("periodic", _) => Ok(Waiting::Periodic(period("50us")?)),
        ("hybrid", _) => Ok(Waiting::Hybrid(period("50us")?)),
        _ => Err(format!(
            "`{text}` is no way to wait: write busy, interrupt, epoll, periodic:50us or hybrid:50us"
        )),
    }
}

/// How a way of waiting is written.
pub fn word(way: Waiting) -> String {
    match way {
        Waiting::Busy => "busy".into(),
        Waiting::Interrupt => "interrupt".into(),
        Waiting::Epoll => "epoll".into(),
        Waiting::Periodic(time) => format!("periodic:{}us", time.as_micros()),
        Waiting::Hybrid(time) => format!("hybrid:{}us", time.as_micros()),
    }
}

/// Cards that have nothing to do would be in the way of others for so long.
fn spin(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is longer than 100ms, for which cards would be in each other's way");
    time(text).and_then(|time| if time <= Duration::from_millis(100) { Ok(time) } else { Err(wrong()) })
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (0.005..=60.0).contains(&value) => Ok(value),
        _ => Err("give a number of seconds from 0.005 to 60".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_numbers_and_doubled_ones() {
        let of = |text: &str| steps(text, 1, MOST_BYTES).map(|steps| steps.0);
        assert_eq!(of("100").unwrap(), [100]);
        assert_eq!(of("64..300").unwrap(), [64, 128, 256]);
        assert_eq!(of("64..65536").unwrap().len(), 11);
        for text in ["", "0", "64..", "128..64", "many", "1048577", "-1", "64...128"] {
            assert!(of(text).is_err(), "{text}");
        }
        assert_eq!(each(&[Steps(vec![1, 2]), Steps(vec![2, 4])]), [1, 2, 4]);
    }

    #[test]
    fn ways_are_written_as_they_are_read() {
        for text in ["busy", "interrupt", "epoll", "periodic:100us", "hybrid:20us"] {
            assert_eq!(word(waiting(text).unwrap()), text);
        }
        assert_eq!(waiting("periodic"), Ok(Waiting::Periodic(Duration::from_micros(50))));
        for text in ["", "busy:1us", "periodic:0", "periodic:", "hybrid:long", "often"] {
            assert!(waiting(text).is_err(), "{text}");
        }
        assert!(spin("101ms").is_err() && spin("0") == Ok(Duration::ZERO));
        assert!(ciphers("rot13").unwrap_err().contains("aes-128-cbc"));
        assert_eq!(ciphers("all").unwrap().0.len(), Named::ALL.len());
        assert_eq!(ciphers("keyed").unwrap().0.len(), 5);
        assert_eq!(ciphers("x25519").unwrap().0[0].name, "x25519");
    }
}
