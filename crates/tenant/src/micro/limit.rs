//! The time limit of a call: a timer that signals the thread which runs the guest, and a handler that asks KVM to
//! leave the guest at once. No thread is needed, and nothing is left when the timer is dropped.
//!
//! The signal is the real-time signal [`signal`]; a program must not use it for anything else.

use std::cell::Cell;
use std::io::{self, ErrorKind::WouldBlock};
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;
use std::time::Duration;

use super::error::MicroError;

thread_local! {
    /// Where KVM looks for the wish to leave the guest that this thread runs; null when it runs none.
    static IMMEDIATE_EXIT: Cell<*mut u8> = const { Cell::new(ptr::null_mut()) };
}

/// The signal that stops a guest.
pub(super) fn signal() -> libc::c_int {
    libc::SIGRTMAX() - 3
}

/// Sets the flag of the guest that the interrupted thread runs, if any.
extern "C" fn on_signal(_: libc::c_int) {
    // A late signal of a timer that is gone finds null here: harmless.
    let flag = IMMEDIATE_EXIT.with(Cell::get);
    if !flag.is_null() {
        // SAFETY: the pointer is set only while `Timer` lives, which borrows the flag's memory in `call`.
        unsafe { flag.write_volatile(1) };
    }
}

/// Installs the handler, once per process.
fn install() -> Result<(), MicroError> {
    static DONE: OnceLock<Result<(), i32>> = OnceLock::new();
    DONE.get_or_init(|| {
        let mut old = MaybeUninit::<libc::sigaction>::zeroed();
        // SAFETY: only reads the present action into memory of the right size.
        if unsafe { libc::sigaction(signal(), ptr::null(), old.as_mut_ptr()) } != 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
        }
        // SAFETY: the call above filled it; all zero is valid as well.
        if unsafe { old.assume_init() }.sa_sigaction != libc::SIG_DFL {
            return Err(libc::EBUSY);
        }
        // SAFETY: all zero is a valid action: no flags (so that system calls are interrupted), empty mask.
        let mut action: libc::sigaction = unsafe { MaybeUninit::zeroed().assume_init() };
        action.sa_sigaction = on_signal as *const () as usize;
        // SAFETY: the handler only touches a thread-local without destructor: safe in a signal handler.
        if unsafe { libc::sigaction(signal(), &action, ptr::null_mut()) } != 0 {
            return Err(io::Error::last_os_error().raw_os_error().unwrap_or(libc::EINVAL));
        }
        Ok(())
    })
    .map_err(|code| MicroError::Setup {
        step: "install the handler of the signal that stops a guest",
        source: io::Error::from_raw_os_error(code),
    })
}

/// A running time limit of the calling thread.
#[derive(Debug)]
pub(super) struct Timer {
    timer: libc::timer_t,
    mask: libc::sigset_t,
}

impl Timer {
    /// After `limit`, and then every 10 ms, sets `flag` from a signal on this thread.
    ///
    /// # Safety
    /// `flag` must stay valid until the timer is dropped, on this thread.
    pub(super) unsafe fn start(limit: Duration, flag: *mut u8) -> Result<Timer, MicroError> {
        install()?;
        let last = |step| MicroError::Setup { step, source: io::Error::last_os_error() };
        // SAFETY: all zero is a valid event; the fields that matter are set below.
        let mut event: libc::sigevent = unsafe { MaybeUninit::zeroed().assume_init() };
        event.sigev_notify = libc::SIGEV_THREAD_ID;
        event.sigev_signo = signal();
        event.sigev_notify_thread_id = rustix::thread::gettid().as_raw_nonzero().get();
        let mut timer = ptr::null_mut();
        let mut tries = 0;
        // SAFETY: both pointers are to live memory of the right type.
        while unsafe { libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer) } != 0 {
            let error = last("create the timer of a call's limit");
            // timer_create(2): EAGAIN is a temporary error. Signals that wait for any process of this user count against
            // it; a fuzzer met it once in 280,000 calls.
            let temporary = matches!(&error, MicroError::Setup { source, .. } if source.kind() == WouldBlock);
            tries += 1;
            if !temporary || tries > 100 {
                return Err(error);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is initialised by sigemptyset before use; the old mask is written before it is read.
        let mask = unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), signal());
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), mask.as_mut_ptr());
            mask.assume_init()
        };
        let running = Timer { timer, mask };
        IMMEDIATE_EXIT.with(|cell| cell.set(flag));
        let limit = limit.max(Duration::from_micros(1));
        let spec = libc::itimerspec {
            it_interval: libc::timespec { tv_sec: 0, tv_nsec: 10_000_000 },
            it_value: libc::timespec {
                tv_sec: limit.as_secs().min(i32::MAX as u64) as libc::time_t,
                tv_nsec: limit.subsec_nanos().into(),
            },
        };
        // SAFETY: the timer was made above; the specification is a live value.
        if unsafe { libc::timer_settime(timer, 0, &spec, ptr::null_mut()) } != 0 {
            return Err(last("start the timer of a call's limit"));
        }
        Ok(running)
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        IMMEDIATE_EXIT.with(|cell| cell.set(ptr::null_mut()));
        // SAFETY: the timer is ours and deleted once; the mask is the one this thread had before.
        unsafe {
            libc::timer_delete(self.timer);
            libc::pthread_sigmask(libc::SIG_SETMASK, &self.mask, ptr::null_mut());
        }
    }
}
