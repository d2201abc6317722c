//! A thread's end: exit(2) of a thread whose process goes on.
//!
//! No thread can read its clock after it has asked for its end, and when it has ended the clock is gone as well, but that of a process'
//! first thread: it stays until the others have ended. So a child is begun whose first thread ends, and whose second one reads the
//! first one's clock when it has.

use std::ffi::c_void;
use std::ptr;
use std::time::Duration;

use tollway_core::{Error, Missing, Result, Tally};
use tollway_host::shared::SharedPages;

use super::processor_time::Spent;
use super::region::{PAGE, Region};

/// The exit status of a child that found all: no crash leaves this behind.
const STATUS: i32 = 71;
/// The same of one whose first thread's state could not be read.
const UNSEEN: i32 = 72;

/// Bytes of the second thread's stack.
const STACK: usize = 4 * PAGE;

/// Bytes of a process' line that have its number, its name (16 at the most, proc(5)) and its state in them.
const LINE: usize = 64;

/// What both threads use: in memory that the child's parent reads, too.
#[repr(C)]
struct Seen {
    /// The first thread's clock before it asks for its end, and when it is over.
    before: libc::timespec,
    after: libc::timespec,
    /// What the kernel sets to 0 as it ends, as of a thread of a C library.
    alive: u32,
}

/// Children whose first thread ends, over and over.
pub struct ThreadEnd {
    stack: Region,
    seen: SharedPages,
    spent: Spent,
}

impl ThreadEnd {
    /// Begins one to see whether it can be measured.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) where the state of processes cannot be read.
    pub fn new() -> Result<ThreadEnd> {
        let mut stack = Region::new(STACK)?;
        stack.touch();
        let mut made =
            ThreadEnd { stack, seen: SharedPages::new(size_of::<Seen>())?, spent: Spent::nothing()? };
        if !made.once() {
            return Err(Error::Missing(Missing::new(
                "a thread that has ended",
                "a child could not be begun, or could not read its own state in /proc/self/stat",
                "mount /proc, and allow another process (ulimit -u)",
            )));
        }
        made.spent = Spent::nothing()?;
        Ok(made)
    }

    /// A child, and its end; whether all of it went as it should.
    pub fn once(&mut self) -> bool {
        let seen = self.seen.as_ptr().cast::<Seen>();
        let top = self.stack.address().wrapping_byte_add(STACK);
        // SAFETY: the child makes system calls and no others, all of them safe in a copy of a process of several threads.
        let child = match unsafe { libc::syscall(libc::SYS_fork) } {
            0 => {
                end_first(seen, top);
                return false;
            }
            child if child > 0 => child as libc::pid_t,
            _ => return false,
        };
        let mut status = 0;
        // SAFETY: it writes one number, which is owned here; the child is ours and not waited for elsewhere.
        let ended = unsafe { libc::wait4(child, &raw mut status, 0, ptr::null_mut()) };
        if ended != child || !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != STATUS {
            return false;
        }
        // SAFETY: the page is as long and aligned, all that it may hold are numbers, and who wrote to it has ended.
        let seen = unsafe { seen.read() };
        let Some(spent) = time_of(&seen.after).checked_sub(time_of(&seen.before)) else { return false };
        self.spent.add(spent, 1);
        true
    }

    /// What was done, and the work of it in ticks of the clock.
    pub fn tally(&self) -> Tally {
        self.spent.tally()
    }
}

fn time_of(time: &libc::timespec) -> Duration {
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec.clamp(0, 999_999_999) as u32)
}

/// The first thread of the child: begins another one, and ends.
fn end_first(seen: *mut Seen, top: *mut c_void) {
    let flags = libc::CLONE_VM
        | libc::CLONE_FS
        | libc::CLONE_FILES
        | libc::CLONE_SIGHAND
        | libc::CLONE_THREAD
        | libc::CLONE_SYSVSEM;
    // SAFETY: the child is a copy of which this is the only thread; stack and page outlive it. The second thread makes system calls alone, and
    // has the storage of this one, which has ended before it writes any `errno`.
    unsafe {
        (*seen).alive = 1;
        let second = libc::clone(read_clock, top, flags, seen.cast());
        if second > 0 {
            libc::syscall(libc::SYS_set_tid_address, &raw mut (*seen).alive);
            let before = &raw mut (*seen).before;
            libc::syscall(libc::SYS_clock_gettime, libc::CLOCK_THREAD_CPUTIME_ID, before);
            libc::syscall(libc::SYS_exit, 0);
        }
        libc::syscall(libc::SYS_exit_group, UNSEEN);
    }
}

/// The second thread: waits for the end of the first, and reads the clock that it has left.
extern "C" fn read_clock(seen: *mut c_void) -> i32 {
    let status = if has_ended() {
        // SAFETY: the page outlives the process, and the first thread does not write any more.
        let after = unsafe { &raw mut (*seen.cast::<Seen>()).after };
        // SAFETY: it writes a time to memory that is the process' own.
        let read = unsafe {
            let first = libc::syscall(libc::SYS_getpid) as libc::clockid_t;
            libc::syscall(libc::SYS_clock_gettime, clock_of(first), after)
        };
        if read == 0 { STATUS } else { UNSEEN }
    } else {
        UNSEEN
    };
    // SAFETY: ends the child without running anything of its parent's.
    unsafe { libc::syscall(libc::SYS_exit_group, status) };
    status
}

/// The clock of a thread's processor time by its number (include/linux/posix-timers.h: the number's complement, CPUCLOCK_PERTHREAD_MASK 4 and
/// CPUCLOCK_SCHED 2).
fn clock_of(thread: libc::clockid_t) -> libc::clockid_t {
    (!thread << 3) | 4 | 2
}

/// Waits until the first thread of this process is a zombie; `false` where its state cannot be read.
fn has_ended() -> bool {
    let mut line = [0u8; LINE];
    loop {
        // SAFETY: the path is a C string, and no more is written than there is room; the descriptor is closed by who opened it.
        let read = unsafe {
            let file = libc::syscall(libc::SYS_openat, libc::AT_FDCWD, c"/proc/self/stat".as_ptr(), 0);
            let read = libc::syscall(libc::SYS_read, file, line.as_mut_ptr(), LINE);
            libc::syscall(libc::SYS_close, file);
            read
        };
        let Some(line) = usize::try_from(read).ok().and_then(|read| line.get(..read)) else { return false };
        let name_ends = line.iter().rposition(|byte| *byte == b')');
        match name_ends.and_then(|at| line.get(at + 2)) {
            Some(b'Z') => return true,
            Some(_) => {
                // SAFETY: it lets others have the processor.
                unsafe { libc::syscall(libc::SYS_sched_yield) };
            }
            None => return false,
        }
    }
}
