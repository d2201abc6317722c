//! Many weak bytes into few strong ones: 512 samples of 128 bits into 128 bits, by AES-CBC-MAC.
//!
//! RDRAND hands out what a deterministic generator makes of a seed; the processor reseeds it at the latest after 511
//! samples. So 512 samples in a row hold at least one seed, and a MAC over them is as good as that seed: a *seed-grade*
//! value (Intel's DRNG software implementation guide, section 4.2.5). AES-CBC-MAC is one of the conditioning components that
//! NIST has vetted (SP 800-90B, section 3.1.5.1.1); all its inputs have the same length, which it needs to be a MAC.
//! AMD publishes no bound on reseeding: what is conditioned there is no worse than what was drawn, and no more is promised.
//!
//! One output is 511 blocks that wait for each other. Several in flight keep the processor's AES units busy: each is a
//! *stream*, with samples of its own in a row, and the streams take their steps together.

mod wide;

use aes::cipher::{Block, BlockCipherEncrypt, KeyInit};
use aes::{Aes128, Aes128Enc};
use zeroize::Zeroize;

use wide::Wide;

use super::source::{Claim, Counts, Error, Source};

/// Samples that become one.
pub const SAMPLES: usize = 512;

/// Bytes of a sample, and of what comes out: a block of AES.
pub const SAMPLE: usize = 16;

/// Bytes that become [`SAMPLE`] bytes.
pub const INPUT: usize = SAMPLES * SAMPLE;

/// Outputs in flight at once: as many as the widest AES instructions work on (sixteen registers of four blocks).
pub const STREAMS: usize = 64;

/// Samples in a line of a cache.
const LINE: usize = 4;

/// What makes one sample of 512.
pub struct Reduction {
    cipher: Aes128Enc,
    wide: Option<Wide>,
}

impl Reduction {
    /// With that key. It need not be secret, but must not be chosen by who chooses the samples.
    pub fn new(key: &[u8; SAMPLE]) -> Self {
        Reduction { cipher: Aes128Enc::new(key.into()), wide: Wide::new(key) }
    }

    /// Of each [`INPUT`] bytes of `samples`, one MAC. At most [`STREAMS`].
    ///
    /// # Panics
    /// If there are not as many inputs as outputs, or too many.
    pub fn reduce(&self, samples: &[u8], outputs: &mut [[u8; SAMPLE]]) {
        assert!(outputs.len() <= STREAMS && samples.len() == outputs.len() * INPUT);
        let all: Result<&mut [_; STREAMS], _> = (&mut *outputs).try_into();
        if let (Some(wide), Ok(outputs), Ok(samples)) = (&self.wide, all, samples.try_into()) {
            return wide.reduce(samples, outputs);
        }
        self.reduce_by_library(samples, outputs);
    }

    /// Any number of streams, on any processor.
    fn reduce_by_library(&self, samples: &[u8], outputs: &mut [[u8; SAMPLE]]) {
        let mut chains = [Block::<Aes128>::default(); STREAMS];
        let chains = &mut chains[..outputs.len()];
        // Streams are a power of two apart, where a cache has few places: so each of their lines is fetched once.
        let mut lines = [[[0; SAMPLE]; STREAMS]; LINE];
        for line in 0..SAMPLES / LINE {
            for (at, stream) in samples.chunks_exact(INPUT).enumerate() {
                let (ready, _) = stream[line * LINE * SAMPLE..][..LINE * SAMPLE].as_chunks::<SAMPLE>();
                for (row, sample) in lines.iter_mut().zip(ready) {
                    row[at] = *sample;
                }
            }
            for row in &lines {
                for (chain, sample) in chains.iter_mut().zip(row) {
                    let mixed = u128::from_ne_bytes(chain.0) ^ u128::from_ne_bytes(*sample);
                    chain.0 = mixed.to_ne_bytes();
                }
                self.cipher.encrypt_blocks(chains);
            }
        }
        for (output, chain) in outputs.iter_mut().zip(chains) {
            *output = (*chain).into();
            chain.zeroize();
        }
        wipe(lines.as_flattened_mut().as_flattened_mut());
    }
}

/// What may be assumed of bytes that were reduced from such.
pub fn reduced(claim: Claim) -> Claim {
    Claim { evenness: 8.0, entropy: (claim.entropy * SAMPLES as f64).min(8.0) }
}

/// Zeros, written in one go: `zeroize` writes byte by byte, which takes a twentieth of what drawing them took.
fn wipe(bytes: &mut [u8]) {
    bytes.fill(0);
    // Whoever may look at them now forbids the compiler to leave that out.
    std::hint::black_box(bytes);
}

/// A source whose bytes go through the reduction.
pub struct Conditioned<S> {
    source: S,
    name: String,
    reduction: Reduction,
    samples: Box<[u8]>,
    bytes: u64,
}

impl<S: Source> Conditioned<S> {
    /// `source`, reduced 512 to 1; its first bytes are the key.
    ///
    /// # Errors
    /// The source gives nothing.
    pub fn of(mut source: S) -> Result<Self, Error> {
        let mut key = [0; SAMPLE];
        source.fill(&mut key)?;
        let reduction = Reduction::new(&key);
        key.zeroize();
        let name = format!("{} 512:1", source.name());
        Ok(Conditioned { source, name, reduction, samples: vec![0; STREAMS * INPUT].into(), bytes: 0 })
    }
}

impl<S: Source> Source for Conditioned<S> {
    fn name(&self) -> &str {
        &self.name
    }

    fn fill(&mut self, into: &mut [u8]) -> Result<(), Error> {
        for group in into.chunks_mut(STREAMS * SAMPLE) {
            let streams = group.len().div_ceil(SAMPLE);
            let samples = &mut self.samples[..streams * INPUT];
            let drawn = self.source.fill(samples);
            let mut outputs = [[0; SAMPLE]; STREAMS];
            if drawn.is_ok() {
                self.reduction.reduce(samples, &mut outputs[..streams]);
                group.copy_from_slice(&outputs.as_flattened()[..group.len()]);
            }
            wipe(samples);
            outputs.zeroize();
            drawn?;
            self.bytes += group.len() as u64;
        }
        Ok(())
    }

    /// Bytes that came out; draws and failures of what is below.
    fn counts(&self) -> Counts {
        Counts { bytes: self.bytes, ..self.source.counts() }
    }

    fn claim(&self) -> Claim {
        reduced(self.source.claim())
    }

    fn watch(&self) -> Option<super::health::Watch> {
        self.source.watch()
    }
}

#[cfg(test)]
mod tests {
    use super::super::source::{Fault, Planted, Rdrand, Seeded};
    use super::*;

    /// CBC-MAC as FIPS 113 has it, block by block.
    fn plainly(key: [u8; SAMPLE], samples: &[u8]) -> [u8; SAMPLE] {
        let cipher = Aes128::new(&key.into());
        let mut chain = Block::<Aes128>::default();
        for sample in samples.chunks(SAMPLE) {
            chain.iter_mut().zip(sample).for_each(|(c, s)| *c ^= s);
            cipher.encrypt_block(&mut chain);
        }
        chain.into()
    }

    /// The bytes that `oracle/cbc_mac.sh` has openssl encrypt: a counter that steps by a prime, so that no two samples are
    /// alike.
    fn counted(from: usize, length: usize) -> Vec<u8> {
        (from..from + length).map(|i| (i * 251 % 65_521 % 256) as u8).collect()
    }

    #[test]
    fn openssl_comes_to_the_same() {
        let recorded = include_str!("../../../oracle/cbc_mac.txt");
        let key = *b"tollway 512 to 1";
        let inputs = counted(0, 3 * INPUT);
        let mut outputs = [[0; SAMPLE]; 3];
        Reduction::new(&key).reduce(&inputs, &mut outputs);
        let hex: Vec<_> =
            outputs.iter().map(|o| o.iter().map(|b| format!("{b:02x}")).collect::<String>()).collect();
        assert_eq!(hex, recorded.lines().collect::<Vec<_>>());
        assert_eq!(outputs[1], plainly(key, &inputs[INPUT..2 * INPUT]));
    }

    #[test]
    fn every_number_of_streams_comes_to_the_same() {
        let key = [7; SAMPLE];
        let inputs = counted(0, STREAMS * INPUT);
        let expected: Vec<_> = inputs.chunks(INPUT).map(|input| plainly(key, input)).collect();
        let reduction = Reduction::new(&key);
        for streams in 1..=STREAMS {
            let mut outputs = vec![[0; SAMPLE]; streams];
            reduction.reduce(&inputs[..streams * INPUT], &mut outputs);
            assert_eq!(outputs, expected[..streams], "{streams}");
        }
        // The last was by the widest registers, where there are such.
        println!("wide: {}", reduction.wide.is_some());
        let mut outputs = [[0; SAMPLE]; STREAMS];
        reduction.reduce_by_library(&inputs, &mut outputs);
        assert_eq!(outputs, expected[..]);
    }

    #[test]
    fn a_source_is_reduced_512_to_1_in_any_portions() {
        let mut source = Seeded::new(3);
        let mut key = [0; SAMPLE];
        source.fill(&mut key).unwrap();
        let mut samples = vec![0; 70 * INPUT];
        source.fill(&mut samples).unwrap();
        let expected: Vec<u8> = samples.chunks(INPUT).flat_map(|input| plainly(key, input)).collect();
        let mut conditioned = Conditioned::of(Seeded::new(3)).unwrap();
        let mut whole = vec![0; 70 * SAMPLE];
        conditioned.fill(&mut whole).unwrap();
        assert_eq!(whole, expected);
        assert_eq!(conditioned.counts().bytes, 70 * 16);
        // A portion that is no whole sample takes the beginning of one and leaves the rest to nobody.
        let mut conditioned = Conditioned::of(Seeded::new(3)).unwrap();
        let (mut first, mut second) = ([0; 5], [0; 16]);
        conditioned.fill(&mut first).unwrap();
        conditioned.fill(&mut second).unwrap();
        assert_eq!((&first[..], &second[..]), (&expected[..5], &expected[16..32]));
    }

    #[test]
    fn what_fails_below_fails_above() {
        let mut conditioned =
            Conditioned::of(Planted::new(Seeded::new(1), Fault::Dry, 16 + INPUT as u64, u64::MAX)).unwrap();
        let mut output = [0; SAMPLE];
        conditioned.fill(&mut output).unwrap();
        output = [0; SAMPLE];
        assert!(conditioned.fill(&mut output).is_err());
        assert_eq!(output, [0; SAMPLE]);
    }

    #[test]
    fn reduced_rdrand_may_be_credited_in_full() {
        let Ok(rdrand) = Rdrand::open() else {
            println!("skipped: RDRAND: CPUID does not announce it");
            return;
        };
        assert_eq!(rdrand.claim().entropy, 8.0 / 512.0);
        assert_eq!(Conditioned::of(rdrand).unwrap().claim().entropy, 8.0);
        assert_eq!(Conditioned::of(Seeded::new(1)).unwrap().claim().entropy, 0.0);
    }
}
