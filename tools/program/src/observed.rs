//! Watches a program while it runs.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use procfs::CurrentSI;
use signal_hook::low_level::signal_name;
use tollway_core::Result;
use tollway_watch::Counts;
use tollway_watch::kernel::Cost;

use crate::args::Program;
use crate::input::Input;
use crate::names::Names;
use crate::ways::{MakeCommand, Way, can_be_watched, children_of};
use crate::{apart, command};

/// How long a program that was started may take to end by itself when a person interrupts: what is typed at its terminal it gets as well.
const BY_ITSELF: Duration = Duration::from_secs(1);
/// How long it is slept at the most: a person who interrupts does not wait longer.
const NAP: Duration = Duration::from_millis(100);
/// How long it is waited at the most until all is known of those that have ended, and how often it is asked.
const SETTLES: Duration = Duration::from_millis(200);
const ASKED: Duration = Duration::from_millis(4);

/// A program that was watched, or is.
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
    /// Whether it disturbs the program so much that its times say nothing.
    pub disturbs: bool,
    /// What it costs the program to be watched, for each event, where that was measured.
    pub cost: Option<Cost>,
    /// The share of this machine's processors that its hypervisor took meanwhile, where that is told.
    pub steal: Option<f64>,
    /// How long a cache line took from one core to another and back just before or, where that is longer, after; where there is something to tell it by.
    pub there_and_back: Option<Duration>,
    /// How it ended, if it did and we started it.
    pub ended: Option<ExitStatus>,
    pub(crate) names: Names,
}

/// What becomes of what a program prints that is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// It is as if tollway were not there.
    Its,
    /// It goes to standard error, as standard output has a document.
    Aside,
    /// Nobody sees it.
    Nowhere,
}

/// Who is told each second what was counted since.
pub type EachSecond<'t> = &'t mut dyn FnMut(&Observed) -> Result<()>;

/// Whether there is what the options name; asked before anything is measured.
///
/// # Errors
/// There is no such program, or none that makes system calls.
pub fn can_be_observed(options: &Program) -> Result<()> {
    match options.pid {
        Some(number) => can_be_watched(number),
        None => command::of(&options.command).map(drop),
    }
}

/// Watches what the options name until it ends, the time is up, or a person interrupts. `each_second` is told what was counted since it was told last.
///
/// # Errors
/// There is no such program, it cannot be started, or it cannot be watched.
pub fn observe(
    options: &Program,
    input: Input,
    output: Output,
    interrupted: &AtomicBool,
    mut each_second: Option<EachSecond<'_>>,
) -> Result<Observed> {
    let make = || {
        let mut command = command::of(&options.command)?;
        match output {
            Output::Its => {}
            Output::Aside => drop(command.stdout(std::io::stderr())),
            Output::Nowhere => drop(command.stdout(Stdio::null()).stderr(Stdio::null())),
        }
        Ok(command)
    };
    let make = options.pid.is_none().then_some(&make as &MakeCommand<'_>);
    if make.is_some() {
        input.again()?;
    }
    let there_and_back = apart::there_and_back();
    let mut way = Way::begin(options, make)?;
    let mut observed = Observed {
        title: options.pid.map_or_else(|| command::words(&options.command), command::name_of),
        counts: Counts::default(),
        by: way.by(),
        unseen: way.unseen(),
        disturbs: way.disturbs(),
        cost: way.cost(),
        steal: None,
        there_and_back,
        ended: None,
        names: Names::default(),
    };
    let before = Times::read();
    let begun = Instant::now();
    let until = options.long.map(|long| begun + long);
    let (mut told, mut told_at) = (Counts::default(), begun);
    let mut interrupted_at: Option<Instant> = None;
    let mut counts = None;
    loop {
        let mut nap = way.tick()?.min(NAP);
        if let Some(until) = until {
            nap = nap.min(until.saturating_duration_since(Instant::now()));
        }
        if way.ends_within(nap)? {
            break;
        }
        observed.names.look(way.processes().into_iter());
        let now = Instant::now();
        if let Some(each_second) = &mut each_second
            && now - told_at >= Duration::from_secs(1)
        {
            let counts = way.counts()?;
            observed.cost = way.cost();
            observed.names.learn(way.names()?);
            observed.counts = counts.since(&told);
            each_second(&observed)?;
            (told, told_at) = (counts, now);
        }
        let is_interrupted = interrupted.load(Ordering::Relaxed);
        let since = is_interrupted.then(|| *interrupted_at.get_or_insert(now));
        let is_long_ago = |since: Instant| options.pid.is_some() || now - since > BY_ITSELF;
        if until.is_some_and(|until| until <= now) || since.is_some_and(is_long_ago) {
            // What it does to end is not asked for.
            counts = Some(way.counts()?);
            way.end();
            break;
        }
    }
    if let Some(number) = options.pid.filter(|_| !options.children) {
        observed.unseen.extend(unwatched_children(number));
    }
    let over = Instant::now();
    observed.ended = way.status()?;
    if observed.ended.is_some() && counts.is_none() {
        while !way.is_settled() && over.elapsed() < SETTLES {
            std::thread::sleep(ASKED);
        }
    }
    observed.counts = match counts {
        Some(counts) => counts,
        None => way.counts()?.ended(over.elapsed()),
    };
    observed.names.learn(way.names()?);
    if options.pid.is_none() {
        observed.unseen.extend(way.left().map(|process| {
            format!("process {process}, which it began and which still runs: `tollway bill --pid {process}` watches it.")
        }));
    }
    // What it added within stamps it knows by what it counted.
    observed.cost = way.cost();
    observed.steal = before.zip(Times::read()).and_then(|(before, now)| now.stolen_since(&before));
    observed.there_and_back = observed.there_and_back.max(apart::there_and_back());
    Ok(observed)
}

/// What is said of the children of a process that is watched without them.
fn unwatched_children(number: u32) -> Option<String> {
    let (many, runs) = match children_of(number).len() {
        0 => return None,
        1 => ("1 child".to_string(), "runs"),
        many => (format!("{many} children"), "run"),
    };
    Some(format!("it has {many} that {runs}: with `--children` what they do is billed as well."))
}

/// What became of the time of all processors.
#[derive(Clone, Copy)]
struct Times {
    all: u64,
    stolen: u64,
}

impl Times {
    /// Of /proc/stat (proc(5)), in ticks.
    fn read() -> Option<Times> {
        let total = procfs::KernelStats::current().ok()?.total;
        let stolen = total.steal?;
        let others = [total.user, total.nice, total.system, total.idle];
        let waits = [total.iowait, total.irq, total.softirq].into_iter().flatten();
        Some(Times { all: others.into_iter().chain(waits).sum::<u64>() + stolen, stolen })
    }

    fn stolen_since(&self, before: &Times) -> Option<f64> {
        let all = self.all.checked_sub(before.all).filter(|all| *all > 0)?;
        Some(self.stolen.saturating_sub(before.stolen) as f64 / all as f64)
    }
}

impl Observed {
    /// Processor time of the watched that counting took, in seconds.
    pub fn cost_of_counting(&self) -> f64 {
        if self.counts.cost > Duration::ZERO {
            return self.counts.cost.as_secs_f64();
        }
        // By ptrace each call costs the same.
        let call = self.cost.unwrap_or_default().call.as_secs_f64();
        let calls = self.counts.threads.iter().flat_map(|thread| &thread.calls);
        calls.map(|calls| calls.count as f64 * call).sum()
    }

    /// The signal that ended it, by its name (signal(7)).
    pub fn signal(&self) -> Option<String> {
        let signal = self.ended?.signal()?;
        let name = signal_name(signal).map(str::to_string);
        Some(name.unwrap_or_else(|| format!("signal {signal}")))
    }

    /// The exit code that a shell would tell.
    pub fn code(&self) -> Option<u8> {
        let ended = self.ended?;
        let code = ended.code().or_else(|| ended.signal().map(|signal| 128 + signal))?;
        u8::try_from(code).ok()
    }
}
