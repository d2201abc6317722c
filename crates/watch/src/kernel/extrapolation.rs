//! Estimate of what threads did while it was not counted: each gap between two slices from the slices beside it.
//!
//! The measure of a gap is the processor time that the thread had in it, which the kernel knows exactly. A slice
//! tells how often a thread made each call for each second of *work*: its processor time less what counting took of
//! it, as a thread that is counted gets less done in a second. The timer alone goes on meanwhile. A gap takes half of
//! its rate from the slice before it and half from the one after. One rate for the whole of a program would be wrong for programs with phases: the
//! dearer a slice is, the longer is the gap behind it, so phases with more calls are in fewer slices.
//!
//! Reads, writes and voluntary switches of each thread are counted by the kernel at all times; their estimates are
//! scaled to these.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use crate::counts::{Calls, Counted, File, Moments, Thread};
use crate::numbers;

/// Work without which a slice says nothing of a thread, in seconds.
const MIN_WORK: f64 = 2e-4;
/// Of its processor time a counted thread works at least this part: less is an error of what counting costs.
const MIN_SHARE: f64 = 0.02;
/// Calls by which a thread ends.
const ENDS: [u32; 2] = [libc::SYS_exit as u32, libc::SYS_exit_group as u32];
/// Crossings without which the kernel's own count scales nothing.
const MIN_KNOWN: f64 = 50.0;
/// By how much a gap that has a slice on one side only may be off, where nothing else is known.
const ONE_SIDED: f64 = 0.25;
/// By how much the cost of counting an event may be off. In eight bills of a loop of getppid on a virtual machine
/// (AMD EPYC, Linux 6.18) it was measured as 262 to 285 ns, where the loop itself became 285 to 304 ns a call slower:
/// 0 to 10 % too little. Chosen after bills of that loop had missed the truth with 3 %.
const COST_ERROR: f64 = 0.07;
/// That rates of neighboring slices are alike is known beforehand: as much as so many gaps tell.
const KNOWN_BEFORE: usize = 2;
/// Student's t at 97.5 % for 1, 2, … degrees of freedom.
const T: [f64; 8] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31];
const T_MANY: f64 = 1.96;

/// A call by number and file; `None` stands for what is no call.
type Key = Option<(u32, File)>;
/// Of calls: count, failures, results, seconds inside and away, sleeps, and three kinds of wake-ups. Of the others
/// as in [`figures_of_moments`].
type Figures = [f64; 9];
type Table = HashMap<Key, Figures>;
/// Which of the figures of no call are the timer's interrupts.
const TICKS: usize = 4;

/// What is known of a thread at a moment.
pub(super) struct Standing<'t> {
    /// The slot that it has as long as it lives.
    pub slot: u32,
    pub thread: &'t Thread,
    /// Seconds on a processor, in its whole life.
    pub ran: f64,
    /// Seconds on a processor while it was counted, and what counting took of these.
    pub counted: f64,
    pub cost: f64,
    /// Reads and writes since it was first watched, by the kernel's own account.
    pub moved: u64,
}

/// The estimate of all threads.
#[derive(Default)]
pub(super) struct Extrapolation {
    living: HashMap<u32, Progress>,
    ended: BTreeMap<(u32, String), Estimate>,
    /// What threads of a name did in slices, and for how much work: for those that were in none.
    rates: HashMap<String, Slice>,
}

/// A thread at the end of its last slice.
#[derive(Clone, Default)]
struct Progress {
    seen: Table,
    ran: f64,
    counted: f64,
    cost: f64,
    last: Option<Slice>,
    estimate: Estimate,
}

/// What a thread did in a slice, in seconds of work, of which counting took `cost` more.
#[derive(Clone, Default)]
struct Slice {
    did: Table,
    work: f64,
    cost: f64,
}

impl Slice {
    /// How long the thread ran in it.
    fn time(&self) -> f64 {
        self.work + self.cost
    }
}

/// What was done in gaps.
#[derive(Clone, Default)]
struct Estimate {
    did: Table,
    /// Sums of squared errors, and errors that all gaps have in common.
    squares: BTreeMap<Counted, f64>,
    common: BTreeMap<Counted, f64>,
    /// Gaps that have a slice on both sides.
    gaps: usize,
    /// Seconds in gaps that had a slice on no side.
    unattributed: f64,
}

/// The result.
pub(super) struct Estimated {
    /// What was done while it was not counted; in the order in which threads were asked for.
    pub extra: Vec<Thread>,
    /// Half of the 95 % interval of counts.
    pub uncertainty: BTreeMap<Counted, f64>,
}

impl Extrapolation {
    /// Everything was counted up to now; rates are taken from here on.
    pub fn begin_at(&mut self, one: &Standing<'_>) {
        let progress = Progress {
            seen: figures(one.thread),
            ran: one.ran,
            counted: one.counted,
            cost: one.cost,
            ..Progress::default()
        };
        self.living.insert(one.slot, progress);
    }

    /// A slice ends. There is a gap before it, unless all was counted so far.
    pub fn pause(&mut self, one: &Standing<'_>, has_gap: bool) {
        let mut progress = self.living.remove(&one.slot).unwrap_or_default();
        let (mut slice, gap) = progress.next(one);
        let rate = self.rates.entry(one.thread.name.clone()).or_default();
        add(&mut rate.did, &slice.did, 1.0);
        rate.work += slice.work;
        rate.cost += slice.cost;
        // A thread ends once, and not as often in each gap.
        slice.did.retain(|key, _| key.is_none_or(|(number, _)| !ENDS.contains(&number)));
        if has_gap {
            progress.estimate.attribute(gap, progress.last.as_ref(), Some(&slice));
        }
        // A thread that slept all the time leaves the rate that it had.
        if slice.work >= MIN_WORK || progress.last.is_none() {
            progress.last = Some(slice);
        }
        self.living.insert(one.slot, progress);
    }

    /// A thread has ended, after a pause in its life or before.
    pub fn end(&mut self, one: &Standing<'_>, has_gap: bool) {
        self.pause(one, has_gap);
        let Some(progress) = self.living.remove(&one.slot) else { return };
        if !has_gap {
            return;
        }
        let mut estimate = progress.estimate;
        self.attribute_by_name(&one.thread.name, &mut estimate);
        estimate.scale_to(one);
        self.ended.entry((one.thread.process, one.thread.name.clone())).or_default().add(&estimate);
    }

    /// What all did in gaps so far: of those that have ended, by process and name, and of those that live.
    pub fn of(&self, ended: &[(u32, String)], living: &[Standing<'_>]) -> Estimated {
        let mut all = Estimate::default();
        let mut extra = Vec::new();
        let mut found = |name: &str, mut estimate: Estimate| {
            self.attribute_by_name(name, &mut estimate);
            extra.push(thread(&estimate.did));
            all.add(&estimate);
        };
        for key in ended {
            found(&key.1, self.ended.get(key).cloned().unwrap_or_default());
        }
        for one in living {
            let estimate = match self.living.get(&one.slot) {
                Some(progress) => {
                    let gap = progress.gap(one);
                    let mut estimate = progress.estimate.clone();
                    estimate.attribute(gap, progress.last.as_ref(), None);
                    estimate.scale_to(one);
                    estimate
                }
                None => Estimate { unattributed: (one.ran - one.counted).max(0.0), ..Estimate::default() },
            };
            found(&one.thread.name, estimate);
        }
        Estimated { extra, uncertainty: all.uncertainty() }
    }
}

impl Extrapolation {
    /// Time of a thread that was in no slice: it did what others of its name do.
    fn attribute_by_name(&self, name: &str, estimate: &mut Estimate) {
        if estimate.unattributed > 0.0
            && let Some(rate) = self.rates.get(name)
        {
            let gap = std::mem::take(&mut estimate.unattributed);
            estimate.attribute(gap, None, Some(rate));
        }
    }
}

impl Progress {
    /// How long the thread ran since the end of its last slice while it was not counted.
    fn gap(&self, one: &Standing<'_>) -> f64 {
        (one.ran - self.ran - (one.counted - self.counted)).max(0.0)
    }

    /// What it did since then, and how long it was not counted.
    fn next(&mut self, one: &Standing<'_>) -> (Slice, f64) {
        let gap = self.gap(one);
        let (counted, cost) = (one.counted - self.counted, one.cost - self.cost);
        let seen = figures(one.thread);
        let mut did = seen.clone();
        add(&mut did, &self.seen, -1.0);
        did.retain(|_, figures| figures.iter().any(|figure| *figure > 0.0));
        let slice = Slice { did, work: (counted - cost).max(counted * MIN_SHARE), cost };
        (self.seen, self.ran, self.counted, self.cost) = (seen, one.ran, one.counted, one.cost);
        (slice, gap)
    }
}

impl Estimate {
    /// A gap of so many seconds between two slices.
    fn attribute(&mut self, gap: f64, before: Option<&Slice>, after: Option<&Slice>) {
        if gap <= 0.0 {
            return;
        }
        let says = |slice: &&Slice| slice.work >= MIN_WORK;
        let (before, after) = (before.filter(says), after.filter(says));
        let slices: Vec<&Slice> = before.into_iter().chain(after).collect();
        if slices.is_empty() {
            self.unattributed += gap;
            return;
        }
        let part = gap / slices.len() as f64;
        let mut rates: BTreeMap<Counted, [f64; 2]> = BTreeMap::new();
        for (at, slice) in slices.iter().enumerate() {
            add(&mut self.did, &slice.did, part / slice.work);
            let ticks = slice.did.get(&None).map_or(0.0, |figures| figures[TICKS]);
            self.did.entry(None).or_default()[TICKS] +=
                ticks * part * (1.0 / slice.time() - 1.0 / slice.work);
            for (of, count) in slice.did.iter().flat_map(|(key, figures)| counted(key, figures)) {
                let (time, error) = match of {
                    Counted::Ticks => (slice.time(), 0.0),
                    _ => (slice.work, COST_ERROR * slice.cost / slice.work),
                };
                rates.entry(of).or_default()[at] += count / time;
                *self.common.entry(of).or_default() += count * part / time * error;
            }
        }
        self.gaps += slices.len() - 1;
        for (of, [one, other]) in rates {
            // Each slice stands on both sides of itself, so the errors of neighboring gaps are not independent:
            // for equal gaps and rates of one variance this is the variance of the sum.
            let error = match slices.len() {
                2 => (one - other) / std::f64::consts::SQRT_2,
                _ => one * ONE_SIDED,
            };
            *self.squares.entry(of).or_default() += (gap * error).powi(2);
        }
    }

    /// Scales reads and writes, and sleeps, to what the kernel counted of them.
    fn scale_to(&mut self, one: &Standing<'_>) {
        let is_moved = |key: &Key| key.is_some_and(|(number, _)| numbers::is_accounted(number));
        let calls = one.thread.calls.iter().filter(|calls| numbers::is_accounted(calls.number));
        let counted: u64 = calls.map(|calls| calls.count).sum();
        let missing = one.moved.saturating_sub(counted) as f64;
        let moved = |table: &Table| -> f64 {
            table.iter().filter(|(key, _)| is_moved(key)).map(|(_, figures)| figures[0]).sum()
        };
        let estimated = moved(&self.did);
        if missing < MIN_KNOWN || estimated < MIN_KNOWN {
            return;
        }
        let scale = missing / estimated;
        for (_, figures) in self.did.iter_mut().filter(|(key, _)| is_moved(key)) {
            figures.iter_mut().for_each(|figure| *figure *= scale);
        }
        // Their sum is exact: what is uncertain is which of them they were.
        let parts: BTreeMap<Counted, f64> =
            self.did.iter().filter(|(key, _)| is_moved(key)).fold(BTreeMap::new(), |mut parts, one| {
                if let (Some((number, file)), figures) = one {
                    *parts.entry(Counted::Call(*number, file.kind)).or_default() += figures[0] / missing;
                }
                parts
            });
        for (of, part) in parts {
            let others = (1.0 - part).max(0.0);
            self.squares.entry(of).and_modify(|square| *square *= others * others);
            self.common.entry(of).and_modify(|error| *error *= others);
        }
    }

    fn add(&mut self, other: &Estimate) {
        add(&mut self.did, &other.did, 1.0);
        for (of, square) in &other.squares {
            *self.squares.entry(*of).or_default() += square;
        }
        for (of, error) in &other.common {
            *self.common.entry(*of).or_default() += error;
        }
        self.gaps += other.gaps;
        self.unattributed += other.unattributed;
    }

    fn uncertainty(&self) -> BTreeMap<Counted, f64> {
        let t = T.get(self.gaps + KNOWN_BEFORE - 1).copied().unwrap_or(T_MANY + 2.5 / self.gaps as f64);
        let half = |(of, square): (&Counted, &f64)| {
            (*of, t * square.sqrt() + self.common.get(of).copied().unwrap_or(0.0))
        };
        self.squares.iter().map(half).collect()
    }
}

fn add(table: &mut Table, other: &Table, times: f64) {
    for (key, figures) in other {
        let sum = table.entry(*key).or_default();
        for (sum, figure) in sum.iter_mut().zip(figures) {
            *sum += figure * times;
        }
    }
}

/// Figures of a thread of which all that is counted only in slices is known.
fn figures(thread: &Thread) -> Table {
    let many = |count: Option<u64>| count.unwrap_or(0) as f64;
    let long = |time: Option<Duration>| time.unwrap_or_default().as_secs_f64();
    let calls = thread.calls.iter().map(|calls| {
        let figures = [
            calls.count as f64,
            many(calls.failed),
            many(calls.results),
            long(calls.inside),
            long(calls.away),
            many(calls.slept),
            many(calls.woke_here),
            many(calls.woke_across),
            many(calls.woke_busy),
        ];
        (Some((calls.number, calls.file)), figures)
    });
    calls.chain([(None, figures_of_moments(&thread.moments))]).collect()
}

/// What of these figures is counted in slices alone.
fn counted(key: &Key, figures: &Figures) -> Vec<(Counted, f64)> {
    let all = match key {
        Some((number, file)) => vec![
            (Counted::Call(*number, file.kind), figures[0]),
            (Counted::WakesHere, figures[6]),
            (Counted::WakesAcross, figures[7]),
            (Counted::WakesBusy, figures[8]),
        ],
        None => vec![
            (Counted::Signals, figures[2]),
            (Counted::Interrupts, figures[3]),
            (Counted::Ticks, figures[TICKS]),
            (Counted::Operations, figures[5]),
            (Counted::Exits, figures[6]),
        ],
    };
    all.into_iter().filter(|(_, count)| *count > 0.0).collect()
}

fn figures_of_moments(moments: &Moments) -> Figures {
    let many = |count: Option<u64>| count.unwrap_or(0) as f64;
    [
        many(moments.woken_here),
        many(moments.woken_across),
        many(moments.signals),
        many(moments.interrupts),
        many(moments.ticks),
        many(moments.operations),
        many(moments.exits),
        many(moments.migrations),
        0.0,
    ]
}

/// A thread of these figures; what the kernel counts at all times is in none.
fn thread(table: &Table) -> Thread {
    let many = |figure: f64| Some(figure.max(0.0).round() as u64);
    let long = |figure: f64| Some(Duration::from_secs_f64(figure.max(0.0)));
    let mut thread = Thread::default();
    for (key, figures) in table {
        let [a, b, c, d, e, f, g, h, i] = *figures;
        match key {
            Some((number, file)) => thread.calls.push(Calls {
                number: *number,
                file: *file,
                count: a.max(0.0).round() as u64,
                failed: many(b),
                results: many(c),
                inside: long(d),
                away: long(e),
                slept: many(f),
                woke_here: many(g),
                woke_across: many(h),
                woke_busy: many(i),
            }),
            None => {
                thread.moments = Moments {
                    woken_here: many(a),
                    woken_across: many(b),
                    signals: many(c),
                    interrupts: many(d),
                    ticks: many(e),
                    operations: many(f),
                    exits: many(g),
                    migrations: many(h),
                    ..Moments::default()
                };
            }
        }
    }
    thread.calls.retain(|calls| calls.count > 0);
    thread.calls.sort_by_key(|calls| (calls.number, calls.file));
    thread
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counts::FileKind;

    const GETPPID: u32 = libc::SYS_getppid as u32;
    const READ: u32 = libc::SYS_read as u32;
    /// Seconds that counting adds to a call.
    const COST: f64 = 290e-9;

    /// A thread in simulation: calls that take some time each, which counting makes longer.
    #[derive(Default)]
    struct Simulated {
        calls: BTreeMap<u32, f64>,
        ran: f64,
        counted: f64,
        cost: f64,
        made: BTreeMap<u32, f64>,
    }

    impl Simulated {
        /// Makes a call for so many seconds, each of which takes `natural` seconds by itself.
        fn runs(&mut self, number: u32, seconds: f64, natural: f64, is_counted: bool) {
            let calls = seconds / (natural + if is_counted { COST } else { 0.0 });
            self.ran += seconds;
            *self.made.entry(number).or_default() += calls;
            if is_counted {
                self.counted += seconds;
                self.cost += calls * COST;
                *self.calls.entry(number).or_default() += calls;
            }
        }

        fn thread(&self) -> Thread {
            let calls = self.calls.iter().map(|(number, count)| Calls {
                number: *number,
                count: count.round() as u64,
                ..Calls::default()
            });
            Thread { number: 7, process: 7, calls: calls.collect(), ..Thread::default() }
        }

        fn standing<'t>(&self, thread: &'t Thread) -> Standing<'t> {
            let moved = self.made.get(&READ).copied().unwrap_or(0.0).round() as u64;
            let (ran, counted, cost) = (self.ran, self.counted, self.cost);
            Standing { slot: 7, thread, ran, counted, cost, moved }
        }

        fn pauses(&self, estimate: &mut Extrapolation, has_gap: bool) {
            let thread = self.thread();
            estimate.pause(&self.standing(&thread), has_gap);
        }

        /// The estimate of a call's number, its half interval, and the truth.
        fn all(&self, estimate: &Extrapolation, number: u32) -> (f64, f64, f64) {
            let thread = self.thread();
            let found = estimate.of(&[], &[self.standing(&thread)]);
            let extra = found.extra[0].calls.iter().find(|calls| calls.number == number);
            let count =
                self.calls.get(&number).copied().unwrap_or(0.0) + extra.map_or(0, |calls| calls.count) as f64;
            let half = found.uncertainty.get(&Counted::Call(number, FileKind::None)).copied().unwrap_or(0.0);
            (count, half, self.made[&number])
        }
    }

    #[test]
    fn calls_that_counting_makes_four_times_as_long_are_not_counted_too_few() {
        let (mut thread, mut estimate) = (Simulated::default(), Extrapolation::default());
        thread.runs(GETPPID, 0.1, 115e-9, true);
        let told = thread.thread();
        estimate.begin_at(&thread.standing(&told));
        thread.runs(GETPPID, 0.1, 115e-9, true);
        thread.pauses(&mut estimate, false);
        for _ in 0..3 {
            thread.runs(GETPPID, 0.9, 115e-9, false);
            thread.runs(GETPPID, 0.02, 115e-9, true);
            thread.pauses(&mut estimate, true);
        }
        thread.runs(GETPPID, 0.4, 115e-9, false);
        let (count, half, made) = thread.all(&estimate, GETPPID);
        assert!((count / made - 1.0).abs() < 0.001, "{count} for {made}");
        assert!(half > 0.0 && (count - made).abs() < half, "{count} ± {half} for {made}");
    }

    #[test]
    fn phases_are_weighted_by_the_gaps_beside_them_and_not_by_their_slices() {
        let (mut thread, mut estimate) = (Simulated::default(), Extrapolation::default());
        // A phase with calls has long gaps, and one with few is counted nearly all the time.
        let told = thread.thread();
        estimate.begin_at(&thread.standing(&told));
        for (natural, gap, slices) in [(200e-9, 0.9, 5), (20e-6, 0.05, 20), (200e-9, 0.9, 5)] {
            for _ in 0..slices {
                thread.runs(GETPPID, gap, natural, false);
                thread.runs(GETPPID, 0.02, natural, true);
                thread.pauses(&mut estimate, true);
            }
        }
        let (count, half, made) = thread.all(&estimate, GETPPID);
        assert!((count / made - 1.0).abs() < 0.06, "{count} for {made}");
        assert!((count - made).abs() < half, "{count} ± {half} for {made}");
    }

    #[test]
    fn reads_add_up_to_what_the_kernel_counted_of_them() {
        let (mut thread, mut estimate) = (Simulated::default(), Extrapolation::default());
        thread.runs(READ, 0.01, 300e-9, true);
        thread.runs(GETPPID, 0.01, 300e-9, true);
        thread.pauses(&mut estimate, false);
        // It reads more in the gap than the slices tell.
        thread.runs(READ, 0.5, 300e-9, false);
        thread.runs(GETPPID, 0.3, 300e-9, false);
        let (count, _, made) = thread.all(&estimate, READ);
        assert!((count / made - 1.0).abs() < 0.001, "{count} for {made}");
    }

    #[test]
    fn threads_that_lived_in_a_gap_did_what_others_of_their_name_do() {
        let (mut counted, mut estimate) = (Simulated::default(), Extrapolation::default());
        counted.runs(GETPPID, 0.01, 1e-6, true);
        let told = counted.thread();
        estimate.end(&counted.standing(&told), false);
        let mut unseen = Simulated::default();
        unseen.runs(GETPPID, 0.05, 1e-6, false);
        let told = unseen.thread();
        estimate.end(&Standing { slot: 8, ..unseen.standing(&told) }, true);
        let found = estimate.of(&[(7, String::new())], &[]);
        let count = found.extra[0].calls[0].count as f64;
        assert!((count / 50_000.0 - 1.0).abs() < 0.01, "{count}");
    }

    #[test]
    fn the_timer_goes_on_while_counting_takes_most_of_the_time() {
        let (mut thread, mut estimate) = (Simulated::default(), Extrapolation::default());
        let ticks = |thread: &Simulated, ticks| {
            let moments = Moments { ticks: Some(ticks), ..Moments::default() };
            Thread { moments, ..thread.thread() }
        };
        thread.runs(GETPPID, 0.4, 115e-9, true);
        let counted = ticks(&thread, 100);
        estimate.pause(&thread.standing(&counted), false);
        thread.runs(GETPPID, 0.8, 115e-9, false);
        let found = estimate.of(&[], &[thread.standing(&counted)]);
        assert_eq!(found.extra[0].moments.ticks, Some(200));
        assert!(found.uncertainty[&Counted::Ticks] > 0.0 && found.uncertainty.len() == 2);
    }

    #[test]
    fn a_thread_that_ends_in_a_slice_has_not_ended_in_the_gap_before() {
        let (mut thread, mut estimate) = (Simulated::default(), Extrapolation::default());
        thread.runs(GETPPID, 0.1, 1e-6, true);
        thread.pauses(&mut estimate, false);
        thread.runs(GETPPID, 0.5, 1e-6, false);
        thread.runs(GETPPID, 0.01, 1e-6, true);
        thread.calls.insert(ENDS[1], 1.0);
        let told = thread.thread();
        estimate.end(&thread.standing(&told), true);
        let found = estimate.of(&[(7, String::new())], &[]);
        let numbers: Vec<u32> = found.extra[0].calls.iter().map(|calls| calls.number).collect();
        assert_eq!(numbers, [GETPPID]);
        assert!(!found.uncertainty.contains_key(&Counted::Call(ENDS[1], FileKind::None)));
    }

    #[test]
    fn nothing_is_estimated_where_all_was_counted() {
        let (mut thread, mut estimate) = (Simulated::default(), Extrapolation::default());
        thread.runs(GETPPID, 0.1, 1e-6, true);
        thread.pauses(&mut estimate, false);
        let told = thread.thread();
        let found = estimate.of(&[], &[thread.standing(&told)]);
        assert!(found.extra[0].calls.is_empty() && found.uncertainty.is_empty());
    }
}
