//! The bills of many requests.

use std::fmt;
use std::time::Duration;

use hdrhistogram::Histogram;

use crate::Paid;

/// The longest that is told apart, in ns: an hour.
const LONGEST: u64 = 3_600_000_000_000;
/// Requests that are kept whole: the dearest.
const DEAREST: usize = 3;

/// A summary of requests. Each thread has its own and they are [merged](Bills::merge), or all share one behind a lock.
#[derive(Clone, Debug)]
pub struct Bills {
    took: Histogram<u64>,
    sum: Paid,
    count: u64,
    dearest: Vec<Paid>,
}

impl Default for Bills {
    fn default() -> Bills {
        Bills::new()
    }
}

impl Bills {
    /// Without a request.
    pub fn new() -> Bills {
        let took = Histogram::new_with_bounds(1, LONGEST, 3).expect("these are bounds that it can have");
        Bills { took, sum: Paid::default(), count: 0, dearest: Vec::new() }
    }

    /// Adds one.
    pub fn add(&mut self, paid: &Paid) {
        self.took.saturating_record(u64::try_from(paid.took.as_nanos()).unwrap_or(LONGEST));
        self.sum = if self.count == 0 { *paid } else { sum(&self.sum, paid) };
        self.count += 1;
        self.keep(*paid);
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: &Bills) {
        if other.count == 0 {
            return;
        }
        self.took.add(&other.took).expect("both have the same bounds");
        self.sum = if self.count == 0 { other.sum } else { sum(&self.sum, &other.sum) };
        self.count += other.count;
        for paid in &other.dearest {
            self.keep(*paid);
        }
    }

    fn keep(&mut self, paid: Paid) {
        if self.dearest.len() == DEAREST && self.dearest[DEAREST - 1].took >= paid.took {
            return;
        }
        let place = self.dearest.partition_point(|one| one.took >= paid.took);
        self.dearest.insert(place, paid);
        self.dearest.truncate(DEAREST);
    }

    /// How many there are.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// What all of them paid together. What was unseen in one is unseen here.
    pub fn sum(&self) -> &Paid {
        &self.sum
    }

    /// How long a request was that is longer than such a part of all (0.99): within 0.1 %.
    pub fn took(&self, part: f64) -> Duration {
        Duration::from_nanos(self.took.value_at_quantile(part))
    }

    /// The three that took longest, the longest first.
    pub fn dearest(&self) -> &[Paid] {
        &self.dearest
    }
}

/// What is unseen in one is unseen in both.
fn sum(one: &Paid, other: &Paid) -> Paid {
    fn both<T: std::ops::Add<Output = T>>(one: Option<T>, other: Option<T>) -> Option<T> {
        Some(one? + other?)
    }
    Paid {
        took: one.took + other.took,
        calls: both(one.calls, other.calls),
        failed: both(one.failed, other.failed),
        inside: both(one.inside, other.inside),
        away: both(one.away, other.away),
        ran: both(one.ran, other.ran),
        sleeps: both(one.sleeps, other.sleeps),
        displaced: both(one.displaced, other.displaced),
        woken_here: both(one.woken_here, other.woken_here),
        woken_across: both(one.woken_across, other.woken_across),
        wakes_here: both(one.wakes_here, other.wakes_here),
        wakes_across: both(one.wakes_across, other.wakes_across),
        faults: both(one.faults, other.faults),
        signals: both(one.signals, other.signals),
        interrupts: both(one.interrupts, other.interrupts),
        migrations: both(one.migrations, other.migrations),
    }
}

impl fmt::Display for Bills {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.count == 0 {
            return write!(f, "no request");
        }
        let count = self.count as f64;
        let mean = self.sum.took.div_f64(count);
        writeln!(
            f,
            "{} requests: {:.1?} on average; {:.1?} at the median, {:.1?} at 99 %, {:.1?} at 99.9 %",
            self.count,
            mean,
            self.took(0.5),
            self.took(0.99),
            self.took(0.999)
        )?;
        writeln!(f, "each on average:")?;
        for (name, time) in
            [("in calls", self.sum.inside), ("away in them", self.sum.away), ("processor time", self.sum.ran)]
        {
            if let Some(time) = time {
                let share = 100.0 * time.as_secs_f64() / self.sum.took.as_secs_f64().max(1e-9);
                writeln!(f, "  {name:<16}{:>12}{share:>6.1} %", format!("{:.1?}", time.div_f64(count)))?;
            }
        }
        let mut unseen = Vec::new();
        for (name, number) in numbers(&self.sum) {
            match number {
                Some(number) => writeln!(f, "  {name:<16}{:>12.2}", number as f64 / count)?,
                None => unseen.push(name),
            }
        }
        if !unseen.is_empty() {
            writeln!(f, "  unseen: {}", unseen.join(", "))?;
        }
        write!(f, "the dearest:")?;
        for paid in &self.dearest {
            write!(f, "\n  {:.1?}", paid.took)?;
            if let (Some(inside), Some(away)) = (paid.inside, paid.away) {
                write!(f, ", of which {inside:.1?} in calls and {away:.1?} away in them")?;
            }
            for (name, number) in numbers(paid) {
                if let Some(number) = number.filter(|number| *number > 0) {
                    write!(f, "; {name} {number}")?;
                }
            }
        }
        Ok(())
    }
}

/// Of two kinds of wake-ups and of those that are the rarest, the sums are enough for a summary.
fn numbers(paid: &Paid) -> [(&'static str, Option<u64>); 11] {
    [
        ("calls", paid.calls),
        ("failed", paid.failed),
        ("sleeps", paid.sleeps),
        ("displaced", paid.displaced),
        ("woken here", paid.woken_here),
        ("woken across", paid.woken_across),
        ("wakes here", paid.wakes_here),
        ("wakes across", paid.wakes_across),
        ("faults", paid.faults),
        ("signals", paid.signals),
        ("interrupts", paid.interrupts),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paid(us: u64, calls: Option<u64>) -> Paid {
        Paid { took: Duration::from_micros(us), calls, sleeps: Some(1), ..Paid::default() }
    }

    #[test]
    fn means_quantiles_and_the_dearest() {
        let (mut one, mut other) = (Bills::new(), Bills::new());
        for us in 1..=1000 {
            if us % 2 == 0 { &mut one } else { &mut other }.add(&paid(us, Some(3)));
        }
        one.merge(&other);
        one.merge(&Bills::new());
        assert_eq!((one.count(), one.sum().calls, one.sum().sleeps), (1000, Some(3000), Some(1000)));
        let median = one.took(0.5).as_secs_f64() * 1e6;
        assert!((499.0..502.0).contains(&median), "{median}");
        let dearest: Vec<u128> = one.dearest().iter().map(|paid| paid.took.as_micros()).collect();
        assert_eq!(dearest, [1000, 999, 998]);
        let text = one.to_string();
        assert!(text.starts_with("1000 requests: 500.5µs on average;"), "{text}");
        assert!(text.contains("calls                   3.00") && text.contains("unseen: failed"), "{text}");
    }

    #[test]
    fn what_is_unseen_in_one_is_unseen_in_all() {
        let mut bills = Bills::new();
        bills.add(&paid(1, Some(1)));
        bills.add(&paid(1, None));
        assert_eq!(bills.sum().calls, None);
        assert_eq!(Bills::new().to_string(), "no request");
    }
}
