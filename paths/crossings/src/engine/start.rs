//! Threads and processes, started and waited for.

use std::ffi::{CStr, c_void};
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use tollway_core::{Error, Missing, Params, Place, Result, Tally};

use super::Operation;
use super::exec::{Child, Execution, Part};
use super::thread_end::ThreadEnd;

/// Starts a thread that counts itself, and joins it.
pub struct ThreadStart {
    started: Box<AtomicU64>,
    failed: u64,
}

extern "C" fn count(started: *mut c_void) -> *mut c_void {
    // SAFETY: `once` passes a pointer to an `AtomicU64` that lives until the thread is joined.
    let started = unsafe { &*started.cast::<AtomicU64>() };
    started.fetch_add(1, Ordering::Relaxed);
    ptr::null_mut()
}

impl Operation for ThreadStart {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(ThreadStart { started: Box::new(AtomicU64::new(0)), failed: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let mut thread = MaybeUninit::uninit();
        let argument = ptr::from_ref::<AtomicU64>(&self.started).cast_mut().cast();
        // SAFETY: `count` only uses its argument, which outlives the thread, as that is joined below.
        if unsafe { libc::pthread_create(thread.as_mut_ptr(), ptr::null(), count, argument) } != 0 {
            self.failed += 1;
            return;
        }
        // SAFETY: the call above succeeded, so it wrote the thread's handle; nobody else joins it.
        self.failed += u64::from(unsafe { libc::pthread_join(thread.assume_init(), ptr::null_mut()) } != 0);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        let started = self.started.load(Ordering::Relaxed);
        if self.failed == 0 && started == done {
            return Ok(());
        }
        Err(Error::Wrong(format!("{started} of {done} threads ran, {} were refused", self.failed)))
    }
}

/// A program that does nothing, wherever a system keeps it.
const TRUE: [&CStr; 2] = [c"/bin/true", c"/usr/bin/true"];

/// The exit status of a forked child: not one that a crash leaves behind.
const CHILD: i32 = 71;

/// How a process is started.
enum How {
    /// It is a copy, and ends at once.
    Fork,
    /// It runs this program of the system.
    Spawn(&'static CStr),
    /// It executes a program of ours, of which a part is the figure.
    Execute(Box<Execution>),
    /// One of its two threads ends, which is the figure.
    EndThread(Box<ThreadEnd>),
}

/// Starts a process and waits for its end.
pub struct ProcessStart {
    how: How,
    wrong: u64,
    refused: u64,
}

impl ProcessStart {
    #[inline]
    fn fork() -> Option<libc::pid_t> {
        // SAFETY: the child does nothing but `_exit`, which is async-signal-safe, as a child of a process with several
        // threads must (POSIX, fork).
        match unsafe { libc::fork() } {
            // SAFETY: ends the child without running anything of the parent's.
            0 => unsafe { libc::_exit(CHILD) },
            child => (child > 0).then_some(child),
        }
    }

    #[inline]
    fn spawn(program: &'static CStr) -> Option<libc::pid_t> {
        let mut child = 0;
        let arguments = [program.as_ptr().cast_mut(), ptr::null_mut()];
        let environment = [ptr::null_mut()];
        // SAFETY: both lists end with a null pointer and hold C strings that outlive the call; no file actions and no
        // attributes are a documented choice.
        let error = unsafe {
            libc::posix_spawn(
                &mut child,
                program.as_ptr(),
                ptr::null(),
                ptr::null(),
                arguments.as_ptr(),
                environment.as_ptr(),
            )
        };
        (error == 0).then_some(child)
    }
}

impl Operation for ProcessStart {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let execute = |child, part| Execution::new(child, part).map(|made| How::Execute(Box::new(made)));
        let how = match params.word("kind")? {
            "fork" => How::Fork,
            "exec" => execute(Child::Borrower, Part::Execution)?,
            "exec-forked" => execute(Child::Copy, Part::Execution)?,
            "exit" => execute(Child::Borrower, Part::End)?,
            "exit-thread" => How::EndThread(Box::new(ThreadEnd::new()?)),
            _ => How::Spawn(find_true()?),
        };
        Ok(ProcessStart { how, wrong: 0, refused: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let (child, expected) = match &mut self.how {
            How::Spawn(program) => (Self::spawn(program), 0),
            How::Fork => (Self::fork(), CHILD),
            How::Execute(execution) => {
                self.wrong += u64::from(!execution.once());
                return;
            }
            How::EndThread(end) => {
                self.wrong += u64::from(!end.once());
                return;
            }
        };
        let Some(child) = child else {
            self.refused += 1;
            return;
        };
        let mut status = 0;
        loop {
            // SAFETY: it writes one number, which is owned here; the child is ours and not waited for elsewhere.
            let ended = unsafe { libc::waitpid(child, &mut status, 0) };
            if ended != -1 || io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
                let well = ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == expected;
                self.wrong += u64::from(!well);
                return;
            }
        }
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        if self.tally(done).counters.get("operations") != Some(&done) {
            self.wrong = self.wrong.max(1);
        }
        match (self.refused, self.wrong) {
            (0, 0) => Ok(()),
            (refused, wrong) => Err(Error::Wrong(format!(
                "of {done} processes {refused} were refused, {wrong} ended otherwise"
            ))),
        }
    }

    fn tally(&self, done: u64) -> Tally {
        match &self.how {
            How::Execute(execution) => execution.tally(),
            How::EndThread(end) => end.tally(),
            _ => Tally::default().counter("operations", done),
        }
    }
}

fn find_true() -> Result<&'static CStr> {
    // SAFETY: the paths are C strings, and `access` only looks.
    TRUE.into_iter().find(|path| unsafe { libc::access(path.as_ptr(), libc::X_OK) } == 0).ok_or_else(|| {
        Error::Missing(Missing::new(
            "the program `true`",
            "neither /bin/true nor /usr/bin/true can be run",
            "install coreutils (or busybox), or measure kind=fork",
        ))
    })
}
