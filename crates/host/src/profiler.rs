//! A sampling profiler: a timer's signal finds out at random moments which part of its work a thread is at.
//!
//! It is an instrument of its own beside tolls: it sees the parts while they are one whole, and does not know what a part
//! costs alone. It has caveats of its own:
//!
//! - A sample counts for the part that was announced last ([`at`]), so parts must be longer than an announcement, which
//!   is a store. What happens in the kernel counts for the part that called it: the signal waits for the return.
//! - The timer tells elapsed time. A part at which the thread waits, or loses its processor, is seen more often.
//! - A sample costs some microseconds (an interrupt, a signal, a system call to set the timer anew), which counts for no
//!   part in particular. Intervals are random between half and one and a half times what is asked for, so that no loop of
//!   the work can keep step with them.

use std::cell::Cell;
use std::io;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering, compiler_fence};

use libc::{c_int, itimerspec, timer_t, timespec};
use tollway_core::{Error, Result};

/// The most parts that are told apart.
pub const PARTS: usize = 16;

/// The state of a thread. Constants without destructors, so that the handler's access neither allocates nor registers
/// anything.
struct State {
    part: AtomicU8,
    hits: [AtomicU64; PARTS],
    timer: Cell<timer_t>,
    nanoseconds: Cell<u64>,
    random: Cell<u64>,
}

thread_local! {
    static STATE: State = const {
        State {
            part: AtomicU8::new(0),
            hits: [const { AtomicU64::new(0) }; PARTS],
            timer: Cell::new(std::ptr::null_mut()),
            nanoseconds: Cell::new(0),
            random: Cell::new(0),
        }
    };
}

/// Says that this thread begins with that part of its work; one beyond the last counts as the last.
#[inline(always)]
pub fn at(part: u8) {
    // Nothing of the part before may move behind the announcement, nothing of this one before it.
    compiler_fence(Ordering::SeqCst);
    STATE.with(|state| state.part.store(part, Ordering::Relaxed));
    compiler_fence(Ordering::SeqCst);
}

/// Samples the thread that began it, until it is dropped or ended there.
#[derive(Debug)]
pub struct Profiler {
    /// It must end on its own thread.
    not_send: PhantomData<*const ()>,
}

impl Profiler {
    /// Begins to sample the calling thread so many times a second, up to 20,000. The seed is that of the random moments.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel gives no timer; [`Error::Wrong`] if this thread is being sampled already.
    pub fn begin(per_second: u32, seed: u64) -> Result<Profiler> {
        let failed = |what: &str| Error::system(what, io::Error::last_os_error());
        if STATE.with(|state| !state.timer.get().is_null()) {
            return Err(Error::Wrong("this thread is being sampled already".into()));
        }
        let number = libc::SIGRTMIN() + 11;
        // SAFETY: a `sigaction` of zeroes is a valid one: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = sample as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler uses atomics, cells of its own thread and timer_settime(2), all async-signal-safe. It stays
        // installed: another thread may be using it.
        if unsafe { libc::sigaction(number, &action, std::ptr::null_mut()) } != 0 {
            return Err(failed("installing a signal handler"));
        }
        // SAFETY: a `sigevent` of zeroes is a valid one.
        let mut event: libc::sigevent = unsafe { std::mem::zeroed() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = number;
        // SAFETY: reads a number and touches no memory.
        event.sigev_notify_thread_id = unsafe { libc::gettid() };
        let mut timer: timer_t = std::ptr::null_mut();
        // SAFETY: both pointers are of live values of the types that timer_create(2) takes.
        if unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) } != 0 {
            return Err(failed("making a timer"));
        }
        // The C library's handle of the first timer may be 0, which stands for none here.
        let kept = timer.wrapping_byte_add(1);
        STATE.with(|state| {
            state.hits.iter().for_each(|hits| hits.store(0, Ordering::Relaxed));
            state.nanoseconds.set(1_000_000_000 / u64::from(per_second.clamp(1, 20_000)));
            state.random.set(seed | 1);
            state.timer.set(kept);
            arm(state);
        });
        Ok(Profiler { not_send: PhantomData })
    }

    /// Ends, and says how often each part was found.
    pub fn end(self) -> [u64; PARTS] {
        drop(self);
        STATE.with(|state| std::array::from_fn(|i| state.hits[i].load(Ordering::Relaxed)))
    }
}

impl Drop for Profiler {
    fn drop(&mut self) {
        STATE.with(|state| {
            let timer = state.timer.replace(std::ptr::null_mut());
            // SAFETY: the handle that timer_create gave, deleted once: it was just taken out of the cell. A signal that
            // is on its way finds no timer to arm.
            unsafe { libc::timer_delete(timer.wrapping_byte_sub(1)) };
        });
    }
}

/// Sets the timer to a random moment.
fn arm(state: &State) {
    let timer = state.timer.get();
    if timer.is_null() {
        return;
    }
    // Marsaglia's xorshift (2003), "Xorshift RNGs", Journal of Statistical Software 8(14).
    let mut random = state.random.get();
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    state.random.set(random);
    let mean = state.nanoseconds.get();
    let wait = mean / 2 + random % (mean + 1);
    let when = timespec { tv_sec: (wait / 1_000_000_000) as i64, tv_nsec: (wait % 1_000_000_000) as i64 };
    let once = itimerspec { it_interval: timespec { tv_sec: 0, tv_nsec: 0 }, it_value: when };
    // SAFETY: a handle of this thread's timer and a live value; the old one is not asked for.
    unsafe { libc::timer_settime(timer.wrapping_byte_sub(1), 0, &once, std::ptr::null_mut()) };
}

extern "C" fn sample(_: c_int) {
    // SAFETY: the address of this thread's own error number; what it interrupted may be about to read it.
    let errno = unsafe { *libc::__errno_location() };
    STATE.with(|state| {
        let part = usize::from(state.part.load(Ordering::Relaxed)).min(PARTS - 1);
        state.hits[part].fetch_add(1, Ordering::Relaxed);
        arm(state);
    });
    // SAFETY: as above.
    unsafe { *libc::__errno_location() = errno };
}

#[cfg(test)]
mod tests {
    use std::thread;
    use std::time::Duration;

    use super::*;
    use crate::samplers::thread_time;

    /// Spins until it has had that much processor time.
    fn spin(part: u8, time: Duration) {
        at(part);
        let begun = thread_time::thread();
        while thread_time::thread() - begun < time {}
    }

    #[test]
    fn parts_are_found_as_often_as_they_are_long() {
        let profiler = Profiler::begin(5_000, 7).unwrap();
        for _ in 0..200 {
            spin(1, Duration::from_micros(1_500));
            spin(2, Duration::from_micros(500));
        }
        let hits = profiler.end();
        let all: u64 = hits.iter().sum();
        // 0.4 s at 5,000 a second; a virtual machine's timers may be late.
        assert!(all > 200, "{hits:?}");
        let share = hits[1] as f64 / (hits[1] + hits[2]) as f64;
        assert!((0.6..0.9).contains(&share), "{hits:?}");
        assert_eq!(hits[3..], [0; PARTS - 3]);
    }

    #[test]
    fn one_profiler_a_thread_and_none_after_the_end() {
        let profiler = Profiler::begin(1_000, 1).unwrap();
        assert!(Profiler::begin(1_000, 1).is_err());
        thread::spawn(|| Profiler::begin(1_000, 1).unwrap().end()).join().unwrap();
        profiler.end();
        spin(4, Duration::from_millis(10));
        assert_eq!(Profiler::begin(1, 1).unwrap().end(), [0; PARTS]);
    }
}
