//! Primes below a number by the study's method: each number is divided by every whole number up to its square root, by one
//! thread. There are far better ways; the time that this one takes is the figure.

use std::time::{Duration, Instant};

/// So many numbers are tried between two looks at the clock: below a hundred million they take 10 ms at most.
const BETWEEN_LOOKS: u32 = 1024;

/// How far a count came.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Count {
    /// Primes found.
    pub primes: u64,
    /// All numbers below this one were tried; of a count that was cut short, it may be tried as well.
    pub reached: u64,
    /// How long that took.
    pub took: Duration,
}

/// Counts the primes below `below`, or as many of them as it gets to `within` that time.
pub fn count(below: u32, within: Duration) -> Count {
    let begun = Instant::now();
    let (mut primes, mut reached) = (0, 2.min(below));
    while reached < below && begun.elapsed() < within {
        let end = below.min(reached.saturating_add(BETWEEN_LOOKS));
        primes += (reached..end).filter(|number| is_prime(*number)).count() as u64;
        reached = end;
    }
    Count { primes, reached: u64::from(reached), took: begun.elapsed() }
}

#[inline]
fn is_prime(number: u32) -> bool {
    let root = number.isqrt();
    let mut divisor = 2;
    while divisor <= root {
        // `is_multiple_of` would ask each time whether the divisor is 0.
        #[expect(clippy::manual_is_multiple_of, reason = "it is what is measured")]
        if number % divisor == 0 {
            return false;
        }
        divisor += 1;
    }
    true
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::engine::cpu::sieve::primes_below;

    const LONG: Duration = Duration::from_secs(600);

    proptest! {
        #[test]
        fn it_counts_what_the_sieve_does(below in 0u32..20_000) {
            let count = count(below, LONG);
            prop_assert_eq!((count.primes, count.reached), (primes_below(u64::from(below)), u64::from(below)));
        }
    }

    #[test]
    fn the_count_of_the_study_is_exact() {
        assert_eq!(count(1_000_000, LONG).primes, 78_498);
    }

    #[test]
    fn what_is_cut_short_says_how_far_it_came() {
        let cut = count(u32::MAX, Duration::from_millis(20));
        assert!((3..u64::from(u32::MAX)).contains(&cut.reached), "{cut:?}");
        assert_eq!(cut.primes, primes_below(cut.reached));
    }
}
