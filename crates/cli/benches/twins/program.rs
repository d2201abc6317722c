//! Bars of the program as a whole: how fast it starts and bills, how much memory it takes, how fast the store lists.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, bail};
use tollway_stats::Interval;

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;

/// The program that was built with this benchmark.
const TOLLWAY: &str = env!("CARGO_BIN_EXE_tollway");

/// How often each is tried.
const STARTS: usize = 20;
const LISTINGS: usize = 3;

/// How long the run may take whose memory is looked at.
const RUN_SECONDS: &str = "20";

/// The bars of the program; `million` is the store's example of that name, built.
pub struct ProgramBars<'a> {
    pub million: &'a Path,
}

impl ProgramBars<'_> {
    /// Measures those that are wanted.
    pub fn measure(&self, only: &Only) -> Vec<Row> {
        type Measure<'a> = &'a dyn Fn() -> Result<Interval>;
        let bars: [(&str, Bar, Measure<'_>); 6] = [
            ("--version, whole process", Bar::AtMost(5.0, "ms"), &|| start_up(&["--version"])),
            ("bill -- true, over its own", Bar::AtMost(300.0, "ms"), &|| Ok(Bills::of_true()?.longer)),
            ("bill -- true, memory, peak", Bar::AtMost(40.0, "MB"), &|| Ok(Bills::of_true()?.memory)),
            ("capture -d ip, whole process", Bar::AtMost(10.0, "ms"), &|| start_up(&["capture", "-d", "ip"])),
            ("memory of a quick run, peak", Bar::AtMost(300.0, "MB"), &memory),
            ("store: list 10^6 trials", Bar::AtMost(1000.0, "ms"), &|| listing(self.million)),
        ];
        let wanted = bars.into_iter().filter(|(name, ..)| only.wants(name));
        wanted.map(|(name, bar, measure)| row(name, bar, measure())).collect()
    }
}

fn row(name: &str, bar: Bar, measured: Result<Interval>) -> Row {
    let (measured, verdict) = match measured {
        Ok(m) => (format!("{:.3} [{:.3}, {:.3}]", m.estimate, m.lo, m.hi), bar.judge(&m)),
        Err(error) => (String::new(), Verdict::Broken(format!("{error:#}"))),
    };
    Row { name: name.into(), measured, bar: bar.to_string(), verdict, ..Row::default() }
}

/// Milliseconds from start to end of `tollway` with these arguments, which leave it little to do.
fn start_up(arguments: &[&str]) -> Result<Interval> {
    let mut times = Vec::with_capacity(STARTS);
    for _ in 0..STARTS {
        let begun = Instant::now();
        let output = Command::new(TOLLWAY).args(arguments).output().context("starting `tollway`")?;
        times.push(begun.elapsed().as_secs_f64() * 1e3);
        succeeded(output.status, &output.stderr)?;
    }
    Ok(tollway_stats::figure(&[times], CONFIDENCE)?)
}

/// What bills of a program that does nothing take, priced by a list that is there.
struct Bills {
    /// Milliseconds longer than the program alone, begun in turns with it.
    longer: Interval,
    /// Megabytes of the largest resident set of a bill.
    memory: Interval,
}

impl Bills {
    fn of_true() -> Result<Bills> {
        let folder = tempfile::tempdir()?;
        let bill = || {
            let mut bill = Command::new(TOLLWAY);
            bill.args(["bill", "--store"]).arg(folder.path().join("tollway.db")).args(["--", "true"]);
            bill.env("TOLLWAY_PRICES", folder.path());
            bill
        };
        // The first measures prices.
        one(bill())?;
        let (mut longer, mut memory) = (Vec::new(), Vec::new());
        for _ in 0..STARTS {
            let (alone, _) = one(Command::new("true"))?;
            let (billed, peak) = one(bill())?;
            longer.push(billed - alone);
            memory.push(peak);
        }
        let of = |figures| tollway_stats::figure(&[figures], CONFIDENCE);
        Ok(Bills { longer: of(longer)?, memory: of(memory)? })
    }
}

/// Milliseconds that a program takes from its start to its end, and the megabytes of the largest resident set of it and its children (and of this benchmark when it begins
/// it, which has less: a new process has for a moment the memory of who began it).
fn one(mut command: Command) -> Result<(f64, f64)> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let begun = Instant::now();
    let child = command.spawn().with_context(|| format!("starting {command:?}"))?;
    let (status, peak) = wait(child.id())?;
    let took = begun.elapsed().as_secs_f64() * 1e3;
    succeeded(status, b"")?;
    Ok((took, peak as f64 * 1024.0 / 1e6))
}

/// The largest resident set, in megabytes, of any process of one short run over all paths.
fn memory() -> Result<Interval> {
    let folder = tempfile::tempdir()?;
    let mut run = Command::new(TOLLWAY);
    run.args(["run", "--time", RUN_SECONDS, "--store"]).arg(folder.path().join("tollway.db"));
    run.arg("--html").arg(folder.path().join("report.html"));
    let (_, megabytes) = one(run)?;
    Ok(Interval::new(megabytes, megabytes, megabytes, CONFIDENCE)?)
}

/// Waits for a child's end; also the largest resident set, in KiB, of it and of whatever it has waited for.
fn wait(pid: u32) -> Result<(ExitStatus, i64)> {
    let mut status = 0;
    // SAFETY: all-zero is a valid `rusage`, which consists of integers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    loop {
        // SAFETY: writes one `int` and one `rusage`, which outlive the call. The child is not waited for elsewhere.
        let ended = unsafe { libc::wait4(pid as libc::pid_t, &mut status, 0, &mut usage) };
        if ended >= 0 {
            return Ok((ExitStatus::from_raw(status), usage.ru_maxrss));
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error).context("waiting for its end");
        }
    }
}

/// Milliseconds that the store takes to list a million trials, as its example says on its first line.
fn listing(million: &Path) -> Result<Interval> {
    let mut times = Vec::with_capacity(LISTINGS);
    for _ in 0..LISTINGS {
        let output = Command::new(million)
            .arg(env!("CARGO_TARGET_TMPDIR"))
            .output()
            .with_context(|| format!("starting {}; `scripts/bench` builds it", million.display()))?;
        let said = String::from_utf8_lossy(&output.stdout);
        let line = said.lines().next().unwrap_or_default();
        // It ends with an error where it is slow; that is a figure all the same.
        match line.strip_suffix(" ms").and_then(|l| l.rsplit(' ').next()).map(str::parse) {
            Some(Ok(ms)) => times.push(ms),
            _ => bail!("the example said {line:?} ({})", output.status),
        }
    }
    Ok(tollway_stats::figure(&[times], CONFIDENCE)?)
}

fn succeeded(status: ExitStatus, stderr: &[u8]) -> Result<()> {
    if status.success() {
        return Ok(());
    }
    bail!("it failed ({status}): {}", String::from_utf8_lossy(stderr).trim())
}
