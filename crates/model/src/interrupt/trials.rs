//! Independent checks for the tests of this family: a small chain solved exactly, and queues played customer by
//! customer, with fixed seeds and their own error bounds.

use std::collections::VecDeque;

/// Customers of one trial.
const CUSTOMERS: usize = 1_600_000;
/// Blocks from which the error is estimated; a block is far longer than what waits remember.
const BLOCKS: usize = 100;

/// The stationary law of a chain by elimination without subtractions (Grassmann, Taksar and Heyman 1985).
/// `flows(from, flow)` calls `flow(to, rate)` for each transition.
pub(super) fn stationary(states: usize, flows: impl Fn(usize, &mut dyn FnMut(usize, f64))) -> Vec<f64> {
    let mut rates = vec![vec![0.0; states]; states];
    for (from, row) in rates.iter_mut().enumerate() {
        flows(from, &mut |to, rate| {
            if to != from {
                row[to] += rate;
            }
        });
    }
    let mut out = vec![0.0; states];
    for n in (1..states).rev() {
        let (others, last) = rates.split_at_mut(n);
        let last = &last[0];
        out[n] = last[..n].iter().sum();
        for row in others {
            let into = row[n] / out[n];
            if into > 0.0 {
                row[..n].iter_mut().zip(last).for_each(|(rate, onward)| *rate += into * onward);
            }
        }
    }
    let mut law = vec![1.0];
    for n in 1..states {
        let into: f64 = (0..n).map(|from| law[from] * rates[from][n]).sum();
        law.push(into / out[n]);
    }
    let sum: f64 = law.iter().sum();
    law.iter().map(|p| p / sum).collect()
}

/// Random numbers of the tests: SplitMix64.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// In (0, 1).
    pub(super) fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^= z >> 31;
        ((z >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    pub(super) fn exponential(&mut self, rate: f64) -> f64 {
        -self.uniform().ln() / rate
    }
}

/// A mean that was seen, with its standard error.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    mean: f64,
    error: f64,
}

impl Seen {
    /// Of the means of blocks.
    fn of(blocks: &[f64]) -> Self {
        let n = blocks.len() as f64;
        let mean = blocks.iter().sum::<f64>() / n;
        let variance = blocks.iter().map(|b| (b - mean).powi(2)).sum::<f64>() / (n - 1.0);
        Self { mean, error: (variance / n).sqrt() }
    }

    /// Fails where the claim is more than four standard errors away, or where the trial is too coarse to tell it from
    /// another 2 % beside.
    pub(super) fn holds(self, claim: f64) {
        assert!(self.error <= 0.005 * claim.abs(), "too coarse for {claim}: {self:?}");
        self.holds_nearly(claim, 1e-12);
    }

    /// Fails where the claim is more than four standard errors and this share of itself away: for approximations.
    pub(super) fn holds_nearly(self, claim: f64, share: f64) {
        let allowed = 4.0 * self.error + share * claim.abs();
        assert!((self.mean - claim).abs() <= allowed, "{claim} was not seen: {self:?}");
    }
}

/// Poisson arrivals that may be looked at before they are taken.
pub(super) struct Arrivals {
    lambda: f64,
    last: f64,
    ahead: VecDeque<f64>,
    pub(super) random: Random,
}

impl Arrivals {
    pub(super) fn new(lambda: f64, seed: u64) -> Self {
        Self { lambda, last: 0.0, ahead: VecDeque::new(), random: Random::new(seed) }
    }

    /// When the arrival after `skipped` others comes.
    pub(super) fn peek(&mut self, skipped: usize) -> f64 {
        while self.ahead.len() <= skipped {
            self.last += self.random.exponential(self.lambda);
            self.ahead.push_back(self.last);
        }
        self.ahead[skipped]
    }

    pub(super) fn take(&mut self) -> f64 {
        self.peek(0);
        self.ahead.pop_front().unwrap_or(f64::NAN)
    }
}

/// What was seen of a queue.
pub(super) struct Trial {
    /// Time before service.
    pub(super) wait: Seen,
    /// Share of customers that wait.
    pub(super) waited: Seen,
    /// Share of time that nobody is there.
    pub(super) idle: Seen,
    /// What `begins` counted, per second.
    pub(super) counted: Seen,
    /// All waits, sorted.
    waits: Vec<f64>,
}

impl Trial {
    /// Fails where the share of waits beyond a time is not as claimed, at several times. By 3 in 1000 at most: four
    /// standard errors of a share of so many waits that depend on some dozens of others.
    pub(super) fn distributed(&self, survival: impl Fn(f64) -> f64) {
        let n = self.waits.len();
        for i in 1..12 {
            // Between two waits that were seen, away from any that many share.
            let time = 1.0001 * self.waits[n * i / 12] + 1e-9;
            let beyond = (n - self.waits.partition_point(|wait| *wait <= time)) as f64 / n as f64;
            let claim = survival(time);
            assert!((beyond - claim).abs() < 0.003, "beyond {time}: {beyond} for {claim}");
        }
    }
}

/// One server that serves until nobody is there. Then `begins(now, arrivals, count)` says when it begins again, not
/// before the next arrival; it adds to `count` what is to be counted.
pub(super) fn woken(
    lambda: f64,
    service: impl Fn(f64) -> f64,
    mut begins: impl FnMut(f64, &mut Arrivals, &mut f64) -> f64,
) -> Trial {
    let mut arrivals = Arrivals::new(lambda, 20_26);
    let mut services = Random::new(77);
    let (mut blocks, mut waits) = (Blocks::default(), Vec::with_capacity(CUSTOMERS));
    let (mut empty, mut counted, mut waited, mut sum) = (0.0, 0.0, 0.0, 0.0);
    let (mut now, mut begun) = (0.0, 0.0);
    for customer in 1..=CUSTOMERS {
        if arrivals.peek(0) > now {
            empty += arrivals.peek(0) - now;
            now = begins(now, &mut arrivals, &mut counted);
        }
        let wait = now - arrivals.take();
        assert!(wait >= 0.0, "the server began before its customer came");
        waits.push(wait);
        sum += wait;
        waited += f64::from(wait > 0.0);
        now += service(services.uniform());
        if customer % (CUSTOMERS / BLOCKS) == 0 {
            let n = (CUSTOMERS / BLOCKS) as f64;
            let time = now - begun;
            blocks.push(sum / n, waited / n, empty / time, counted / time);
            (empty, counted, waited, sum, begun) = (0.0, 0.0, 0.0, 0.0, now);
        }
    }
    blocks.trial(waits)
}

/// One server, Poisson batches of the size that `batch` makes of a uniform number.
pub(super) fn batches(lambda: f64, batch: impl Fn(f64) -> usize, service: impl Fn(f64) -> f64) -> Trial {
    let mut random = Random::new(5);
    let (mut blocks, mut waits) = (Blocks::default(), Vec::with_capacity(CUSTOMERS));
    let (mut came, mut now, mut begun) = (0.0_f64, 0.0_f64, 0.0);
    for _ in 0..BLOCKS {
        let (mut sum, mut waited, mut n, mut empty) = (0.0, 0.0, 0.0, 0.0);
        while n < (CUSTOMERS / BLOCKS) as f64 {
            came += random.exponential(lambda);
            empty += (came - now).max(0.0);
            now = now.max(came);
            for _ in 0..batch(random.uniform()) {
                waits.push(now - came);
                sum += now - came;
                waited += f64::from(now > came);
                n += 1.0;
                now += service(random.uniform());
            }
        }
        blocks.push(sum / n, waited / n, empty / (now - begun), 0.0);
        begun = now;
    }
    blocks.trial(waits)
}

/// The means of blocks: wait, waited, idle, counted.
#[derive(Default)]
struct Blocks([Vec<f64>; 4]);

impl Blocks {
    fn push(&mut self, wait: f64, waited: f64, idle: f64, counted: f64) {
        for (blocks, mean) in self.0.iter_mut().zip([wait, waited, idle, counted]) {
            blocks.push(mean);
        }
    }

    fn trial(&self, mut waits: Vec<f64>) -> Trial {
        let [wait, waited, idle, counted] = [0, 1, 2, 3].map(|i| Seen::of(&self.0[i]));
        waits.sort_by(f64::total_cmp);
        Trial { wait, waited, idle, counted, waits }
    }
}

/// What was seen of completions held back.
pub(super) struct Delays {
    /// How long they were held.
    pub(super) delay: Seen,
    /// Interrupts per second.
    pub(super) interrupts: Seen,
    /// All delays, sorted.
    all: Vec<f64>,
}

impl Delays {
    /// Fails where the share of delays beyond a time is not as claimed, at several times: by 2 in 1000 at most, which is
    /// more than four standard errors of a share of dependent delays in batches of a few.
    pub(super) fn distributed(&self, still_held: impl Fn(f64) -> f64) {
        let n = self.all.len() as f64;
        let longest = self.all.last().copied().unwrap_or(0.0);
        for i in 0..20 {
            let time = longest * f64::from(i) / 20.0;
            let beyond = n - self.all.partition_point(|delay| *delay <= time) as f64;
            let claim = still_held(time);
            assert!((beyond / n - claim).abs() < 0.002, "beyond {time}: {} for {claim}", beyond / n);
        }
    }
}

/// Poisson completions; `told` says when the next interrupt comes, not before the next completion.
pub(super) fn held(lambda: f64, mut told: impl FnMut(&mut Arrivals) -> f64) -> Delays {
    let mut arrivals = Arrivals::new(lambda, 11);
    let (mut delays, mut rates, mut all) = (Vec::new(), Vec::new(), Vec::new());
    let mut begun = 0.0;
    for _ in 0..BLOCKS {
        let (mut sum, mut n, mut interrupts, mut now) = (0.0, 0.0, 0.0, begun);
        while n < (CUSTOMERS / BLOCKS) as f64 {
            now = told(&mut arrivals);
            interrupts += 1.0;
            while arrivals.peek(0) <= now {
                let delay = now - arrivals.take();
                all.push(delay);
                sum += delay;
                n += 1.0;
            }
        }
        delays.push(sum / n);
        rates.push(interrupts / (now - begun));
        begun = now;
    }
    all.sort_by(f64::total_cmp);
    Delays { delay: Seen::of(&delays), interrupts: Seen::of(&rates), all }
}

/// Poisson completions under a cap that `cap` picks after each window from the completions per second in it.
pub(super) fn held_by_window(lambda: f64, window: f64, cap: impl Fn(f64) -> f64) -> Delays {
    let mut last = f64::NEG_INFINITY;
    let mut counts: Vec<f64> = Vec::new();
    held(lambda, |arrivals| {
        let next = arrivals.peek(0);
        let before = (next / window) as usize;
        let seen = before.checked_sub(1).map_or(lambda * window, |i| counts.get(i).copied().unwrap_or(0.0));
        last = next.max(last + 1.0 / cap(seen / window));
        // What is told now will be taken: each counts in the window in which it came.
        let mut i = 0;
        while arrivals.peek(i) <= last {
            let index = (arrivals.peek(i) / window) as usize;
            if counts.len() <= index {
                counts.resize(index + 1, 0.0);
            }
            counts[index] += 1.0;
            i += 1;
        }
        last
    })
}
