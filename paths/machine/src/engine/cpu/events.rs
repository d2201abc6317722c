//! Events of sysbench's processor test (sysbench 1.0.20, `src/tests/cpu/sb_cpu.c`): each tries every number from 3 up to a limit by
//! dividing it by every whole number up to its square root, in whole numbers of 64 bits, with the comparison with the root in floating point.
//!
//! The loop is written out as gcc makes it of that file, which is what Debian's sysbench runs. What rustc makes of the same lines is
//! another test: it looks first whether a division of 32 bits is enough, and it is, which is several times faster on processors whose long
//! division is slow; and without that look it is still 5 % faster on one whose division is fast.

use std::arch::asm;

/// What sysbench tries numbers up to where it is not told.
pub const LIMIT: u64 = 10_000;

/// One event: how many primes there are from 3 on below `limit`.
///
/// sysbench keeps no count (gcc leaves it out, since nobody asks for it). Ours costs one addition for each odd number.
#[inline(never)]
pub fn event(limit: u64) -> u64 {
    let mut primes = 0;
    for number in 3..limit {
        // As a signed number: that is one instruction, and gcc takes the other way for those beyond 2^63 only.
        let root = (number.cast_signed() as f64).sqrt();
        // The first division is by two: a look at a bit.
        if root < 2.0 {
            primes += 1;
        } else if number % 2 != 0 {
            primes += without_divisor_from_three(number, root);
        }
    }
    primes
}

/// One if no whole number from 3 up to the root divides it, else nothing.
#[inline(always)]
fn without_divisor_from_three(number: u64, root: f64) -> u64 {
    let mut none = 0u64;
    // SAFETY: registers of its own alone are written; 0:number is divided by 3 and more, so that the quotient fits.
    unsafe {
        asm!(
            "jmp 3f",
            ".p2align 3",
            "2:",
            "pxor {float}, {float}",
            "cvtsi2sd {float}, {divisor}",
            "comisd {root}, {float}",
            "jb 4f",
            "mov rax, {number}",
            "xor edx, edx",
            "div {divisor}",
            "test rdx, rdx",
            "je 4f",
            "3:",
            "add {divisor}, 1",
            // Beyond 2^63 it would be converted in another way; it is never that large.
            "jns 2b",
            "4:",
            // The carry flag is set where the divisor was found to be above the root, not where one was found to divide.
            "adc {none}, 0",
            divisor = inout(reg) 2u64 => _,
            number = in(reg) number,
            root = in(xmm_reg) root,
            float = out(xmm_reg) _,
            none = inout(reg) none,
            out("rax") _,
            out("rdx") _,
            options(pure, nomem, nostack),
        );
    }
    none
}

/// How many primes an event finds.
pub fn found(limit: u64) -> u64 {
    // Two is not tried.
    super::sieve::primes_below(limit).saturating_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_finds_the_primes_that_there_are() {
        for limit in (0..200).chain([9_409, 9_410, LIMIT]) {
            assert_eq!(event(limit), found(limit), "below {limit}");
        }
        assert_eq!(event(LIMIT), 1228);
    }
}
