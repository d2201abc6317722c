//! A thread that looks after those who write to peers' eventfds, so that none of them sleeps there for long.
//!
//! Whether a write to an eventfd waits is said by a flag that both sides share (O_NONBLOCK, eventfd(2)), and no call writes without
//! asking it. So a thread says when it begins such a write and when it is done, by two stores, and one that is found at the same
//! write twice, [`TICK`] apart, is sent a signal: its write ends with EINTR if it sleeps (signal(7)), and goes on if it was only
//! displaced.
//!
//! The signal is the real-time signal [`number`]; a program must not use it for anything else.

use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;

/// How often it looks: a write sleeps for at most two of these, unless the machine has no time for the minder.
pub(super) const TICK: Duration = Duration::from_millis(50);

/// The signal that ends a write.
fn number() -> libc::c_int {
    libc::SIGRTMAX() - 4
}

/// A thread that writes.
struct Writer {
    thread: libc::pthread_t,
    /// How many writes it has begun and ended: odd while it is at one.
    at: AtomicU64,
    /// What the minder saw there last, and at which write it sent a signal.
    seen: AtomicU64,
    interrupted: AtomicU64,
}

/// All of them. A thread is here until its locals end, so that whoever holds the lock may send it a signal.
static WRITERS: Mutex<Vec<Arc<Writer>>> = Mutex::new(Vec::new());

fn writers() -> MutexGuard<'static, Vec<Arc<Writer>>> {
    WRITERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A thread's own entry.
struct Entry(Arc<Writer>);

thread_local! {
    static ENTRY: Entry = Entry::new();
}

impl Entry {
    fn new() -> Entry {
        // SAFETY: it only tells which thread this is.
        let thread = unsafe { libc::pthread_self() };
        let writer = Arc::new(Writer {
            thread,
            at: AtomicU64::new(0),
            seen: AtomicU64::new(0),
            interrupted: AtomicU64::new(0),
        });
        let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the set is initialised by sigemptyset before it is used; the old mask is not asked for.
        unsafe {
            libc::sigemptyset(set.as_mut_ptr());
            libc::sigaddset(set.as_mut_ptr(), number());
            libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
        }
        writers().push(writer.clone());
        Entry(writer)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        writers().retain(|writer| !Arc::ptr_eq(writer, &self.0));
    }
}

/// Has a write done that the minder ends if it sleeps: `None` if it did, or if this thread is about to end. A write that another
/// signal interrupts begins again.
#[inline]
pub(super) fn minded<T>(mut write: impl FnMut() -> Result<T, Errno>) -> Option<Result<T, Errno>> {
    let done = ENTRY.try_with(|Entry(writer)| {
        // Nobody else stores there.
        let at = writer.at.load(Ordering::Relaxed) + 1;
        writer.at.store(at, Ordering::Relaxed);
        let done = loop {
            match write() {
                Err(Errno::INTR) if writer.interrupted.load(Ordering::Acquire) == at => break None,
                Err(Errno::INTR) => {}
                done => break Some(done),
            }
        };
        writer.at.store(at + 1, Ordering::Relaxed);
        done
    });
    done.ok().flatten()
}

/// It has interrupted a system call by being there.
extern "C" fn nothing(_: libc::c_int) {}

fn install() -> io::Result<()> {
    // SAFETY: a `sigaction` of zeroes is a valid one: the default, no flags, an empty mask.
    let (mut old, mut action): (libc::sigaction, libc::sigaction) = unsafe { std::mem::zeroed() };
    // SAFETY: only reads the present action into memory of the right type.
    if unsafe { libc::sigaction(number(), ptr::null(), &mut old) } != 0 {
        return Err(io::Error::last_os_error());
    }
    if old.sa_sigaction != libc::SIG_DFL {
        return Err(io::Error::from_raw_os_error(libc::EBUSY));
    }
    // Without SA_RESTART: what it interrupts is not begun again.
    action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as libc::sighandler_t;
    // SAFETY: the handler does nothing, which is async-signal-safe.
    if unsafe { libc::sigaction(number(), &action, ptr::null_mut()) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// Starts the minder of this process if there is none yet. It stays: threads that nobody waits for may still write.
pub(super) fn start() -> io::Result<()> {
    static RUNS: Mutex<bool> = Mutex::new(false);
    let mut runs = RUNS.lock().unwrap_or_else(PoisonError::into_inner);
    if !*runs {
        install()?;
        thread::Builder::new().name("minder".into()).spawn(mind)?;
        *runs = true;
    }
    Ok(())
}

fn mind() {
    loop {
        thread::sleep(TICK);
        for writer in writers().iter() {
            let at = writer.at.load(Ordering::Relaxed);
            let before = writer.seen.swap(at, Ordering::Relaxed);
            if at % 2 == 1 && at == before {
                writer.interrupted.store(at, Ordering::Release);
                // SAFETY: the thread has not ended, as it is in the list and the lock is held; the signal's handler was installed
                // before this thread began. One that comes before its write sleeps is followed by the next.
                unsafe { libc::pthread_kill(writer.thread, number()) };
            }
        }
    }
}
