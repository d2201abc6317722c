//! A simulated machine: what a trial would have shown had the true cost been 1, with luck per process, noise
//! per trial and drift per pair.

use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};

/// The shape of the noise.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Noise {
    /// 1 % per trial and nothing else.
    Still,
    /// 2 % per process and 1 % per trial, normal.
    Normal,
    /// The same, and one trial in ten is 1.5 to 3 times slow.
    Contaminated,
    /// The same as normal, and one process in five has an unlucky layout that costs 15 %.
    Layouts,
}

impl Noise {
    pub const ALL: [Self; 4] = [Self::Still, Self::Normal, Self::Contaminated, Self::Layouts];
}

/// Standard normal numbers by Box and Muller (1958), Annals of Mathematical Statistics 29:610.
pub struct TwoSided(Xoshiro256PlusPlus);

impl TwoSided {
    pub fn new(seed: u64) -> Self {
        Self(Xoshiro256PlusPlus::seed_from_u64(seed))
    }

    pub fn draw(&mut self) -> f64 {
        let (u, v): (f64, f64) = (1.0 - self.0.random::<f64>(), self.0.random());
        (-2.0 * u.ln()).sqrt() * (std::f64::consts::TAU * v).cos()
    }
}

pub struct Machine {
    normal: TwoSided,
    noise: Noise,
}

impl Machine {
    pub fn new(seed: u64, noise: Noise) -> Self {
        Self { normal: TwoSided::new(seed), noise }
    }

    fn process(&mut self) -> f64 {
        match self.noise {
            Noise::Still => 1.0,
            Noise::Normal | Noise::Contaminated => 1.0 + 0.02 * self.normal.draw(),
            Noise::Layouts => {
                let unlucky = self.normal.0.random_bool(0.2);
                (1.0 + 0.02 * self.normal.draw()) * if unlucky { 1.15 } else { 1.0 }
            }
        }
    }

    fn trial(&mut self) -> f64 {
        let slow = self.noise == Noise::Contaminated && self.normal.0.random_bool(0.1);
        let factor = if slow { self.normal.0.random_range(1.5..3.0) } else { 1.0 };
        (1.0 + 0.01 * self.normal.draw()) * factor
    }

    /// Trials of a cost in freshly started processes.
    pub fn run(&mut self, processes: usize, trials: usize, cost: f64) -> Vec<Vec<f64>> {
        (0..processes)
            .map(|_| {
                let process = cost * self.process();
                (0..trials).map(|_| process * self.trial()).collect()
            })
            .collect()
    }

    /// Pairs (1, change) in freshly started pairs of processes; each pair drifts by 5 % on its own.
    pub fn pairs(&mut self, blocks: usize, pairs: usize, change: f64) -> Vec<Vec<(f64, f64)>> {
        (0..blocks)
            .map(|_| {
                let (a, b) = (self.process(), change * self.process());
                (0..pairs)
                    .map(|_| {
                        let drift = (0.05 * self.normal.draw()).exp();
                        (a * drift * self.trial(), b * drift * self.trial())
                    })
                    .collect()
            })
            .collect()
    }

    /// What the figure of very many processes comes to: the median over processes of their medians.
    pub fn true_figure(&mut self, trials: usize) -> f64 {
        let medians: Vec<f64> = self
            .run(40_000, trials, 1.0)
            .iter()
            .map(|t| tollway_stats::summary::median(t).unwrap())
            .collect();
        tollway_stats::summary::median(&medians).unwrap()
    }
}
