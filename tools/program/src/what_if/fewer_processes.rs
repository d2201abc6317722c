//! Short processes that are not started.

use tollway_report::number::count;

use super::evidence::FORKS;
use super::{Change, calls};
use crate::bill::{Bill, Measured};
use crate::prices::{Faults, Price, Prices};

/// Short processes in a second from which on they are a habit: at 1 ms each (`evidence.rs`) these take three
/// hundredths of a processor.
const MANY: f64 = 30.0;
/// Processor time in nanoseconds that a small program takes to start and to end: 0.8 to 1.4 ms (`evidence.rs`).
/// `xargs -n 1 grep` with small files, at 1.2 ms each, lost 97 % of its processor time by `xargs -n 100`.
const START: f64 = 1.4e6;

pub(super) fn change(bill: &Bill, prices: &Prices<'_>) -> Option<Change> {
    let short = bill.evidence.short;
    if short.processes < MANY * (bill.watched / 1e9).max(1.0) {
        return None;
    }
    // Who starts them and waits for them: as the calls were stamped, as many as there are short processes.
    let mut started = 0.0;
    for (names, most) in [(&FORKS[..], 1.0), (&["wait4", "waitid"][..], 2.0)] {
        let of = || calls(bill).filter(|(_, call, _)| names.contains(call));
        let often: f64 = of().map(|(line, ..)| line.count).sum();
        let inside: f64 = of().filter_map(|(line, ..)| line.inside).sum();
        // A shell asks once for each, and once whether there is another.
        started += inside * (most * short.processes / often.max(1.0)).min(1.0);
    }
    let faults = prices.fault(Faults::NEW)?.times(short.faults);
    if short.inside <= 0.0 {
        // Nothing was stamped.
        return None;
    }
    // Whatever they do may be work that has to be done all the same: the least is that they begin and end for
    // nothing, the most is all their processor time. Faults that a call brings are stamped with it, and so are in
    // both sums: together they are no more than the kernel's part of that time.
    let most = (started + short.ran).min(bill.ran);
    let kernel = bill.kernel.filter(|kernel| kernel.is_sampled && bill.ran > 0.0);
    let part = |ns: fn(&Measured) -> f64| kernel.as_ref().map_or(1.0, |kernel| ns(kernel) / bill.ran);
    let begin_and_end =
        |faults: f64, part: f64| (started + (short.inside + faults).min(part * short.ran)).min(most);
    let lo = begin_and_end(faults.lo, part(|kernel| kernel.lo));
    let least = begin_and_end(faults.ns, part(|kernel| kernel.ns));
    let estimate = (started + short.ran.min(START * short.processes)).clamp(least, most);
    Some(Change {
        name: "fewer-processes",
        what: format!("{} short processes that are not started", count(short.processes)),
        how: "what the shell has built in instead of /bin/true, test, expr, cat; one process for many names \
              (xargs -n 100, find -exec … +); a worker that lives on"
            .into(),
        can_be_tried: false,
        in_user_mode: true,
        saves: Price { ns: estimate, lo, hi: most, ..faults },
        sooner: None,
    })
}
