//! The atomics of the channel, with a pause of any length before any access: none mostly, some cycles, the core given away, a nap.

use std::cell::Cell;
use std::sync::atomic::AtomicU64 as Seed;
use std::thread;
use std::time::Duration;

pub use core::sync::atomic::Ordering;

use crate::random_pause;

/// Each thread's pauses are others.
static NEXT: Seed = Seed::new(1);

thread_local!(static RANDOM: Cell<u64> = Cell::new(0x9e37_79b9_7f4a_7c15 ^ NEXT.fetch_add(2, Ordering::Relaxed) << 17));

/// Of 2^16 accesses 1024 are delayed by up to 1000 cycles or so, 128 by whoever else wants the core, 4 by a nap.
pub fn pause() {
    let dice = RANDOM.with(|random| {
        // Marsaglia's xorshift64: "Xorshift RNGs", Journal of Statistical Software 8 (14), 2003, section 3.
        let mut x = random.get();
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        random.set(x);
        x
    });
    match dice >> 48 {
        0..4 => random_pause::pause(Duration::from_micros(dice & 127)),
        4..132 => thread::yield_now(),
        132..1156 => (0..dice & 31).for_each(|_| std::hint::spin_loop()),
        _ => {}
    }
}

pub fn fence(order: Ordering) {
    pause();
    core::sync::atomic::fence(order);
}

/// An atomic whose every access pauses first.
macro_rules! pausing {
    ($name:ident, $of:ty) => {
        #[derive(Debug, Default)]
        #[repr(transparent)]
        pub struct $name(core::sync::atomic::$name);

        impl $name {
            pub fn new(value: $of) -> $name {
                $name(core::sync::atomic::$name::new(value))
            }

            pub fn load(&self, order: Ordering) -> $of {
                pause();
                self.0.load(order)
            }

            pub fn store(&self, value: $of, order: Ordering) {
                pause();
                self.0.store(value, order);
            }

            pub fn swap(&self, value: $of, order: Ordering) -> $of {
                pause();
                self.0.swap(value, order)
            }

            pub fn fetch_or(&self, value: $of, order: Ordering) -> $of {
                pause();
                self.0.fetch_or(value, order)
            }

            pub fn fetch_and(&self, value: $of, order: Ordering) -> $of {
                pause();
                self.0.fetch_and(value, order)
            }

            pub fn compare_exchange(
                &self,
                from: $of,
                to: $of,
                order: Ordering,
                otherwise: Ordering,
            ) -> Result<$of, $of> {
                pause();
                self.0.compare_exchange(from, to, order, otherwise)
            }

            pub fn as_ptr(&self) -> *mut $of {
                self.0.as_ptr()
            }
        }
    };
}

pausing!(AtomicU64, u64);
pausing!(AtomicU32, u32);
pausing!(AtomicBool, bool);

impl AtomicU64 {
    pub fn fetch_add(&self, value: u64, order: Ordering) -> u64 {
        pause();
        self.0.fetch_add(value, order)
    }
}
