//! Processes and threads begun, and waited for: what the one pays who asks for it.
//!
//! Samples are timed by the thread's own processor time as well ([`Worked`]): who is begun may run before the call is over.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use tollway_core::{Error, Result, Tally};

use super::worked::Worked;
use super::{Row, Single};
use crate::engine::region::{PAGE, Region};

/// Calls of a sample: one, as a signal that comes meanwhile (the end of the child before, to who traces this) has the kernel begin a fork again.
const CALLS: u32 = 1;

/// The exit status of a child: no crash leaves this behind.
const STATUS: i32 = 71;

/// Bytes of the stack of one that is begun and ends at once.
const STACK: usize = 4 * PAGE;

/// How long a thread that was begun may take to end.
const ENDS: Duration = Duration::from_secs(30);

pub(super) fn fork(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Begin::new(row, Child::Copy)?))
}

pub(super) fn vfork(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Begin::new(row, Child::Borrower)?))
}

pub(super) fn wait(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Wait { children: Children::new(row), worked: Worked::new()? }))
}

pub(super) fn thread(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Threads::new(row)?))
}

/// A copy of this process that ends at once.
#[inline]
fn forked() -> Option<libc::pid_t> {
    // SAFETY: the child makes one call and no other: it ends.
    match unsafe { libc::syscall(libc::SYS_fork) } {
        0 => {
            // SAFETY: ends the child without running anything of the parent's.
            unsafe { libc::syscall(libc::SYS_exit_group, STATUS) };
            None
        }
        child if child > 0 => Some(child as libc::pid_t),
        _ => None,
    }
}

/// Children that were begun and not yet waited for.
struct Children {
    numbers: Vec<libc::pid_t>,
    calls: u32,
}

impl Children {
    fn new(row: Row) -> Children {
        Children { numbers: row.room(CALLS), calls: row.of(CALLS) }
    }

    /// Waits for all; how many ended as they should.
    #[inline]
    fn wait(&mut self) -> u32 {
        let mut right = 0;
        for child in self.numbers.drain(..) {
            let mut status = 0;
            // SAFETY: it writes one number, which is owned here; the child is ours and not waited for elsewhere.
            let ended = unsafe { libc::wait4(child, &raw mut status, 0, std::ptr::null_mut()) };
            let well = ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == STATUS;
            right += u32::from(well);
        }
        right
    }
}

impl Drop for Children {
    fn drop(&mut self) {
        self.wait();
    }
}

/// Whether a child has memory of its own.
#[derive(Clone, Copy)]
enum Child {
    Copy,
    /// It has its parent's, which sleeps until the child ends.
    Borrower,
}

extern "C" fn end(_: *mut c_void) -> i32 {
    STATUS
}

/// fork, or clone as vfork and posix_spawn make it.
struct Begin {
    children: Children,
    child: Child,
    stack: Region,
    worked: Worked,
    pending: bool,
}

impl Begin {
    fn new(row: Row, child: Child) -> Result<Begin> {
        let mut stack = Region::new(STACK)?;
        stack.touch();
        Ok(Begin { children: Children::new(row), child, stack, worked: Worked::new()?, pending: false })
    }

    #[inline]
    fn begin(&mut self) -> Option<libc::pid_t> {
        match self.child {
            Child::Copy => forked(),
            Child::Borrower => {
                let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
                let top = self.stack.address().wrapping_byte_add(STACK);
                // SAFETY: the stack is ours and in no other use while the child has it: this thread sleeps until the child ends.
                // The child's function uses nothing of this process.
                let child = unsafe { libc::clone(end, top, flags, std::ptr::null_mut()) };
                (child > 0).then_some(child)
            }
        }
    }
}

impl Single for Begin {
    fn count(&self) -> u32 {
        self.children.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let mut right = 0;
        for _ in 0..self.children.calls {
            // There is room for them: `restock` has emptied it.
            if let Some(child) = self.begin() {
                self.children.numbers.push(child);
                right += 1;
            }
        }
        right
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        !std::mem::take(&mut self.pending) || self.children.wait() == self.children.calls
    }

    fn ready(&mut self) {
        self.worked.begin(self.children.calls);
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}

/// wait4 of a child that has ended.
struct Wait {
    children: Children,
    worked: Worked,
}

impl Single for Wait {
    fn count(&self) -> u32 {
        self.children.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.children.wait()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        while self.children.numbers.len() < self.children.calls as usize
            && let Some(child) = forked()
        {
            self.children.numbers.push(child);
        }
        let has_ended = |child: &libc::pid_t| {
            let mut about = MaybeUninit::<libc::siginfo_t>::zeroed();
            let how = libc::WEXITED | libc::WNOWAIT;
            // SAFETY: it writes what is known of the child to memory that is ours, and leaves the child to be waited for.
            unsafe { libc::waitid(libc::P_PID, *child as libc::id_t, about.as_mut_ptr(), how) == 0 }
        };
        self.children.numbers.len() == self.children.calls as usize
            && self.children.numbers.iter().all(has_ended)
    }

    fn ready(&mut self) {
        self.worked.begin(self.children.calls);
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}

/// clone of a thread, as a C library makes it, which counts itself and ends.
struct Threads {
    /// A stack for each.
    stacks: Vec<Region>,
    /// What the kernel sets to 0 when a thread has ended.
    alive: Box<[AtomicU32]>,
    ran: Box<AtomicU64>,
    begun: u64,
    worked: Worked,
    /// The thread's signals while none is being begun.
    mask: libc::sigset_t,
}

extern "C" fn count_itself(ran: *mut c_void) -> i32 {
    // SAFETY: who began this thread passes a counter that outlives it.
    unsafe { &*ran.cast::<AtomicU64>() }.fetch_add(1, Ordering::Relaxed);
    0
}

impl Threads {
    fn new(row: Row) -> Result<Threads> {
        let calls = row.of(CALLS) as usize;
        let stacks = (0..calls)
            .map(|_| {
                let mut stack = Region::new(STACK)?;
                stack.touch();
                Ok(stack)
            })
            .collect::<Result<_>>()?;
        let mut mask = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: it writes the thread's mask to memory that is ours.
        if unsafe { libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), mask.as_mut_ptr()) } != 0 {
            return Err(Error::system("asking for the thread's signals", std::io::Error::last_os_error()));
        }
        Ok(Threads {
            stacks,
            alive: (0..calls).map(|_| AtomicU32::new(0)).collect(),
            ran: Box::new(AtomicU64::new(0)),
            begun: 0,
            worked: Worked::new()?,
            // SAFETY: the call above wrote it.
            mask: unsafe { mask.assume_init() },
        })
    }

    /// Whether all that were begun have ended, in time.
    fn have_ended(&self) -> bool {
        let begun = Instant::now();
        while self.alive.iter().any(|alive| alive.load(Ordering::Acquire) != 0) {
            if begun.elapsed() > ENDS {
                return false;
            }
            std::thread::yield_now();
        }
        true
    }

    /// Lets signals in again as before.
    fn let_signals_in(&self) {
        // SAFETY: the mask is the one that this thread had.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut()) };
    }
}

impl Single for Threads {
    fn count(&self) -> u32 {
        self.stacks.len() as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let flags = libc::CLONE_VM
            | libc::CLONE_FS
            | libc::CLONE_FILES
            | libc::CLONE_SIGHAND
            | libc::CLONE_THREAD
            | libc::CLONE_SYSVSEM
            | libc::CLONE_CHILD_CLEARTID;
        let mut right = 0;
        let ran = std::ptr::from_ref::<AtomicU64>(&self.ran).cast_mut();
        for (stack, alive) in self.stacks.iter().zip(&self.alive) {
            let top = stack.address().wrapping_byte_add(STACK);
            alive.store(1, Ordering::Release);
            // SAFETY: stack, counter and word are this thread's, and in no other use until the word is 0 again, which is waited
            // for. The function touches nothing of a thread of the C library, whose storage it shares with this one;
            // no signal's handler runs in it, as `ready` has blocked all.
            let thread = unsafe {
                libc::clone(
                    count_itself,
                    top,
                    flags,
                    ran.cast::<c_void>(),
                    std::ptr::null_mut::<libc::pid_t>(),
                    std::ptr::null_mut::<c_void>(),
                    alive.as_ptr(),
                )
            };
            match thread {
                -1 => alive.store(0, Ordering::Release),
                _ => right += 1,
            }
        }
        self.begun += u64::from(right);
        right
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        self.worked.end();
        let right = self.have_ended() && self.ran.load(Ordering::Relaxed) == self.begun;
        self.let_signals_in();
        right
    }

    fn ready(&mut self) {
        let mut all = MaybeUninit::<libc::sigset_t>::zeroed();
        // SAFETY: the first call fills the set, the second reads it.
        unsafe {
            libc::sigfillset(all.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), std::ptr::null_mut());
        }
        self.worked.begin(self.stacks.len() as u32);
    }

    fn tally(&self, _: u64) -> Tally {
        self.worked.tally()
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        if !self.have_ended() {
            // What a thread that lives still uses is left to it.
            std::mem::take(&mut self.stacks).into_iter().for_each(std::mem::forget);
            std::mem::forget(std::mem::take(&mut self.alive));
            let ran = std::mem::replace(&mut self.ran, Box::new(AtomicU64::new(0)));
            Box::leak(ran);
        }
        self.let_signals_in();
    }
}
