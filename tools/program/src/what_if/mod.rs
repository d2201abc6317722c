//! What could be changed about a program, and what each change would bring: predictions by tolls.
//!
//! One change a file. Each says what it would save of processor time, with the interval of the tolls that it is made of; where it does not apply it is not there.
//! What saves less than a hundredth is named too, as not worth it: that is an answer as well.

mod batch_class;
mod batches;
mod channels;
mod clock;
mod evidence;
mod fewer_processes;
mod fewer_syncs;
mod huge_pages;
mod in_flight;
mod kept_open;
mod larger_reads;
mod one_core;
mod pipelining;
mod processor_limit;
mod reuse_memory;
#[cfg(test)]
mod tests;

pub use evidence::Evidence;
use tollway_core::Placement;
use tollway_watch::FileKind;

use crate::bill::{Bill, Line, Of};
use crate::document::{TimeDocument, WhatIfDocument};
use crate::prices::{Price, Prices, user_side};
use crate::route::moves_bytes;

/// A share below which a change is not worth it.
pub(crate) const LEAST: f64 = 0.01;

/// A change that could be made.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Its name.
    pub name: &'static str,
    /// What would be changed.
    pub what: String,
    /// How that is done.
    pub how: String,
    /// Whether it can be made from outside.
    pub can_be_tried: bool,
    /// Whether it also saves what the program does in user mode, beside its calls' way into the kernel: a process that is not started does
    /// nothing there, and memory that is kept is in the caches.
    pub in_user_mode: bool,
    /// Processor time that it saves, in nanoseconds.
    pub saves: Price,
    /// Time that goes by less, where that is foretold.
    pub sooner: Option<Price>,
}

/// Every change that applies, the dearest first.
pub fn all(bill: &Bill, prices: &Prices<'_>) -> Vec<WhatIfDocument> {
    let ways: [fn(&Bill, &Prices<'_>) -> Option<Change>; 13] = [
        one_core::change,
        larger_reads::change,
        batches::change,
        batch_class::change,
        huge_pages::change,
        reuse_memory::change,
        clock::change,
        pipelining::change,
        in_flight::change,
        processor_limit::change,
        kept_open::change,
        fewer_syncs::change,
        fewer_processes::change,
    ];
    let mut changes: Vec<Change> = ways.iter().filter_map(|way| way(bill, prices)).collect();
    let worth =
        |change: &Change| change.saves.ns.max(change.sooner.as_ref().map_or(f64::MIN, |sooner| sooner.ns));
    changes.sort_by(|a, b| worth(b).total_cmp(&worth(a)));
    let crossings = in_crossings(bill, prices);
    changes.into_iter().map(|change| document_of(change, bill, &crossings)).collect()
}

/// The processor time that crossings take: the kernel's, and what their calls take in user mode; all of it where the kernel's is not known.
fn in_crossings(bill: &Bill, prices: &Prices<'_>) -> TimeDocument {
    let (made, _) = in_all(calls(bill).map(|(line, ..)| line));
    let user = prices.of(&user_side()).unwrap_or_default().times(made);
    match bill.kernel.filter(|kernel| kernel.is_sampled) {
        Some(kernel) => {
            let [ns, lo, hi] = [kernel.ns + user.ns, kernel.lo + user.lo, kernel.hi + user.hi];
            TimeDocument { ns: ns.min(bill.ran), lo: lo.min(bill.ran), hi: hi.min(bill.ran) }
        }
        None => TimeDocument { ns: bill.ran, lo: bill.ran, hi: bill.ran },
    }
}

fn document_of(change: Change, bill: &Bill, crossings: &TimeDocument) -> WhatIfDocument {
    // Nobody saves more than there is, whatever tolls and counts say.
    let most = |all: f64| if bill.ran > 0.0 { all } else { f64::INFINITY };
    let span = |price: &Price, all: f64| {
        let [ns, lo, hi] = [price.ns, price.lo, price.hi].map(|saved| saved.min(most(all)));
        TimeDocument { ns, lo, hi }
    };
    let saved = span(&change.saves, bill.ran);
    let saved = match change.in_user_mode {
        true => saved,
        false => TimeDocument {
            ns: saved.ns.min(most(crossings.ns)),
            lo: saved.lo.min(most(crossings.lo)),
            hi: saved.hi.min(most(crossings.hi)),
        },
    };
    let sooner = change.sooner.as_ref().map_or(0.0, |sooner| sooner.lo);
    WhatIfDocument {
        name: change.name.into(),
        what: change.what,
        how: change.how,
        can_be_tried: change.can_be_tried,
        is_worth_it: bill.ran > 0.0 && saved.lo > LEAST * bill.ran || sooner > LEAST * bill.watched,
        saves: saved,
        sooner: change.sooner.as_ref().map(|sooner| span(sooner, bill.watched)),
        tolls: change.saves.keys,
    }
}

/// Sleeps and wake-ups of a call from which on somebody waits for what it brings.
const TURNS: f64 = 0.3;

/// The lines of system calls that move bytes and that nobody waits for: where one end asks and the other
/// answers, calls cannot be gathered. Who waits at a pipe that goes one way waits for no answer.
fn gatherable(bill: &Bill) -> impl Iterator<Item = (&Line, &str, FileKind)> {
    calls(bill).filter(|(line, call, file)| {
        let waits = line.waits >= TURNS * line.count && !is_stream(bill, *file);
        moves_bytes(call) && !waits && !talks(bill, *file)
    })
}

/// The share of the time that goes by for which a program has to run for what it sends to itself to wait for
/// nothing else: what comes only now and then cannot be gathered without being late.
const BUSY: f64 = 0.25;

/// Whether such files are pipes by which a busy program sends itself what goes one way.
fn is_stream(bill: &Bill, file: FileKind) -> bool {
    file == FileKind::Pipe && bill.evidence.channels.has_streams && bill.ran > BUSY * bill.watched
}

/// The least share of calls on which anybody sleeps or is woken, where two talk: a program that reads what it wrote itself waits for nobody.
const WAITED: f64 = 0.01;

/// Whether one end asks and the other answers on such files.
fn talks(bill: &Bill, file: FileKind) -> bool {
    bill.evidence.channels.talk_by(file)
}

/// Messages between ends of which one asks and the other answers.
fn asked_and_answered(bill: &Bill) -> f64 {
    let of = calls(bill).filter(|(_, call, file)| moves_bytes(call) && talks(bill, *file));
    of.map(|(line, ..)| line.done()).sum()
}

/// What the tolls do not explain may be of these crossings as well as of others: small writes into a pipe take a page
/// each, which the toll's have at hand, and faults new memory. It is part of what may be saved at the most, as much of it as there may be.
fn with_unexplained(saves: Price, bill: &Bill) -> Price {
    let kernel = bill.kernel.filter(|kernel| kernel.is_sampled && bill.explained.ns > 0.0);
    let more = kernel.map_or(1.0, |kernel| kernel.hi / bill.explained.ns).max(1.0);
    Price { hi: (saves.hi * more).min(bill.ran).max(saves.ns), ..saves }
}

/// The files on which most of its sleeps and wake-ups are.
fn wait_mostly_on(bill: &Bill) -> FileKind {
    let most = calls(bill).max_by(|(one, ..), (other, ..)| one.waits.total_cmp(&other.waits));
    most.filter(|(line, ..)| line.waits > 0.0).map_or(FileKind::None, |(.., file)| file)
}

/// What it saves that nobody sleeps and is woken for each of so many messages, but for one in `several`.
fn turns_saved(bill: &Bill, messages: f64, several: f64) -> Price {
    let ways =
        [Placement::Same, Placement::Across].map(|placement| [Of::Sleep(placement), Of::Wake(placement)]);
    ways.iter().flatten().fold(Price::default(), |saves, of| {
        let count = passed(bill, of);
        let share = count.min(messages) / count.max(1.0) * (1.0 - 1.0 / several);
        saves.plus(&comes_to(bill, of).times(share))
    })
}

/// Whether a call waits for several files at once.
fn waits_for_several(call: &str) -> bool {
    matches!(call, "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "poll" | "ppoll" | "select" | "pselect6")
}

/// Whether a call that moves bytes brings them to the program.
fn is_read(call: &str) -> bool {
    call.contains("read") || call.starts_with("recv")
}

/// The lines of system calls, with name and file.
fn calls(bill: &Bill) -> impl Iterator<Item = (&Line, &str, FileKind)> {
    bill.lines.iter().filter_map(|line| match &line.of {
        Of::Call(name, file) => Some((line, name.as_str(), *file)),
        _ => None,
    })
}

/// How many these lines are of, and by which share of that it may be off.
fn in_all<'b>(lines: impl Iterator<Item = &'b Line>) -> (f64, f64) {
    let (count, off) =
        lines.fold((0.0, 0.0), |(count, off), line| (count + line.count, off + line.uncertainty));
    (count, if count > 0.0 { off / count } else { 0.0 })
}

/// How often a line of this kind was passed.
fn passed(bill: &Bill, of: &Of) -> f64 {
    bill.lines.iter().filter(|line| line.of == *of).map(|line| line.count).sum()
}

/// What lines of this kind come to.
fn comes_to(bill: &Bill, of: &Of) -> Price {
    let sums = bill.lines.iter().filter(|line| line.of == *of).filter_map(|line| line.sum.as_ref());
    sums.fold(Price::default(), |all, one| all.plus(one))
}

/// What is between two prices, each at its worst and best; may be less than 0.
fn difference(before: &Price, after: &Price) -> Price {
    let mut keys = before.keys.clone();
    keys.extend(after.keys.iter().filter(|key| !before.keys.contains(key)).cloned());
    Price {
        ns: before.ns - after.ns,
        lo: before.lo - after.hi,
        hi: before.hi - after.lo,
        keys,
        at_least: before.at_least,
    }
}
