//! Watches a program while it runs.

use std::ffi::OsString;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tollway_core::{Error, Missing, Result};
use tollway_watch::Counts;
use tollway_watch::kernel::{Cost, Watch};

use crate::args::Program;
use crate::names::Names;

/// How long a program that was started has to end when it is told to.
const TO_END: Duration = Duration::from_secs(5);
/// How long it is slept at the most: a person who interrupts does not wait longer.
const NAP: Duration = Duration::from_millis(100);
/// What a thread has left to do in the kernel when its process' end is told.
const LAST_SWITCH: Duration = Duration::from_millis(20);

/// A program that was watched.
#[derive(Debug)]
pub struct Observed {
    /// Its command line, or the name and number of its process.
    pub title: String,
    /// What was counted.
    pub counts: Counts,
    /// How it was counted.
    pub by: &'static str,
    /// What this way does not see here.
    pub unseen: Vec<String>,
    /// What it costs the program to be watched, for each event, where that was measured.
    pub cost: Option<Cost>,
    /// How it ended, if it did.
    pub ended: Option<ExitStatus>,
    pub(crate) names: Names,
}

/// Watches what the options name until it ends, the time is up, or a person interrupts. With `aside` what a program that is started prints goes to standard
/// error.
///
/// # Errors
/// There is no such program, it cannot be started, or it cannot be watched.
pub fn observe(options: &Program, aside: bool, interrupted: &AtomicBool) -> Result<Observed> {
    let is_started = options.pid.is_none();
    let mut watch = Watch::new(is_started || options.children, options.allowed())?;
    let (title, mut target) = match options.pid {
        Some(number) => {
            let target = Target::found(number)?;
            watch.attach(number)?;
            (name_of(number), target)
        }
        None => {
            let mut command = command_of(&options.command)?;
            if aside {
                command.stdout(std::io::stderr());
            }
            let child = watch.start(&mut command)?;
            (words(&options.command), Target::started(child)?)
        }
    };
    let mut names = Names::default();
    let until = options.long.map(|long| Instant::now() + long);
    let mut interrupted_at: Option<Instant> = None;
    loop {
        let mut nap = watch.tick()?.min(NAP);
        if let Some(until) = until {
            nap = nap.min(until.saturating_duration_since(Instant::now()));
        }
        if target.ends_within(nap)? {
            break;
        }
        names.look(watch.processes());
        let now = Instant::now();
        if until.is_some_and(|until| until <= now) {
            target.end();
            break;
        }
        if interrupted.load(Ordering::Relaxed) {
            // What we started in this terminal was interrupted as well, and has its time to end.
            let since = *interrupted_at.get_or_insert(now);
            if !is_started || now - since > TO_END {
                break;
            }
        }
    }
    let ended = target.status()?;
    if ended.is_some() {
        std::thread::sleep(LAST_SWITCH);
    }
    let counts = watch.counts()?;
    let absent = watch.absent();
    let unseen = absent.iter().map(|name| format!("the kernel has no tracepoint {name}")).collect();
    Ok(Observed { title, counts, by: "programs at the kernel's tracepoints", unseen, cost: Some(watch.cost()), ended, names })
}

impl Observed {
    /// How often what was counted really happened.
    pub fn scale(&self) -> f64 {
        self.counts.scale(self.cost.unwrap_or_default())
    }

    /// Processor time of the watched that counting took, in seconds.
    pub fn cost_of_counting(&self) -> f64 {
        self.counts.cost_of_counting(self.cost.unwrap_or_default())
    }

    /// Whether it was counted in slices of time.
    pub fn is_sliced(&self) -> bool {
        self.counts.is_sliced()
    }

    /// The exit code that a shell would tell.
    pub fn code(&self) -> Option<u8> {
        let ended = self.ended?;
        let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal))?;
        u8::try_from(code).ok()
    }
}

/// The process that is watched.
struct Target {
    child: Option<Child>,
    ended: Option<ExitStatus>,
    handle: OwnedFd,
}

impl Target {
    fn of(number: u32, child: Option<Child>) -> Result<Target> {
        let none = || {
            Error::Missing(Missing::new(
                format!("process {number}"),
                "there is none of that number",
                "`ps -e` lists those that run",
            ))
        };
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(none)?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| none())?;
        Ok(Target { child, ended: None, handle })
    }

    fn found(number: u32) -> Result<Target> {
        Target::of(number, None)
    }

    fn started(child: Child) -> Result<Target> {
        Target::of(child.id(), Some(child))
    }

    /// Whether it ends within this time.
    fn ends_within(&mut self, time: Duration) -> Result<bool> {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(Error::system("waiting for a program", error)),
        }
    }

    /// Ends it, if we started it.
    fn end(&mut self) {
        let Some(child) = &mut self.child else { return };
        let Some(pid) = i32::try_from(child.id()).ok().and_then(Pid::from_raw) else { return };
        let _ = kill_process(pid, Signal::TERM);
        if !matches!(self.ends_within(TO_END), Ok(true)) {
            let _ = kill_process(pid, Signal::KILL);
        }
    }

    /// How it ended, if it did and we started it.
    fn status(&mut self) -> Result<Option<ExitStatus>> {
        if let Some(child) = &mut self.child
            && self.ended.is_none()
        {
            self.ended = child.try_wait().map_err(|e| Error::system("asking how a program ended", e))?;
        }
        Ok(self.ended)
    }
}

fn command_of(words: &[OsString]) -> Result<Command> {
    let (program, arguments) = words.split_first().ok_or_else(|| Error::Input {
        place: "the command".into(),
        reason: "there is none behind `--`".into(),
        remedy: "write `tollway bill -- PROGRAM ARGUMENTS`".into(),
    })?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

fn words(command: &[OsString]) -> String {
    command.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn name_of(number: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{number}/comm")).unwrap_or_default();
    format!("{} ({number})", name.trim())
}
