//! Estimate of what threads did while it was not counted: each gap between two slices from the slices beside it.
//!
//! The measure of a gap is the processor time that the thread had in it, which the kernel knows exactly. A slice
//! tells how often a thread made each call for each second of *work*: its processor time less what counting took of
//! it, as a thread that is counted gets less done in a second. The timer alone goes on meanwhile. A gap takes half of
//! its rate from the slice before it and half from the one after. One rate for the whole of a program would be wrong for programs with phases: the
//! dearer a slice is, the longer is the gap behind it, so phases with more calls are in fewer slices. The first stretch
//! that is counted ends for what was in it, when the allowance is spent, and would tell of dear moments: the gap behind
//! it takes its rate from the slice after it. Where all is counted again for a while, what was counted last tells of the gap
//! behind it.
//!
//! Where calls were counted by their numbers in a gap, or in the beginning of one, it is known how often each was made
//! there, and the slices beside it tell on which files, and what else came of them. What is left of such a gap takes half of its
//! rate from its beginning and half from the next time that calls are counted so: where counting takes less of a thread's time,
//! less depends on how well it is known how much that is. All of it from its beginning would be too much of dear phases, as gaps behind dear slices are long: of a
//! loop with phases of half a second, half a gap of each dear one was counted twice.
//!
//! Reads and writes of each thread are counted by the kernel at all times; their estimates are [scaled](scale) to that,
//! and those of other calls go with these as far as they do from slice to slice.

use std::collections::{BTreeMap, HashMap};

use crate::counts::{Counted, File, Thread};

use super::cost::Cost;
use super::harvest::Timed;
use super::layout::numbered::OTHERS;
use super::taken::of_numbers;
use lives::Lives;
use scale::Together;
use table::{INSIDE, Key, TICKS, Table, add, counted, figures, is_of, kinds_of, made, thread};

mod lives;
mod scale;
mod table;

/// Work without which a slice says nothing of a thread, in seconds.
const MIN_WORK: f64 = 2e-4;
/// With so much of it, a slice in which calls were counted by their numbers tells more of the gap behind it than those of
/// everything do, however much work was in these.
const MUCH_WORK: f64 = 2e-3;
/// Of its processor time a counted thread works at least this part: less is an error of what counting costs.
const MIN_SHARE: f64 = 0.02;
/// The part of its life that a thread has to be counted for to be seen as a whole.
const WHOLE: f64 = 0.98;
/// Calls by which a thread ends.
const ENDS: [u32; 2] = [libc::SYS_exit as u32, libc::SYS_exit_group as u32];
/// By which part sums of numbers of 64 bits are off, and more than that.
const ROUNDING: f64 = 1e-9;
/// By how much a gap that has a slice on one side only may be off, where nothing else is known.
const ONE_SIDED: f64 = 0.25;
/// By how much the cost of counting an event may be off. Of a loop of getppid in C it was taken to be 107 ns where the loop became 112 to 118
/// slower, of one in Rust 80 for 75 (AMD EPYC guest, Linux 6.18).
const COST_ERROR: f64 = 0.1;
/// Which part of how much dearer slices say that counting is of a program, or cheaper, counts as an error of its cost: they see it of other programs
/// than those that count by numbers. Chosen, not measured.
const DEARER_ERROR: f64 = 0.25;
/// Programs that have to have timed themselves in a slice before their mean tells how dear they were there, and what these come to in seconds
/// of all.
const MANY: f64 = 20.0;
const MANY_PROGRAMS: f64 = 2e-5;
/// Of how many slices the median tells that.
const MOST_DEARER: usize = 31;
/// By how much slices may be unlike the gaps beside them in any case: what stands in the caches is another's. In twelve
/// bills of loops of statx and of open there were 0 to 5 % fewer calls in a second of work, in the same machine.
const SLICE_ERROR: f64 = 0.03;
/// Calls of a number from which on a slice tells on which files those beside it are.
const TELLING: f64 = 5.0;
/// What was done in gaps is off from their rates as well: where phases are about as long as gaps, their means vary half as much as slices do.
const GAPS: f64 = 1.5;
/// That rates of neighboring slices are alike is known beforehand: as much as so many gaps tell.
const KNOWN_BEFORE: usize = 2;
/// Student's t at 97.5 % for 1, 2, … degrees of freedom.
const T: [f64; 8] = [12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31];
const T_MANY: f64 = 1.96;

/// What is known of a thread at a moment.
pub(super) struct Standing<'t> {
    /// The slot that it has as long as it lives.
    pub slot: u32,
    pub thread: &'t Thread,
    pub has_ended: bool,
    /// Seconds on a processor, in its whole life.
    pub ran: f64,
    /// Seconds on a processor while it was counted, and what counting took of these.
    pub counted: f64,
    pub cost: f64,
    /// How often it began each call while these were counted by their numbers, and how long the programs took then.
    pub numbered: &'t BTreeMap<u32, u64>,
    pub number_times: Timed,
    /// Seconds that the programs at the ends of calls took, and that they would have as they were measured.
    pub programs: f64,
    pub programs_as_measured: f64,
    /// What counting takes as it was measured.
    pub cost_of_each: &'t Cost,
    /// Seconds on a processor meanwhile, as far as it was seen.
    pub ran_numbered: f64,
    /// Reads and writes since it was first watched, by the kernel's own account.
    pub moved: u64,
}

/// The estimate of all threads.
#[derive(Default)]
pub(super) struct Extrapolation {
    living: HashMap<u32, Progress>,
    ended: BTreeMap<(u32, String), Estimate>,
    /// What threads of a name did that were in one slice from their beginning to their end.
    lives: HashMap<String, Lives>,
    /// What threads of a name did in slices, and for how much work: for those that were in none.
    rates: HashMap<String, Slice>,
    /// The same of all: for those of whose name none was.
    rate: Slice,
    /// What is known of the present gap, or of that before the present slice.
    known: Known,
}

/// In which part of a gap calls were counted by their numbers.
#[derive(Clone, Copy, Default, PartialEq)]
enum Known {
    #[default]
    Nothing,
    Numbers,
    /// Up to a moment that each thread's [`Progress`] has.
    NumbersAtFirst,
}

/// A gap of a thread.
#[derive(Clone, Default)]
struct Gap {
    /// Seconds in which nothing was counted.
    unknown: f64,
    numbered: Numbered,
    /// What of that was when nothing else was attached any more: before, it took longer to count a call.
    settled: Numbered,
}

/// Calls were counted by their numbers.
#[derive(Clone, Default)]
struct Numbered {
    /// Seconds that the thread ran meanwhile, without what counting took of them, and that, and how far it may be off.
    work: f64,
    cost: f64,
    cost_error: f64,
    /// How often it began each call.
    calls: BTreeMap<u32, f64>,
}

/// A moment at which calls are counted by their numbers.
#[derive(Clone, Default)]
struct Mark {
    /// Seconds that the thread had run, in all and as the programs that count saw it.
    seconds: f64,
    ran_numbered: f64,
    /// By the thread's [`Standing`].
    numbered: BTreeMap<u32, u64>,
    number_times: Timed,
}

/// A thread at the end of its last slice.
#[derive(Clone, Default)]
struct Progress {
    seen: Table,
    ran: f64,
    counted: f64,
    cost: f64,
    /// Of the present gap: its beginning, when nothing else was attached any more, and how many seconds of it the thread ran while
    /// calls were counted by their numbers, where that is over.
    begun: Mark,
    settled: Option<Mark>,
    at_first: f64,
    last: Option<Slice>,
    programs: f64,
    programs_as_measured: f64,
    /// Whether that slice ended where the present gap begins.
    is_behind_slice: bool,
    /// How many times as dear as they were measured the programs at the ends of calls were in slices, as a part of how dear those at
    /// their beginnings were just behind.
    dearer: Vec<f64>,
    estimate: Estimate,
}

/// What a thread did in a slice, in seconds of work, of which counting took `cost` more, or less by no more than `cost_error`.
#[derive(Clone, Default)]
struct Slice {
    did: Table,
    work: f64,
    cost: f64,
    cost_error: f64,
    /// How many times as long as they were measured the programs at the ends of calls took, where that was seen.
    dearness: Option<f64>,
    /// It ended for what was in it.
    is_first: bool,
}

impl Slice {
    fn add(&mut self, other: &Slice) {
        add(&mut self.did, &other.did, 1.0);
        self.work += other.work;
        self.cost += other.cost;
        self.cost_error += other.cost_error;
    }

    /// How long the thread ran in it.
    fn time(&self) -> f64 {
        self.work + self.cost
    }
}

/// What was done in gaps.
#[derive(Clone, Default)]
struct Estimate {
    /// Where nothing was counted, and where calls were counted by their numbers.
    did: Table,
    numbered: Table,
    /// Sums of squared errors, and errors that all gaps have in common.
    squares: BTreeMap<Counted, f64>,
    common: BTreeMap<Counted, f64>,
    /// How reads and writes varied together with the others.
    together: Together,
    /// A gap behind a slice in which calls were counted by their numbers, which waits for the next of these.
    waiting: Option<Waiting>,
    /// Whether there was one before.
    has_waited: bool,
    /// Gaps that have a slice on both sides.
    gaps: usize,
    /// Gaps that had a slice on no side.
    unattributed: Gap,
}

/// A gap in which nothing is counted.
#[derive(Clone)]
struct Waiting {
    seconds: f64,
    /// It is the first, and the slice before it follows what ended for what was in it.
    is_first: bool,
    /// The slice before it, in which calls were counted by their numbers.
    slice: Slice,
    /// One of everything beside it.
    other: Option<Slice>,
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
            programs: one.programs,
            programs_as_measured: one.programs_as_measured,
            begun: Mark::at(one, 0.0),
            ..Progress::default()
        };
        self.living.insert(one.slot, progress);
    }

    /// A gap begins, in which calls are counted by their numbers until these [end](Extrapolation::end_numbers).
    pub fn begin_gap(&mut self) {
        self.known = Known::Numbers;
    }

    /// Nothing is counted up to the end of this gap.
    pub fn begin_unknown(&mut self) {
        self.known = Known::NumbersAtFirst;
    }

    /// Nothing else is attached any more.
    pub fn numbers_settle(&mut self, one: &Standing<'_>) {
        let progress = self.living.entry(one.slot).or_default();
        progress.settled = Some(Mark::at(one, progress.seconds(one)));
    }

    /// Calls are counted by their numbers no more, up to the end of this gap.
    pub fn end_numbers(&mut self, one: &Standing<'_>) {
        let progress = self.living.entry(one.slot).or_default();
        progress.at_first = progress.seconds(one);
    }

    /// A gap ends, and another begins, at whose beginning calls are counted by their numbers: everything was in no slice
    /// between.
    pub fn renew(&mut self, one: &Standing<'_>) {
        let mut progress = self.living.remove(&one.slot).unwrap_or_default();
        let (_, gap) = progress.next(one, self.known);
        progress.estimate.attribute(&gap, progress.last.as_ref(), None, &progress.seen);
        progress.settled = Some(Mark::at(one, 0.0));
        progress.is_behind_slice = false;
        self.living.insert(one.slot, progress);
    }

    /// A slice ends, or a part of what is counted on beyond one. There was a gap before, unless all was counted so far.
    pub fn pause(&mut self, one: &Standing<'_>, has_gap: bool) {
        self.end_slice(one, has_gap);
    }

    /// Says what was done in it.
    fn end_slice(&mut self, one: &Standing<'_>, has_gap: bool) -> Slice {
        let mut progress = self.living.remove(&one.slot).unwrap_or_default();
        let (mut slice, gap) = progress.next(one, self.known);
        let all = slice.clone();
        self.rates.entry(one.thread.name.clone()).or_default().add(&slice);
        self.rate.add(&slice);
        // A thread ends once, and not as often in each gap.
        slice.did.retain(|key, _| key.is_none_or(|(number, _)| !ENDS.contains(&number)));
        slice.is_first = !has_gap;
        if has_gap {
            progress.estimate.attribute(&gap, progress.last.as_ref(), Some(&slice), &progress.seen);
        }
        // A thread that slept all the time leaves the rate that it had.
        if slice.work >= MIN_WORK || progress.last.is_none() {
            progress.last = Some(slice);
            progress.is_behind_slice = true;
        }
        self.living.insert(one.slot, progress);
        all
    }

    /// A thread has ended, after a pause in its life or before.
    pub fn end(&mut self, one: &Standing<'_>, has_gap: bool) {
        let is_new = !self.living.contains_key(&one.slot);
        let slice = self.end_slice(one, has_gap);
        let Some(progress) = self.living.remove(&one.slot) else { return };
        if is_new && one.counted >= WHOLE * one.ran {
            self.lives.entry(one.thread.name.clone()).or_default().add(&slice);
        }
        if !has_gap {
            return;
        }
        let mut estimate = progress.estimate;
        estimate.end_waiting(None);
        self.attribute_by_lives(one, &mut estimate);
        estimate.attribute_by_life(&progress.seen);
        self.attribute_by_name(&one.thread.name, &mut estimate);
        estimate.name_the_rest();
        estimate.scale_to(one);
        if let Some(lives) = self.lives.get(&one.thread.name) {
            estimate.scale_faults(one, &progress.seen, lives);
        }
        self.ended.entry((one.thread.process, one.thread.name.clone())).or_default().add(&estimate);
    }

    /// What all did in gaps so far: of those that have ended, by process and name, and of those that live.
    pub fn of(&self, ended: &[(u32, String)], living: &[Standing<'_>]) -> Estimated {
        let mut all = Estimate::default();
        let mut extra = Vec::new();
        let mut found = |name: &str, mut estimate: Estimate| {
            self.attribute_by_name(name, &mut estimate);
            estimate.name_the_rest();
            extra.push(estimate.thread());
            all.add(&estimate);
        };
        for key in ended {
            found(&key.1, self.ended.get(key).cloned().unwrap_or_default());
        }
        for one in living {
            let estimate = match self.living.get(&one.slot) {
                Some(progress) => {
                    let gap = progress.gap(one, self.known);
                    let mut estimate = progress.estimate.clone();
                    estimate.attribute(&gap, progress.last.as_ref(), None, &progress.seen);
                    estimate.end_waiting(None);
                    self.attribute_by_lives(one, &mut estimate);
                    estimate.attribute_by_life(&progress.seen);
                    estimate.scale_to(one);
                    estimate
                }
                None => {
                    let gap = Progress::default().gap(one, self.known);
                    let mut estimate = Estimate { unattributed: gap, ..Estimate::default() };
                    self.attribute_by_lives(one, &mut estimate);
                    estimate
                }
            };
            found(&one.thread.name, estimate);
        }
        Estimated { extra, uncertainty: all.uncertainty() }
    }
}

impl Extrapolation {
    /// A whole life that was short and in no slice; of some it is known how often each call was made.
    fn attribute_by_lives(&self, one: &Standing<'_>, estimate: &mut Estimate) {
        let is_unseen = one.has_ended && one.counted <= 0.0 && one.ran < MIN_WORK;
        if !is_unseen || !estimate.unattributed.numbered.calls.is_empty() {
            return;
        }
        if let Some(lives) = self.lives.get(&one.thread.name).filter(|lives| lives.tell()) {
            *estimate = Estimate::default();
            estimate.add_life(lives);
        }
    }

    /// Time of a thread that was in no slice: it did what others of its name do, or what all do if there are none.
    fn attribute_by_name(&self, name: &str, estimate: &mut Estimate) {
        let gap = std::mem::take(&mut estimate.unattributed);
        let says = |rate: &&Slice| rate.work >= MIN_WORK;
        let rate = self.rates.get(name).filter(says).unwrap_or(&self.rate);
        estimate.attribute(&gap, None, Some(rate), &self.rate.did);
        estimate.attribute_by_life(&self.rate.did);
    }
}

impl Progress {
    /// How long the thread ran since the end of its last slice while not everything was counted.
    fn seconds(&self, one: &Standing<'_>) -> f64 {
        (one.ran - self.ran - (one.counted - self.counted)).max(0.0)
    }

    fn gap(&self, one: &Standing<'_>, known: Known) -> Gap {
        let seconds = self.seconds(one);
        let numbered = match known {
            Known::Nothing => 0.0,
            Known::Numbers => seconds,
            Known::NumbersAtFirst => self.at_first.min(seconds),
        };
        let dearer = median(self.dearer.iter().copied().chain(self.dearer_now(one)).collect());
        Gap {
            unknown: seconds - numbered,
            numbered: self.begun.since(one, numbered - self.begun.seconds, dearer),
            settled: self
                .settled
                .as_ref()
                .map_or_else(Numbered::default, |mark| mark.seen_since(one, dearer)),
        }
    }

    /// By what counting is dearer than the speed of the machine says: the slice before the present gap against the calls that were counted
    /// by their numbers just behind. A loop in C that returns from a function after each call pays 112 ns for one by its number, where a loop of
    /// calls without functions pays 75 (AMD EPYC guest, Linux 6.18), and both have the same speed. More than 1 is what the programs at the ends of calls
    /// miss in the caches, of which those at their beginnings need less.
    fn dearer_now(&self, one: &Standing<'_>) -> Option<f64> {
        let slice = self.last.as_ref().filter(|_| self.is_behind_slice)?.dearness?;
        let numbers = self.settled.as_ref()?.dearness(one)?;
        Some(slice / numbers)
    }

    /// What it did since then, and the gap before it did that.
    fn next(&mut self, one: &Standing<'_>, known: Known) -> (Slice, Gap) {
        let gap = self.gap(one, known);
        let counted = (one.counted - self.counted).max(0.0);
        let cost = cost_within(counted, one.cost - self.cost);
        let seen = figures(one.thread);
        let mut did = seen.clone();
        add(&mut did, &self.seen, -1.0);
        // The kernel's programs count on while they are read.
        for (_, [count, failed, ..]) in did.iter_mut().filter(|(key, _)| key.is_some()) {
            *failed = failed.min(*count);
        }
        did.retain(|_, figures| figures.iter().any(|figure| *figure > 0.0));
        let programs = one.programs_as_measured - self.programs_as_measured;
        let dearness = (programs >= MANY_PROGRAMS).then(|| (one.programs - self.programs) / programs);
        let cost_error = COST_ERROR * cost;
        let slice = Slice { did, work: counted - cost, cost, cost_error, dearness, is_first: false };
        if let Some(dearer) = self.dearer_now(one) {
            self.dearer.push(dearer);
            let many = self.dearer.len();
            self.dearer.drain(..many.saturating_sub(MOST_DEARER));
        }
        (self.seen, self.ran, self.counted, self.cost) = (seen, one.ran, one.counted, one.cost);
        (self.programs, self.programs_as_measured) = (one.programs, one.programs_as_measured);
        (self.begun, self.settled, self.at_first) = (Mark::at(one, 0.0), None, 0.0);
        (slice, gap)
    }
}

impl Mark {
    fn at(one: &Standing<'_>, seconds: f64) -> Mark {
        let (numbered, number_times) = (one.numbered.clone(), one.number_times);
        Mark { seconds, ran_numbered: one.ran_numbered, numbered, number_times }
    }

    /// How many times as long as they were measured the programs took since.
    fn dearness(&self, one: &Standing<'_>) -> Option<f64> {
        let times = one.number_times.since(self.number_times);
        let measured = one.cost_of_each.program_by_number.as_secs_f64();
        times.mean().filter(|_| times.count >= MANY && measured > 0.0).map(|mean| mean / measured)
    }

    /// What was counted since, where the thread ran for this long and counting is that much dearer than the speed of the machine says.
    fn since(&self, one: &Standing<'_>, seconds: f64, dearer: Option<f64>) -> Numbered {
        let since = |(number, count): (&u32, &u64)| {
            (*number, count.saturating_sub(self.numbered.get(number).copied().unwrap_or(0)) as f64)
        };
        let seconds = seconds.max(0.0);
        let calls: BTreeMap<u32, f64> =
            one.numbered.iter().map(since).filter(|(_, count)| *count > 0.0).collect();
        let each = calls.iter().map(|(number, count)| (*number, *count));
        let dearer = dearer.unwrap_or(1.0);
        let took = of_numbers(each, one.cost_of_each) * self.dearness(one).unwrap_or(1.0) * dearer.min(1.0);
        let cost = cost_within(seconds, took);
        let error = one.cost_of_each.numbered_error.max(COST_ERROR) + DEARER_ERROR * (dearer - 1.0).abs();
        let cost_error = error * cost;
        Numbered { work: seconds - cost, cost, cost_error, calls }
    }

    /// The same for as long as the thread was seen to run. The kernel's own account of a thread that runs is up to 4 ms behind.
    fn seen_since(&self, one: &Standing<'_>, dearer: Option<f64>) -> Numbered {
        self.since(one, one.ran_numbered - self.ran_numbered, dearer)
    }
}

impl Numbered {
    fn add(&mut self, other: &Numbered) {
        self.work += other.work;
        self.cost += other.cost;
        self.cost_error += other.cost_error;
        for (number, count) in &other.calls {
            *self.calls.entry(*number).or_default() += count;
        }
    }

    /// What was done in that part of it, of what was done in all of it.
    fn part_of(&self, whole: &Numbered, did: &Table) -> Slice {
        let part = |key: &Key| match key {
            Some((number, _)) => {
                let of = |all: &Numbered| all.calls.get(&(*number).min(OTHERS)).copied().unwrap_or(0.0);
                of(self) / of(whole).max(1.0)
            }
            None => self.work / whole.work.max(1e-9),
        };
        let did = did.iter().map(|(key, figures)| (*key, figures.map(|figure| figure * part(key))));
        let Numbered { work, cost, cost_error, .. } = *self;
        Slice { did: did.collect(), work, cost, cost_error, dearness: None, is_first: false }
    }
}

impl Estimate {
    /// A gap between two slices, of a thread of which this is all that was seen.
    fn attribute(&mut self, gap: &Gap, before: Option<&Slice>, after: Option<&Slice>, seen: &Table) {
        let says = |slice: &&Slice| slice.work >= MIN_WORK;
        let (before, after) = (before.filter(says), after.filter(says));
        let (numbered, others) = self.attribute_numbered(&gap.numbered, before, after, seen);
        let mut made = numbered.clone();
        add(&mut made, &others, 1.0);
        let at_first = gap.settled.part_of(&gap.numbered, &made);
        let least = before.map_or(MIN_WORK, |before| before.work / 2.0);
        let says = at_first.work >= least.min(MUCH_WORK);
        if says {
            self.end_waiting(Some(&at_first));
        }
        if gap.unknown > 0.0 && says {
            let is_first = !std::mem::replace(&mut self.has_waited, true);
            let other = after.or(before).cloned();
            self.waiting = Some(Waiting { seconds: gap.unknown, is_first, slice: at_first, other });
        } else if gap.unknown > 0.0 {
            let did = self.by_time(gap.unknown, &weighted(before, after), |_| true);
            add(&mut self.did, &did, 1.0);
        }
        add(&mut self.numbered, &numbered, 1.0);
    }

    /// The next slice in which calls were counted by their numbers, or that there is none any more: then the gap that waits takes its
    /// rate from the slice before it, and how much such slices differ another tells.
    fn end_waiting(&mut self, next: Option<&Slice>) {
        let Some(Waiting { seconds, is_first, slice, other }) = self.waiting.take() else { return };
        let slices = match (next, &other) {
            (Some(next), _) if is_first => vec![(&slice, 0.0), (next, 1.0)],
            (Some(next), _) => vec![(&slice, 0.5), (next, 0.5)],
            (None, Some(other)) => vec![(&slice, 1.0), (other, 0.0)],
            (None, None) => vec![(&slice, 1.0)],
        };
        let did = self.by_time(seconds, &slices, |_| true);
        add(&mut self.did, &did, 1.0);
    }

    /// Calls whose numbers are hardly in a slice beside their gap are as all of these numbers that were seen.
    fn attribute_by_life(&mut self, seen: &Table) {
        let mut found = Table::new();
        for (number, count) in std::mem::take(&mut self.unattributed.numbered.calls) {
            match made(seen, number) > 0.0 {
                true => self.by_number(number, count, &[seen], &mut found),
                false => *self.unattributed.numbered.calls.entry(number).or_default() += count,
            }
        }
        add(&mut self.numbered, &found, 1.0);
    }

    /// The part of a gap in which calls were counted by their numbers: what was done there; and what calls that no slice beside it tells of
    /// are for now, so that what is left of the gap has its rate of them.
    fn attribute_numbered(
        &mut self,
        part: &Numbered,
        before: Option<&Slice>,
        after: Option<&Slice>,
        seen: &Table,
    ) -> (Table, Table) {
        let (mut all, mut others) = (Table::new(), Table::new());
        for (number, count) in &part.calls {
            let slices = || [before, after].into_iter().flatten();
            let made_it = slices().filter(|slice| made(&slice.did, *number) >= TELLING);
            let tables: Vec<&Table> = made_it.map(|slice| &slice.did).collect();
            let rates = slices().map(|slice| made(&slice.did, *number) / slice.work);
            self.may_be_others(*number, count - part.work * mean(rates), &tables, seen);
            if tables.is_empty() {
                *self.unattributed.numbered.calls.entry(*number).or_default() += count;
                let many = made(seen, *number);
                if many > 0.0 {
                    add(&mut others, seen.iter().filter(|(key, _)| is_of(key, *number)), count / many);
                } else {
                    others.entry(Some((*number, File::default()))).or_default()[0] += count;
                }
            }
            self.by_number(*number, *count, &tables, &mut all);
        }
        // They were not longer in the kernel than the thread ran.
        let inside: f64 = all.values().map(|figures| figures[INSIDE]).sum();
        if inside > part.work {
            all.values_mut().for_each(|figures| figures[INSIDE] *= part.work / inside);
        }
        if before.is_none() && after.is_none() {
            self.unattributed.numbered.add(&Numbered { calls: BTreeMap::new(), ..*part });
        } else if part.work > 0.0 {
            add(&mut all, &self.by_time(part.work, &weighted(before, after), Option::is_none), 1.0);
        }
        (all, others)
    }

    /// What a thread did in these seconds of work by the slices beside them, each with its weight, as far as it is asked for.
    fn by_time(&mut self, seconds: f64, slices: &[(&Slice, f64)], is_asked: impl Fn(&Key) -> bool) -> Table {
        if seconds <= 0.0 {
            return Table::new();
        }
        if slices.is_empty() {
            self.unattributed.unknown += seconds;
            return Table::new();
        }
        self.gaps += slices.len() - 1;
        let mut all = Table::new();
        let mut rates: BTreeMap<Counted, [f64; 2]> = BTreeMap::new();
        let (mut moved, mut common_of_moved) = ([0.0; 2], 0.0);
        for (at, (slice, weight)) in slices.iter().enumerate() {
            let part = seconds * weight;
            let asked = || slice.did.iter().filter(|(key, _)| is_asked(key));
            add(&mut all, asked(), part / slice.work);
            let common = slice.cost_error / slice.work + SLICE_ERROR;
            moved[at] = scale::moved(asked()) / slice.work;
            common_of_moved += moved[at] * part * common;
            let ticks = slice.did.get(&None).map_or(0.0, |figures| figures[TICKS]);
            all.entry(None).or_default()[TICKS] += ticks * part * (1.0 / slice.time() - 1.0 / slice.work);
            for (of, count) in asked().flat_map(|(key, figures)| counted(key, figures)) {
                let (time, error) = match of {
                    Counted::Ticks => (slice.time(), 0.0),
                    _ => (slice.work, common),
                };
                rates.entry(of).or_default()[at] += count / time;
                *self.common.entry(of).or_default() += count * part / time * error;
            }
        }
        // Each slice stands on both sides of itself, so the errors of neighboring gaps are not independent:
        // for equal gaps and rates of one variance this is the variance of the sum.
        let error = |[one, other]: [f64; 2]| match slices.len() {
            2 => seconds * (one - other) * (GAPS / 2.0).sqrt(),
            _ => seconds * one * ONE_SIDED,
        };
        for (of, rates) in rates {
            *self.squares.entry(of).or_default() += error(rates).powi(2);
            self.together.add(of, error(rates), error(moved), slices.len() == 2);
        }
        self.together.add_moved(error(moved), common_of_moved);
        all
    }

    /// Calls of which there is the number: on which files they were, and what came of them, is as in these tables.
    fn by_number(&mut self, number: u32, count: f64, tables: &[&Table], all: &mut Table) {
        let mut each: BTreeMap<Counted, [f64; 2]> = BTreeMap::new();
        for (at, table) in tables.iter().enumerate() {
            let times = count / made(table, number);
            let of_it = || table.iter().filter(|(key, _)| is_of(key, number));
            add(all, of_it(), times / tables.len() as f64);
            for (of, found) in of_it().flat_map(|(key, figures)| counted(key, figures)) {
                each.entry(of).or_default()[at] += found * times;
            }
        }
        for (of, [one, other]) in each {
            let error = match (tables.len(), of) {
                (2, _) => (one - other) / std::f64::consts::SQRT_2,
                // Which part of them: none is uncertain where all are of one kind.
                (_, Counted::Call(..)) => one * (1.0 - one / count).max(0.0) * ONE_SIDED,
                _ => one * ONE_SIDED,
            };
            if error.abs() > ROUNDING * count {
                *self.squares.entry(of).or_default() += error.powi(2);
            }
        }
    }

    /// These calls of a number, which the slices beside the gap have not in as much work, were made at another moment: on which of
    /// the kinds of files that are known of it they were, these slices do not tell.
    fn may_be_others(&mut self, number: u32, excess: f64, tables: &[&Table], seen: &Table) {
        let kinds = kinds_of(seen, number);
        if excess <= 0.0 || kinds.len() < 2 {
            return;
        }
        for of in kinds.into_keys() {
            let shares = tables
                .iter()
                .map(|table| kinds_of(table, number).get(&of).copied().unwrap_or(0.0) / made(table, number));
            let share = mean(shares);
            // From none of them to all.
            let error = excess * share.max(1.0 - share) / 2.0;
            *self.squares.entry(of).or_default() += error.powi(2);
        }
    }

    /// Calls that were in no slice at all: on which files they were is not known.
    fn name_the_rest(&mut self) {
        for (number, count) in std::mem::take(&mut self.unattributed.numbered.calls) {
            self.numbered.entry(Some((number, File::default()))).or_default()[0] += count;
        }
    }

    fn thread(&self) -> Thread {
        let mut all = self.did.clone();
        add(&mut all, &self.numbered, 1.0);
        thread(&all)
    }

    fn add(&mut self, other: &Estimate) {
        add(&mut self.did, &other.did, 1.0);
        add(&mut self.numbered, &other.numbered, 1.0);
        for (of, square) in &other.squares {
            *self.squares.entry(*of).or_default() += square;
        }
        for (of, error) in &other.common {
            *self.common.entry(*of).or_default() += error;
        }
        self.gaps += other.gaps;
        self.unattributed.unknown += other.unattributed.unknown;
        self.unattributed.numbered.add(&other.unattributed.numbered);
    }

    fn uncertainty(&self) -> BTreeMap<Counted, f64> {
        let t = T.get(self.gaps + KNOWN_BEFORE - 1).copied().unwrap_or(T_MANY + 2.5 / self.gaps as f64);
        let half = |(of, square): (&Counted, &f64)| {
            (*of, t * square.sqrt() + self.common.get(of).copied().unwrap_or(0.0))
        };
        self.squares.iter().map(half).collect()
    }
}

/// The part of these seconds that counting took, from its estimated cost in seconds: neither less than nothing, as where the machine has become faster
/// since, nor all.
fn cost_within(seconds: f64, cost: f64) -> f64 {
    cost.clamp(0.0, seconds * (1.0 - MIN_SHARE))
}

/// Slices beside a gap and their weights: that which ended for what was in it has none where there is another.
fn weighted<'s>(before: Option<&'s Slice>, after: Option<&'s Slice>) -> Vec<(&'s Slice, f64)> {
    let slices: Vec<&Slice> = before.into_iter().chain(after).collect();
    match slices[..] {
        [first, last] if first.is_first => vec![(first, 0.0), (last, 1.0)],
        [first, last] => vec![(first, 0.5), (last, 0.5)],
        _ => slices.into_iter().map(|slice| (slice, 1.0)).collect(),
    }
}

fn median(mut all: Vec<f64>) -> Option<f64> {
    all.sort_by(f64::total_cmp);
    all.get(all.len() / 2).copied()
}

/// Their mean; 0 of none.
fn mean(all: impl Iterator<Item = f64>) -> f64 {
    let (sum, many) = all.fold((0.0, 0.0), |(sum, many), one| (sum + one, many + 1.0));
    sum / f64::max(many, 1.0)
}

#[cfg(test)]
mod tests;
