//! Where every packet went. What is not known is `None`, never 0.

use std::ops::AddAssign;

/// Packets by their fate. They balance: offered = filtered out + delivered + dropped + lost before us.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accounting {
    /// All that came by.
    pub offered: Option<u64>,
    /// Those that the filter did not want.
    pub filtered_out: Option<u64>,
    /// Those that reached the application.
    pub delivered: u64,
    /// Those that the filter wanted and the full buffer could not take.
    pub dropped: Option<u64>,
    /// Those that the driver or the interface lost before they reached us.
    pub lost_before: Option<u64>,
}

impl Accounting {
    /// Whether the fates add up to what was offered; `None` where one of them is not known.
    pub fn balances(&self) -> Option<bool> {
        let fates = self
            .delivered
            .checked_add(self.filtered_out?)?
            .checked_add(self.dropped?)?
            .checked_add(self.lost_before?)?;
        Some(self.offered? == fates)
    }
}

impl AddAssign for Accounting {
    /// What is unknown of one is unknown of both.
    fn add_assign(&mut self, other: Self) {
        let sum = |a: Option<u64>, b: Option<u64>| Some(a? + b?);
        self.offered = sum(self.offered, other.offered);
        self.filtered_out = sum(self.filtered_out, other.filtered_out);
        self.delivered += other.delivered;
        self.dropped = sum(self.dropped, other.dropped);
        self.lost_before = sum(self.lost_before, other.lost_before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: Accounting = Accounting {
        offered: Some(10),
        filtered_out: Some(4),
        delivered: 3,
        dropped: Some(2),
        lost_before: Some(1),
    };

    #[test]
    fn fates_add_up() {
        assert_eq!(KNOWN.balances(), Some(true));
        assert_eq!(Accounting { delivered: 4, ..KNOWN }.balances(), Some(false));
    }

    #[test]
    fn unknown_stays_unknown() {
        let unknown = Accounting { lost_before: None, ..KNOWN };
        assert_eq!(unknown.balances(), None);
        let mut both = KNOWN;
        both += unknown;
        assert_eq!((both.lost_before, both.delivered, both.offered), (None, 6, Some(20)));
    }
}
