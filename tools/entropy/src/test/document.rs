//! What a test found: the document of `--json`.

use serde::Serialize;
use tollway_entropy::engine::fips::{Finding, IDEAL_RATE, Tally, Test, Verdict};
use tollway_entropy::engine::health::Estimate;

use super::rate::Rates;

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// What the FIPS 140-2 tests said of a stream.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct TestDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// What was tested: a file's name, or `-` for standard input.
    pub input: String,
    /// Bytes that were read.
    pub bytes_received: u64,
    /// Blocks of 20,000 bits that were tested, and how they did.
    pub blocks: BlocksDocument,
    /// Share of the blocks that failed, and what that says.
    pub verdict: VerdictDocument,
    /// Blocks that were there before, as far as is remembered: almost surely all of 100,000 blocks, most of 500,000.
    pub duplicate_blocks: u64,
    /// The byte that came most often in the first million, and what that says; null without a block.
    pub most_common_byte: Option<MostCommonByte>,
    /// Bits a second that were read; null without a block.
    pub input_bits_per_second: Option<RatesDocument>,
    /// Bits a second that were tested, the search for duplicates included; null without a block.
    pub tests_bits_per_second: Option<RatesDocument>,
    /// Seconds from begin to end.
    pub seconds: f64,
    /// What the processor's vectors were: `avx512`, `avx2`, `portable`.
    pub implementation: String,
    /// How it ended.
    pub ended: Ended,
    /// What went wrong, where something did.
    pub error: Option<String>,
}

/// The most common value estimate: NIST SP 800-90B, section 6.3.1.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct MostCommonByte {
    /// The byte.
    pub value: u8,
    /// Its share of the bytes that were counted.
    pub share: f64,
    /// What its share is at most, by the standard's bound at 99 %.
    pub share_at_most: f64,
    /// Bits of min-entropy a byte, by that bound. Bytes that depend on each other have less.
    pub min_entropy: f64,
    /// Bytes that were counted.
    pub bytes: u64,
}

/// Blocks by how they did.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct BlocksDocument {
    /// All of them.
    pub tested: u64,
    /// Those that passed all tests.
    pub passed: u64,
    /// Those that failed one or more.
    pub failed: u64,
    /// Those that failed each test. A block may fail several.
    pub failed_by_test: FailedByTest,
}

/// Blocks that failed each test.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FailedByTest {
    /// Ones: more than 9,725 and fewer than 10,275.
    pub monobit: u64,
    /// The 16 nibbles: 2.16 < X < 46.17.
    pub poker: u64,
    /// Runs of each length from 1 to 6 and more.
    pub runs: u64,
    /// A run of 26 bits or more.
    pub long_run: u64,
    /// A word of 32 bits that is the one before it.
    pub continuous_run: u64,
}

/// Share of the blocks that failed.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct VerdictDocument {
    /// What can be said.
    pub finding: FindingDocument,
    /// Share of blocks that failed, with its interval; null without a block.
    pub failure_rate: Option<RateInterval>,
    /// Share of the blocks of an ideal source that fail.
    pub ideal_rate: f64,
}

/// A share with its exact binomial interval.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RateInterval {
    /// The share.
    pub value: f64,
    /// Lower end.
    pub lo: f64,
    /// Upper end.
    pub hi: f64,
    /// Confidence of the interval.
    pub confidence: f64,
}

/// What can be said of the rate of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum FindingDocument {
    /// The ideal rate is in the interval, and ten times that rate is not.
    Compatible,
    /// The whole interval lies above the ideal rate.
    TooManyFailures,
    /// The whole interval lies below the ideal rate: as if bad blocks had been taken out.
    TooFewFailures,
    /// Neither the ideal rate nor one ten times as high can be excluded.
    TooFewBlocks,
}

/// Bits a second.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct RatesDocument {
    /// Of the slowest block.
    pub min: f64,
    /// Of all.
    pub avg: f64,
    /// Of the fastest block.
    pub max: f64,
}

/// How a test ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Ended {
    /// The input was at its end.
    EndOfInput,
    /// As many blocks came as were asked for.
    Count,
    /// It was called off: Ctrl-C, SIGTERM.
    CalledOff,
    /// Nobody reads what passed any more.
    OutputClosed,
    /// Reading failed.
    InputFailed,
    /// Writing failed.
    OutputFailed,
}

impl MostCommonByte {
    /// Of this estimate from so many bytes.
    pub fn of(estimate: Estimate, bytes: u64) -> MostCommonByte {
        let Estimate { value, share, share_at_most, bits } = estimate;
        MostCommonByte { value, share, share_at_most, min_entropy: bits, bytes }
    }
}

impl BlocksDocument {
    /// Of these counts.
    pub fn of(tally: &Tally) -> BlocksDocument {
        BlocksDocument {
            tested: tally.blocks(),
            passed: tally.passed,
            failed: tally.failed,
            failed_by_test: FailedByTest {
                monobit: tally.of(Test::Monobit),
                poker: tally.of(Test::Poker),
                runs: tally.of(Test::Runs),
                long_run: tally.of(Test::LongRun),
                continuous_run: tally.of(Test::ContinuousRun),
            },
        }
    }
}

impl VerdictDocument {
    /// Of this verdict.
    pub fn of(verdict: &Verdict) -> VerdictDocument {
        VerdictDocument {
            finding: match verdict.finding {
                Finding::Compatible => FindingDocument::Compatible,
                Finding::TooManyFailures => FindingDocument::TooManyFailures,
                Finding::TooFewFailures => FindingDocument::TooFewFailures,
                Finding::TooFewBlocks => FindingDocument::TooFewBlocks,
            },
            failure_rate: verdict.rate.map(|rate| RateInterval {
                value: rate.estimate,
                lo: rate.lo,
                hi: rate.hi,
                confidence: rate.confidence,
            }),
            ideal_rate: IDEAL_RATE,
        }
    }
}

impl RatesDocument {
    /// Of these rates.
    pub fn of(rates: Rates) -> RatesDocument {
        RatesDocument { min: rates.min, avg: rates.avg, max: rates.max }
    }
}
