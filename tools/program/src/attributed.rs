//! Kernel time put down to lines as it was measured: to calls by their own stamps.
//!
//! It stands beside what tolls explain and is never added to that. A call's stamps are taken by the programs at its beginning and its end, so they
//! have in them what counting adds between the two, and have not the way into the kernel and out of it. The first is what an empty
//! call is stamped with, measured on this machine just before; the second is what an empty call costs the kernel, by its toll.

use tollway_watch::FileKind;

use crate::bill::{Line, Measured, Of};
use crate::observed::Observed;
use crate::prices::{Price, Prices};

/// By how much what counting adds between two stamps may be off, as a share: three bills of one `dd | cat`, and four of a
/// loop of getppid, differed by less.
pub(crate) const STAMPS: f64 = 0.15;

/// Kernel time that is put down to lines, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Attributed {
    /// To calls, as they were measured.
    pub measured: f64,
    /// To what no stamp sees (page faults, interrupts, switches against a thread's will, calls that never come back), by its tolls.
    pub by_tolls: f64,
    /// The 95 % interval of both together: of counts that are estimates, and of tolls.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
}

impl Attributed {
    /// Of all lines; `None` where no call was measured.
    pub fn of(lines: &[Line]) -> Option<Attributed> {
        let measured: f64 = lines.iter().filter_map(|line| line.measured).sum();
        let off_by: f64 = lines.iter().filter_map(|line| Some(line.measured? * line.off_by())).sum();
        let others = lines.iter().filter(|line| line.measured.is_none() && !is_within_calls(&line.of));
        let others = others.filter_map(|line| line.sum.as_ref());
        let others = others.fold(Price::default(), |all, one| all.plus(one));
        let (lo, hi) = (measured - off_by + others.lo, measured + off_by + others.hi);
        (measured > 0.0).then_some(Attributed { measured, by_tolls: others.ns, lo: lo.max(0.0), hi })
    }

    /// All of it.
    pub fn ns(&self) -> f64 {
        self.measured + self.by_tolls
    }
}

/// Whether what a line is of happens within calls, whose stamps have it.
fn is_within_calls(of: &Of) -> bool {
    matches!(
        of,
        Of::Wake(_) | Of::WakeBusy | Of::Sleep(_) | Of::AnySleep | Of::FaultInCall | Of::PageBackInCall
    )
}

/// What counting adds between the two stamps of a call, in nanoseconds.
pub(crate) fn stamped(observed: &Observed) -> f64 {
    observed.cost.map_or(0.0, |cost| cost.stamped.as_secs_f64() * 1e9)
}

/// Notes with each line of calls what they were measured to take, where stamps tell.
pub(crate) fn measure(lines: &mut [Line], observed: &Observed, prices: &Prices<'_>) {
    let stamped = stamped(observed);
    let Some(empty) = prices.call("getppid", FileKind::None, 0.0, false).map(|price| price.ns) else {
        return;
    };
    if observed.disturbs || stamped <= 0.0 {
        return;
    }
    for line in lines {
        let inside = line.inside.filter(|inside| *inside > 0.0 && matches!(line.of, Of::Call(..)));
        line.measured = inside.map(|inside| (inside - line.count * stamped).max(0.0) + line.count * empty);
    }
}

/// Kernel time in calls, the way in and out with it, by their stamps; `None` where no call was measured. Its interval is that
/// of what counting adds between the two stamps, and of counts that are estimates.
pub(crate) fn in_calls(lines: &[Line], observed: &Observed) -> Option<Measured> {
    let calls = || lines.iter().filter_map(|line| Some((line, line.measured?)));
    let ns: f64 = calls().map(|(_, ns)| ns).sum();
    let added = stamped(observed) * STAMPS;
    let off: f64 = calls().map(|(line, ns)| line.count * added + ns * line.off_by()).sum();
    (ns > 0.0).then_some(Measured { ns, lo: (ns - off).max(0.0), hi: ns + off, is_sampled: false })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tollway_core::{Crossing, Toll, TollKey, TollSource};
    use tollway_watch::kernel::Cost;
    use tollway_watch::{Calls, Counts, Moments, Thread, numbers};

    use super::*;
    use crate::bill::Bill;
    use crate::document::BillDocument;
    use crate::made_up;

    /// An empty call costs 110 ns, 10 of them in user mode; a page fault 1,000.
    struct Few;

    impl TollSource for Few {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            let ns = match (key.crossing, key.kind.as_deref()) {
                (Crossing::Getppid, None) => 110.0,
                (Crossing::SystemCall, Some("user-side")) => 10.0,
                (Crossing::MinorFault, None) => 1_000.0,
                _ => return None,
            };
            Some(made_up::toll(key, ns, 0.0))
        }
    }

    fn calls(name: &str, count: u64, inside: u64) -> Calls {
        let number = (0..500).find(|number| numbers::name(*number) == Some(name)).unwrap();
        Calls { number, count, inside: Some(Duration::from_nanos(inside * count)), ..Calls::default() }
    }

    /// A thread that was in the kernel for half of two seconds.
    fn observed(all: Vec<Calls>, minor: u64) -> Observed {
        let second = Duration::from_secs(1);
        let thread = Thread {
            number: 1,
            process: 1,
            calls: all,
            moments: Moments { minor: Some(minor), ..Moments::default() },
            user: Some(second),
            system: Some(second),
            ran: Some(2 * second),
            ..Thread::default()
        };
        let watched = 2 * second;
        let counts = Counts { threads: vec![thread], watched, counted: watched, ..Counts::default() };
        let cost = Some(Cost { stamped: Duration::from_nanos(150), ..Cost::default() });
        Observed { cost, ..made_up::observed(counts) }
    }

    #[test]
    fn the_dearest_call_stands_first_though_it_has_no_toll() {
        let observed =
            observed(vec![calls("getpid", 1_000_000, 150), calls("getdents64", 50_000, 18_150)], 1_000);
        let prices = Prices(&Few);
        let bill = Bill::of(&observed, &prices);
        let first = &bill.lines[0];
        assert_eq!(first.of, Of::Call("getdents64".into(), FileKind::None));
        // 18 µs are left of its stamps, and the way in and out is 100 ns.
        assert_eq!(first.measured.map(f64::round), Some(50_000.0 * 18_100.0));
        let attributed = bill.attributed.unwrap();
        assert_eq!(attributed.measured.round(), 905e6 + 100e6);
        assert_eq!(attributed.by_tolls.round(), 1e6);
        // What tolls explain has nothing of it: an empty call each, and the faults.
        assert_eq!(bill.explained.ns.round(), 1_050_000.0 * 100.0 + 1e6);
        let document = BillDocument::of(&observed, &prices, None).unwrap();
        assert_eq!(document.lines[0].what, "getdents64");
        let text = document.to_text(None);
        assert!(text.contains("  of it in getdents64"), "{text}");
        // Of 500 ms that were found by samples of 4 ms: the half of 250, to 9 %.
        assert!(text.contains("101 % attributed [92 %, 110 %]"), "{text}");
        assert!(text.contains("11 % explained [9.7 %, 12 %]"), "{text}");
    }

    /// Of 100,000 empty calls the way in and out is all there is: it was left out, and 0.2 to 0.8 ms were said to be exact.
    #[test]
    fn what_stamps_tell_of_a_short_program_has_the_way_in_and_out_and_an_interval() {
        let mut observed = observed(vec![calls("getpid", 100_000, 152)], 0);
        let second = Duration::from_millis(10);
        let thread = &mut observed.counts.threads[0];
        (thread.user, thread.system, thread.ran) = (Some(second / 2), Some(second / 2), Some(second));
        let kernel = Bill::of(&observed, &Prices(&Few)).kernel.unwrap();
        // 2 ns beyond an empty one's stamps, 100 of an empty call; 15 % of the 150 that counting adds.
        let found = [kernel.ns, kernel.lo, kernel.hi].map(f64::round);
        assert_eq!((found, kernel.is_sampled), ([10.2e6, 7.95e6, 12.45e6], false));
    }

    #[test]
    fn more_than_all_has_a_reason_beside_it() {
        let bill = |observed| BillDocument::of(&observed, &Prices(&Few), None).unwrap();
        let more = bill(observed(vec![calls("getpid", 1_000_000, 1_050)], 400_000));
        let reason = "140 % attributed [127 %, 153 %]: page faults and interrupts within calls";
        assert!(more.to_text(None).contains(reason), "{}", more.to_text(None));
        // A terminal has no room for that in a column.
        let narrow = more.to_text(Some(80));
        let folded = "  140 % attributed\n  [127 %, 153 %]: page faults and interrupts within calls";
        assert!(narrow.contains(folded), "{narrow}");
        assert!(narrow.lines().all(|line| line.chars().count() <= 80), "{narrow}");
        let cheaper = bill(observed(vec![calls("getpid", 14_000_000, 151)], 0)).to_text(None);
        assert!(cheaper.contains("140 % explained [127 %, 153 %]: "), "{cheaper}");
    }

    /// Node reads files into new memory: four in ten of its faults come as the kernel copies to it, and stamps have those.
    #[test]
    fn page_faults_within_calls_are_put_down_once() {
        let mut observed = observed(vec![calls("getpid", 1_000_000, 1_050)], 10_000);
        observed.counts.threads[0].moments.in_user = Some(6_000);
        let bill = Bill::of(&observed, &Prices(&Few));
        let line = |of: Of| bill.lines.iter().find(|line| line.of == of).map(|line| line.count);
        assert_eq!([line(Of::Fault), line(Of::FaultInCall)], [Some(6_000.0), Some(4_000.0)]);
        assert_eq!(bill.attributed.unwrap().by_tolls.round(), 6e6);
        assert_eq!(bill.explained.ns.round(), 100e6 + 10e6);
        // Faults that come to nothing are seen as well: there may be more of them than the kernel counts.
        observed.counts.threads[0].moments.in_user = Some(10_100);
        let bill = Bill::of(&observed, &Prices(&Few));
        assert_eq!(bill.attributed.unwrap().by_tolls.round(), 10e6);
        assert!(bill.lines.iter().all(|line| line.of != Of::FaultInCall));
    }

    /// A page costs 200 ns to give back, and unmapping 1,000 by itself.
    struct Memory;

    impl TollSource for Memory {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            let ns = match (key.crossing, key.kind.as_deref()) {
                (Crossing::SystemCall, Some("munmap")) => 1_000.0,
                // Of 16 pages.
                (Crossing::SystemCall, Some("munmap-touched")) => 4_200.0,
                _ => return Few.toll(key),
            };
            Some(made_up::toll(key, ns, 0.0))
        }
    }

    /// A loop of lists in Python had each of its pages put down twice: by brk's stamps and at the end.
    #[test]
    fn pages_are_given_back_once() {
        let pages = |munmaps: Vec<Calls>| {
            let mut all = munmaps;
            all.push(calls("exit_group", 1, 0));
            let bill = Bill::of(&observed(all, 10_000), &Prices(&Memory));
            let of = |of: Of| {
                let line = bill.lines.iter().find(|line| line.of == of);
                line.map(|line| (line.count.round(), line.sum.as_ref().unwrap().ns.round()))
            };
            let by_tolls = bill.attributed.map_or(0.0, |all| all.by_tolls).round();
            (of(Of::PageBack), of(Of::PageBackInCall), by_tolls)
        };
        const FAULTS: f64 = 10e6;
        let at_the_end = Some((10_000.0, 2e6));
        assert_eq!(pages(Vec::new()), (at_the_end, None, 0.0));
        // Its stamps are what its toll is, less the way in and out and what counting adds.
        let (end, before, by_tolls) = pages(vec![calls("munmap", 80, 1_040)]);
        assert_eq!((end, before), (at_the_end, None));
        let exit = by_tolls - FAULTS - 2e6;
        // Each of 80 gives 100 pages back: tolls explain these as well, and stamps have them already.
        let found = pages(vec![calls("munmap", 80, 21_040)]);
        assert_eq!(found, (Some((2_000.0, 4e5)), Some((8_000.0, 1.6e6)), FAULTS + 4e5 + exit));
        let found = pages(vec![calls("munmap", 200, 21_040)]);
        assert_eq!(found, (None, at_the_end, FAULTS + exit));
    }

    #[test]
    fn a_screen_has_the_sum_and_as_many_lines_as_fit() {
        let names =
            ["getpid", "getdents64", "openat", "close", "read", "newfstatat", "mmap", "munmap", "lseek"];
        let all = (1..).zip(names).map(|(times, name)| calls(name, times * 1_000, 1_050)).collect();
        let document = BillDocument::of(&observed(all, 1_000), &Prices(&Few), None).unwrap();
        let lines = |screen: &str| names.iter().filter(|name| screen.contains(&format!("{name} "))).count();
        for (width, rows) in [(100, 40), (80, 24), (80, 14), (60, 14), (40, 20)] {
            let screen = document.to_screen(Some(width), Some(rows));
            assert!(screen.lines().count() < rows, "{width}×{rows}:\n{screen}");
            assert!(screen.lines().all(|line| line.chars().count() <= width), "{width}×{rows}:\n{screen}");
            let words = screen.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                words.contains("sum of the tolls") && words.contains("lseek"),
                "{width}×{rows}:\n{screen}"
            );
        }
        let lines_at = |rows| lines(&document.to_screen(Some(80), Some(rows)));
        assert!(lines_at(40) == names.len() && lines_at(12) < names.len() && lines_at(12) > 1);
    }

    #[test]
    fn calls_without_stamps_are_not_measured() {
        let mut observed = observed(vec![calls("getpid", 1_000, 150), calls("exit_group", 1, 0)], 0);
        let exit = |bill: &Bill| {
            bill.lines
                .iter()
                .find(|line| line.of == Of::Call("exit_group".into(), FileKind::None))
                .unwrap()
                .measured
        };
        assert_eq!(exit(&Bill::of(&observed, &Prices(&Few))), None);
        observed.cost = None;
        let bill = Bill::of(&observed, &Prices(&Few));
        assert!(bill.attributed.is_none() && bill.lines.iter().all(|line| line.measured.is_none()));
    }
}
