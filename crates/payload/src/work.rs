//! Loops that stay inside: the same code runs in a guest and outside, to compare.

use core::arch::asm;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::crossing::clock;

/// The sum of `values`, modulo 2⁶⁴.
#[inline(never)]
pub fn sum(values: &[u64]) -> u64 {
    values.iter().fold(0, |sum, value| sum.wrapping_add(*value))
}

/// `rounds` dependent steps of xorshift from `seed` (not 0): integer work that stays in registers.
#[inline(never)]
pub fn scramble(seed: u64, rounds: u64) -> u64 {
    let mut x = seed;
    for _ in 0..rounds {
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    x
}

/// Copies `source` to `target` by 32-byte vector moves; what is left over goes byte by byte.
///
/// # Safety
/// The processor has AVX, and the guest may use it.
#[inline(never)]
pub unsafe fn copy_avx(target: &mut [u8], source: &[u8]) {
    let len = target.len().min(source.len());
    let whole = len / 32 * 32;
    // SAFETY: the offsets go from 0 to `whole`, which both slices have; the last bytes are copied through slices.
    unsafe {
        asm!(
            "test {end}, {end}", "jz 3f",
            "2:", "vmovdqu ymm0, [{from} + {at}]", "vmovdqu [{to} + {at}], ymm0", "add {at}, 32", "cmp {at}, {end}",
            "jb 2b", "vzeroupper", "3:",
            from = in(reg) source.as_ptr(), to = in(reg) target.as_mut_ptr(), at = inout(reg) 0usize => _,
            end = in(reg) whole, out("ymm0") _, options(nostack)
        );
    }
    for (to, from) in target[whole..len].iter_mut().zip(&source[whole..len]) {
        *to = *from;
    }
}

/// Answers `rounds` calls: waits until `ball` is odd (1, 3, …) and makes it even again by adding one. The other side
/// does the reverse. Both only read and write memory.
#[inline(never)]
pub fn pong(ball: &AtomicU64, rounds: u64) {
    for round in 0..rounds {
        while ball.load(Ordering::Acquire) != 2 * round + 1 {
            core::hint::spin_loop();
        }
        ball.store(2 * round + 2, Ordering::Release);
    }
}

/// The other side of [`pong`]; returns the cycles that all rounds took.
#[inline(never)]
pub fn ping(ball: &AtomicU64, rounds: u64) -> u64 {
    let before = clock();
    for round in 0..rounds {
        ball.store(2 * round + 1, Ordering::Release);
        while ball.load(Ordering::Acquire) != 2 * round + 2 {
            core::hint::spin_loop();
        }
    }
    clock().wrapping_sub(before)
}

#[cfg(test)]
mod tests {
    extern crate std;

    use super::*;

    /// Every length around the width of a vector is copied whole, and no byte beyond.
    #[test]
    fn copies_are_exact() {
        if !std::is_x86_feature_detected!("avx") {
            return std::println!("skipped: no AVX");
        }
        let source: [u8; 130] = core::array::from_fn(|i| i as u8 + 1);
        for len in 0..=129 {
            let mut target = [0u8; 130];
            // SAFETY: the processor has AVX.
            unsafe { copy_avx(&mut target[..len], &source) };
            assert!(target[..len] == source[..len] && target[len..].iter().all(|b| *b == 0), "{len}");
        }
    }

    /// The ball goes there and back as often as asked.
    #[test]
    fn the_ball_comes_back() {
        let ball = AtomicU64::new(0);
        let cycles = std::thread::scope(|scope| {
            scope.spawn(|| pong(&ball, 20));
            ping(&ball, 20)
        });
        assert_eq!(ball.load(Ordering::Relaxed), 40);
        assert!(cycles > 0);
    }

    /// Work is not optimised away: it depends on every value.
    #[test]
    fn work_depends_on_its_input() {
        assert_eq!(sum(&[1, u64::MAX, 5]), 5);
        assert_ne!(scramble(1, 10), scramble(1, 11));
        assert_ne!(scramble(1, 10), scramble(2, 10));
    }
}
