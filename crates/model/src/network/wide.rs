//! Numbers above zero with a wide exponent: normalising constants leave the range of `f64` long before their ratios do.

use std::ops::{Add, Mul};

/// A number of zero or above: `mantissa` × 2^`exponent`, the mantissa 0 or in [1, 2). Sums and products round as `f64`
/// does, and neither overflow nor underflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Wide {
    mantissa: f64,
    exponent: i64,
}

/// Bits of the exponent of an `f64`, and its bias.
const EXPONENT: u64 = 0x7ff << 52;
const BIAS: i64 = 1023;

impl Wide {
    pub(super) const ZERO: Wide = Wide { mantissa: 0.0, exponent: 0 };
    pub(super) const ONE: Wide = Wide { mantissa: 1.0, exponent: 0 };

    /// A normal number of zero or above.
    pub(super) fn new(value: f64) -> Wide {
        Wide { mantissa: value, exponent: 0 }.normal()
    }

    fn normal(self) -> Wide {
        if self.mantissa == 0.0 {
            return Wide::ZERO;
        }
        let bits = self.mantissa.to_bits();
        let shift = ((bits & EXPONENT) >> 52) as i64 - BIAS;
        let mantissa = f64::from_bits((bits & !EXPONENT) | ((BIAS as u64) << 52));
        Wide { mantissa, exponent: self.exponent + shift }
    }

    /// This over another, as an `f64`; the other is above zero.
    pub(super) fn over(self, other: Wide) -> f64 {
        let shift = (self.exponent - other.exponent).clamp(-2000, 2000) as i32;
        // In two steps: 2^−1074 times a mantissa is a number, 2^−1074 alone has lost it.
        self.mantissa / other.mantissa * 2f64.powi(shift / 2) * 2f64.powi(shift - shift / 2)
    }
}

impl Add for Wide {
    type Output = Wide;

    fn add(self, other: Wide) -> Wide {
        if self.mantissa == 0.0 {
            return other;
        }
        if other.mantissa == 0.0 {
            return self;
        }
        let (large, small) = if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        let shift = large.exponent - small.exponent;
        if shift > 64 {
            return large;
        }
        let scale = f64::from_bits(((BIAS - shift) as u64) << 52);
        Wide { mantissa: large.mantissa + small.mantissa * scale, exponent: large.exponent }.normal()
    }
}

impl Mul for Wide {
    type Output = Wide;

    fn mul(self, other: Wide) -> Wide {
        Wide { mantissa: self.mantissa * other.mantissa, exponent: self.exponent + other.exponent }.normal()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn products_neither_overflow_nor_vanish() {
        let mut large = Wide::ONE;
        let mut small = Wide::ONE;
        for _ in 0..1000 {
            large = large * Wide::new(1e300);
            small = small * Wide::new(1e-300);
        }
        assert!(((large * small).over(Wide::ONE) - 1.0).abs() < 1e-12);
        assert_eq!((large + small).over(large), 1.0);
        assert_eq!(small.over(large), 0.0);
    }

    proptest! {
        #[test]
        fn they_add_and_multiply_as_floats(a in 1e-100..1e100f64, b in 1e-100..1e100f64) {
            let (x, y) = (Wide::new(a), Wide::new(b));
            prop_assert_eq!((x + y).over(Wide::ONE), a + b);
            prop_assert_eq!((x * y).over(Wide::ONE), a * b);
            prop_assert_eq!((Wide::ZERO + x).over(y), a / b);
        }
    }
}
