//! Changes that can be made from outside, made: the program is started in turns as it is and with the change, and what that brings is held against what was
//! foretold.

mod clock_source;
mod keeper;
mod made;
mod processor_limit;

use std::io;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use tollway_core::{Error, Result};
use tollway_stats::paired_ratio;

use crate::args::{Program, Try};
use crate::command;
use crate::document::{BillDocument, ShareDocument, TimeDocument, TriedDocument};
use crate::input::Input;

pub(crate) use made::KEPT;
use made::Made;

/// How far a prediction may be from what was measured, as a share of what was measured.
const NEAR: f64 = 0.2;

/// An interval of a share that is wider says nothing.
const WIDE: f64 = 0.3;

/// One start of the program: seconds.
#[derive(Clone, Copy)]
struct Went {
    processor: f64,
    elapsed: f64,
}

/// Whether each change can be made here: before the program is started for the first time.
///
/// # Errors
/// [`Missing`](Error::Missing) with what this machine or process lacks.
pub fn check(options: &Program) -> Result<()> {
    let mut nothing = Command::new("true");
    options.tries.iter().try_for_each(|change| Made::of(&mut nothing, *change).map(drop))
}

/// Tries what the options name, and adds what came of it to the bill.
///
/// # Errors
/// The program cannot be started, or fails; the statistics'.
pub fn try_changes(
    options: &Program,
    input: Input,
    bill: &mut BillDocument,
    interrupted: &AtomicBool,
) -> Result<()> {
    let mut plain = Vec::new();
    let mut changed: Vec<Vec<Went>> = vec![Vec::new(); options.tries.len()];
    // The first start finds cold caches, and is nobody's.
    start(options, input, None)?;
    'rounds: for round in 0..options.rounds {
        if interrupted.load(Ordering::Relaxed) {
            break;
        }
        // Every other round goes backwards, so that a drift meets both alike.
        let mut turns: Vec<Option<usize>> =
            std::iter::once(None).chain((0..options.tries.len()).map(Some)).collect();
        if round % 2 == 1 {
            turns.reverse();
        }
        for turn in turns {
            let went = match start(options, input, turn.map(|at| options.tries[at])) {
                // It was interrupted as well; the rounds before stay.
                Err(_) if interrupted.load(Ordering::Relaxed) => break 'rounds,
                went => went?,
            };
            match turn {
                None => plain.push(went),
                Some(at) => changed[at].push(went),
            }
        }
    }
    for (change, went) in options.tries.iter().zip(&changed) {
        if let Some(tried) = told(*change, &plain, went, bill)? {
            bill.tried.push(tried);
        }
    }
    Ok(())
}

fn told(change: Try, plain: &[Went], changed: &[Went], bill: &BillDocument) -> Result<Option<TriedDocument>> {
    let rounds = plain.len().min(changed.len());
    if rounds < 2 {
        return Ok(None);
    }
    let saved = |of: fn(&Went) -> f64| -> Result<ShareDocument> {
        let pairs: Vec<Vec<(f64, f64)>> = plain
            .iter()
            .zip(changed)
            .map(|(plain, changed)| vec![(of(plain).max(1e-9), of(changed).max(1e-9))])
            .collect();
        let failed = |e: tollway_stats::StatsError| Error::system("comparing what was tried", e);
        let ratio = paired_ratio(&pairs).map_err(failed)?;
        let interval = ratio.interval(0.95).map_err(failed)?;
        Ok(ShareDocument { share: 1.0 - ratio.estimate(), lo: 1.0 - interval.hi, hi: 1.0 - interval.lo })
    };
    let (processor, sooner) = (saved(|went| went.processor)?, saved(|went| went.elapsed)?);
    let what_if = bill.what_if.iter().find(|one| one.name == change.name());
    let share = |time: TimeDocument, of: f64| ShareDocument {
        share: time.ns / of,
        lo: time.lo / of,
        hi: time.hi / of,
    };
    let foretold = what_if.filter(|_| bill.ran > 0.0).map(|one| share(one.saves, bill.ran));
    let foretold_sooner =
        what_if.and_then(|one| one.sooner).map(|sooner| share(sooner, bill.watching.watched_s * 1e9));
    let holds = match (foretold_sooner, foretold) {
        (Some(foretold), _) => agree(&foretold, &sooner),
        (None, Some(foretold)) => agree(&foretold, &processor),
        (None, None) => None,
    };
    let rounds = u32::try_from(rounds).unwrap_or(u32::MAX);
    Ok(Some(TriedDocument {
        name: change.name().into(),
        rounds,
        foretold,
        saved: processor,
        foretold_sooner,
        sooner,
        holds,
    }))
}

/// Whether they agree; `None` where what was measured is too wide to say.
fn agree(foretold: &ShareDocument, measured: &ShareDocument) -> Option<bool> {
    let near = (foretold.share - measured.share).abs() <= NEAR * measured.share.abs();
    if !near && measured.hi - measured.lo > WIDE {
        return None;
    }
    Some(near || foretold.lo <= measured.hi && measured.lo <= foretold.hi)
}

/// Starts the program, with a change or as it is, waits for its end, and says what it took: it and all its children for which it waited.
fn start(options: &Program, input: Input, change: Option<Try>) -> Result<Went> {
    let mut command = command::of(&options.command)?;
    command.stdin(input.alone()?).stdout(Stdio::null()).stderr(Stdio::null());
    // Until its end: some changes are of more than the program, and are undone with this.
    let _made = change.map(|change| Made::of(&mut command, change)).transpose()?;
    let name = command::words(&options.command);
    let failed = |e: io::Error| Error::system(format!("starting {name}"), e);
    let begun = Instant::now();
    let child = command.spawn().map_err(failed)?;
    let pid = i32::try_from(child.id()).map_err(|e| Error::system(format!("starting {name}"), e))?;
    let mut status = 0;
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both are ours, and the kernel writes one value to each; the child is ours and nobody else waits for it.
    let waited = unsafe { libc::wait4(pid, &raw mut status, 0, usage.as_mut_ptr()) };
    // SAFETY: it is all numbers, and was zeroed.
    let usage = unsafe { usage.assume_init() };
    let elapsed = begun.elapsed().as_secs_f64();
    if waited != pid {
        return Err(failed(io::Error::last_os_error()));
    }
    if !libc::WIFEXITED(status) || libc::WEXITSTATUS(status) != 0 {
        let change = change.map_or("as it is", Try::name);
        return Err(Error::Input {
            place: format!("command `{name}`, {change}"),
            reason: "it failed, so what it took says nothing".into(),
            remedy:
                "try a command that ends by itself, with exit code 0, and reads no standard input but a file"
                    .into(),
        });
    }
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    Ok(Went { processor: seconds(usage.ru_utime) + seconds(usage.ru_stime), elapsed })
}
