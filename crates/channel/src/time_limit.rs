//! Time limit of one call.

use std::time::{Duration, Instant};

/// It begins when somebody first asks how much is left: a call whose reply comes while it looks reads no
/// clock.
#[derive(Debug)]
pub(crate) struct TimeLimit {
    timeout: Option<Duration>,
    begun: Option<Instant>,
}

impl TimeLimit {
    /// Of that length; without end if there is none.
    pub fn new(timeout: Option<Duration>) -> TimeLimit {
        TimeLimit { timeout, begun: None }
    }

    /// How much is left; nothing is said where it has no end.
    pub fn left(&mut self) -> Option<Duration> {
        let timeout = self.timeout?;
        Some(timeout.saturating_sub(self.begun.get_or_insert_with(Instant::now).elapsed()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limit_begins_when_it_is_first_asked_and_runs_out() {
        let timeout = Duration::from_secs(3600);
        let mut limit = TimeLimit::new(Some(timeout));
        assert_eq!(limit.begun, None);
        assert!(limit.left().is_some_and(|left| left <= timeout));
        // Half of the time goes by, twice, and nobody waits for it.
        limit.begun = limit.begun.and_then(|begun| begun.checked_sub(timeout / 2));
        assert!(limit.left().is_some_and(|left| left <= timeout / 2 && !left.is_zero()));
        limit.begun = limit.begun.and_then(|begun| begun.checked_sub(timeout / 2));
        assert_eq!(limit.left(), Some(Duration::ZERO));
        assert_eq!(TimeLimit::new(None).left(), None);
        assert!(
            TimeLimit::new(Some(Duration::MAX))
                .left()
                .is_some_and(|left| left > Duration::from_secs(1 << 40))
        );
    }
}
