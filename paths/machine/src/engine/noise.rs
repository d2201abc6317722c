//! Bytes that look random, so that nothing on their way can compress them or take a piece for another.

/// The `n`th number of SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", 2014), begun at 0.
pub(super) fn noise(n: u64) -> u64 {
    let mut z = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As the generator of the Java platform's reference, SplittableRandom's, gives them for seed 0.
    #[test]
    fn it_begins_as_the_published_generator() {
        assert_eq!(
            [1, 2, 3].map(noise),
            [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4, 0x06c4_5d18_8009_454f]
        );
    }
}
