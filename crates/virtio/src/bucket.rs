//! A limit on a rate: a token bucket, which knows no clock of its own.

/// A token bucket. Times are nanoseconds of a clock that never goes back; tokens are whatever is limited, for instance
/// bytes.
#[derive(Clone, Debug, PartialEq)]
pub struct Bucket {
    rate: u64,
    burst: u64,
    /// Tokens times a thousand million, so that no fraction is lost however often it is asked.
    level: u128,
    at: u64,
}

const SECOND: u128 = 1_000_000_000;

impl Bucket {
    /// A full bucket: `rate` tokens a second, at most `burst` at once. Neither can be 0; 0 is taken as 1.
    pub fn new(rate: u64, burst: u64, now: u64) -> Bucket {
        let (rate, burst) = (rate.max(1), burst.max(1));
        Bucket { rate, burst, level: u128::from(burst) * SECOND, at: now }
    }

    /// Tokens a second.
    pub fn rate(&self) -> u64 {
        self.rate
    }

    /// The most tokens that it holds.
    pub fn burst(&self) -> u64 {
        self.burst
    }

    /// Another rate and size; what is in it stays, as far as it fits.
    pub fn change(&mut self, rate: u64, burst: u64, now: u64) {
        self.fill(now);
        self.rate = rate.max(1);
        self.burst = burst.max(1);
        self.level = self.level.min(u128::from(self.burst) * SECOND);
    }

    /// How many tokens there are.
    pub fn level(&mut self, now: u64) -> u64 {
        self.fill(now);
        (self.level / SECOND) as u64
    }

    /// Takes `tokens`, which [`level`](Bucket::level) has just promised; what is not there is not owed.
    pub fn take(&mut self, tokens: u64) {
        self.level = self.level.saturating_sub(u128::from(tokens) * SECOND);
    }

    /// When there will be `tokens`, or a full bucket if that is less: now or later.
    pub fn ready_at(&mut self, tokens: u64, now: u64) -> u64 {
        self.fill(now);
        let missing = (u128::from(tokens.min(self.burst)) * SECOND).saturating_sub(self.level);
        let wait = missing.div_ceil(u128::from(self.rate));
        now.saturating_add(u64::try_from(wait).unwrap_or(u64::MAX))
    }

    fn fill(&mut self, now: u64) {
        let passed = now.saturating_sub(self.at);
        self.at = self.at.max(now);
        let more = u128::from(passed) * u128::from(self.rate);
        self.level = (self.level + more).min(u128::from(self.burst) * SECOND);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// In any stretch no more passes than the rate allows and one burst; and who takes all that is there, before it
        /// is full, loses nothing.
        #[test]
        fn the_rate_holds_however_often_it_is_asked(
            rate in 1u64..1_000_000_000,
            burst in 1u64..1_000_000,
            steps in prop::collection::vec(0u64..5_000_000, 1..200),
        ) {
            let mut bucket = Bucket::new(rate, burst, 0);
            let (mut now, mut taken, mut full) = (0u64, u128::from(burst), false);
            bucket.take(burst);
            for step in steps {
                now += step;
                full |= (u128::from(step) * u128::from(rate)).div_ceil(SECOND) + 1 > u128::from(burst);
                let there = bucket.level(now);
                prop_assert!(there <= burst);
                bucket.take(there);
                taken += u128::from(there);
            }
            let most = u128::from(burst) + u128::from(now) * u128::from(rate) / SECOND;
            prop_assert!(taken <= most);
            prop_assert!(full || taken == most);
        }

        #[test]
        fn what_it_promises_for_a_moment_is_there_then(
            rate in 1u64..1_000_000, burst in 1u64..100_000, used in 0u64..100_000, wanted in 1u64..200_000,
        ) {
            let mut bucket = Bucket::new(rate, burst, 5);
            bucket.take(used.min(burst));
            let at = bucket.ready_at(wanted, 5);
            prop_assert!(bucket.clone().level(at) >= wanted.min(burst));
            prop_assert!(at == 5 || bucket.clone().level(at - 1) < wanted.min(burst));
        }
    }

    #[test]
    fn a_change_keeps_what_fits() {
        let mut bucket = Bucket::new(100, 1000, 0);
        bucket.change(10, 50, 0);
        assert_eq!(bucket.level(0), 50);
        bucket.take(50);
        assert_eq!((bucket.level(1_000_000_000), bucket.rate(), bucket.burst()), (10, 10, 50));
        assert_eq!(bucket.level(0), 10, "a clock that goes back gives nothing");
    }
}
