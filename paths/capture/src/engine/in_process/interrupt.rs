//! An interrupt, as near as a process gets to one: a signal to its own thread, whose handler notes it and returns.
//!
//! Like an interrupt it takes the processor from user to kernel and back twice (into the handler, and out of it by
//! sigreturn(2)), saves and restores all registers, and costs much more than a call. Unlike one it comes when it is sent.

use std::cell::Cell;
use std::io;

use libc::{c_int, c_long};
use tollway_core::{Error, Result};

thread_local! {
    /// Interrupts that this thread has served. A constant without a destructor, so the handler's access to it neither
    /// allocates nor registers anything.
    static SERVED: Cell<u64> = const { Cell::new(0) };
}

/// Interrupts the thread that made it.
#[derive(Debug)]
pub struct Interrupt {
    process: c_int,
    thread: c_int,
    number: c_int,
    before: u64,
    raised: u64,
}

extern "C" fn serve(_: c_int) {
    SERVED.set(SERVED.get() + 1);
}

impl Interrupt {
    /// Installs the handler, for a real-time signal that neither the C library nor the price list's own uses.
    ///
    /// # Errors
    /// [`Error::System`] if the kernel refuses.
    pub fn new() -> Result<Interrupt> {
        let number = libc::SIGRTMIN() + 10;
        // SAFETY: a `sigaction` of zeroes is a valid one: no flags, an empty mask.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = serve as extern "C" fn(c_int) as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        // SAFETY: the handler only adds to a plain cell of the thread it runs on, which is async-signal-safe. It stays
        // installed: another thread may be using it.
        if unsafe { libc::sigaction(number, &action, std::ptr::null_mut()) } != 0 {
            return Err(Error::system("installing a signal handler", io::Error::last_os_error()));
        }
        // SAFETY: these two read numbers and touch no memory.
        let (process, thread) = unsafe { (libc::getpid(), libc::gettid()) };
        Ok(Interrupt { process, thread, number, before: SERVED.get(), raised: 0 })
    }

    /// Interrupts; the handler has returned when this does. Only the thread that made it may call it.
    #[inline]
    pub fn raise(&mut self) {
        let [process, thread, number] = [self.process, self.thread, self.number].map(c_long::from);
        // SAFETY: a signal to this very thread, for which a handler is installed.
        unsafe { libc::syscall(libc::SYS_tgkill, process, thread, number) };
        self.raised += 1;
    }

    /// Whether every interrupt was served.
    ///
    /// # Errors
    /// Where the handler counted another number.
    pub fn verify(&self) -> Result<()> {
        match SERVED.get() - self.before {
            served if served == self.raised => Ok(()),
            served => Err(Error::Wrong(format!("of {} interrupts {served} were served", self.raised))),
        }
    }
}
