//! `tollway entropy test` on the command line: rngtest's options.

use std::path::PathBuf;

use clap::Args;

/// `tollway entropy test`.
#[derive(Debug, Args)]
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

/// A number as rngtest reads it, by %i of scanf(3): decimal, 0x… or 0….
fn number(text: &str) -> Result<u64, String> {
    let (digits, radix) = match text.strip_prefix('0') {
        Some(rest) if !rest.is_empty() => match rest.strip_prefix(['x', 'X']) {
            Some(digits) => (digits, 16),
            None => (rest, 8),
        },
        _ => (text, 10),
    };
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    let value = is_number.then(|| i64::from_str_radix(digits, radix).ok()).flatten();
    value.and_then(|value| u64::try_from(value).ok()).ok_or_else(|| "give a whole number from 0 on".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_rngtest_reads_them() {
        for (text, value) in [("0", 0), ("10", 10), ("0x10", 16), ("010", 8), ("4000000000", 4_000_000_000)] {
            assert_eq!(number(text), Ok(value));
        }
        for text in ["", "-1", "+1", "x", "08", "0x", "1.5", "1k", "99999999999999999999"] {
            assert!(number(text).is_err(), "{text}");
        }
    }
}
