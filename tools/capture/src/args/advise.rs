//! `tollway capture advise` on the command line.

use clap::{Args, ValueEnum};

use super::SourceWay;
use super::generate::{Rate, rate};

/// `tollway capture advise`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway capture advise --rate 500k --work 1000 --stall 20
  tollway capture advise --size 1518 --now v2,4MiB
  tollway capture advise --filter ports --apply

It sends and captures on a cable of its own, in a network namespace that goes with it: no interface of this machine is \
                  touched. All that it measures is in the store, and what it predicts is written there before it is \
                  tried. More in docs/capture.md.")]
pub struct Advise {
    /// Frames per second that come (148809, 100k, 1.5M; 1000 at least), or `full`: as many as possible.
    #[arg(long, value_name = "RATE", default_value = "full", value_parser = rate)]
    pub rate: Rate,

    /// Bytes of a frame on the wire, check sequence included.
    #[arg(long, value_name = "BYTES", default_value_t = 64, value_parser = clap::value_parser!(u16).range(64..=1518))]
    pub size: u16,

    /// A filter of the study that all frames pass: is it IP, five TCP ports, ten addresses and ten ports.
    #[arg(long, value_enum, value_name = "FILTER", default_value = "none")]
    pub filter: FilterWord,

    /// Cycles that your application spends on each packet.
    #[arg(long, value_name = "CYCLES", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1_000_000))]
    pub work: u32,

    /// How long your application stops now and then, in milliseconds: once in ten times as long, at the most.
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub stall: u32,

    /// How long a packet may wait for others to share its wake-up, in milliseconds; 0: not at all.
    #[arg(long, value_name = "MS", default_value_t = 10, value_parser = clap::value_parser!(u32).range(..=1000))]
    pub delay: u32,

    /// Processors that may capture [default: those that this process may use].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=256))]
    pub cores: Option<u32>,

    /// Also advise AF_XDP, which takes frames away from the machine's own network stack.
    #[arg(long)]
    pub bypass: bool,

    /// How you capture today: a source, its buffer (64KiB, 256KiB, 1MiB, 4MiB, 16MiB, 64MiB), `immediate`.
    #[arg(long, value_name = "SOURCE[,BUFFER][,immediate]", default_value = "recv,256KiB", value_parser = now)]
    pub now: Now,

    /// Then run what is advised, and what is used today, at rates around the predicted ones; show predicted against measured.
    #[arg(long)]
    pub apply: bool,

    /// Seconds that the whole may take; windows and blocks are cut to fit, but not below what gives figures.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<f64>,

    /// Seed of the order of trials.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be done, how long it would take and what it needs; do nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// Filters that live captures are measured with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum FilterWord {
    /// None: all frames are wanted.
    None,
    /// Is it IP: 3 instructions.
    Ip,
    /// Five TCP ports: 21 instructions.
    Ports,
    /// Ten addresses and ten ports: 52 instructions.
    Addresses,
}

/// How is captured today.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Now {
    /// By which way.
    pub source: SourceWay,
    /// Bytes of its buffer; `None`: 16 MiB.
    pub buffer: Option<u64>,
    /// Whether each packet is handed over at once.
    pub immediate: bool,
}

fn now(text: &str) -> Result<Now, String> {
    let mut words = text.split(',');
    let source = SourceWay::from_str(words.next().unwrap_or_default(), true)
        .map_err(|_| "begin with a source: auto, recv, recvmmsg, v2, v3, xdp".to_string())?;
    let mut now = Now { source, buffer: None, immediate: false };
    for word in words {
        match word {
            "immediate" => now.immediate = true,
            word => now.buffer = Some(bytes(word).ok_or("give the buffer like 256KiB or 4MiB")?),
        }
    }
    Ok(now)
}

/// What `64KiB` or `4MiB` stand for, in bytes.
pub fn bytes(word: &str) -> Option<u64> {
    let (digits, factor) = match (word.strip_suffix("KiB"), word.strip_suffix("MiB")) {
        (Some(digits), _) => (digits, 1 << 10),
        (_, Some(digits)) => (digits, 1 << 20),
        _ => return None,
    };
    digits.parse::<u64>().ok()?.checked_mul(factor).filter(|bytes| *bytes > 0)
}

fn seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (1.0..=1e5).contains(&number) => Ok(number),
        _ => Err("give seconds from 1 to 100000".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_used_today_is_read() {
        let is = |text: &str, source, buffer, immediate| {
            assert_eq!(now(text), Ok(Now { source, buffer, immediate }), "{text}");
        };
        is("recv", SourceWay::Recv, None, false);
        is("v2,4MiB", SourceWay::V2, Some(4 << 20), false);
        is("auto,immediate,64KiB", SourceWay::Auto, Some(64 << 10), true);
        for text in ["", "v4", "v2,", "v2,4", "v2,0MiB", "v2,late", "v2,99999999999999999999MiB"] {
            assert!(now(text).is_err(), "{text}");
        }
    }
}
