//! `tollway capture generate` on the command line.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

/// `tollway capture generate`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway capture generate -i veth0 --rate 148809 --time 10
  tollway capture generate -i veth0 --rate 100k --schedule poisson --mix imix --count 1000000 --match 0.5
  tollway capture generate -i veth0 --schedule replay:web.pcap

Sizes count the frame check sequence, which the adapter appends: 64 is 60 bytes handed over. Late frames are sent at \
                  once, so the mean rate holds; how late they were is reported.")]
pub struct Generate {
    /// Send on this interface. There is no default.
    #[arg(short = 'i', long, value_name = "IF")]
    pub interface: String,

    /// Frames per second (148809, 100k, 1.5M), or `full`: as fast as the interface takes them. A file is replayed at its own
    /// gaps without it.
    #[arg(long, value_name = "RATE", value_parser = rate)]
    pub rate: Option<Rate>,

    /// Bytes of a frame on the wire: 64 to 1518. Without it 64.
    #[arg(long, value_name = "BYTES", conflicts_with = "mix")]
    pub size: Option<u16>,

    /// Several sizes: `imix`, a range `64-1518`, or weighted `64:7,594:4,1518:1`.
    #[arg(long, value_name = "MIX")]
    pub mix: Option<String>,

    /// The most frames to send; this or --time is needed where no file is replayed.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub count: Option<u64>,

    /// The longest time to send, in seconds.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<Duration>,

    /// When frames are due: `constant`, `poisson`, `burst:N` (N at once, then a pause), `replay:FILE`.
    #[arg(long, value_name = "SCHEDULE", default_value = "constant", value_parser = timing)]
    pub schedule: Timing,

    /// UDP from so many addresses. Without it one.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65_535))]
    pub flows: Option<u32>,

    /// This share of the frames, 0 to 1, matches `tcp port 80 or tcp port 443`; the rest is TCP and UDP to other ports.
    #[arg(long = "match", value_name = "SHARE", conflicts_with = "flows", value_parser = share)]
    pub matching: Option<f64>,

    /// How frames reach the kernel.
    #[arg(long, value_enum, value_name = "WAY", default_value = "sendmmsg")]
    pub send_by: SendWay,

    /// The same seed gives the same frames at the same due times.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be sent, for how long and what it needs; send nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Become this user once all is open (as root; all capabilities go in any case).
    #[arg(short = 'Z', long, value_name = "USER")]
    pub relinquish_privileges: Option<String>,
}

/// How fast.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rate {
    /// As the interface takes them.
    Full,
    /// Frames per second.
    PerSecond(f64),
}

/// When frames are due.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Timing {
    /// Always the same gap.
    Constant,
    /// Exponential gaps.
    Poisson,
    /// So many at once.
    Burst(u64),
    /// As a file has them.
    Replay(PathBuf),
}

/// How frames reach the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SendWay {
    /// A call for each frame.
    Send,
    /// A call for frames that are due together.
    Sendmmsg,
    /// A ring that is shared with the kernel.
    Ring,
}

pub(super) fn rate(text: &str) -> Result<Rate, String> {
    if text == "full" {
        return Ok(Rate::Full);
    }
    let bare = text.strip_suffix("/s").unwrap_or(text);
    let (digits, factor) = match bare.char_indices().last() {
        Some((at, 'k')) => (&bare[..at], 1e3),
        Some((at, 'M')) => (&bare[..at], 1e6),
        _ => (bare, 1.0),
    };
    match digits.trim().parse::<f64>() {
        Ok(number) if (1e-3..=1e9).contains(&(number * factor)) => Ok(Rate::PerSecond(number * factor)),
        _ => Err("give frames per second from 0.001 to 1e9, like 148809 or 100k, or `full`".into()),
    }
}

fn timing(text: &str) -> Result<Timing, String> {
    match text.split_once(':') {
        None if text == "constant" => Ok(Timing::Constant),
        None if text == "poisson" => Ok(Timing::Poisson),
        Some(("burst", length)) => match length.parse() {
            Ok(length) if length > 0 => Ok(Timing::Burst(length)),
            _ => Err("write burst:N with N frames, 1 or more".into()),
        },
        Some(("replay", file)) if !file.is_empty() => Ok(Timing::Replay(file.into())),
        _ => Err("give constant, poisson, burst:N or replay:FILE".into()),
    }
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<f64>() {
        Ok(number) if (1e-3..=1e6).contains(&number) => Ok(Duration::from_secs_f64(number)),
        _ => Err("give seconds from 0.001 to 1000000".into()),
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (0.0..=1.0).contains(&number) && number.is_sign_positive() => Ok(number),
        _ => Err("give a share from 0 to 1".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_schedules_are_read() {
        assert_eq!(rate("148809"), Ok(Rate::PerSecond(148_809.0)));
        assert_eq!(rate("1.5M"), Ok(Rate::PerSecond(1.5e6)));
        assert_eq!(rate("100k/s"), Ok(Rate::PerSecond(1e5)));
        assert_eq!(rate("full"), Ok(Rate::Full));
        for text in ["", "0", "-1", "nan", "k", "inf", "ten", "1e308", "1001M", "1e-9"] {
            assert!(rate(text).is_err(), "{text}");
        }
        assert_eq!((share("0"), share("1")), (Ok(0.0), Ok(1.0)));
        assert!(["-0", "-0.0", "1.1", "nan"].into_iter().all(|text| share(text).is_err()));
        assert_eq!(timing("burst:50"), Ok(Timing::Burst(50)));
        assert_eq!(timing("replay:a:b"), Ok(Timing::Replay("a:b".into())));
        for text in ["", "burst", "burst:0", "burst:x", "replay:", "often"] {
            assert!(timing(text).is_err(), "{text}");
        }
    }
}
