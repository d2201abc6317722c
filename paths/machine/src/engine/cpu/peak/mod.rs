//! How much arithmetic a processor does at most: the step *x ← a x + b*, over and over, in as many independent chains as keep
//! its units busy, so that throughput is seen and not the time of one step. A step is two operations, also where one instruction does both.
//!
//! | kind | a step is |
//! |---|---|
//! | integer | a multiplication and an addition of whole numbers, modulo 2^32 or 2^64 |
//! | float | a scalar multiplication and a scalar addition of SSE2 |
//! | vector | a fused multiply-add of the widest vectors there are, or of those that are asked for; with SSE2 a multiplication and an addition |
//!
//! All numbers that come out of a block of steps are compared with what the same steps bring one by one in plain Rust.

mod number;
mod scalar;
mod vector;

use std::fmt;
use std::hint::black_box;
use std::str::FromStr;

use number::Number;
use tollway_core::{Error, Missing, Result};

/// Additions and multiplications in a block, by whatever instructions.
pub const OPERATIONS: u64 = (2 * 21) << 16;

/// Steps of each of so many chains of numbers in a block.
const fn steps_of(numbers: usize) -> u32 {
    (OPERATIONS / 2 / numbers as u64) as u32
}

/// What is multiplied and added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whole numbers, one at a time.
    Integer,
    /// Floating-point numbers, one at a time.
    Float,
    /// Floating-point numbers, a vector at a time.
    Vector,
}

impl Kind {
    /// Every kind, with its name.
    pub const NAMES: &[&str] = &["integer", "float", "vector"];
}

impl FromStr for Kind {
    type Err = Error;

    fn from_str(word: &str) -> Result<Kind> {
        match word {
            "integer" => Ok(Kind::Integer),
            "float" => Ok(Kind::Float),
            "vector" => Ok(Kind::Vector),
            _ => Err(unknown("kind", word, Kind::NAMES)),
        }
    }
}

/// How wide a number is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 32 bits.
    Bits32,
    /// 64 bits.
    Bits64,
}

/// The instructions that do it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// Those of every x86-64 processor, on one number at a time.
    Scalar,
    /// SSE2: vectors of 128 bits.
    Sse2,
    /// AVX2 and FMA: vectors of 256 bits.
    Avx2,
    /// AVX-512 F: vectors of 512 bits.
    Avx512,
}

impl Set {
    /// Those of vectors, the widest first.
    pub const VECTORS: [Set; 3] = [Set::Avx512, Set::Avx2, Set::Sse2];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Set::Scalar => "scalar",
            Set::Sse2 => "sse2",
            Set::Avx2 => "avx2",
            Set::Avx512 => "avx512",
        }
    }

    /// Whether this processor has it, and the system keeps its registers.
    pub fn is_here(self) -> bool {
        match self {
            Set::Scalar | Set::Sse2 => true,
            Set::Avx2 => is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma"),
            Set::Avx512 => is_x86_feature_detected!("avx512f"),
        }
    }

    /// The widest vectors of this processor.
    pub fn best() -> Set {
        Set::VECTORS.into_iter().find(|set| set.is_here()).unwrap_or(Set::Sse2)
    }
}

impl fmt::Display for Set {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Set {
    type Err = Error;

    fn from_str(word: &str) -> Result<Set> {
        let named = Set::VECTORS.into_iter().find(|set| set.name() == word);
        named.ok_or_else(|| unknown("set", word, &Set::VECTORS.map(Set::name)))
    }
}

fn unknown(axis: &str, word: &str, known: &[&str]) -> Error {
    Error::Input {
        place: format!("{axis} `{word}`"),
        reason: "there is none of that name".into(),
        remedy: format!("there are: {}", known.join(", ")),
    }
}

/// A block of steps, to be repeated.
pub struct Block {
    /// The instructions that do them.
    pub set: Set,
    run: Box<dyn Fn() -> bool + Send>,
}

impl Block {
    /// A block of that kind; of vectors by those instructions, or the widest there are.
    ///
    /// # Errors
    /// [`Error::Missing`] where the processor has no such instructions.
    pub fn new(kind: Kind, width: Width, set: Option<Set>) -> Result<Block> {
        let set = match kind {
            Kind::Integer | Kind::Float => Set::Scalar,
            Kind::Vector => set.unwrap_or_else(Set::best),
        };
        if !set.is_here() {
            return Err(Error::Missing(Missing::new(
                format!("instructions of {set}"),
                "CPUID does not show them, or the system does not keep their registers",
                "run it on a processor that has them (QEMU: -cpu host), or leave `set` to best",
            )));
        }
        Ok(match (kind, width, set) {
            (Kind::Integer, Width::Bits32, _) => made(set, false, scalar::integers32),
            (Kind::Integer, Width::Bits64, _) => made(set, false, scalar::integers64),
            (Kind::Float, Width::Bits32, _) => made(set, false, scalar::floats32),
            (Kind::Float, Width::Bits64, _) => made(set, false, scalar::floats64),
            (Kind::Vector, Width::Bits32, Set::Avx512) => {
                // SAFETY: the processor has these instructions, as was just checked.
                made(set, true, |x| unsafe { vector::avx512_32(x) })
            }
            (Kind::Vector, Width::Bits64, Set::Avx512) => {
                // SAFETY: as above.
                made(set, true, |x| unsafe { vector::avx512_64(x) })
            }
            // SAFETY: as above.
            (Kind::Vector, Width::Bits32, Set::Avx2) => made(set, true, |x| unsafe { vector::avx2_32(x) }),
            // SAFETY: as above.
            (Kind::Vector, Width::Bits64, Set::Avx2) => made(set, true, |x| unsafe { vector::avx2_64(x) }),
            // SAFETY: every x86-64 processor has them.
            (Kind::Vector, Width::Bits32, _) => made(set, false, |x| unsafe { vector::sse2_32(x) }),
            // SAFETY: every x86-64 processor has them.
            (Kind::Vector, Width::Bits64, _) => made(set, false, |x| unsafe { vector::sse2_64(x) }),
        })
    }

    /// Does its [`OPERATIONS`] once; whether all numbers came out right.
    #[inline]
    pub fn run(&self) -> bool {
        (self.run)()
    }
}

/// A block of `steps` that are compared with what comes out one by one, each step rounded once (`fused`) or twice.
fn made<N: Number, const COUNT: usize>(
    set: Set,
    fused: bool,
    steps: impl Fn(&mut [N; COUNT]) + Send + 'static,
) -> Block {
    let begin: [N; COUNT] = std::array::from_fn(N::nth);
    let step = if fused { N::fused } else { N::step };
    let end = begin.map(|number| (0..steps_of(COUNT)).fold(number, |x, _| step(x)));
    let run = move || {
        let mut numbers = black_box(begin);
        steps(&mut numbers);
        numbers == end
    };
    Block { set, run: Box::new(run) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_block_brings_what_its_steps_bring_one_by_one() {
        for width in [Width::Bits32, Width::Bits64] {
            for kind in [Kind::Integer, Kind::Float] {
                assert!(Block::new(kind, width, None).unwrap().run(), "{kind:?} {width:?}");
            }
            for set in Set::VECTORS.into_iter().filter(|set| set.is_here()) {
                let block = Block::new(Kind::Vector, width, Some(set)).unwrap();
                assert_eq!((block.run(), block.set), (true, set), "{width:?}");
            }
        }
        println!("widest: {}", Set::best());
    }

    #[test]
    fn a_step_too_few_a_wrong_number_or_another_rounding_is_seen() {
        const STEPS: u32 = steps_of(14);
        let one_by_one = |less: u32| {
            move |numbers: &mut [f32; 14]| {
                numbers.iter_mut().for_each(|x| *x = (less..STEPS).fold(*x, |x, _| x.step()));
            }
        };
        assert!(made(Set::Scalar, false, one_by_one(0)).run());
        assert!(!made(Set::Scalar, false, one_by_one(1)).run());
        assert!(!made(Set::Scalar, true, one_by_one(0)).run());
        let one_wrong = made(Set::Scalar, false, move |numbers: &mut [f32; 14]| {
            one_by_one(0)(numbers);
            numbers[13] += 1.0;
        });
        assert!(!one_wrong.run());
    }
}
