//! `tollway cipher predict` on the command line.

use clap::Args;
use clap::builder::RangedU64ValueParser;
use tollway_cipher::engine::suite::Named;

use crate::fitted::way::Way;

/// `tollway cipher predict`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway cipher predict
  tollway cipher predict --size 16384 --ways busy,interrupt,capped:5k --requests 1000000
  tollway cipher predict --preset arrival

The steps of a request are measured alone, and the card at light loads; from that its response at heavier loads, and by other ways \
                  of telling, is simulated and written to the store; then these are measured. docs/cipher.md says what is in the \
                  model.")]
pub struct Predict {
    /// A preset of the path `cipher` whose points are foretold instead, tried as it says: `arrival`, `moderation`, `queue`,
    /// `many-vcm`.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["cipher", "size", "ways", "loads", "requests", "runs"])]
    pub preset: Option<String>,

    /// What is done to the bytes, by the names of `openssl speed`.
    #[arg(long, value_name = "CIPHER", default_value = "aes-128-cbc", value_parser = cipher)]
    pub cipher: &'static Named,

    /// Bytes of a request, a multiple of 16.
    #[arg(long, value_name = "BYTES", default_value = "65536", value_parser = bytes)]
    pub size: usize,

    /// Ways of telling whose responses are foretold: interrupt, coalesced:COUNT:TIME, capped:RATE, adaptive, epoll, periodic:TIME,
    /// hybrid:TIME, busy.
    #[arg(long, value_name = "WAY,…", value_delimiter = ',', default_value = "busy,interrupt,epoll")]
    pub ways: Vec<Way>,

    /// Loads that are foretold: the share of time for which the card is at work, its calls included; of each way the rate that makes it
    /// is found by simulation.
    #[arg(long, value_name = "LOAD,…", value_delimiter = ',', default_value = "0.6,0.7,0.8", value_parser = load)]
    pub loads: Vec<f64>,

    /// Requests of each way at each load. With fewer than 100,000 the model is fitted to shorter measurements, too.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = RangedU64ValueParser::<u64>::new().range(1000..=100_000_000))]
    pub requests: u64,

    /// Blocks that they are shared out to, each with processes of its own: their means make the intervals.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u32).range(3..=100))]
    pub runs: u32,

    /// Seed of all that is drawn.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be measured and about how long it would take; measure nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// A cipher by its name.
pub fn cipher(text: &str) -> Result<&'static Named, String> {
    let known = || Named::ALL.iter().map(|named| named.name).collect::<Vec<_>>().join(", ");
    Named::find(text).ok_or_else(|| format!("there is no `{text}` here: write one of {}", known()))
}

/// Bytes of a request.
pub fn bytes(text: &str) -> Result<usize, String> {
    let bytes =
        text.parse().ok().filter(|bytes: &usize| bytes.is_multiple_of(16) && (16..=1 << 18).contains(bytes));
    bytes.ok_or_else(|| format!("`{text}` is no multiple of 16 from 16 to {}", 1 << 18))
}

/// The largest load that is foretold: nearer to 1 it takes longer until a queue is as long as it will be than anything is measured for
/// (of M/M/1 some 1/(√μ − √λ)²; Morse 1955, Operations Research 3:255).
pub const LARGEST_LOAD: f64 = 0.95;

fn load(text: &str) -> Result<f64, String> {
    let load = text.parse().ok().filter(|load| (0.01..=LARGEST_LOAD).contains(load));
    load.ok_or_else(|| format!("`{text}` is no share from 0.01 to {LARGEST_LOAD}"))
}
