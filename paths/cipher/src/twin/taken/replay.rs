//! Longer interruptions of a core as they were seen: all windows in an order drawn at random, the same for both cores, and all again in
//! another.

use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

use super::Watched;

/// One core's.
pub(in super::super) struct Replay<'p> {
    windows: &'p [Watched],
    random: StdRng,
    which: usize,
    /// Windows that are still to come before they all come again.
    order: Vec<&'p Watched>,
    /// What is left of the window, and when that opened and closes.
    left: &'p [(f64, f64)],
    opened: f64,
    closes: f64,
}

impl<'p> Replay<'p> {
    pub(in super::super) fn new(windows: &'p [Watched], which: usize, seed: u64) -> Replay<'p> {
        let random = StdRng::seed_from_u64(seed);
        Replay { windows, random, which, order: Vec::new(), left: &[], opened: 0.0, closes: 0.0 }
    }

    /// The next one, if it begins before that: when, and for how long.
    pub(in super::super) fn until(&mut self, last: f64) -> Option<(f64, f64)> {
        let nothing = self.windows.iter().all(|window| window.cores.iter().all(Vec::is_empty));
        if nothing {
            return None;
        }
        loop {
            if let [(begins, long), left @ ..] = self.left {
                let begins = self.opened + begins;
                if begins >= last {
                    return None;
                }
                self.left = left;
                return Some((begins, *long));
            }
            if self.closes >= last {
                return None;
            }
            let window = self.window()?;
            // It is not known which of the cores that were watched is whose.
            let swapped = usize::from(self.random.random::<bool>());
            self.left = &window.cores[self.which ^ swapped];
            (self.opened, self.closes) = (self.closes, self.closes + window.long);
        }
    }

    fn window(&mut self) -> Option<&'p Watched> {
        if self.order.is_empty() {
            self.order = self.windows.iter().collect();
            self.order.shuffle(&mut self.random);
        }
        self.order.pop()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_cores_lose_what_was_taken_at_once() {
        let window =
            |at: f64| Watched { long: 100.0, cores: [vec![(at, 1.0)], vec![(at, 2.0), (at + 5.0, 2.0)]] };
        let windows = [window(10.0), window(60.0)];
        let all = |which| {
            let mut replay = Replay::new(&windows, which, 7);
            let all: Vec<(f64, f64)> = std::iter::from_fn(|| replay.until(100_000.0)).collect();
            assert_eq!(replay.until(100_000.0), None);
            all
        };
        let (one, other) = (all(0), all(1));
        // A thousand windows, three pieces in each.
        assert_eq!(one.len() + other.len(), 3000);
        assert!(one.iter().all(|(at, _)| [10.0, 15.0, 60.0, 65.0].contains(&(at % 100.0))));
        assert!(one.is_sorted_by(|a, b| a.0 < b.0));
        let first = |of: &[(f64, f64)]| -> Vec<f64> {
            of.iter().map(|p| p.0).filter(|at| [10.0, 60.0].contains(&(at % 100.0))).collect()
        };
        assert_eq!(first(&one), first(&other), "of both at once");
        assert_eq!(one.iter().filter(|(at, _)| at % 100.0 == 10.0).count(), 500, "each as often");
        let half = one.iter().filter(|(_, long)| *long == 1.0).count();
        assert!((400..600).contains(&half), "now one's, now the other's: {half}");
    }

    #[test]
    fn where_nothing_was_taken_nothing_is() {
        let windows = [Watched { long: 1e9, ..Watched::default() }];
        assert_eq!(Replay::new(&windows, 0, 1).until(f64::INFINITY), None);
        assert_eq!(Replay::new(&[], 1, 1).until(1e12), None);
    }
}
