//! What is counted in a block.

/// Lengths that runs are told apart by: 1, 2, 3, 4, 5, and 6 or more.
pub const RUN_LENGTHS: usize = 6;

/// Runs of each length. The runs of a block begin and end with it.
pub type Runs = [u16; RUN_LENGTHS];

/// What the tests of a block are decided by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Bits that are set.
    pub ones: u32,
    /// Sum of the squares of how often each of the 16 nibbles occurs.
    pub squares: u32,
    /// Runs of zeros.
    pub zero_runs: Runs,
    /// Runs of ones.
    pub one_runs: Runs,
    /// Whether there is a run of 26 or more.
    pub long_run: bool,
    /// Whether a 32-bit word is equal to the one before it, which for the first is the last before the block.
    pub repeats: bool,
}
