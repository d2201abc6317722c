//! Does a source still work? The health tests of NIST SP 800-90B, section 4.4, and what they leave out.
//!
//! | test | alarm | catches |
//! |---|---|---|
//! | [`Test::Repetition`], 4.4.1 | one byte too often in a row | a source that is stuck |
//! | [`Test::Proportion`], 4.4.2 | the first byte of a window of 512 too often in it | a few values far too often; every repeat with a period of up to 20 bytes |
//! | [`Test::Ones`] | far more or fewer ones than zeros in 4096 bytes | bias of single bits, which no byte shows soon |
//! | [`Test::Words`] | a 64-bit word too often in a row | a generator that hands out the same draw again |
//! | [`Test::Constant`] | words all zeros or all ones | RDRAND of some AMD processors after suspending, RDSEED where it fails and says it did not |
//! | [`Test::Recurrence`] | bytes that have been there within the last 4096 | repeats with any period up to 4096 |
//! | [`Test::Rate`] | fewer bytes a second than configured | a source that starves, or stops |
//! | [`Test::Supply`] | the source fails by itself | a source that is dry or gone |
//!
//! A repeat with a period between 21 and 4096 bytes passes the standard's two tests unless the byte that a window begins with
//! is frequent in it: that is why there is a test for it. One with a period beyond 4096 bytes passes all of them, as does the output of any
//! good generator whose seed is known: health tests notice that a source has broken, not that it is secret.
//!
//! The cut-offs follow from what the source claims ([`Claim::evenness`](super::source::Claim)) and from how rarely a good source may
//! raise an alarm ([`Limits`]). [`Monitored`] puts them around a source; [`most_common_value`] estimates evenness from a
//! sample.

mod binomial;
mod clocked;
mod continuous;
mod estimate;
mod limits;
mod monitored;
mod ones;
mod proportion;
mod recurrence;
mod repetition;
mod self_test;
mod watch;
mod words;

pub use continuous::{Alarms, Continuous, Test};
pub use estimate::{Estimate, histogram, most_common_value};
pub use limits::Limits;
pub use monitored::{Monitored, Settings};
pub use self_test::{Outcome, SelfTest};
pub use watch::{Health, State, Watch};

#[cfg(test)]
mod tests;
