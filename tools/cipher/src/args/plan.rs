//! `tollway cipher plan` on the command line.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use tollway_cipher::engine::suite::Named;

use super::predict::{bytes, cipher};
use super::serve::time;
use crate::fitted::way::Way;
use crate::predict::{MEAN_WITHIN, P99_WITHIN};

/// `tollway cipher plan`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway cipher plan --slo 'p99<2ms'
  tollway cipher plan --slo 'mean<300us' --tenants 4 --size 16384 --verify
  tollway cipher plan --slo 'p99<5ms' --rate 500 --size 16384

How much the card can do so that responses keep a service level, by each way of telling: from the steps of a request measured here \
                  and now, light loads of one way, and simulation. docs/cipher.md says what is in the model.")]
pub struct Plan {
    /// The service level: `p99<500us`, `mean<200us`, `p50<…`, `p99.9<…`.
    #[arg(long, value_name = "LEVEL")]
    pub slo: Level,

    /// Tenants that share the card.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=64), conflicts_with = "rate")]
    pub tenants: u32,

    /// Requests a second of each tenant: then how many tenants there may be is what is looked for.
    #[arg(long, value_name = "RATE", value_parser = clap::value_parser!(u32).range(1..=10_000_000))]
    pub rate: Option<u32>,

    /// What is done to the bytes, by the names of `openssl speed`.
    #[arg(long, value_name = "CIPHER", default_value = "aes-128-cbc", value_parser = cipher)]
    pub cipher: &'static Named,

    /// Bytes of a request, a multiple of 16.
    #[arg(long, value_name = "BYTES", default_value = "4096", value_parser = bytes)]
    pub size: usize,

    /// Ways of telling: interrupt, coalesced:COUNT:TIME, capped:RATE, adaptive, epoll, periodic:TIME, hybrid:TIME, busy. `capped`
    /// without a rate is looked through, from 1000 to 50,000 interrupts a second.
    #[arg(long, value_name = "WAY,…", value_delimiter = ',')]
    #[arg(default_value = "interrupt,coalesced,capped,adaptive,epoll,periodic,hybrid,busy")]
    pub ways: Vec<Way>,

    /// Then run the best way at the load that is found for it, and show foretold against measured.
    #[arg(long)]
    pub verify: bool,

    /// Requests of that. With fewer than 100,000 the model is fitted to shorter measurements, too.
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1000..=100_000_000))]
    pub requests: u64,

    /// Seed of all that is drawn.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be measured and about how long it would take; measure nothing.
    #[arg(long)]
    pub dry_run: bool,
}

/// A service level of responses.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Level {
    /// The share of responses that it speaks of; `None`: their mean.
    pub share: Option<f64>,
    /// What that is to be below.
    pub most: Duration,
}

impl Level {
    /// As it is written.
    pub fn words(&self) -> String {
        let what = self.share.map_or("mean".into(), |share| format!("p{}", (share * 1e5).round() / 1e3));
        format!("{what} < {:?}", self.most)
    }

    /// How far a response that was foretold may be from the one that comes, as a share of that.
    pub fn within(&self) -> f64 {
        if self.share.is_none() { MEAN_WITHIN } else { P99_WITHIN }
    }

    /// What may be foretold, in nanoseconds, for the level to be kept although the response is that much longer.
    pub fn foretold(&self) -> f64 {
        self.most.as_nanos() as f64 / (1.0 + self.within())
    }
}

impl FromStr for Level {
    type Err = String;

    fn from_str(text: &str) -> Result<Level, String> {
        let wrong = || format!("`{text}` is no service level: write p99<500us, mean<200us or p50<1ms");
        let (what, most) = text.split_once('<').ok_or_else(wrong)?;
        let most = time(most.trim_start_matches('=').trim()).map_err(|why| format!("{}; {why}", wrong()))?;
        let share = match what.trim() {
            "mean" => None,
            what => {
                let percent: f64 = what.strip_prefix('p').and_then(|p| p.parse().ok()).ok_or_else(wrong)?;
                Some(percent / 100.0)
                    .filter(|share| (0.01..=0.9999).contains(share))
                    .ok_or_else(wrong)?
                    .into()
            }
        };
        if most.is_zero() {
            return Err(format!("{}; nothing takes no time", wrong()));
        }
        Ok(Level { share, most })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_are_read() {
        let level: Level = "p99<500us".parse().unwrap();
        assert_eq!(level, Level { share: Some(0.99), most: Duration::from_micros(500) });
        assert_eq!((level.foretold() * 1.2).round(), 500e3);
        assert_eq!("mean < 2ms".parse::<Level>().unwrap().share, None);
        assert_eq!("p99.9<=1s".parse::<Level>().unwrap().words(), "p99.9 < 1s");
        for wrong in ["p99", "p0<1ms", "p100<1ms", "q9<1ms", "p99<5", "p99<0us", "mean>1ms"] {
            assert!(wrong.parse::<Level>().is_err(), "{wrong}");
        }
    }
}
