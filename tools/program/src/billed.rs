//! The document of a program's bill, made of what was counted and of prices.

use tollway_core::{Placement, Result};
use tollway_host::memory;

use crate::apart::is_between_cores;
use crate::bill::{Bill, Line, Of};
use crate::document::{
    ApartDocument, AttributedDocument, BillDocument, LineDocument, PayerDocument, TimeDocument,
    WatchingDocument,
};
use crate::observed::Observed;
use crate::payers::{self, Payer, word};
use crate::per::Per;
use crate::prices::{Price, Prices};
use crate::what_if;

/// Payers that are named of each kind.
const NAMED: usize = 5;

impl BillDocument {
    /// Of a program that was watched, by these prices.
    ///
    /// # Errors
    /// What it is to be divided by makes no sense.
    pub fn of(observed: &Observed, prices: &Prices<'_>, per: Option<&str>) -> Result<BillDocument> {
        let bill = Bill::of(observed, prices);
        let per = Per::of(per, observed)?;
        let some = |payers: Vec<Payer>| {
            let named = payers.into_iter().take(NAMED);
            named.map(|payer| PayerDocument { name: payer.name, ns: payer.ns }).collect()
        };
        Ok(BillDocument {
            schema_version: 1,
            program: observed.title.clone(),
            watching: watching(observed, &bill),
            exit_code: observed.code(),
            ended_by: observed.signal(),
            per: per.unit,
            count: per.count,
            explained: time(&bill.explained),
            attributed: bill.attributed.map(|attributed| AttributedDocument {
                ns: attributed.ns(),
                measured: attributed.measured,
                by_tolls: attributed.by_tolls,
                interval: Some([attributed.lo, attributed.hi]),
            }),
            kernel: bill.kernel.map(|kernel| TimeDocument { ns: kernel.ns, lo: kernel.lo, hi: kernel.hi }),
            is_sampled: bill.kernel.is_some_and(|kernel| kernel.is_sampled),
            unexplained: bill
                .kernel
                .filter(|kernel| kernel.is_sampled)
                .map(|kernel| kernel.ns - bill.explained.ns),
            user: bill.user,
            ran: bill.ran,
            steal: observed.steal,
            memory_goes_back: memory::goes_back(),
            prices_noisy: None,
            prices_from: Vec::new(),
            apart: observed
                .there_and_back
                .filter(|_| is_between_cores(&bill))
                .and_then(|found| ApartDocument::of(found, prices)),
            what_if: what_if::all(&bill, prices),
            tried: Vec::new(),
            threads: some(payers::threads(observed, prices)),
            files: some(payers::files(observed, prices)),
            lines: bill.lines.iter().map(LineDocument::of).collect(),
        })
    }
}

impl LineDocument {
    fn of(line: &Line) -> LineDocument {
        let each =
            line.sum.as_ref().filter(|_| line.count > 0.0).map(|sum| time(&sum.times(1.0 / line.count)));
        LineDocument {
            what: what(&line.of),
            count: line.count,
            interval: (line.uncertainty > 0.0)
                .then(|| [(line.count - line.uncertainty).max(0.0), line.count + line.uncertainty]),
            is_estimate: line.is_estimate,
            failed: line.failed,
            bytes: line.bytes,
            names: (line.paths.paths > 0).then(|| line.paths.names as f64 / line.paths.paths as f64),
            each,
            sum: line.sum.as_ref().map(time),
            at_least: line.sum.as_ref().is_some_and(|sum| sum.at_least),
            inside: line.inside,
            away: line.away,
            measured: line.measured,
            waits_by_tolls: line.waits_by_tolls,
            tolls: line.sum.as_ref().map(|sum| sum.keys.clone()).unwrap_or_default(),
        }
    }
}

fn watching(observed: &Observed, bill: &Bill) -> WatchingDocument {
    let ns = |time: std::time::Duration| time.as_secs_f64() * 1e9;
    WatchingDocument {
        by: observed.by.into(),
        watched_s: observed.counts.watched.as_secs_f64(),
        counted_s: observed.counts.counted.as_secs_f64(),
        numbered_s: observed.counts.numbered.as_secs_f64(),
        lost: observed.counts.lost,
        call_ns: observed.cost.map(|cost| ns(cost.call)),
        call_on_file_ns: observed.cost.map(|cost| ns(cost.call_on_file)),
        share: if bill.counting > 0.0 { bill.counting / (bill.ran + bill.counting) } else { 0.0 },
        unseen: observed.unseen.clone(),
        disturbs: observed.disturbs,
    }
}

pub(crate) fn time(price: &Price) -> TimeDocument {
    TimeDocument { ns: price.ns, lo: price.lo, hi: price.hi }
}

/// A line's name.
fn what(of: &Of) -> String {
    let from = |placement: &Placement| match placement {
        Placement::Same => "on the same core",
        Placement::Across => "from another core",
    };
    match of {
        Of::Call(call, file) => match word(*file) {
            "" => call.clone(),
            file => format!("{call} · {file}"),
        },
        Of::Wake(Placement::Same) => "waking who slept on the same core".into(),
        Of::Wake(Placement::Across) => "waking who slept on another core, which was idle".into(),
        Of::WakeBusy => "waking who slept on another core, which was busy".into(),
        Of::Sleep(placement) => format!("sleep, woken {}", from(placement)),
        Of::AnySleep => "sleep".into(),
        Of::Preemption => "switches against its will".into(),
        Of::Fault => "minor page faults".into(),
        Of::FaultInCall => "minor page faults within calls".into(),
        Of::MajorFault => "major page faults".into(),
        Of::PageBack => "pages given back by who ended".into(),
        Of::PageBackInCall => "pages given back by calls".into(),
        Of::Signal => "signals delivered".into(),
        Of::Timer => "local timer interrupts".into(),
        Of::Interrupt => "other interrupts taken".into(),
        Of::Operation => "io_uring operations".into(),
        Of::Exit => "exits of virtual processors".into(),
        Of::Workers => "threads of the kernel (io_uring, vhost)".into(),
    }
}
