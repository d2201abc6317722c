//! `tollway entropy feed` on the command line.

use std::path::PathBuf;

use clap::Args;
use tollway_entropy::engine::source::Kind;

/// `tollway entropy feed`.
#[derive(Clone, Debug, Args)]
#[command(after_help = "For example:
  tollway entropy feed --dry-run
  tollway entropy feed --status /run/tollway-feed.sock
  tollway entropy feed --source /dev/hwrng --entropy 7.5 --once

It needs root, or CAP_SYS_ADMIN. Nothing is fed unless the source has passed its start-up test and every health test since \
                  (NIST SP 800-90B, section 4.4); what is credited is what the source is known to hold, never what comes \
                  out of this kernel itself. SIGUSR1 prints the state as JSON, SIGTERM, SIGHUP and Ctrl-C end it.

Since Linux 5.6 nobody waits for /dev/random once the kernel's generator is initialised, and since 5.18 entropy_avail says 256 \
                  from then on: what feeding brings is an early start, and fresh entropy at each reseeding, once a \
                  minute. More in docs/entropy.md.")]
pub struct Feed {
    /// Where the bytes come from: rdrand, rdseed, or a path as /dev/hwrng.
    #[arg(long, value_name = "SOURCE", default_value = "rdrand")]
    pub source: Kind,

    /// Makes one byte of 512, by AES [default: of rdrand, which then may be credited in full].
    #[arg(long)]
    pub conditioned: bool,

    /// Takes the bytes as they come: of rdrand 1/64 of a bit a byte is credited.
    #[arg(long, conflicts_with = "conditioned")]
    pub raw: bool,

    /// Seconds between two feedings; a kernel that wants one earlier gets it.
    #[arg(long, value_name = "SECONDS", default_value_t = 60.0, value_parser = interval)]
    pub interval: f64,

    /// Bytes of a feeding [default: as many as hold 512 bits].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=65536))]
    pub bytes: Option<u32>,

    /// Bits of min-entropy in a byte of a path: what is credited, and what the health tests hold it to [default: 1].
    #[arg(long, value_name = "BITS", value_parser = entropy)]
    pub entropy: Option<f64>,

    /// Says of a plain file that nobody knows its bytes and that others take their place before the next start; else the same
    /// bytes would be credited again and again.
    #[arg(long)]
    pub file_is_fresh: bool,

    /// How rarely a good source is taken for a broken one: once in 2^BITS bytes and test.
    #[arg(long, value_name = "BITS", default_value_t = 64.0, value_parser = rarity)]
    pub false_alarms: f64,

    /// Bytes a second below which the source counts as broken.
    #[arg(long, value_name = "BYTES/S", default_value_t = 16.0, value_parser = rate)]
    pub least_rate: f64,

    /// Feeds once, and ends.
    #[arg(long)]
    pub once: bool,

    /// A socket that answers each connection with the state, as JSON.
    #[arg(long, value_name = "SOCKET", conflicts_with_all = ["once", "dry_run"])]
    pub status: Option<PathBuf>,

    /// Tests the source, says what would be done, and does not.
    #[arg(long)]
    pub dry_run: bool,
}

impl Feed {
    /// Whether bytes are conditioned.
    pub fn is_conditioned(&self) -> bool {
        self.conditioned || self.source == Kind::Rdrand && !self.raw
    }
}

fn interval(text: &str) -> Result<f64, String> {
    between(text, 0.05, 86_400.0, "seconds")
}

fn entropy(text: &str) -> Result<f64, String> {
    between(text, 0.1, 8.0, "bits")
}

fn rarity(text: &str) -> Result<f64, String> {
    between(text, 20.0, 80.0, "bits")
}

fn rate(text: &str) -> Result<f64, String> {
    between(text, 0.0, 1e9, "bytes a second")
}

fn between(text: &str, least: f64, most: f64, unit: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(value) if (least..=most).contains(&value) && value.is_sign_positive() => Ok(value),
        _ => Err(format!("give a number of {unit} from {least} to {most}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minus_nothing_is_no_rate() {
        assert_eq!((rate("0"), rate("1e6")), (Ok(0.0), Ok(1e6)));
        assert!(["-0", "-0.0", "-1", "nan", "inf"].into_iter().all(|text| rate(text).is_err()));
    }
}
