//! The ways of counting behind one face.

use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use procfs::process::Process;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};
use tollway_core::{Error, Missing, Result};
use tollway_watch::kernel::{Cost, Watch};
use tollway_watch::proc::{self, Proc};
use tollway_watch::traced::{self, Traced};
use tollway_watch::{Counts, has_own_proc, is_proc_own};

use crate::args::{By, Program};

/// How long a program that was started has to end when it is told to.
const TO_END: Duration = Duration::from_secs(5);
/// How often it is asked whether a program has ended that tells nobody.
const ASKED: Duration = Duration::from_millis(5);

/// From one look at /proc to the next: at first, as a program may be short, and then. A look by one processor slows down who runs on another by half a millisecond (Linux 6.18 in a
/// virtual machine, a ping-pong by a pipe: ten looks a second made it 1.0 % slower [0.8, 1.2]).
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(1);
/// The pause is at least so many times as long as the look: looks take a hundredth of a processor at the most.
const LOOKS: u32 = 100;

/// A program that is watched in one of these ways.
pub(crate) struct Way {
    counter: Counter,
    /// What tells of the process' end.
    handle: OwnedFd,
    number: u32,
    is_started: bool,
    /// When /proc is to be looked at again.
    next_look: Instant,
    pause: Duration,
    /// Why no better way is used.
    instead: Option<Missing>,
}

enum Counter {
    Kernel(Box<Watch>, Option<Child>),
    /// With what a call costs so, where that could be measured.
    Ptrace(Traced, Option<Duration>),
    Proc(Proc),
}

impl Way {
    /// Begins to watch what the options name, in the way that they name or in the best that can be used here.
    pub fn begin(options: &Program, command: Option<&mut Command>) -> Result<Way> {
        options.pid.map_or(Ok(()), can_be_watched)?;
        let children = options.pid.is_none() || options.children;
        let mut instead = None;
        let watch = match options.by {
            None | Some(By::Kernel) => match Watch::new(children, options.allowed()) {
                Ok(watch) => Some(watch),
                Err(Error::Missing(missing)) if options.by.is_none() => {
                    instead = Some(missing);
                    None
                }
                Err(error) => return Err(error),
            },
            Some(_) => None,
        };
        // A server that runs is not slowed down as by strace unless that is asked for.
        let by_ptrace = options.by == Some(By::Ptrace) || options.by.is_none() && options.pid.is_none();
        let (counter, number) = match (watch, command, options.pid) {
            (Some(mut watch), Some(command), _) => {
                let child = watch.start(command)?;
                let number = child.id();
                (Counter::Kernel(Box::new(watch), Some(child)), number)
            }
            (Some(mut watch), None, Some(number)) => {
                watch.attach(number)?;
                (Counter::Kernel(Box::new(watch), None), number)
            }
            (None, Some(command), _) if by_ptrace => {
                let cost = traced::cost().ok();
                let traced = Traced::start(command)?;
                let number = traced.program().unwrap_or_default();
                (Counter::Ptrace(traced, cost), number)
            }
            (None, Some(command), _) => {
                let proc = Proc::start(command)?;
                let number = proc.program().unwrap_or_default();
                (Counter::Proc(proc), number)
            }
            (None, None, Some(number)) if by_ptrace => {
                (Counter::Ptrace(Traced::attach(number, children)?, traced::cost().ok()), number)
            }
            (None, None, Some(number)) => (Counter::Proc(Proc::attach(number, children)?), number),
            (_, None, None) => return Err(none(0)),
        };
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(|| none(number))?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| none(number))?;
        let is_started = options.pid.is_none();
        let (next_look, pause) = (Instant::now(), FIRST_LOOK);
        Ok(Way { counter, handle, number, is_started, next_look, pause, instead })
    }

    /// How it is counted.
    pub fn by(&self) -> &'static str {
        match self.counter {
            Counter::Kernel(..) => "programs at the kernel's tracepoints",
            Counter::Ptrace(..) => "ptrace, which stops the program at each call",
            Counter::Proc(_) => "what /proc tells",
        }
    }

    /// What this way does not see here, and how more can be seen.
    pub fn unseen(&self) -> Vec<String> {
        let mut unseen = match &self.counter {
            Counter::Kernel(watch, _) => {
                watch.absent().iter().map(|name| format!("the kernel has no tracepoint {name}.")).collect()
            }
            Counter::Ptrace(..) => vec![traced::UNSEEN.to_string()],
            Counter::Proc(_) => vec![proc::UNSEEN.to_string()],
        };
        if !is_proc_own() {
            let what = "/proc is not of this PID namespace: files have no names, \
                and who still runs has neither name nor processor time.";
            unseen.push(what.into());
        }
        unseen.extend(
            self.instead
                .iter()
                .map(|missing| format!("by the kernel's tracepoints all of it could be seen: {missing}")),
        );
        unseen
    }

    /// Whether it disturbs the program so much that its times say nothing.
    pub fn disturbs(&self) -> bool {
        matches!(self.counter, Counter::Ptrace(..))
    }

    /// What each event costs the program, where that was measured.
    pub fn cost(&self) -> Option<Cost> {
        match &self.counter {
            Counter::Kernel(watch, _) => Some(watch.cost()),
            Counter::Ptrace(_, cost) => cost.map(|call| Cost { call, call_on_file: call, ..Cost::default() }),
            Counter::Proc(_) => None,
        }
    }

    /// The processes that are watched.
    pub fn processes(&self) -> Vec<u32> {
        match &self.counter {
            Counter::Kernel(watch, _) => watch.processes().collect(),
            Counter::Ptrace(..) | Counter::Proc(_) => vec![self.number],
        }
    }

    /// Whether all is known of those that have ended.
    pub fn is_settled(&self) -> bool {
        match &self.counter {
            Counter::Kernel(watch, _) => watch.is_settled(),
            Counter::Ptrace(..) | Counter::Proc(_) => true,
        }
    }

    /// Processes that are watched and still run.
    pub fn left(&self) -> impl Iterator<Item = u32> {
        self.processes().into_iter().filter(|process| *process != self.number)
    }

    /// Does what is due; says how long it is until something is again.
    pub fn tick(&mut self) -> Result<Duration> {
        match &mut self.counter {
            Counter::Kernel(watch, _) => watch.tick(),
            Counter::Ptrace(..) => Ok(Duration::from_secs(1)),
            // A look meets threads before they end.
            Counter::Proc(proc) => {
                let now = Instant::now();
                if now >= self.next_look {
                    proc.counts()?;
                    self.next_look = Instant::now() + self.pause.max(now.elapsed() * LOOKS);
                    self.pause = (2 * self.pause).min(LOOK);
                }
                Ok(self.next_look - now)
            }
        }
    }

    /// What was counted so far.
    pub fn counts(&mut self) -> Result<Counts> {
        match &mut self.counter {
            Counter::Kernel(watch, _) => watch.counts(),
            Counter::Ptrace(traced, _) => traced.counts(),
            Counter::Proc(proc) => proc.counts(),
        }
    }

    /// Whether the program ends within this time.
    pub fn ends_within(&mut self, time: Duration) -> Result<bool> {
        if let Counter::Ptrace(traced, _) = &self.counter {
            // Who traces is told of the end, and nobody else.
            let until = Instant::now() + time;
            while !traced.is_over() && Instant::now() < until {
                std::thread::sleep(ASKED.min(time));
            }
            return Ok(traced.is_over());
        }
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => Ok(false),
            Err(error) => Err(Error::system("waiting for a program", error)),
        }
    }

    /// Ends the program, if we started it.
    pub fn end(&mut self) {
        let Some(pid) = i32::try_from(self.number).ok().and_then(Pid::from_raw).filter(|_| self.is_started)
        else {
            return;
        };
        let _ = kill_process(pid, Signal::TERM);
        if !matches!(self.ends_within(TO_END), Ok(true)) {
            let _ = kill_process(pid, Signal::KILL);
            let _ = self.ends_within(TO_END);
        }
    }

    /// How the program ended, if it has and we started it.
    pub fn status(&mut self) -> Result<Option<ExitStatus>> {
        if !self.is_started || !self.ends_within(Duration::ZERO)? {
            return Ok(None);
        }
        match &mut self.counter {
            Counter::Kernel(_, child) => {
                let status = child.as_mut().map(Child::wait).transpose();
                status.map_err(|e| Error::system("asking how a program ended", e))
            }
            Counter::Ptrace(traced, _) => traced.wait().map(Some),
            Counter::Proc(proc) => proc.wait().map(Some),
        }
    }
}

/// Flag of a kernel's thread among those of /proc/PID/stat (`PF_KTHREAD`, include/linux/sched.h).
const KERNEL_THREAD: u32 = 0x0020_0000;

/// Who makes no system calls has no bill.
pub(crate) fn can_be_watched(number: u32) -> Result<()> {
    has_own_proc(number).map_err(Error::Missing)?;
    let Some(stat) = i32::try_from(number).ok().and_then(|pid| Process::new(pid).ok()?.stat().ok()) else {
        return Err(none(number));
    };
    let reason = match stat.state {
        'Z' | 'X' => "it has ended, and its parent has not asked how",
        _ if stat.flags & KERNEL_THREAD != 0 => {
            "it is a thread of the kernel's own and makes no system calls"
        }
        _ => return Ok(()),
    };
    let remedy = "`ps -e` lists those that run".into();
    Err(Error::Input { place: format!("process {number}"), reason: reason.into(), remedy })
}

fn none(number: u32) -> Error {
    Error::Input {
        place: format!("process {number}"),
        reason: "there is none of that number".into(),
        remedy: "`ps -e` lists those that run".into(),
    }
}
