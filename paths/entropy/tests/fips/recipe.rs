//! Streams that are made of a few words: `oracle/fips.py` makes the same.

/// Bits of a block.
const BITS: usize = 20_000;

/// SplitMix64. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014, figure 11.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    fn bytes(&mut self, count: usize) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(count + 8);
        while bytes.len() < count {
            bytes.extend(self.next().to_le_bytes());
        }
        bytes.truncate(count);
        bytes
    }

    fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, (self.next() % (i as u64 + 1)) as usize);
        }
    }
}

fn bits_of(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect()
}

fn bytes_of(bits: &[u8]) -> Vec<u8> {
    bits.chunks(8).map(|eight| eight.iter().fold(0, |byte, bit| byte << 1 | bit)).collect()
}

/// The stream of a recipe: a word, then numbers.
pub fn stream(recipe: &str) -> Vec<u8> {
    let (kind, numbers) = recipe.split_once(' ').expect("a word and numbers");
    let n: Vec<usize> = numbers.split(' ').map(|n| n.parse().expect("a number")).collect();
    match (kind, &n[..]) {
        ("random", &[seed, bytes]) => Random(seed as u64).bytes(bytes),
        ("constant", &[byte, bytes]) => vec![byte as u8; bytes],
        ("counter", &[bytes]) => (0..bytes as u32).map(|i| ((i / 4) >> (8 * (i % 4))) as u8).collect(),
        ("period", &[seed, period, bytes]) => {
            Random(seed as u64).bytes(period).into_iter().cycle().take(bytes).collect()
        }
        // Each bit is a one with probability of so many 256ths.
        ("biased", &[seed, share, bytes]) => {
            let draws = Random(seed as u64).bytes(8 * bytes);
            bytes_of(&draws.iter().map(|draw| u8::from(usize::from(*draw) < share)).collect::<Vec<_>>())
        }
        // Random, but for some bytes, which are copied from elsewhere in the stream.
        ("copy", &[seed, bytes, from, to, length]) => {
            let mut stream = Random(seed as u64).bytes(bytes);
            stream.copy_within(from..from + length, to);
            stream
        }
        (_, &[seed, ..]) => {
            let mut random = Random(seed as u64);
            let before = random.bytes(4);
            let bits = match (kind, &n[1..]) {
                ("ones", &[ones]) => ones_block(random, ones),
                ("run", &[polarity, at, length]) => run_block(random, polarity as u8, at, length),
                ("runs", &[polarity, length, count]) => runs_block(random, polarity, length, count),
                ("nibbles", counts) => nibbles_block(random, counts),
                _ => panic!("no such recipe: {recipe}"),
            };
            assert_eq!(bits.len(), BITS, "{recipe}");
            [before, bytes_of(&bits)].concat()
        }
        _ => panic!("no such recipe: {recipe}"),
    }
}

/// So many ones: random bits, flipped one after the other until it is true.
fn ones_block(mut random: Random, ones: usize) -> Vec<u8> {
    let mut bits = bits_of(&random.bytes(BITS / 8));
    let mut now = bits.iter().filter(|bit| **bit == 1).count();
    for i in 0..BITS {
        let bit = &mut bits[i * 7919 % BITS];
        if now < ones && *bit == 0 {
            (*bit, now) = (1, now + 1);
        } else if now > ones && *bit == 1 {
            (*bit, now) = (0, now - 1);
        }
    }
    bits
}

/// A run of this length in random bits.
fn run_block(mut random: Random, polarity: u8, at: usize, length: usize) -> Vec<u8> {
    let mut bits = bits_of(&random.bytes(BITS / 8));
    bits[at..at + length].fill(polarity);
    if at > 0 {
        bits[at - 1] = 1 - polarity;
    }
    if at + length < BITS {
        bits[at + length] = 1 - polarity;
    }
    bits
}

/// So many of each nibble, in random order.
fn nibbles_block(mut random: Random, counts: &[usize]) -> Vec<u8> {
    let mut nibbles: Vec<usize> =
        counts.iter().enumerate().flat_map(|(nibble, count)| vec![nibble; *count]).collect();
    random.shuffle(&mut nibbles);
    nibbles.iter().flat_map(|nibble| (0..4).rev().map(move |bit| (nibble >> bit & 1) as u8)).collect()
}

/// So many runs of this length and polarity, the others well within their limits; runs of 6 or more make up for the bits.
fn runs_block(mut random: Random, polarity: usize, length: usize, count: usize) -> Vec<u8> {
    let usual = [2500, 1250, 625, 312, 156, 156];
    let mut counts = [usual; 2];
    let more = count as i64 - usual[length - 1];
    let own = &mut counts[polarity];
    own[length - 1] += more;
    // As many runs as of the other polarity.
    if length == 1 {
        own[1] -= more - more / 2;
        own[2] -= more / 2;
    } else {
        own[0] -= more;
    }
    let mut runs = counts.map(|counts| {
        let of = |(i, count): (usize, &i64)| vec![i + 1; *count as usize];
        counts.iter().enumerate().flat_map(of).collect::<Vec<usize>>()
    });
    let mut missing = BITS - runs.iter().flatten().sum::<usize>();
    while missing > 0 {
        for run in runs.iter_mut().flatten().filter(|run| **run >= 6) {
            if missing > 0 {
                (*run, missing) = (*run + 1, missing - 1);
            }
        }
    }
    runs.iter_mut().for_each(|runs| random.shuffle(runs));
    let [zeros, ones] = runs;
    zeros.iter().zip(&ones).flat_map(|(zeros, ones)| [vec![0; *zeros], vec![1; *ones]].concat()).collect()
}
