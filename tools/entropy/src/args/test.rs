//! `tollway entropy test` on the command line: rngtest's options.

use std::path::PathBuf;

use clap::Args;

/// `tollway entropy test`.
#[derive(Debug, Args)]
#[command(version, args_override_self = true, infer_long_args = true)]
#[command(after_help = "For example:
  tollway entropy test -c 100000 < /dev/urandom
  tollway entropy test random.bin --json
  rdrand-tool | tollway entropy test --pipe -b 10000 | consumer

It stands in for rngtest(1) of rng-tools: the options, the lines on standard error (they begin with `rngtest: `; ours with \
                  `tollway: `) and the exit codes are that program's: 0 no block failed, 1 a block failed or there was \
                  none, 10 usage, 11 input or output failed, 12 the system refused. In Tollway's other commands a \
                  failed check is 3, usage 2, an error 1. Ctrl-C and SIGTERM end it with the statistics so far, and the \
                  exit code that these make; SIGUSR1 prints them meanwhile.

Speeds are per block in bits a second, by a clock of nanoseconds; the blocks of one read or of one go have equal parts of its \
                  time. The first 4 bytes (with --pipe 8) are not tested. More in docs/entropy.md.")]
pub struct Test {
    /// What is tested; `-` is standard input [default: -].
    #[arg(value_name = "FILE")]
    pub file: Option<PathBuf>,

    /// Exit after N blocks of 20,000 bits; 0: at the end of the input. No more than these is read.
    #[arg(short = 'c', long = "blockcount", value_name = "N", default_value = "0", value_parser = number)]
    pub block_count: u64,

    /// Print statistics every N blocks; 0: at the end only.
    #[arg(short = 'b', long = "blockstats", value_name = "N", default_value = "0", value_parser = number)]
    pub block_stats: u64,

    /// Print statistics every N seconds; 0: at the end only.
    #[arg(short = 't', long = "timedstats", value_name = "N", default_value = "0", value_parser = number)]
    pub timed_stats: u64,

    /// Copy the blocks that pass to standard output, and say less.
    #[arg(short = 'p', long = "pipe")]
    pub pipe: bool,
}

/// A number as rngtest reads it, by %i of scanf(3): decimal, 0x… or 0…, and nothing behind the last digit counts. What is
/// larger than a C int, which rngtest refuses or cuts, is taken.
fn number(text: &str) -> Result<u64, String> {
    let text = text.trim_ascii_start();
    let (negative, text) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (digits, radix) = match text.strip_prefix('0') {
        // Without a digit behind them `0` and `0x` are zero.
        Some(rest) => rest.strip_prefix(['x', 'X']).map_or((rest, 8), |digits| (digits, 16)),
        None => (text, 10),
    };
    let zero = text.starts_with('0');
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let value = match &digits[..end] {
        "" if zero => Some(0),
        digits => i64::from_str_radix(digits, radix).ok(),
    };
    let value = value.filter(|value| !negative || *value == 0);
    value.and_then(|value| u64::try_from(value).ok()).ok_or_else(|| "give a whole number from 0 on".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_rngtest_reads_them() {
        for (text, value) in [
            ("0", 0),
            ("10", 10),
            ("0x10", 16),
            ("010", 8),
            ("4000000000", 4_000_000_000),
            ("5x", 5),
            ("+5", 5),
            (" 5", 5),
            ("08", 0),
            ("1.5", 1),
            ("1k", 1),
            ("0x", 0),
            ("-0", 0),
        ] {
            assert_eq!(number(text), Ok(value));
        }
        for text in ["", " ", "-1", "+", "x", "-x", "99999999999999999999"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
