//! How exactly the times of a column are known: by the digits that were written, and by what floating point left of them
//! before.
//!
//! A program that keeps time in `f64` rounds each reading to its 53 bits: of seconds since 1970 that leaves 0.24 µs. It
//! shows where all readings of a column are what an `f64` would print and have more digits than it can hold. Readings of
//! an integer clock do not pass: of those with so many digits few are next to a number that an `f64` has.

use super::column::{Column, FEMTOSECONDS, Number};

/// More significant digits than any `f64` tells apart.
const DIGITS: u32 = 15;

/// The exponents of bits that are told apart.
const LEAST_BIT: i32 = -200;
const BITS: usize = 400;

/// What is known of a column, in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Precision {
    /// The unit of the last digit, of the largest value where all have so many digits.
    pub(super) written: f64,
    /// What floating point rounded to before; 0 where it did not.
    pub(super) blur: f64,
}

impl Precision {
    /// What readings of one constant may differ by: a reading is at the tick below or above, so that they are of two that are
    /// beside each other; where it was rounded before, either rounding may add as much.
    pub(super) fn rounding(self) -> f64 {
        if self.blur > 0.0 { 2.0 * self.resolution() } else { self.written }
    }

    /// By how much a value may be off.
    pub(super) fn resolution(self) -> f64 {
        self.written + self.blur
    }
}

/// What is collected of a column while it is read.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    /// Femtoseconds in a unit of the column.
    unit: i128,
    /// Whether these are readings of a clock; else times.
    stamps: bool,
    decimals: u32,
    significant: u32,
    /// Femtoseconds.
    largest: u128,
    /// Whether all could have been `f64`s.
    floats: bool,
    /// How many have 2^([`LEAST_BIT`] + i) for their lowest bit.
    lowest_bits: Vec<u32>,
}

impl Seen {
    pub(super) fn of(column: &Column) -> Self {
        Seen {
            unit: column.unit,
            stamps: column.holds.is_stamp(),
            decimals: 0,
            significant: 0,
            largest: 0,
            floats: true,
            lowest_bits: Vec::new(),
        }
    }

    /// One more value, and how it was written.
    pub(super) fn add(&mut self, text: &str, number: &Number) {
        self.decimals = self.decimals.max(number.decimals);
        self.significant = self.significant.max(number.significant);
        self.largest = self.largest.max(number.femtoseconds.unsigned_abs());
        // Fewer digits tell nothing for or against; of what is no float already nothing more is asked.
        if !self.floats {
            return;
        }
        if number.significant > DIGITS {
            let last = 10_f64.powi(-(number.decimals.min(300) as i32)) * self.unit as f64;
            let off = (nearest_float(text, self.unit).0 - number.femtoseconds).unsigned_abs() as f64;
            self.floats = off <= 0.5 * last + 2.0;
        }
        if !self.stamps && number.femtoseconds != 0 {
            self.lowest_bits.resize(BITS, 0);
            let place = (nearest_float(text, self.unit).1 - LEAST_BIT).clamp(0, BITS as i32 - 1);
            self.lowest_bits[place as usize] += 1;
        }
    }

    /// A difference of two floats has no bit below those of the floats, whatever its own size. Three quarters are below the
    /// result or have it for their lowest bit: it is that of the largest floats rather than of the first of them.
    fn last_bit(&self) -> Option<f64> {
        let all: u32 = self.lowest_bits.iter().sum();
        let mut below = 0;
        let place = self.lowest_bits.iter().position(|count| {
            below += count;
            below > all / 4 * 3
        });
        place.map(|place| 2_f64.powi(place as i32 + LEAST_BIT))
    }

    /// What follows from all of them.
    pub(super) fn precision(&self) -> Precision {
        let seconds = self.unit as f64 / FEMTOSECONDS as f64;
        let largest = self.largest as f64 / self.unit as f64;
        let power = |exponent: i32| 10_f64.powi(exponent.clamp(-300, 300));
        // The largest of numbers that all have a digit count, rather than a count of decimals, has fewer decimals.
        let by_digits = if largest > 0.0 {
            largest.log10().floor() as i32 - self.significant as i32 + 1
        } else {
            i32::MIN
        };
        let written = power(by_digits.max(-(self.decimals.min(300) as i32)));
        let spacing = largest * f64::EPSILON;
        let blur = match self.floats {
            true if self.stamps && written < spacing => spacing,
            true if !self.stamps && self.significant > DIGITS => self.last_bit().unwrap_or(0.0),
            _ => 0.0,
        };
        Precision { written: written * seconds, blur: blur * seconds }
    }
}

/// The nearest `f64`, in femtoseconds, and the exponent of its lowest bit that is set.
fn nearest_float(text: &str, unit: i128) -> (i128, i32) {
    let bits = text.parse::<f64>().unwrap_or(0.0).to_bits();
    let exponent = ((bits >> 52) & 0x7ff) as i32;
    let fraction = bits & ((1 << 52) - 1);
    let (mantissa, exponent) = match exponent {
        0 => (fraction, -1074),
        exponent => (fraction | 1 << 52, exponent - 1075),
    };
    if mantissa == 0 {
        return (0, i32::MAX);
    }
    let sign = if bits >> 63 == 1 { -1 } else { 1 };
    let whole = i128::from(mantissa).saturating_mul(unit);
    let size = match exponent {
        0.. => whole.saturating_mul(1_i128.checked_shl(exponent as u32).unwrap_or(i128::MAX)),
        -126..0 => (whole + (1 << (-exponent - 1))) >> -exponent,
        _ => 0,
    };
    (sign * size, exponent + mantissa.trailing_zeros() as i32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::column::femtoseconds;

    fn precision(column: &str, texts: &[&str]) -> Precision {
        let column = Column::named(column).unwrap();
        let mut seen = Seen::of(&column);
        for text in texts {
            seen.add(text, &femtoseconds(text, column.unit).unwrap());
        }
        seen.precision()
    }

    #[track_caller]
    fn close(found: f64, expected: f64) {
        assert!((found / expected - 1.0).abs() < 1e-6, "{found} for {expected}");
    }

    #[test]
    fn the_nearest_float_is_exact_to_a_femtosecond() {
        assert_eq!(nearest_float("0.1", FEMTOSECONDS).0, FEMTOSECONDS / 10);
        assert_eq!(nearest_float("-2.5", FEMTOSECONDS), (-5 * FEMTOSECONDS / 2, -1));
        assert_eq!(nearest_float("1024", 1), (1024, 10));
        assert_eq!(nearest_float("0", 1).0, 0);
        assert_eq!(nearest_float("1700000000.1234567", FEMTOSECONDS).0 % FEMTOSECONDS, 123_456_716_537_476);
    }

    #[test]
    fn an_integer_clock_is_no_float() {
        let nanoseconds = ["1700000000123456789", "1700000000123456900"];
        let of_clock = precision("end_ns", &nanoseconds);
        close(of_clock.written, 1e-9);
        assert_eq!(of_clock.blur, 0.0);
        let seconds = precision("end", &["1700000000.123456789", "1700000000.5"]);
        close(seconds.written, 1e-9);
        assert_eq!(seconds.blur, 0.0);
        // So few digits that a float has them all.
        let microseconds = precision("end_us", &["1700000000123456", "1700000000123457"]);
        close(microseconds.written, 1e-6);
        assert_eq!(microseconds.blur, 0.0);
    }

    #[test]
    fn what_floating_point_left_of_a_reading() {
        let of_epoch = precision("end", &["1700000000.1234567", "1700000000.1235268"]);
        close(of_epoch.written, 1e-7);
        assert!((1e-7..5e-7).contains(&of_epoch.blur), "{of_epoch:?}");
        let of_start = precision("end", &["5.123456789012345e-05", "2.345678901234567"]);
        close(of_start.written, 1e-15);
        let nine = precision("end", &["1700000000.123456717", "1700000000.123526812"]);
        assert!(nine.blur > 1e-7, "{nine:?}");
    }

    #[test]
    fn six_digits_are_those_of_the_largest() {
        close(precision("end", &["0.000123456", "12.3456"]).written, 1e-4);
        close(precision("service", &["1.5e-05", "2.25e-3"]).written, 1e-5);
    }

    #[test]
    fn differences_of_floats_share_their_last_bit() {
        let difference = |a: f64, b: f64| format!("{:?}", b - a);
        let texts = [difference(1.7e9, 1.7e9 + 70e-6), difference(1.7e9 + 1.0, 1.7e9 + 1.000_33)];
        let of = precision("service", &[texts[0].as_str(), texts[1].as_str()]);
        assert!((1e-7..3e-6).contains(&of.blur), "{texts:?} {of:?}");
        let own = precision("service", &["0.00012345678901234567", "7.1e-05"]);
        assert!(own.resolution() < 1e-18, "{own:?}");
    }
}
