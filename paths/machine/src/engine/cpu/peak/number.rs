//! Numbers that take steps, one by one in plain Rust.

/// A number that can take the step *x ← a x + b*.
pub(super) trait Number: Copy + PartialEq + Send + 'static {
    /// What is multiplied by.
    const FACTOR: Self;
    /// What is added.
    const ADDEND: Self;

    /// Where a chain begins, by its number.
    fn nth(number: usize) -> Self;

    /// A multiplication and an addition, each rounded where there is anything to round.
    fn step(self) -> Self;

    /// Both at once, rounded once.
    fn fused(self) -> Self;
}

macro_rules! whole {
    ($number:ty, $factor:literal) => {
        impl Number for $number {
            // One more than a multiple of four, and with an odd addend, so that no chain repeats itself (Knuth, volume 2, 3.2.1.2).
            const FACTOR: Self = $factor;
            const ADDEND: Self = 12345;

            fn nth(number: usize) -> Self {
                number as Self
            }

            fn step(self) -> Self {
                self.wrapping_mul(Self::FACTOR).wrapping_add(Self::ADDEND)
            }

            fn fused(self) -> Self {
                self.step()
            }
        }
    };
}

macro_rules! floating {
    ($number:ty) => {
        impl Number for $number {
            // So near to one that no chain comes to rest within a block: each step is seen in the end. Nothing overflows, and
            // nothing is so small that a processor would need its microcode.
            const FACTOR: Self = 1.0 - 1.0 / 65536.0;
            const ADDEND: Self = 0.1;

            fn nth(number: usize) -> Self {
                number as Self
            }

            fn step(self) -> Self {
                self * Self::FACTOR + Self::ADDEND
            }

            fn fused(self) -> Self {
                self.mul_add(Self::FACTOR, Self::ADDEND)
            }
        }
    };
}

whole!(u32, 1664525);
whole!(u64, 6364136223846793005);
floating!(f32);
floating!(f64);
