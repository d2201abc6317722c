//! Throughput times mean latency, held against the number of connections (Little's law), as a check that messages were not forgotten and
//! time was not: a connection that waits for long at either end of the window is missing from what was recorded.

use tollway_core::{Error, Result, Tally, Ticks};

/// What messages of a window took together, by the two ways to say which these are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Little {
    connections: u64,
    window: Ticks,
    /// Of those that were answered in it.
    answered: Ticks,
    /// Of those that were asked in it.
    asked: Ticks,
    /// Of all of them, whenever that was, the one that took longest.
    longest: Ticks,
}

/// By so much of the number of connections it may be off, or the trial is no measurement. A machine that had no time for the trial at one end of the
/// window is off by more in one of the two ways, and as much on the other side in the other: the law is between them.
const OFF: f64 = 0.5;

/// A window that is not so many times as long as the longest message says nothing: the law is one of long times, and a message that was asked before the
/// window and answered after it is in neither way. That there was such a one the figure itself shows.
const LONG: u64 = 10;

impl Little {
    pub(super) fn new(connections: usize, window: Ticks) -> Little {
        Little { connections: connections as u64, window, ..Little::default() }
    }

    /// A message that took so long; whether it was asked, and answered, in the window.
    #[inline]
    pub(super) fn took(&mut self, ticks: Ticks, asked: bool, answered: bool) {
        self.asked += if asked { ticks } else { 0 };
        self.answered += if answered { ticks } else { 0 };
        self.longest = self.longest.max(ticks);
    }

    /// Throughput times latency by the number of connections: 1, if nothing is missing.
    fn ratios(&self) -> [f64; 2] {
        let all = (self.connections * self.window) as f64;
        [self.answered, self.asked].map(|took| took as f64 / all)
    }

    /// Nothing, if it is about as the law says.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it is off by half.
    pub(super) fn holds(&self) -> Result<()> {
        let [answered, asked] = self.ratios();
        let holds = answered.max(asked) > 1.0 - OFF && answered.min(asked) < 1.0 + OFF;
        if holds || self.longest.saturating_mul(LONG) > self.window {
            return Ok(());
        }
        let law = self.connections as f64;
        Err(Error::Wrong(format!(
            "throughput times mean latency is {:.2} by messages answered in the window and {:.2} by those asked in it, with {} connections (Little's law)",
            answered * law,
            asked * law,
            self.connections
        )))
    }

    /// With both sides of the law, in ticks: `little_latencies` by `little_connections` is 1, if it holds.
    pub(super) fn counted(&self, tally: Tally) -> Tally {
        tally
            .counter("little_latencies", self.answered)
            .counter("little_connections", self.connections * self.window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_that_are_missing_are_noticed() {
        // Four connections, of which each has 100 messages of 10 ticks in a window of 1000.
        let of = |messages: u64| {
            let mut little = Little::new(4, 1000);
            (0..messages).for_each(|_| little.took(10, true, true));
            little
        };
        of(400).holds().unwrap();
        of(360).holds().unwrap();
        let said = of(100).holds().unwrap_err().to_string();
        assert!(said.contains("is 1.00 by messages answered") && said.contains("4 connections"), "{said}");
        let counters = of(380).counted(Tally::default()).counters;
        assert_eq!((counters["little_latencies"], counters["little_connections"]), (3800, 4000));
    }

    #[test]
    fn a_machine_that_stood_still_for_much_of_the_window_is_excused() {
        let mut little = Little::new(2, 1000);
        (0..30).for_each(|_| little.took(10, true, true));
        little.took(1500, false, false);
        little.took(700, true, false);
        little.holds().unwrap();
        // But not if it was little of it.
        let mut little = Little::new(2, 1000);
        (0..30).for_each(|_| little.took(10, true, true));
        little.took(100, true, false);
        little.holds().unwrap_err();
        // Nor if messages took longer than there are connections for.
        let mut little = Little::new(1, 1000);
        (0..200).for_each(|_| little.took(10, true, true));
        little.holds().unwrap_err();
    }
}
