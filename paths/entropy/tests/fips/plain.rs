//! The tests once more, bit by bit, as FIPS 140-1 and 140-2 put them in words: nothing of it is the engine's.

/// What a block is judged by: ones, squares of nibbles, runs of zeros and of ones, long run, repeated word.
pub type Counted = (u32, u32, [u16; 6], [u16; 6], bool, bool);

/// Counts a block; `before` are the four bytes before it.
pub fn count(block: &[u8], before: &[u8]) -> Counted {
    let bits: Vec<bool> =
        block.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)).collect();
    let ones = bits.iter().filter(|bit| **bit).count() as u32;
    let mut nibbles = [0u32; 16];
    for four in bits.chunks(4) {
        nibbles[four.iter().fold(0, |value, bit| 2 * value + usize::from(*bit))] += 1;
    }
    let squares = nibbles.iter().map(|count| count * count).sum();
    let (mut zeros_runs, mut ones_runs, mut longest) = ([0; 6], [0; 6], 0);
    for run in bits.chunk_by(|one, next| one == next) {
        (if run[0] { &mut ones_runs } else { &mut zeros_runs })[run.len().min(6) - 1] += 1;
        longest = longest.max(run.len());
    }
    let words: Vec<&[u8]> = std::iter::once(before).chain(block.chunks(4)).collect();
    let repeats = words.windows(2).any(|pair| pair[0] == pair[1]);
    (ones, squares, zeros_runs, ones_runs, longest >= 26, repeats)
}

/// Holds the counts against the limits: bit 0 monobit, then poker, runs, long run, continuous run.
pub fn failed((ones, squares, zeros, ones_runs, long, repeats): Counted) -> u8 {
    // X = 16/5000 · squares − 5000, compared in 5000ths: 2.16 < X < 46.17. The limits in hundredths are rounded as by
    // rng-tools, which takes 2.1632 for the first and 46.1696 for the last sum that passes.
    let x = 16 * i64::from(squares) - 25_000_000;
    let poker = !(10_816..=230_848).contains(&x);
    let limits = [(2315, 2685), (1114, 1386), (527, 723), (240, 384), (103, 209), (103, 209)];
    let out = |runs: [u16; 6]| (0..6).any(|i| runs[i] < limits[i].0 || runs[i] > limits[i].1);
    let tests = [ones <= 9725 || ones >= 10275, poker, out(zeros) || out(ones_runs), long, repeats];
    (0..5).map(|i| u8::from(tests[i]) << i).sum()
}
