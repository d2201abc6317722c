//! The most common value estimate: SP 800-90B, section 6.3.1.

/// How even bytes were, by the most frequent of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The most frequent value.
    pub value: u8,
    /// How often it came, as a share of all.
    pub share: f64,
    /// What that share is at most, with 99 % confidence.
    pub share_at_most: f64,
    /// Bits of min-entropy a byte, by the bound.
    pub bits: f64,
}

/// The normal distribution's quantile that the standard takes: 99 % lie within ± so many deviations.
const Z: f64 = 2.576;

/// How often each byte is there.
pub fn histogram(bytes: &[u8]) -> [u64; 256] {
    // Four histograms: equal neighbours would wait for each other's store.
    let mut four = [[0_u64; 256]; 4];
    let (wholes, rest) = bytes.as_chunks::<4>();
    for whole in wholes {
        for (counts, byte) in four.iter_mut().zip(whole) {
            counts[usize::from(*byte)] += 1;
        }
    }
    rest.iter().for_each(|byte| four[0][usize::from(*byte)] += 1);
    std::array::from_fn(|value| four.iter().map(|counts| counts[value]).sum())
}

/// The estimate from how often each byte came; nothing of fewer than two.
pub fn most_common_value(counts: &[u64; 256]) -> Option<Estimate> {
    let all: u64 = counts.iter().sum();
    let (value, most) =
        counts.iter().enumerate().max_by_key(|(value, count)| (**count, usize::MAX - value))?;
    if all < 2 {
        return None;
    }
    let share = *most as f64 / all as f64;
    let share_at_most = (share + Z * (share * (1.0 - share) / (all - 1) as f64).sqrt()).min(1.0);
    // Of 1 the logarithm is a negative zero.
    let bits = (-share_at_most.log2()).max(0.0);
    Some(Estimate { value: value as u8, share, share_at_most, bits })
}
