//! The ways of counting behind one face.

use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};

use procfs::process::{Process, Task};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fd::OwnedFd;
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tollway_core::{Error, Missing, Result};
use tollway_host::samplers::thread_time;
use tollway_watch::kernel::{Cost, Watch};
use tollway_watch::proc::{self, Proc};
use tollway_watch::traced::{self, Traced};
use tollway_watch::{Counts, File, has_own_proc, is_proc_own};

use crate::args::{By, Program};

/// How long a program that was started has to end when it is told to.
const TO_END: Duration = Duration::from_secs(5);
/// How often it is asked whether a program has ended that tells nobody.
const ASKED: Duration = Duration::from_millis(5);

/// From one look at /proc to the next: at first, as a program may be short, and then. A look by one processor slows down who runs on another by half a millisecond (Linux 6.18 in a
/// virtual machine, a ping-pong by a pipe: ten looks a second made it 1.0 % slower [0.8, 1.2]).
const FIRST_LOOK: Duration = Duration::from_millis(100);
const LOOK: Duration = Duration::from_secs(1);
/// From one look to the next at those threads that the kernel has in the program: they are few.
const LOOK_AT_WORKERS: Duration = Duration::from_millis(20);
/// The pause is at least so many times as long as the look: looks take a hundredth of a processor at the most.
const LOOKS: u32 = 100;
/// How more is seen of a program that runs already, for which this way is not taken by itself.
const BY_PTRACE: &str =
    "with --by ptrace each of its calls could be counted, which takes some 15 µs longer by that.";

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
    instead: Vec<(By, Missing)>,
}

/// Makes the command that is started.
pub(crate) type MakeCommand<'t> = dyn Fn() -> Result<Command> + 't;

enum Counter {
    Kernel(Box<Watch>, Option<Child>),
    /// With what a call costs so, where that could be measured.
    Ptrace(Traced, Option<Duration>),
    Proc(Proc),
}

impl Counter {
    /// Begins to count in this way; with the number of the process.
    fn begin(by: By, options: &Program, make: Option<&MakeCommand<'_>>) -> Result<(Counter, u32)> {
        let children = options.pid.is_none() || options.children;
        let of_one = |number: Option<u32>| number.ok_or_else(|| none(0));
        Ok(match (by, make) {
            (By::Kernel, Some(make)) => {
                let mut watch = Watch::new(children, options.allowed()).map_err(refused)?;
                let child = watch.start(&mut make()?)?;
                let number = child.id();
                (Counter::Kernel(Box::new(watch), Some(child)), number)
            }
            (By::Kernel, None) => {
                let number = of_one(options.pid)?;
                let mut watch = Watch::new(children, options.allowed()).map_err(refused)?;
                watch.attach(number)?;
                (Counter::Kernel(Box::new(watch), None), number)
            }
            (By::Ptrace, Some(make)) => {
                let cost = traced::cost().ok();
                let traced = Traced::start(&mut make()?)?;
                let number = of_one(traced.program())?;
                (Counter::Ptrace(traced, cost), number)
            }
            (By::Ptrace, None) => {
                let number = of_one(options.pid)?;
                (Counter::Ptrace(Traced::attach(number, children)?, traced::cost().ok()), number)
            }
            (By::Proc, Some(make)) => {
                let proc = Proc::start(&mut make()?)?;
                let number = of_one(proc.program())?;
                (Counter::Proc(proc), number)
            }
            (By::Proc, None) => {
                let number = of_one(options.pid)?;
                (Counter::Proc(Proc::attach(number, children)?), number)
            }
        })
    }
}

/// What keeps this process from watching by the kernel's tracepoints, before anything is watched, is lacking here: another way may do.
fn refused(error: Error) -> Error {
    match error {
        Error::System { doing, reason } => Error::Missing(Missing::new(
            "counting by the kernel's tracepoints",
            format!("{doing}: {reason}"),
            "`ulimit -n 256` lets it open what it needs, `ulimit -l` says how much memory it may keep",
        )),
        other => other,
    }
}

/// The ways in which these options may be counted: the first of them that can be used.
pub fn asked(options: &Program) -> Vec<By> {
    match options.by {
        Some(by) => vec![by],
        None if options.pid.is_none() => vec![By::Kernel, By::Ptrace, By::Proc],
        // A server that runs is not slowed down as by strace unless that is asked for.
        None => vec![By::Kernel, By::Proc],
    }
}

impl Way {
    /// Begins to watch what the options name, in the way that they name or in the best that can be used here. A program that is to
    /// be started is made anew for each way that is tried.
    pub fn begin(options: &Program, make: Option<&MakeCommand<'_>>) -> Result<Way> {
        options.pid.map_or(Ok(()), can_be_watched)?;
        let ways = asked(options);
        let mut instead = Vec::new();
        let (last, better) = ways.split_last().ok_or_else(|| none(0))?;
        let mut begun = None;
        for by in better {
            match Counter::begin(*by, options, make) {
                Ok(counter) => {
                    begun = Some(counter);
                    break;
                }
                Err(Error::Missing(missing)) => instead.push((*by, missing)),
                Err(error) => return Err(error),
            }
        }
        let (counter, number) = begun.map_or_else(|| Counter::begin(*last, options, make), Ok)?;
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(|| none(number))?;
        let handle = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| match error {
            Errno::SRCH => none(number),
            error => Error::system(format!("waiting for process {number}"), error),
        })?;
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
        if matches!(self.counter, Counter::Proc(_)) && !self.is_started {
            unseen.push(BY_PTRACE.into());
        }
        unseen.extend(self.instead.iter().map(|(by, missing)| match by {
            By::Kernel => format!("by the kernel's tracepoints all of it could be seen: {missing}"),
            _ => format!("by ptrace each call could be seen by itself: {missing}"),
        }));
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
            Counter::Ptrace(traced, _) => traced.processes().into_iter().collect(),
            Counter::Proc(_) => vec![self.number],
        }
    }

    /// Names of files that calls were made on, as far as this way learnt them itself.
    pub fn names(&self) -> Result<Vec<(File, String)>> {
        match &self.counter {
            Counter::Kernel(watch, _) => watch.names(),
            Counter::Ptrace(traced, _) => Ok(traced.names().into_iter().collect()),
            Counter::Proc(_) => Ok(Vec::new()),
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
        let others = self.processes().into_iter().filter(|process| *process != self.number);
        others.filter(|process| can_be_watched(*process).is_ok())
    }

    /// Does what is due; says how long it is until something is again.
    pub fn tick(&mut self) -> Result<Duration> {
        let now = Instant::now();
        // Others may have the processor meanwhile: what a look takes is this thread's own time.
        let ran = thread_time::thread();
        let least = || (thread_time::thread() - ran) * LOOKS;
        // A look meets threads before they end.
        match &mut self.counter {
            Counter::Kernel(watch, _) => return watch.tick(),
            Counter::Proc(proc) if now < self.next_look => {
                let pause = if proc.look_at_workers() { LOOK_AT_WORKERS } else { LOOK };
                return Ok(pause.max(least()).min(self.next_look.saturating_duration_since(now)));
            }
            _ if now < self.next_look => return Ok(self.next_look - now),
            Counter::Ptrace(traced, _) => traced.look(),
            Counter::Proc(proc) => drop(proc.counts()?),
        }
        self.next_look = Instant::now() + self.pause.max(least());
        self.pause = (2 * self.pause).min(LOOK);
        Ok(self.next_look - now)
    }

    /// What was counted so far.
    pub fn counts(&mut self) -> Result<Counts> {
        match &mut self.counter {
            Counter::Kernel(watch, _) => watch.counts(),
            Counter::Ptrace(traced, _) => traced.counts(),
            Counter::Proc(proc) => proc.counts(),
        }
    }

    /// Whether all that is watched ends within this time: the program, and by ptrace its children as well.
    pub fn ends_within(&mut self, time: Duration) -> Result<bool> {
        if let Counter::Ptrace(traced, _) = &self.counter {
            // Who traces is told of the end, and nobody else.
            let until = Instant::now() + time;
            while !traced.is_over() && Instant::now() < until {
                std::thread::sleep(ASKED.min(time));
            }
            return Ok(traced.is_over());
        }
        self.program_ends_within(time)
    }

    /// Whether the program itself ends within this time.
    fn program_ends_within(&self, time: Duration) -> Result<bool> {
        let time = Timespec { tv_sec: time.as_secs() as i64, tv_nsec: i64::from(time.subsec_nanos()) };
        match poll(&mut [PollFd::new(&self.handle, PollFlags::IN)], Some(&time)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(Error::system("waiting for a program", error)),
        }
    }

    /// Ends the program, if we started it.
    pub fn end(&mut self) {
        if !self.is_started {
            return;
        }
        if let Counter::Ptrace(traced, _) = &self.counter {
            // In a vfork the kernel heeds a signal of one who is traced only when the child lets go (kernel/signal.c,
            // `complete_signal`); what it does to end is not asked for.
            traced.detach();
        }
        for signal in [Signal::TERM, Signal::KILL] {
            let _ = pidfd_send_signal(&self.handle, signal);
            // One that stands would heed nothing else: as timeout(1) does.
            let _ = pidfd_send_signal(&self.handle, Signal::CONT);
            let until = Instant::now() + TO_END;
            loop {
                let left = until.saturating_duration_since(Instant::now());
                // An interruption ends the wait, and not the program.
                match self.program_ends_within(left) {
                    Ok(false) if !left.is_zero() => {}
                    Ok(false) => break,
                    Ok(true) | Err(_) => return,
                }
            }
        }
    }

    /// How the program ended, if it has and we started it.
    pub fn status(&mut self) -> Result<Option<ExitStatus>> {
        let is_known = matches!(&self.counter, Counter::Ptrace(traced, _) if traced.has_ended());
        if !self.is_started || !is_known && !self.program_ends_within(Duration::ZERO)? {
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
    let process =
        i32::try_from(number).ok().and_then(|pid| Process::new(pid).ok()).ok_or_else(|| none(number))?;
    let (Ok(stat), Ok(status)) = (process.stat(), process.status()) else { return Err(none(number)) };
    let refused = |reason: &str, remedy: String| {
        Err(Error::Input { place: format!("process {number}"), reason: reason.into(), remedy })
    };
    let runs = || "`ps -e` lists those that run".to_string();
    // Of a thread's number there is a folder in /proc that is in no list of it.
    if status.tgid != status.pid {
        let reason = format!("it is no process, but a thread of process {}", status.tgid);
        return refused(&reason, format!("`--pid {}` bills that process", status.tgid));
    }
    match stat.state {
        'Z' | 'X' if !has_other_threads(&process) => {
            refused("it has ended, and its parent has not asked how", runs())
        }
        _ if stat.flags & KERNEL_THREAD != 0 => {
            refused("it is a thread of the kernel's own and makes no system calls", runs())
        }
        _ => Ok(()),
    }
}

/// Whether a process whose first thread has ended has another one that runs.
fn has_other_threads(process: &Process) -> bool {
    let lives = |task: Task| task.stat().is_ok_and(|stat| !matches!(stat.state, 'Z' | 'X'));
    process.tasks().into_iter().flatten().flatten().any(lives)
}

/// The children of a process that run.
pub(crate) fn children_of(number: u32) -> Vec<u32> {
    let Some(process) = i32::try_from(number).ok().and_then(|pid| Process::new(pid).ok()) else {
        return Vec::new();
    };
    let tasks = process.tasks().into_iter().flatten().flatten();
    let children = tasks.flat_map(|task| task.children().unwrap_or_default());
    children.filter(|child| can_be_watched(*child).is_ok()).collect()
}

fn none(number: u32) -> Error {
    Error::Input {
        place: format!("process {number}"),
        reason: "there is none of that number".into(),
        remedy: "`ps -e` lists those that run".into(),
    }
}
