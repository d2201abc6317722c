//! Steps on one number at a time. The instructions are written out, as a compiler would make vectors of independent chains.

use std::arch::asm;

use super::number::Number;
use super::steps_of;

/// Chains of whole numbers: a step takes four or five cycles, and one begins in each.
const WHOLE: usize = 8;

/// Chains of floating-point numbers: a step takes six to eight cycles, and one or two begin in each. With both constants they are
/// all registers that there are.
const FLOATING: usize = 14;

macro_rules! steps {
    ($name:ident, $number:ty, $chains:ident, $class:ident, $multiply:literal, $add:literal) => {
        /// Each chain takes all its steps.
        pub(super) fn $name(numbers: &mut [$number; $chains]) {
            let mut chains = *numbers;
            for _ in 0..steps_of($chains) {
                for x in &mut chains {
                    // SAFETY: two instructions on registers of their own.
                    unsafe {
                        asm!($multiply, $add, x = inout($class) *x, a = in($class) <$number>::FACTOR,
                            b = in($class) <$number>::ADDEND, options(pure, nomem, nostack));
                    }
                }
            }
            *numbers = chains;
        }
    };
}

steps!(integers32, u32, WHOLE, reg, "imul {x:e}, {a:e}", "add {x:e}, {b:e}");
steps!(integers64, u64, WHOLE, reg, "imul {x}, {a}", "add {x}, {b}");
steps!(floats32, f32, FLOATING, xmm_reg, "mulss {x}, {a}", "addss {x}, {b}");
steps!(floats64, f64, FLOATING, xmm_reg, "mulsd {x}, {a}", "addsd {x}, {b}");
