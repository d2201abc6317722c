#![doc = include_str!("../README.md")]
#![warn(missing_debug_implementations)]
//!
//! # Layers
//!
//! - What a sample looks like: [`summary`].
//! - A centre with its error: [`Interval`], and [`Location`], which can be tested as well.
//! - Where intervals come from: [`figure()`] for the price list, [`bootstrap`] for any statistic,
//!   [`batch_means()`] for correlated series.
//! - How often something rare happens: [`proportion()`].
//! - Two sides compared: [`paired_ratio`], [`unpaired_ratio`], and without a model of the noise
//!   [`mann_whitney`], [`signed_rank()`], [`spearman`]; from which step of a ladder on one is the smaller, [`first_below`];
//!   for as many turns as it takes to know whether they are the same, [`UntilKnown`].
//! - What a trace is: [`goodness_of_fit`] to a distribution, [`serial`] independence and stationarity, [`counts`],
//!   [`studentised()`] intervals for functions of means.
//! - From tests to words: [`Ratio::equivalence`], [`benjamini_hochberg`], [`judge_all`].
//!
//! Every function is pure: no clock, no I/O, no hidden state; where random numbers are needed, the seed is an
//! argument. A bad input is an [`StatsError`], never NaN and never a panic.

mod batch_means;
pub mod bootstrap;
mod correlation;
pub mod counts;
mod crossover;
mod equivalence;
mod error;
mod false_discovery;
mod few_groups;
mod figure;
pub mod goodness_of_fit;
mod interval;
mod location;
mod median_bootstrap;
mod proportion;
mod rank_sum;
mod ranks;
mod ratio;
mod sample;
mod sequential;
pub mod serial;
mod signed_rank;
mod student;
mod studentised;
pub mod summary;
mod verdict;

pub use batch_means::{BatchMeans, batch_means};
pub use correlation::{Spearman, spearman};
pub use crossover::{FirstBelow, first_below};
pub use equivalence::{Equivalence, equivalence};
pub use error::StatsError;
pub use false_discovery::{benjamini_hochberg, discoveries};
pub use figure::figure;
pub use interval::Interval;
pub use location::{Location, t_interval};
pub use proportion::proportion;
pub use rank_sum::{MannWhitney, mann_whitney};
pub use ratio::{Pairing, Ratio, paired_ratio, unpaired_ratio};
pub use sequential::{Outcome, UntilKnown};
pub use signed_rank::{SignedRank, signed_rank};
pub use studentised::studentised;
pub use verdict::{Comparison, Criteria, Direction, Judgement, Verdict, judge, judge_all};
