//! Limit on the size of files (RLIMIT_FSIZE, setrlimit(2)): what is beyond it is a write error, not the end
//! of the program.

use std::ptr;

use libc::{SA_ONSTACK, SA_RESTART, SIG_DFL, SIGXFSZ, c_int, sighandler_t};

/// Has a write beyond the limit fail with EFBIG, as one to a full disk fails with ENOSPC.
///
/// Unless a process says otherwise, the kernel ends it by SIGXFSZ without a word, and what it was about to
/// write or to say is lost (signal(7)). A handler is what says otherwise here: unlike an ignored signal it
/// does not outlive execve(2), so the programs that are started have what they would have of a shell. Whoever
/// ignores the signal already is left to it.
pub fn fail_writes_beyond_limit() {
    extern "C" fn nothing(_: c_int) {}
    // SAFETY: a `sigaction` of zeroes is a valid one, the handler does nothing, and both pointers are of this
    // frame.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        if libc::sigaction(SIGXFSZ, ptr::null(), &mut action) != 0 || action.sa_sigaction != SIG_DFL {
            return;
        }
        action.sa_sigaction = nothing as extern "C" fn(c_int) as sighandler_t;
        action.sa_flags = SA_RESTART | SA_ONSTACK;
        // It fails for signals that no handler can have; this one can.
        libc::sigaction(SIGXFSZ, &action, ptr::null_mut());
    }
}
