//! Requests of ptrace(2), what a wait tells, and paths in the memory of the traced, which is only read: all of the unsafe code but the fork.

use std::io;

use rustix::io::Errno;

use crate::counts::{LOOKED_AT, Paths};
use crate::numbers::{flags_of_asking, of_table, opening, path};

/// Bytes of a page.
const PAGE: usize = 4096;

/// Another word than 0 here would be an option that changes the traced: PTRACE_O_EXITKILL is not among them.
const OPTIONS: i32 = libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC
    | libc::PTRACE_O_TRACEEXIT;
const PROCESSES: i32 = libc::PTRACE_O_TRACEFORK | libc::PTRACE_O_TRACEVFORK;

/// linux/audit.h: AUDIT_ARCH_I386. The other one that x86-64 has is its own, with x32.
const I386: u32 = 0x4000_0003;

/// What happened to a thread that is traced, or to a child of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event {
    /// It entered a system call, or left one.
    Call,
    /// It made a thread or process.
    Born,
    /// It became another program.
    Exec,
    /// It is about to end; it can still be asked.
    Ends,
    /// It stands with its whole process, until a SIGCONT.
    Stopped,
    /// It stands because it is new or was interrupted, or goes on after such a stop.
    Paused,
    /// A signal is about to be delivered.
    Signal(i32),
    /// It is no more; the status is that of wait(2).
    Ended(i32),
}

/// A call, as it begins or comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Its number, as [`numbers`](crate::numbers) has them, its first argument, its flags if it asks about a file, or opens one, and the path by which it
    /// looks for one, if it does.
    Entry { number: u32, first: u64, asks: u64, opens: u64, path: Option<Paths> },
    /// Its result; `None` is a failure.
    Exit { result: Option<i64> },
}

fn request(request: u32, thread: u32, address: usize, data: usize) -> io::Result<i64> {
    // SAFETY: callers pass numbers, or an address of their own that lives through the call and is as large as the request wants.
    match unsafe { libc::ptrace(request, thread as libc::pid_t, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        answer => Ok(answer),
    }
}

/// Whether requests come to ptrace(2) at all: of one that is not traced it says ESRCH, and a filter before it another thing.
pub(super) fn are_answered() -> bool {
    let error = request(libc::PTRACE_CONT, std::process::id(), 0, 0).err();
    error.and_then(|error| error.raw_os_error()) == Some(libc::ESRCH)
}

/// Traces a thread from now on, without stopping it.
pub(super) fn seize(thread: u32, processes: bool) -> io::Result<()> {
    let options = if processes { OPTIONS | PROCESSES } else { OPTIONS };
    request(libc::PTRACE_SEIZE, thread, 0, options as usize).map(drop)
}

/// Stops a thread that is traced and runs; [`Event::Paused`] follows.
pub(super) fn interrupt(thread: u32) -> io::Result<()> {
    request(libc::PTRACE_INTERRUPT, thread, 0, 0).map(drop)
}

/// Lets a thread go on that stands, up to its next event; with a signal it is delivered. One that was killed meanwhile is let go as well.
pub(super) fn go_on(thread: u32, signal: i32) {
    let _ = request(libc::PTRACE_SYSCALL, thread, 0, signal as usize);
}

/// Leaves a thread standing with its process, but hears when it goes on.
pub(super) fn listen(thread: u32) {
    let _ = request(libc::PTRACE_LISTEN, thread, 0, 0);
}

/// Lets a thread go on that stands, and traces it no more.
pub(super) fn let_go(thread: u32) {
    let _ = request(libc::PTRACE_DETACH, thread, 0, 0);
}

/// Whether a thread is one of that process (tgkill(2), of which signal 0 is none; who may not send one is
/// refused after it was found).
pub(super) fn is_in(thread: u32, process: u32) -> bool {
    // SAFETY: no addresses.
    let found = unsafe { libc::syscall(libc::SYS_tgkill, process, thread, 0) };
    found == 0 || io::Error::last_os_error().raw_os_error() == Some(libc::EPERM)
}

/// What an event says besides: the number of who was born, or the number that a thread had before its exec.
pub(super) fn message(thread: u32) -> Option<u32> {
    let mut message: libc::c_ulong = 0;
    request(libc::PTRACE_GETEVENTMSG, thread, 0, (&raw mut message) as usize).ok()?;
    u32::try_from(message).ok()
}

/// The path at an address of a thread that stands; `None` where there is none, or an empty one. What is longer than others are looked at is cut.
fn path_at(thread: u32, address: u64) -> Option<Paths> {
    let mut path = [0u8; LOOKED_AT];
    // The read ends at a page that is not mapped: in two parts, so that the mapped page before it is read all the same.
    let begins = usize::try_from(address).ok()?;
    let first = (PAGE - begins % PAGE).min(LOOKED_AT - 1);
    let part = |at: usize, bytes: usize| libc::iovec {
        iov_base: std::ptr::without_provenance_mut(begins.wrapping_add(at)),
        iov_len: bytes,
    };
    let theirs = [part(0, first), part(first, LOOKED_AT - 1 - first)];
    let ours = libc::iovec { iov_base: path.as_mut_ptr().cast(), iov_len: LOOKED_AT - 1 };
    // SAFETY: the kernel writes to no more than our own bytes; the other addresses are the thread's, and may lead nowhere.
    let read =
        unsafe { libc::process_vm_readv(thread as libc::pid_t, &raw const ours, 1, theirs.as_ptr(), 2, 0) };
    (read > 0 && path[0] != 0).then(|| Paths::of(&path))
}

/// Which call a thread stands at that had [`Event::Call`]; `None` if it was killed meanwhile.
pub(super) fn call(thread: u32) -> Option<Side> {
    // SAFETY: numbers only, for which 0 is a value.
    let mut info: libc::ptrace_syscall_info = unsafe { std::mem::zeroed() };
    let size = size_of_val(&info);
    request(libc::PTRACE_GET_SYSCALL_INFO, thread, size, (&raw mut info) as usize).ok()?;
    match info.op {
        libc::PTRACE_SYSCALL_INFO_ENTRY => {
            // SAFETY: the kernel said that it wrote this part.
            let entry = unsafe { info.u.entry };
            let number = of_table(entry.nr, info.arch == I386);
            let asks = flags_of_asking(number).map_or(0, |at| entry.args[at]);
            let opens = opening(number, &entry.args);
            let path = path(number).and_then(|at| path_at(thread, entry.args[at]));
            Some(Side::Entry { number, first: entry.args[0], asks, opens, path })
        }
        libc::PTRACE_SYSCALL_INFO_EXIT => {
            // SAFETY: as above.
            let exit = unsafe { info.u.exit };
            Some(Side::Exit { result: (exit.is_error == 0).then_some(exit.sval) })
        }
        _ => None,
    }
}

/// Waits for the next event of whom this thread traces, and of its own children; never of those of other threads (`__WNOTHREAD`).
///
/// # Errors
/// `ECHILD`: there is nobody left. `EINTR`: this thread got a signal.
pub(super) fn next() -> Result<(u32, Event), Errno> {
    let mut status = 0;
    // SAFETY: the status is ours and the kernel writes one number there.
    let thread = unsafe { libc::waitpid(-1, &raw mut status, libc::__WALL | libc::__WNOTHREAD) };
    if thread < 0 {
        return Err(Errno::from_io_error(&io::Error::last_os_error()).unwrap_or(Errno::INVAL));
    }
    Ok((thread as u32, event(status)))
}

/// ptrace(2), "Stopped states".
fn event(status: i32) -> Event {
    if !libc::WIFSTOPPED(status) {
        return Event::Ended(status);
    }
    let signal = libc::WSTOPSIG(status);
    let is_stop = matches!(signal, libc::SIGSTOP | libc::SIGTSTP | libc::SIGTTIN | libc::SIGTTOU);
    match status >> 16 {
        libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => Event::Born,
        libc::PTRACE_EVENT_EXEC => Event::Exec,
        libc::PTRACE_EVENT_EXIT => Event::Ends,
        PTRACE_EVENT_STOP if is_stop => Event::Stopped,
        PTRACE_EVENT_STOP => Event::Paused,
        _ if signal == libc::SIGTRAP | 0x80 => Event::Call,
        _ => Event::Signal(signal),
    }
}

/// linux/ptrace.h.
const PTRACE_EVENT_STOP: i32 = 128;
