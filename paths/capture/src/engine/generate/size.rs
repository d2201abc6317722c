//! How long frames are.
//!
//! A size counts what is on the wire: from the destination address to the 4 bytes of the check sequence, as IEEE 802.3
//! does (3.2). The kernel is handed 4 fewer, for the adapter appends them: a frame of 64 is 60 bytes of memory, one of
//! 1518 is 1514. On the wire a frame takes 20 bytes more: 8 of preamble and start delimiter, 12 of gap.

use std::fmt;
use std::str::FromStr;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::Rng;

use super::GenerateError;
use super::choice::{Choice, below};

/// Bytes of the frame check sequence.
const CHECK: u16 = 4;
/// Bytes of preamble, start delimiter and least gap around a frame (IEEE 802.3, 3.1.1 and 4.4.2).
const AROUND: u16 = 8 + 12;

/// The size of an Ethernet frame in bytes, its check sequence included: 64 to 1518.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Size(u16);

impl Size {
    /// The shortest that Ethernet has.
    pub const SHORTEST: Size = Size(64);
    /// The longest without a VLAN tag.
    pub const LONGEST: Size = Size(1518);

    /// A size in bytes, its check sequence included.
    ///
    /// # Errors
    /// If it is not 64 to 1518.
    pub fn new(bytes: u16) -> Result<Size, GenerateError> {
        if (64..=1518).contains(&bytes) {
            return Ok(Size(bytes));
        }
        Err(GenerateError::input(
            format!("a frame of {bytes} bytes"),
            "Ethernet frames have 64 to 1518, the 4 of their check sequence included",
            "give one of these",
        ))
    }

    /// Bytes on the wire, check sequence included.
    pub fn bytes(self) -> u16 {
        self.0
    }

    /// Bytes that the kernel is handed: without the check sequence.
    pub fn handed(self) -> usize {
        usize::from(self.0 - CHECK)
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Frames of this size per second that fill a link of so many bits per second. 64 bytes and 100 Mbit/s: 148,809.5.
pub fn line_rate(bits_per_second: f64, size: Size) -> f64 {
    bits_per_second / (8.0 * f64::from(size.0 + AROUND))
}

/// The distribution of frames' sizes; each frame's is drawn on its own.
#[derive(Clone, Debug, PartialEq)]
pub enum Sizes {
    /// Always the same.
    Fixed(Size),
    /// Any from one to the other, all alike.
    Uniform(Size, Size),
    /// These, by weights.
    Weighted(Vec<(Size, f64)>),
}

impl Sizes {
    /// The simple IMIX: 64, 594 and 1518 bytes by 7 : 4 : 1, which are IP packets of 40, 576 and 1500 bytes (the shortest
    /// padded). Vendors' use made it and no standard has it, for what devices meet differs (RFC 6985, section 1): name the
    /// sizes beside a figure.
    pub fn imix() -> Sizes {
        Sizes::Weighted(vec![(Size(64), 7.0), (Size(594), 4.0), (Size(1518), 1.0)])
    }

    /// The mean, in bytes with the check sequence.
    pub fn mean(&self) -> f64 {
        match self {
            Sizes::Fixed(size) => f64::from(size.0),
            Sizes::Uniform(from, to) => (f64::from(from.0) + f64::from(to.0)) / 2.0,
            Sizes::Weighted(sizes) => {
                let total: f64 = sizes.iter().map(|(_, weight)| weight).sum();
                sizes.iter().map(|(size, weight)| f64::from(size.0) * weight).sum::<f64>() / total
            }
        }
    }

    /// The shortest that may come.
    pub(super) fn shortest(&self) -> Size {
        match self {
            Sizes::Fixed(size) | Sizes::Uniform(size, _) => *size,
            Sizes::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).min().unwrap_or(Size::SHORTEST),
        }
    }

    /// The longest that may come.
    pub(super) fn longest(&self) -> Size {
        match self {
            Sizes::Fixed(size) | Sizes::Uniform(_, size) => *size,
            Sizes::Weighted(sizes) => sizes.iter().map(|(size, _)| *size).max().unwrap_or(Size::LONGEST),
        }
    }

    pub(super) fn drawn(&self) -> Result<SizeDraw, GenerateError> {
        Ok(match self {
            Sizes::Fixed(size) => SizeDraw::Fixed(size.handed() as u16),
            Sizes::Uniform(from, to) if from > to => {
                return Err(GenerateError::input(
                    format!("sizes {from}-{to}"),
                    "the first is above the second",
                    "turn them round",
                ));
            }
            Sizes::Uniform(from, to) => SizeDraw::Uniform(from.handed() as u16, u32::from(to.0 - from.0) + 1),
            Sizes::Weighted(sizes) => {
                let weights: Vec<f64> = sizes.iter().map(|(_, weight)| *weight).collect();
                let choice = Choice::by_weights("the mix of sizes", &weights)?;
                SizeDraw::Weighted(choice, sizes.iter().map(|(size, _)| size.handed() as u16).collect())
            }
        })
    }
}

/// `imix`; a size; `64-1518`, any of these; `64:7,594:4,1518:1`, sizes with weights.
impl FromStr for Sizes {
    type Err = GenerateError;

    fn from_str(text: &str) -> Result<Sizes, GenerateError> {
        let unclear = || {
            GenerateError::input(
                format!("sizes {text:?}"),
                "they are not understood",
                "write imix, one size as 64, a range as 64-1518, or sizes with weights as 64:7,594:4,1518:1",
            )
        };
        let size = |word: &str| word.trim().parse().map_err(|_| unclear()).and_then(Size::new);
        if text == "imix" {
            return Ok(Sizes::imix());
        }
        if text.contains(':') {
            let pair = |part: &str| {
                let (bytes, weight) = part.split_once(':').ok_or_else(unclear)?;
                Ok((size(bytes)?, weight.trim().parse().map_err(|_| unclear())?))
            };
            return text.split(',').map(pair).collect::<Result<_, _>>().map(Sizes::Weighted);
        }
        match text.split_once('-') {
            Some((from, to)) => Ok(Sizes::Uniform(size(from)?, size(to)?)),
            None => size(text).map(Sizes::Fixed),
        }
    }
}

/// Draws sizes as the kernel is handed them.
#[derive(Clone, Debug)]
pub(super) enum SizeDraw {
    Fixed(u16),
    /// The shortest, and how many there are.
    Uniform(u16, u32),
    Weighted(Choice, Vec<u16>),
}

impl SizeDraw {
    #[inline]
    pub(super) fn draw(&self, random: &mut Xoshiro256PlusPlus) -> u16 {
        match self {
            SizeDraw::Fixed(handed) => *handed,
            SizeDraw::Uniform(from, count) => from + below(*count, random.next_u32()) as u16,
            SizeDraw::Weighted(choice, sizes) => sizes[choice.draw(random)],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_megabits_carry_148_809_shortest_frames() {
        assert_eq!(line_rate(1e8, Size::SHORTEST).floor(), 148_809.0);
        assert_eq!(line_rate(1e10, Size::SHORTEST).floor(), 14_880_952.0);
        assert_eq!(line_rate(1e9, Size::LONGEST).round(), 81_274.0);
        assert_eq!((Size::SHORTEST.handed(), Size::LONGEST.handed()), (60, 1514));
    }

    #[test]
    fn sizes_are_read_and_what_is_none_is_refused() {
        assert_eq!("imix".parse::<Sizes>().unwrap(), Sizes::imix());
        assert_eq!("64:7,594:4,1518:1".parse::<Sizes>().unwrap(), Sizes::imix());
        assert_eq!("64".parse::<Sizes>().unwrap(), Sizes::Fixed(Size::SHORTEST));
        assert_eq!("64-1518".parse::<Sizes>().unwrap(), Sizes::Uniform(Size::SHORTEST, Size::LONGEST));
        for wrong in ["", "63", "1519", "64-", "x", "64:", "64:a", "64:7,,", "70000", "64-1519"] {
            let error = wrong.parse::<Sizes>().unwrap_err();
            assert!(matches!(error, GenerateError::Input { .. }), "{wrong}: {error}");
        }
        assert!((Sizes::imix().mean() - (7.0 * 64.0 + 4.0 * 594.0 + 1518.0) / 12.0).abs() < 1e-9);
        for wrong in ["1518-64", "64:0", "64:-1,65:2", "64:nan", "64:inf"] {
            assert!(wrong.parse::<Sizes>().unwrap().drawn().is_err(), "{wrong}");
        }
    }
}
