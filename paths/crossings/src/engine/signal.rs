//! A signal that a thread sends to itself.

use std::cell::Cell;
use std::io;

use libc::{c_int, c_long};
use tollway_core::{Error, Params, Place, Result};

use super::Operation;

thread_local! {
    /// Signals that this thread has handled. A constant without a destructor, so the handler's access to it neither
    /// allocates nor registers anything.
    static HANDLED: Cell<u64> = const { Cell::new(0) };
}

/// Sends a signal to the calling thread, which handles it before the call returns.
pub struct SelfSignal {
    process: c_int,
    thread: c_int,
    number: c_int,
    before: u64,
    failed: u64,
}

/// The first real-time signals belong to the C library, and low numbers are popular: this one is neither.
fn number() -> c_int {
    libc::SIGRTMIN() + 9
}

extern "C" fn handle(_: c_int) {
    HANDLED.set(HANDLED.get() + 1);
}

impl Operation for SelfSignal {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        // SAFETY: a `sigaction` of zeroes is a valid one: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handle as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler only adds to a plain cell of the thread it runs on, which is async-signal-safe. It stays
        // installed: another thread may be using it.
        if unsafe { libc::sigaction(number(), &action, std::ptr::null_mut()) } != 0 {
            return Err(Error::system("installing a signal handler", io::Error::last_os_error()));
        }
        // SAFETY: these two read numbers and touch no memory.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        Ok(SelfSignal { process, thread, number: number(), before: HANDLED.get(), failed: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let [process, thread, number] = [self.process, self.thread, self.number].map(c_long::from);
        // SAFETY: a signal to this very thread, for which a handler is installed.
        self.failed += u64::from(unsafe { libc::syscall(libc::SYS_tgkill, process, thread, number) } != 0);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        let handled = HANDLED.get() - self.before;
        if self.failed == 0 && handled == done {
            return Ok(());
        }
        Err(Error::Wrong(format!("{done} signals were sent, {} refused and {handled} handled", self.failed)))
    }
}
