//! How many primes there are, found without a division: what the tests that divide are checked against.

/// How many primes are below `limit`. The sieve of Eratosthenes, a bit for each odd number.
pub fn primes_below(limit: u64) -> u64 {
    if limit <= 2 {
        return 0;
    }
    // Bit i stands for 2 i + 1; one is no prime, and its bit is counted in two's stead.
    let odds = limit / 2;
    let mut composite = vec![0u64; odds.div_ceil(64) as usize];
    let mut at = 1;
    while (2 * at + 1) * (2 * at + 1) < limit {
        if composite[at as usize / 64] >> (at % 64) & 1 == 0 {
            let prime = 2 * at + 1;
            for multiple in (prime * prime / 2..odds).step_by(prime as usize) {
                composite[multiple as usize / 64] |= 1 << (multiple % 64);
            }
        }
        at += 1;
    }
    odds - composite.iter().map(|word| u64::from(word.count_ones())).sum::<u64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_those_of_tables() {
        // DLMF, table 27.2.1 for the small ones; OEIS A006880 for powers of ten.
        let known = [(0, 0), (2, 0), (3, 1), (4, 2), (5, 2), (6, 3), (9, 4), (10, 4), (25, 9), (26, 9)];
        let powers = [(100, 25), (1000, 168), (10_000, 1229), (1_000_000, 78_498), (10_000_000, 664_579)];
        for (limit, primes) in known.into_iter().chain(powers) {
            assert_eq!(primes_below(limit), primes, "below {limit}");
        }
    }
}
