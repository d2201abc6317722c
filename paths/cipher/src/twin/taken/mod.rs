//! What the machine takes from a thread that never gives its core away.

pub(super) mod replay;

use super::Law;

/// It, of two cores: short pieces at random, and longer ones as they came.
#[derive(Clone, Debug, Default)]
pub struct Interruptions {
    /// How many short ones a second.
    pub rate: f64,
    /// How long they are, in nanoseconds.
    pub lengths: Law,
    /// Longer ones come together, and of both cores at once: they are replayed as they were seen, in windows drawn at random.
    pub windows: Vec<Watched>,
}

/// A stretch of time in which two cores were watched.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Watched {
    /// How many nanoseconds.
    pub long: f64,
    /// What was taken of each: when it began, and for how long, in nanoseconds and in order.
    pub cores: [Vec<(f64, f64)>; 2],
}

impl Interruptions {
    /// How many there are a second, the longer ones too.
    pub fn often(&self) -> f64 {
        self.a_second(|_| 1.0)
    }

    /// What share of a core they take.
    pub fn share(&self) -> f64 {
        let short = self.rate * self.lengths.mean() * 1e-9;
        let long = self.long_share();
        long + (1.0 - long) * short / (1.0 + short)
    }

    /// What share of a core the longer ones take.
    pub fn long_share(&self) -> f64 {
        self.longer(|long| long * 1e-9)
    }

    /// The sum over a second of what that makes of each one's nanoseconds.
    pub fn a_second(&self, of: impl Fn(f64) -> f64) -> f64 {
        self.rate * self.lengths.moment(&of) + self.longer(&of)
    }

    fn longer(&self, of: impl Fn(f64) -> f64) -> f64 {
        let watched: f64 = self.windows.iter().map(|window| window.long * window.cores.len() as f64).sum();
        let pieces = self.windows.iter().flat_map(|window| &window.cores).flatten();
        pieces.map(|(_, long)| of(*long)).sum::<f64>() / (watched * 1e-9).max(1e-9)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_and_longer_ones_add_up() {
        let second =
            Watched { long: 1e9, cores: [vec![(0.2e9, 0.1e9)], vec![(0.5e9, 0.2e9), (0.9e9, 0.1e9)]] };
        let taken = Interruptions { rate: 1000.0, lengths: Law::constant(1e5), windows: vec![second] };
        assert!((taken.often() - 1001.5).abs() < 1e-9);
        assert!((taken.long_share() - 0.2).abs() < 1e-12);
        // A tenth of a millisecond after each millisecond of what is left.
        assert!((taken.share() - (0.2 + 0.8 * 0.1 / 1.1)).abs() < 1e-12, "{}", taken.share());
        assert_eq!(Interruptions::default().share(), 0.0);
    }
}
