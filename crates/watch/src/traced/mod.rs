//! Counts system calls by ptrace(2), each with its result: exactly, of one's own programs without any right, and slowly.
//!
//! What is counted is what `strace -f -c` counts, held against it in tests/traced.rs: a call that came back is one call; one that a signal cut off and the kernel
//! began again is one, failed, and another (of `restart_syscall` where the kernel does it so); of the program that is started the first call is its own
//! `execve`; a call in which its thread was killed is none. One thing strace (6.1) counts not and this does, as [`Calls::count`](crate::Calls::count) wants
//! it: `exit` and `exit_group`, which never come back.
//!
//! Page faults are the kernel's own numbers (/proc/PID/task/TID/stat), read when a thread is about to end. Signals are those that would be delivered to a
//! program that nobody traces. A descriptor is looked up when a call begins.

mod begin;
mod files;
mod ledger;
mod requests;
mod tracer;
mod workers;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::process::{Pid, WaitOptions, waitpid};
use tollway_core::{Error, Result};

use crate::living::has_own_proc;
use crate::start::not_started;
use crate::waiting::Waiting;
use crate::{Counts, File};
pub(crate) use begin::refused;
use begin::seize;
use ledger::Shared;
use tracer::Tracer;

/// What this way cannot see.
pub const UNSEEN: &str = "how long a call takes, and whether it sleeps or wakes somebody; switches, wake-ups, migrations and processor time, which would be mostly \
    the tracer's (but for that of threads that the kernel has for io_uring: these are not traced); interrupts; operations given to io_uring; who was killed in a call. Nothing is seen of a \
    process that is traced already.";

/// What this way costs.
pub const COST: &str = "every call stops its thread twice, and each stop is a switch to the tracer and back: a call takes some 15 µs longer, a short one fifty times as long, and \
    all threads of all processes share one tracer. A call that waits while it is attached to may end with EINTR once (epoll_wait), as by SIGSTOP and SIGCONT. A set-user-ID program \
    that it starts runs without those rights, unless root traces.";

/// Calls by which it is measured what one costs: as many reads, and as many writes.
const CALLS: u32 = 2000;

/// How long the kernel may take to let the traced go.
const LETS_GO: Duration = Duration::from_secs(60);

/// How much longer a system call takes that is counted so: measured in some hundredths of a second on `dd`, which does little else.
///
/// # Errors
/// As [`Traced::start`].
pub fn cost() -> Result<Duration> {
    let dd = || {
        let mut command = Command::new("dd");
        command.args(["if=/dev/zero", "of=/dev/null", "bs=1", "status=none"]).arg(format!("count={CALLS}"));
        command
    };
    let failed = |e: std::io::Error| Error::system("starting dd", e);
    let begun = Instant::now();
    dd().status().map_err(failed)?;
    let alone = begun.elapsed();
    let begun = Instant::now();
    Traced::start(&mut dd())?.wait()?;
    Ok(begun.elapsed().saturating_sub(alone) / (2 * CALLS))
}

/// Counts calls by ptrace. When this is dropped, or this process is killed, the traced go on.
pub struct Traced {
    shared: Arc<Shared>,
    is_enough: Arc<AtomicBool>,
    tracer: Mutex<Option<JoinHandle<()>>>,
    /// The number of the thread that traces.
    thread: u32,
    /// The process that was started.
    program: Option<u32>,
}

impl fmt::Debug for Traced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Traced")
            .field("program", &self.program)
            .field("thread", &self.thread)
            .finish_non_exhaustive()
    }
}

impl Traced {
    /// Starts a program and counts the calls of it and all its descendants, from its exec on. Pipes that the command asks for lead nowhere: let it inherit,
    /// or give it files.
    ///
    /// # Errors
    /// It cannot be started, or [`Missing`](Error::Missing): not traced.
    pub fn start(command: &mut Command) -> Result<Traced> {
        let name = command.get_program().to_string_lossy().into_owned();
        let failed = |e: std::io::Error| Error::system(format!("starting {name}"), e);
        let waiting = Waiting::fork(command).map_err(failed)?;
        let process = waiting.process;
        let traced = Traced::with(Some(process), true, move |tracer| {
            requests::seize(process, true).map_err(|e| refused(Some(process), &e))?;
            tracer.add_program(process);
            Ok(())
        });
        let begun =
            traced.and_then(|traced| waiting.go().map(|()| traced).map_err(|e| not_started(&name, &e)));
        if begun.is_err() {
            // It has ended or is about to, and may have been waited for by the tracer.
            let _ = waitpid(Pid::from_raw(process as i32), WaitOptions::empty());
        }
        begun
    }

    /// Counts the calls of all threads of a process that runs, and with `children` of its descendants, those of now and those to come.
    ///
    /// # Errors
    /// There is none of this number, or [`Missing`](Error::Missing) with why it may not be traced.
    pub fn attach(process: u32, children: bool) -> Result<Traced> {
        has_own_proc(process).map_err(Error::Missing)?;
        if fs::metadata(format!("/proc/{process}/task")).is_err() {
            return Err(Error::system(format!("tracing {process}"), "there is no such process"));
        }
        Traced::with(None, children, move |tracer| seize(tracer, process, children))
    }

    fn with(
        program: Option<u32>,
        children: bool,
        begin: impl FnOnce(&mut Tracer) -> Result<()> + Send + 'static,
    ) -> Result<Traced> {
        let (shared, is_enough) = (Arc::new(Shared::new()), Arc::new(AtomicBool::new(false)));
        let mut tracer = Tracer::new(shared.clone(), is_enough.clone(), children);
        let (tell, told) = mpsc::sync_channel(1);
        let work = move || {
            wakeable();
            let begun = begin(&mut tracer);
            let is_begun = begun.is_ok();
            let _ = tell.send(begun.map(|()| rustix::thread::gettid().as_raw_nonzero().get() as u32));
            if is_begun {
                tracer.count();
            }
        };
        let handle = thread::Builder::new()
            .name("tracer".into())
            .spawn(work)
            .map_err(|e| Error::system("starting the tracer", e))?;
        let thread = told.recv().map_err(|_| Error::system("starting the tracer", "it ended"))??;
        Ok(Traced { shared, is_enough, tracer: Mutex::new(Some(handle)), thread, program })
    }

    /// The process that was started.
    pub fn program(&self) -> Option<u32> {
        self.program
    }

    /// What was counted up to now.
    ///
    /// # Errors
    /// None: as other ways have them.
    pub fn counts(&self) -> Result<Counts> {
        Ok(self.shared.ledger().counts())
    }

    /// The paths of files that calls were made on, by which descriptors led there then.
    pub fn names(&self) -> BTreeMap<File, String> {
        self.shared.ledger().names.clone()
    }

    /// Looks at those threads whose processor time /proc alone tells: from time to time, as one that ends is known as it was
    /// at the last look.
    pub fn look(&self) {
        self.shared.ledger().look();
    }

    /// Whether all who were traced have ended, or were let go.
    pub fn is_over(&self) -> bool {
        self.shared.ledger().over.is_some()
    }

    /// Whether the program that was started is known to have ended. Its descendants may live on.
    pub fn has_ended(&self) -> bool {
        self.shared.ledger().status.is_some()
    }

    /// The processes that are traced and live, or lived when they were let go.
    pub fn processes(&self) -> BTreeSet<u32> {
        self.shared.ledger().processes()
    }

    /// Waits for the end of the program that was started, and says how it ended. Its descendants may live on, and are counted.
    ///
    /// # Errors
    /// None was started.
    pub fn wait(&self) -> Result<ExitStatus> {
        let failed = |e: &str| Error::system("waiting for the program", e);
        let program = self.program.ok_or_else(|| failed("none was started"))?;
        let mut ledger = self.shared.ledger();
        loop {
            match (ledger.status, ledger.over) {
                (Some(status), _) => return Ok(ExitStatus::from_raw(status)),
                (None, Some(_)) => break,
                (None, None) => {
                    ledger = self.shared.changed.wait(ledger).unwrap_or_else(PoisonError::into_inner);
                }
            }
        }
        drop(ledger);
        // It was let go, and is a child like any other.
        match waitpid(Pid::from_raw(program as i32), WaitOptions::empty()) {
            Ok(Some((_, status))) => {
                self.shared.ledger().status = Some(status.as_raw());
                Ok(ExitStatus::from_raw(status.as_raw()))
            }
            Ok(None) => Err(failed("it has not ended")),
            Err(error) => Err(failed(&error.to_string())),
        }
    }

    /// Lets all go who are traced; they are not stopped for it. What was counted stays.
    pub fn detach(&self) {
        let mut tracer = self.tracer.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(handle) = tracer.take() else { return };
        self.is_enough.store(true, Ordering::Release);
        // A signal that comes just before the tracer waits does not wake it: again, until it has ended.
        while !handle.is_finished() {
            wake(self.thread);
            thread::sleep(Duration::from_micros(200));
        }
        let _ = handle.join();
        // The kernel lets the traced go after a thread is known to have ended and before it is gone.
        let given_up = Instant::now() + LETS_GO;
        while requests::is_in(self.thread, std::process::id()) && Instant::now() < given_up {
            thread::sleep(Duration::from_micros(200));
        }
    }
}

impl Drop for Traced {
    fn drop(&mut self) {
        self.detach();
    }
}

/// The signal that ends the tracer's wait. Nothing else may be asked to do that: who is traced must not notice.
fn waker() -> i32 {
    libc::SIGRTMAX()
}

/// Lets this thread take the waker, which does nothing but end a wait, and no other signal but SIGCHLD: of who blocks it the kernel does not drop it, and each stop would wake
/// another thread of ours to ignore it there.
fn wakeable() {
    extern "C" fn nothing(_: libc::c_int) {}
    let handler: extern "C" fn(libc::c_int) = nothing;
    // SAFETY: all addresses are of our own values, which are whole: zeros are an action without flags and an empty set.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = handler as usize;
        libc::sigaction(waker(), &action, std::ptr::null_mut());
        let mut others: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&mut others);
        libc::sigdelset(&mut others, waker());
        libc::sigdelset(&mut others, libc::SIGCHLD);
        libc::pthread_sigmask(libc::SIG_SETMASK, &others, std::ptr::null_mut());
    }
}

fn wake(thread: u32) {
    // SAFETY: no addresses. The thread is one of this process, or there is none of this number.
    unsafe { libc::syscall(libc::SYS_tgkill, libc::getpid(), thread, waker()) };
}
