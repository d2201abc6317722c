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
use tollway_watch::{Counts, FileKind};
use tollway_watch::kernel::{Cost, Watch};

use crate::args::Program;
use crate::names::Names;

/// How long a program that was started has to end when it is told to.
const TO_END: Duration = Duration::from_secs(5);
/// How long it is slept at the most: a person who interrupts does not wait longer.
const NAP: Duration = Duration::from_millis(100);
/// Seconds of processor time without which a share of it says nothing.
const FEW: f64 = 0.005;
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
    /// How often what was counted really happened: more often, where it was counted in slices of time. What a program does goes by the time that it runs, less
    /// what watching takes of that: while it is counted it does less in a second.
    pub fn scale(&self) -> f64 {
        if !self.is_sliced() {
            return 1.0;
        }
        let ran: f64 = self.counts.threads.iter().filter_map(|thread| thread.ran).map(|ran| ran.as_secs_f64()).sum();
        let counted = self.counts.ran_counted.unwrap_or_default().as_secs_f64();
        let cost = self.cost_of_counting();
        let by_time = self.counts.watched.as_secs_f64() / self.counts.counted.as_secs_f64().max(1e-9);
        let (all, part) = (ran - cost, counted - cost);
        // Where it ran too little to say, by the time that went by.
        if counted > FEW && part > 0.1 * counted { (all / part).max(1.0) } else { by_time.max(1.0) }
    }

    /// Processor time of the watched that counting took, in seconds: events × what each adds.
    pub fn cost_of_counting(&self) -> f64 {
        let cost = self.cost.unwrap_or_default();
        let (call, on_file) = (cost.call.as_secs_f64(), cost.call_on_file.as_secs_f64());
        let calls = self.counts.threads.iter().flat_map(|thread| &thread.calls);
        let calls: f64 = calls
            .map(|calls| calls.count as f64 * if calls.file.kind == FileKind::None { call } else { on_file })
            .sum();
        let switches = self.counts.threads.iter().map(|thread| {
            thread.moments.voluntary.unwrap_or(0) + thread.moments.involuntary.unwrap_or(0)
        });
        calls + switches.sum::<u64>() as f64 * on_file
    }

    /// Whether it was counted in slices of time.
    pub fn is_sliced(&self) -> bool {
        self.counts.counted.as_secs_f64() < 0.98 * self.counts.watched.as_secs_f64()
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
