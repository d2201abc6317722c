//! Why a number could not be made. Nothing in this crate answers a bad input with NaN: it answers with one of
//! these.

/// The reason why an estimate, an interval or a test cannot be given.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum StatsError {
    /// Too few values, blocks or batches for what was asked; an empty sample has `got == 0`.
    #[error("{needed} or more {what} needed, got {got}")]
    TooFew {
        /// What is counted: "values", "blocks", "trials", ...
        what: &'static str,
        /// The least number that works.
        needed: usize,
        /// The number that was given.
        got: usize,
    },
    /// A value is NaN or infinite.
    #[error("value {index} is not finite")]
    NotFinite {
        /// Position of the first such value in its sample (or block).
        index: usize,
    },
    /// A ratio was asked of values that are not all greater than zero.
    #[error("value {index} is not positive, so it has no ratio")]
    NotPositive {
        /// Position of the first such value in its sample (or block).
        index: usize,
    },
    /// A block holds no trial.
    #[error("block {block} is empty")]
    EmptyBlock {
        /// Position of the first such block.
        block: usize,
    },
    /// Two samples that belong together differ in length.
    #[error("samples of {left} and {right} values cannot be paired")]
    LengthMismatch {
        /// Length of the first sample.
        left: usize,
        /// Length of the second sample.
        right: usize,
    },
    /// An argument (a confidence, a probability, a margin, a trimmed share) lies outside its range.
    #[error("{name} = {value} is outside {range}")]
    OutOfRange {
        /// Name of the argument.
        name: &'static str,
        /// What was given.
        value: f64,
        /// What is allowed, in words.
        range: &'static str,
    },
    /// All values are equal, so that a correlation has no meaning.
    #[error("all values are equal: there is no correlation to speak of")]
    NoSpread,
    /// Finite values whose result is too large for an `f64`, or a statistic that returned NaN.
    #[error("the result is not a finite number")]
    Overflow,
}
