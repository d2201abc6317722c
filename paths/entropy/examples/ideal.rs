//! How often a block of an ideal source fails each FIPS 140-2 test: where `IDEAL_RATE` comes from.
//!
//! By formula where there is one (monobit, long run, continuous run), by simulation for all.
//!
//!     cargo run --release -p tollway-entropy --example ideal -- BLOCKS SEED

use std::time::Instant;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_entropy::engine::fips::{
    BLOCK_BITS, BLOCK_BYTES, IDEAL_RATE, LONGEST_RUN, MONOBIT, Tally, Test, Tester,
};

fn main() {
    let mut arguments =
        std::env::args().skip(1).map(|a| a.parse::<u64>().expect("BLOCKS and SEED are numbers"));
    let blocks = arguments.next().unwrap_or(1_000_000);
    let seed = arguments.next().unwrap_or(1);
    let begun = Instant::now();
    let (tally, together) = simulate(blocks, seed);
    let seconds = begun.elapsed().as_secs_f64();
    println!("{blocks} blocks, seed {seed}: {:.2} GB/s", blocks as f64 * BLOCK_BYTES as f64 / seconds / 1e9);
    let say = |name: &str, failed: u64, formula: Option<f64>, constant: f64| {
        let rate = failed as f64 / blocks as f64;
        let error = (rate / blocks as f64).sqrt();
        let formula = formula.map(|p| format!(", by formula {p:.4e}")).unwrap_or_default();
        println!("{name:>15}: {rate:.4e} ± {error:.1e}{formula}; the constant is {constant:.4e}");
    };
    for test in Test::ALL {
        say(test.title(), tally.of(test), formula(test), test.ideal_rate());
    }
    say("one or more", tally.failed, None, IDEAL_RATE);
    println!("blocks by the set of tests that they failed, monobit first:");
    for (set, count) in together.iter().enumerate().filter(|(set, count)| *set > 0 && **count > 0) {
        println!("  {:05b}: {count}", (set as u8).reverse_bits() >> 3);
    }
}

/// Blocks of a generator, by how they fail: in all, and by the set of tests.
fn simulate(blocks: u64, seed: u64) -> (Tally, [u64; 32]) {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let (mut tester, mut tally, mut together) = (Tester::new([0; 4]), Tally::default(), [0; 32]);
    let mut block = [0; BLOCK_BYTES];
    for _ in 0..blocks {
        random.fill_bytes(&mut block);
        let failed = tester.test(&block);
        tally.add(failed);
        together[usize::from(failed.bits())] += 1;
    }
    (tally, together)
}

fn formula(test: Test) -> Option<f64> {
    match test {
        Test::Monobit => Some(monobit()),
        Test::LongRun => Some(long_run()),
        // Each of 625 words is the one before it with probability 2⁻³².
        Test::ContinuousRun => Some(-(625.0 * (-(0.5f64.powi(32))).ln_1p()).exp_m1()),
        Test::Poker | Test::Runs => None,
    }
}

/// Probability that the ones of fair bits are out of the limits: binomial, term by term.
fn monobit() -> f64 {
    let (mut term, mut passes) = (-(BLOCK_BITS as f64) * 2.0f64.ln(), 0.0);
    for ones in 0..=*MONOBIT.end() {
        if MONOBIT.contains(&ones) {
            passes += term.exp();
        }
        term += ((BLOCK_BITS as u32 - ones) as f64 / f64::from(ones + 1)).ln();
    }
    1.0 - passes
}

/// Probability of a run longer than passes, bit by bit: the place of a bit in its run is the state.
fn long_run() -> f64 {
    let longest = LONGEST_RUN as usize;
    let mut at = vec![0.0; longest];
    at[0] = 1.0;
    let mut failed = 0.0;
    for _ in 1..BLOCK_BITS {
        failed += 0.5 * at[longest - 1];
        let turned = 0.5 * at.iter().sum::<f64>();
        at.rotate_right(1);
        at.iter_mut().for_each(|share| *share *= 0.5);
        at[0] = turned;
    }
    failed
}
