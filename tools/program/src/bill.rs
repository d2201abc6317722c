//! Counts × tolls, against the processor time in the kernel that was measured apart.

use std::collections::BTreeMap;
use std::time::Duration;

use tollway_core::Placement;
use tollway_stats::proportion;
use tollway_watch::{Calls, Counted, Counts, FileKind, Moments, Paths, Thread, numbers};

use crate::attributed::{self, Attributed};
use crate::observed::Observed;
use crate::prices::{Asked, Faults, Price, Prices};
use crate::rhythm::{Rhythm, Together};
use crate::route::{moves_bytes, tells_ready};
use crate::what_if::Evidence;

/// A kernel that samples where a processor is does so at least so often (CONFIG_HZ is 250 in Debian's, 100 to 1000 in others).
const TICK: Duration = Duration::from_millis(4);
/// Samples without which they say nothing.
const FEW: u64 = 30;

/// What a line of a bill is of.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Of {
    /// System calls, by name and file.
    Call(String, FileKind),
    /// Waking somebody who had slept on the same processor, or on another.
    Wake(Placement),
    /// Waking somebody who had slept on another processor that has something else to do.
    WakeBusy,
    /// Going to sleep and coming back, woken from the same processor or from another.
    Sleep(Placement),
    /// The same, where it is not known who woke it.
    AnySleep,
    /// A processor taken away while there was work.
    Preemption,
    /// Page faults that no disk is asked for.
    Fault,
    /// Those of them within calls, as the kernel copies to memory or from it.
    FaultInCall,
    /// Page faults that wait for a disk.
    MajorFault,
    /// Pages that processes had, given back as they end or execute another program.
    PageBack,
    /// Those of them that calls gave back before.
    PageBackInCall,
    /// Signals delivered.
    Signal,
    /// Interrupts of the local timer: ticks of the scheduler, and timers of high resolution that end.
    Timer,
    /// Interrupts of devices and of other processors.
    Interrupt,
    /// Operations of io_uring.
    Operation,
    /// Exits of virtual processors.
    Exit,
    /// Threads that the kernel has in its processes, for io_uring and vhost: what they do is no call, and has no toll.
    Workers,
}

impl Of {
    /// Whether this is counted with it while counting is on. The kernel counts sleeps, preemptions and all page faults at
    /// all times; which of these were within calls is seen while counting is on, and from where sleeps were ended
    /// (`woken_by_whom`).
    fn is_of(&self, counted: &Counted) -> bool {
        match (self, counted) {
            (Of::Call(name, kind), Counted::Call(number, file)) => file == kind && label_of(*number) == *name,
            (Of::Wake(Placement::Same), Counted::WakesHere)
            | (Of::Wake(Placement::Across), Counted::WakesAcross)
            | (Of::WakeBusy, Counted::WakesBusy)
            | (Of::Fault | Of::FaultInCall, Counted::FaultsInUser)
            | (Of::Signal, Counted::Signals)
            | (Of::Interrupt, Counted::Interrupts)
            | (Of::Timer, Counted::Ticks)
            | (Of::Operation, Counted::Operations)
            | (Of::Exit, Counted::Exits) => true,
            _ => false,
        }
    }
}

/// A line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What it is of.
    pub of: Of,
    /// How often, in all the time that it was watched.
    pub count: f64,
    /// Whether a part of the count was estimated, and by how much it may be off then: half of its 95 % interval.
    pub is_estimate: bool,
    /// 0 also where it is not known.
    pub uncertainty: f64,
    /// Of calls how many failed.
    pub failed: f64,
    /// Bytes that were moved.
    pub bytes: f64,
    /// Of calls that look for files by paths, those paths that were looked at.
    pub paths: Paths,
    /// What it comes to, in nanoseconds; `None` where there is no toll.
    pub sum: Option<Price>,
    /// Nanoseconds that the calls were in the kernel and on a processor as they were stamped, with what watching adds.
    pub inside: Option<f64>,
    /// Nanoseconds that the calls were away from it.
    pub away: Option<f64>,
    /// How often they went to sleep, or woke somebody.
    pub waits: f64,
    /// What these sleeps and wake-ups come to by their tolls, in nanoseconds; they have lines of their own.
    pub waits_by_tolls: f64,
    /// Nanoseconds in the kernel by the calls' own stamps: less what watching adds, and with the way in and out, which no
    /// stamp sees. Their sleeps and wake-ups are in it. `None` of what has no stamps.
    pub measured: Option<f64>,
}

impl Line {
    /// Calls that did not fail.
    pub(crate) fn done(&self) -> f64 {
        (self.count - self.failed).max(0.0)
    }

    /// By which share of itself its count may be off: half of its 95 % interval.
    pub(crate) fn off_by(&self) -> f64 {
        if self.count > 0.0 { self.uncertainty / self.count } else { 0.0 }
    }

    /// The greater of what tolls say and what was measured, in nanoseconds.
    pub fn worth(&self) -> f64 {
        self.sum.as_ref().map_or(0.0, |sum| sum.ns).max(self.measured.unwrap_or(0.0))
    }
}

/// Processor time in nanoseconds, and how it was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The estimate.
    pub ns: f64,
    /// Its 95 % interval.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
    /// It is by the kernel's own account, which samples; else by stamps around calls, as there were too few samples.
    pub is_sampled: bool,
}

/// A program's bill.
#[derive(Clone, Debug, PartialEq)]
pub struct Bill {
    /// The lines, the dearest first: by the greater of toll and measured time.
    pub lines: Vec<Line>,
    /// What they come to.
    pub explained: Price,
    /// What is put down to lines as it was measured; `None` where nothing was.
    pub attributed: Option<Attributed>,
    /// Processor time in the kernel, where it was measured; without what counting took of it.
    pub kernel: Option<Measured>,
    /// Processor time in user mode, in nanoseconds; where the kernel's own account tells.
    pub user: Option<f64>,
    /// All processor time but what counting took of it, in nanoseconds.
    pub ran: f64,
    /// What counting took of processor time, in nanoseconds: not in it.
    pub counting: f64,
    /// How long it was watched, in nanoseconds.
    pub watched: f64,
    /// What the lines no longer have, and predictions need.
    pub evidence: Evidence,
}

impl Bill {
    /// Of what was counted, by these prices.
    pub fn of(observed: &Observed, prices: &Prices<'_>) -> Bill {
        let threads = observed.counts.in_all();
        let mut lines = Lines::default();
        let counting = observed.cost_of_counting() * 1e9;
        let together = Together::of(&threads, counting);
        for thread in &threads {
            lines.add(thread, &together, prices);
        }
        lines.are_uncertain(&observed.counts);
        // By ptrace only threads that are not traced have their time.
        let (mut kernel, ran) = if observed.disturbs { (None, 0.0) } else { sampled(&threads) };
        lines.are_within(kernel.as_ref());
        let mut lines: Vec<Line> = lines.0.into_values().collect();
        attributed::measure(&mut lines, observed, prices);
        part_pages_back(&mut lines, prices);
        lines.sort_by(|a, b| b.worth().total_cmp(&a.worth()).then_with(|| b.count.total_cmp(&a.count)));
        let attributed = Attributed::of(&lines);
        let sums = lines.iter().filter_map(|line| line.sum.as_ref());
        let explained = sums.fold(Price::default(), |all, one| all.plus(one));
        let user = kernel.filter(|kernel| kernel.is_sampled).map(|kernel| (ran - kernel.ns).max(0.0));
        if let Some(kernel) = &mut kernel {
            for time in [&mut kernel.ns, &mut kernel.lo, &mut kernel.hi] {
                *time = (*time - counting).max(0.0);
            }
        }
        let by_stamps = || (!observed.disturbs).then(|| attributed::in_calls(&lines, observed)).flatten();
        let kernel = kernel.or_else(by_stamps);
        let counting = counting.min(ran);
        let ran = ran - counting;
        let watched = observed.counts.watched.as_secs_f64() * 1e9;
        let evidence = Evidence::of(&observed.counts, &threads, &together);
        Bill { lines, explained, attributed, kernel, user, ran, counting, watched, evidence }
    }
}

/// Pages that calls gave back before are not there any more at the end: as many as what these were measured to take beyond their tolls pays
/// for, which are of memory that nobody has touched.
fn part_pages_back(lines: &mut Vec<Line>, prices: &Prices<'_>) {
    let Some(each) = prices.page_back().filter(|each| each.ns > 0.0) else { return };
    let beyond = lines.iter().filter_map(|line| match &line.of {
        Of::Call(name, _) if matches!(name.as_str(), "munmap" | "brk" | "madvise" | "mremap") => {
            Some((line.measured? - line.sum.as_ref()?.ns).max(0.0))
        }
        _ => None,
    });
    let before = beyond.sum::<f64>() / each.ns;
    let Some(at) = lines.iter().position(|line| line.of == Of::PageBack).filter(|_| before > 0.0) else {
        return;
    };
    let all = lines.swap_remove(at);
    let before = before.min(all.count);
    for (of, count) in [(Of::PageBack, all.count - before), (Of::PageBackInCall, before)] {
        if count > 0.0 {
            let sum = all.sum.as_ref().map(|sum| sum.times(count / all.count));
            lines.push(Line { of, count, sum, ..all.clone() });
        }
    }
}

/// What one thread's crossings come to, in nanoseconds.
pub(crate) fn worth_of(thread: &Thread, all: &Together, prices: &Prices<'_>) -> f64 {
    let mut lines = Lines::default();
    lines.add(thread, all, prices);
    lines.0.values().filter_map(|line| line.sum.as_ref()).map(|sum| sum.ns).sum()
}

/// The name of the call of 64 bits that does what these do; what /proc tells in sum are those that move bytes.
pub(crate) fn name_of(calls: &Calls) -> &'static str {
    match calls.number {
        u32::MAX => "reads and writes",
        number => numbers::native_name(number).unwrap_or("unknown"),
    }
}

/// What a line of such calls is called: by the name in their own table.
fn label_of(number: u32) -> String {
    match (number, numbers::name(number), numbers::table(number)) {
        (u32::MAX, ..) => "reads and writes".into(),
        (_, name, Some(table)) => format!("{} ({table})", name.unwrap_or("unknown")),
        (_, name, None) => name.unwrap_or("unknown").into(),
    }
}

/// What calls of a thread on a file come to by themselves.
pub(crate) fn price_of(calls: &Calls, rhythm: &Rhythm, all: &Together, prices: &Prices<'_>) -> Option<Price> {
    let call = name_of(calls);
    let count = calls.count as f64;
    let done = calls.done() as f64;
    let results = calls.results.unwrap_or(0) as f64;
    let asked = Asked {
        call,
        file: calls.file.kind,
        result: if (moves_bytes(call) || tells_ready(call)) && done > 0.0 { results / done } else { 0.0 },
        gives: results > 0.0,
        failed: 1.0 - done / count.max(1.0),
        sleeps: calls.slept.unwrap_or(0) as f64 > 0.5 * count,
        copies: rhythm.copies,
        new_files: rhythm.new_files(calls),
        begun_files: rhythm.begun_files(calls),
        far: rhythm.far,
        period: rhythm.period(calls),
        has_others: rhythm.has_others,
        walks: all.walks.like(calls),
    };
    let price = prices.asked(&asked).map(|price| price.times(count));
    // No toll is of another table's calls: the way into the kernel by `int 0x80` is longer.
    price.map(|price| Price { at_least: price.at_least || numbers::table(calls.number).is_some(), ..price })
}

/// Whether a call waits for a disk, as its toll does: that has the sleeps in it.
fn waits_for_a_disk(call: &str) -> bool {
    matches!(call, "fsync" | "fdatasync")
}

#[derive(Default)]
struct Lines(BTreeMap<Of, Line>);

impl Lines {
    fn line(&mut self, of: Of) -> &mut Line {
        let empty = Line {
            of: of.clone(),
            count: 0.0,
            is_estimate: false,
            uncertainty: 0.0,
            failed: 0.0,
            bytes: 0.0,
            paths: Paths::default(),
            sum: None,
            inside: None,
            away: None,
            waits: 0.0,
            waits_by_tolls: 0.0,
            measured: None,
        };
        self.0.entry(of).or_insert(empty)
    }

    /// So many passages at a price each.
    fn passed(&mut self, of: Of, count: f64, each: Option<Price>) {
        if count <= 0.0 {
            return;
        }
        let line = self.line(of);
        line.count += count;
        if let Some(each) = each {
            line.sum = Some(line.sum.take().unwrap_or_default().plus(&each.times(count)));
        }
    }

    fn add(&mut self, thread: &Thread, all: &Together, prices: &Prices<'_>) {
        let rhythm = Rhythm::of(thread, all);
        for calls in &thread.calls {
            self.called(calls, (&rhythm, all), prices);
        }
        let many = |count: Option<u64>| count.unwrap_or(0) as f64;
        let moments = &thread.moments;
        let (here, across) = (many(moments.woken_here), many(moments.woken_across));
        let is_told = moments.woken_here.is_some();
        let here = if here + across > 0.0 { here / (here + across) } else { 0.0 };
        // All sleeps are known; on which files they were, of those that were counted.
        let mut slept: BTreeMap<FileKind, f64> = BTreeMap::new();
        let mut all = 0.0;
        for calls in &thread.calls {
            all += many(calls.slept);
            // What waits for a disk has its sleeps in its toll.
            if !waits_for_a_disk(name_of(calls)) {
                *slept.entry(calls.file.kind).or_default() += many(calls.slept);
            }
        }
        if all <= 0.0 {
            slept = BTreeMap::from([(FileKind::None, 1.0)]);
        }
        for (file, part) in slept {
            let sleeps = many(moments.voluntary) * part / all.max(1.0);
            if !is_told {
                self.passed(Of::AnySleep, sleeps, prices.any_sleep(file));
                continue;
            }
            for (placement, share) in [(Placement::Same, here), (Placement::Across, 1.0 - here)] {
                let each = prices.sleep(file, placement, rhythm.sleeps_in_turns);
                self.slept(&thread.calls, (file, part), sleeps * share, each.as_ref());
                self.passed(Of::Sleep(placement), sleeps * share, each);
            }
        }
        self.passed(Of::Preemption, many(moments.involuntary), prices.switch());
        let minor = many(moments.minor);
        // Of all that were not seen in user mode.
        let in_calls = moments.in_user.map_or(0.0, |user| minor + many(moments.major) - user as f64);
        let in_calls = in_calls.clamp(0.0, minor);
        let in_user = minor - in_calls;
        let share = |of: Option<u64>| many(of) / many(moments.in_user).max(1.0);
        let on = match moments.in_user {
            Some(_) => Faults::Seen { reading: share(moments.reading), copying: share(moments.copying) },
            None => Faults::OfFiles(rhythm.faults_of_files(in_user)),
        };
        self.passed(Of::Fault, in_user, prices.fault(on));
        self.passed(Of::FaultInCall, in_calls, prices.fault(Faults::NEW));
        if rhythm.has_ended {
            self.passed(Of::PageBack, minor, prices.page_back());
        }
        self.passed(Of::MajorFault, many(moments.major), None);
        self.passed(Of::Signal, many(moments.signals), prices.signal());
        // The account of processor time grows by the scheduler's ticks, and by nothing else.
        let time = thread.user.zip(thread.system).map_or(Duration::ZERO, |(user, system)| user + system);
        let ticks = (time.as_secs_f64() / TICK.as_secs_f64()).round().min(many(moments.ticks));
        self.passed(Of::Timer, ticks, prices.tick());
        self.passed(Of::Timer, many(moments.ticks) - ticks, prices.timer());
        self.passed(Of::Interrupt, many(moments.interrupts), prices.interrupt());
        self.passed(Of::Operation, many(moments.operations), prices.operation());
        self.passed(Of::Exit, many(moments.exits), prices.exit());
        if thread.is_kernel_worker {
            self.passed(Of::Workers, 1.0, None);
            let ran = thread.ran.unwrap_or_default().as_secs_f64() * 1e9;
            *self.line(Of::Workers).inside.get_or_insert_default() += ran;
        }
    }

    /// Notes what sleeps on such files come to with the calls in which they were, of `all` that were seen in calls on them.
    fn slept(&mut self, calls: &[Calls], (file, all): (FileKind, f64), sleeps: f64, each: Option<&Price>) {
        let Some(each) = each else { return };
        let same = |calls: &&Calls| calls.file.kind == file && !waits_for_a_disk(name_of(calls));
        for calls in calls.iter().filter(same) {
            let share = calls.slept.unwrap_or(0) as f64 / all.max(1.0);
            if share > 0.0 {
                self.line(Of::Call(name_of(calls).into(), file)).waits_by_tolls += each.ns * sleeps * share;
            }
        }
    }

    /// Notes which counts are estimates, and widens what these come to.
    fn are_uncertain(&mut self, counts: &Counts) {
        if counts.extra.is_empty() {
            return;
        }
        let woken = self.woken_by_whom(counts);
        for (of, line) in &mut self.0 {
            let half: f64 = match of {
                Of::Sleep(_) => woken,
                of => {
                    counts.uncertainty.iter().filter(|(what, _)| of.is_of(what)).map(|(_, half)| half).sum()
                }
            };
            // Less than a half is none.
            let half = if half < 0.5 { 0.0 } else { half };
            line.is_estimate = half > 0.0;
            line.uncertainty = half;
            let off_by = line.off_by();
            if let Some(sum) = &mut line.sum {
                *sum = sum.of_counts_off_by(off_by);
                sum.lo = sum.lo.max(0.0);
            }
        }
    }

    /// By how many sleeps those that ended from the same core, and so those from another, may be off: their sum is exact, and of the two
    /// parts the shares are estimates.
    fn woken_by_whom(&self, counts: &Counts) -> f64 {
        let ends = |of: fn(&Moments) -> Option<u64>, what| {
            let all = [&counts.threads, &counts.extra].into_iter().flatten();
            let count: u64 = all.filter_map(|thread| of(&thread.moments)).sum();
            let half = counts.uncertainty.get(&what).copied().unwrap_or(0.0);
            if count > 0 { half / count as f64 } else { 0.0 }
        };
        let off_by = ends(|moments| moments.woken_here, Counted::WokenHere)
            + ends(|moments| moments.woken_across, Counted::WokenAcross);
        let sleeps = |placement| self.0.get(&Of::Sleep(placement)).map_or(0.0, |line| line.count);
        let (here, across) = (sleeps(Placement::Same), sleeps(Placement::Across));
        // The derivative of here / (here + across) by either, times the sum.
        if here + across > 0.0 { off_by * here * across / (here + across) } else { 0.0 }
    }

    /// Interrupts of the timer all are in the kernel's time: they come to no more than that, where it is known.
    fn are_within(&mut self, kernel: Option<&Measured>) {
        let Some(kernel) = kernel.filter(|kernel| kernel.is_sampled) else { return };
        let timer = self.0.get_mut(&Of::Timer).and_then(|line| line.sum.as_mut());
        if let Some(sum) = timer.filter(|sum| sum.ns > kernel.ns) {
            *sum = sum.times(kernel.ns / sum.ns);
        }
    }

    fn called(&mut self, calls: &Calls, (rhythm, all): (&Rhythm, &Together), prices: &Prices<'_>) {
        let name = name_of(calls);
        let many = |count: Option<u64>| count.unwrap_or(0) as f64;
        let long = |time: Option<Duration>| time.map(|time| time.as_secs_f64() * 1e9);
        let price = price_of(calls, rhythm, all, prices);
        let line = self.line(Of::Call(label_of(calls.number), calls.file.kind));
        line.count += calls.count as f64;
        line.failed += many(calls.failed);
        line.waits +=
            many(calls.slept) + many(calls.woke_here) + many(calls.woke_across) + many(calls.woke_busy);
        for paths in [calls.paths, calls.paths_failed].into_iter().flatten() {
            line.paths = line.paths + paths;
        }
        if moves_bytes(name) {
            line.bytes += many(calls.results);
        }
        for (known, more) in [(&mut line.inside, long(calls.inside)), (&mut line.away, long(calls.away))] {
            *known = match (*known, more) {
                (Some(known), Some(more)) => Some(known + more),
                (known, more) => known.or(more),
            };
        }
        if let Some(price) = price {
            line.sum = Some(line.sum.take().unwrap_or_default().plus(&price));
        }
        for (placement, woke) in [(Placement::Same, calls.woke_here), (Placement::Across, calls.woke_across)]
        {
            let each = prices.wake(calls.file.kind, placement, rhythm.wakes_in_turns);
            self.woke(calls, Of::Wake(placement), many(woke), each);
        }
        let busy = prices.wake_busy(calls.file.kind, rhythm.wakes_in_turns);
        self.woke(calls, Of::WakeBusy, many(calls.woke_busy), busy);
    }

    /// Counts wake-ups in these calls.
    fn woke(&mut self, calls: &Calls, of: Of, count: f64, each: Option<Price>) {
        let ns = each.as_ref().map_or(0.0, |each| each.ns * count);
        if ns > 0.0 {
            self.line(Of::Call(name_of(calls).into(), calls.file.kind)).waits_by_tolls += ns;
        }
        self.passed(of, count, each);
    }
}

/// Processor time in the kernel, where it was long enough for samples, and all of it, in nanoseconds. How long threads ran is exact; which part of that was in the kernel the kernel samples,
/// but of its own threads, where it is all.
fn sampled(threads: &[Thread]) -> (Option<Measured>, f64) {
    let (workers, others): (Vec<&Thread>, Vec<&Thread>) =
        threads.iter().partition(|thread| thread.is_kernel_worker);
    let (user, system) = (sum(&others, |thread| thread.user), sum(&others, |thread| thread.system));
    let (ran, by_workers) = (sum(&others, |thread| thread.ran), sum(&workers, |thread| thread.ran) * 1e9);
    let ran = if ran > 0.0 { ran } else { user + system } * 1e9;
    let count = |time: f64| (time / TICK.as_secs_f64()).round() as u64;
    let samples = count(user + system);
    if samples + count(by_workers / 1e9) >= FEW {
        let hits = count(system).min(samples);
        let (lo, hi) = proportion(hits, samples, 0.95).map_or((0.0, 1.0), |share| (share.lo, share.hi));
        let share = if samples > 0 { system / (user + system) } else { (lo + hi) / 2.0 };
        let part = |share: f64| share * ran + by_workers;
        let measured = Measured { ns: part(share), lo: part(lo), hi: part(hi), is_sampled: true };
        return (Some(measured), ran + by_workers);
    }
    (None, ran + by_workers)
}

/// The sum of a time of threads, in seconds.
fn sum(threads: &[&Thread], of: fn(&Thread) -> Option<Duration>) -> f64 {
    threads.iter().filter_map(|thread| of(thread)).sum::<Duration>().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use tollway_core::{Crossing, Toll, TollKey, TollSource};
    use tollway_watch::File;

    use super::*;
    use crate::document::BillDocument;
    use crate::made_up;

    /// In nanoseconds: a tick of the scheduler 10,000, another interrupt of the timer 5,000, a call 100.
    struct Tolls;

    impl TollSource for Tolls {
        fn toll(&self, key: &TollKey) -> Option<Toll> {
            let ns = match (key.crossing, key.kind.as_deref()) {
                (Crossing::Interruption, Some("tick")) => 10_000.0,
                (Crossing::Interruption, Some("timer")) => 5_000.0,
                (Crossing::Getppid, _) => 100.0,
                (Crossing::MinorFault, _) => 2_000.0,
                _ => return None,
            };
            Some(made_up::toll(key, ns, 0.0))
        }
    }

    fn milliseconds(ms: u64) -> Option<Duration> {
        Some(Duration::from_millis(ms))
    }

    /// A thread by its time in user mode and in the kernel, and the interrupts of the local timer.
    fn thread(user: u64, system: u64, ticks: u64) -> Thread {
        Thread {
            number: 7,
            process: 7,
            user: milliseconds(user),
            system: milliseconds(system),
            ran: milliseconds(user + system),
            moments: Moments { ticks: Some(ticks), ..Moments::default() },
            ..Thread::default()
        }
    }

    fn observed(threads: Vec<Thread>) -> Observed {
        made_up::observed(Counts { threads, watched: Duration::from_secs(1), ..Counts::default() })
    }

    fn billed(threads: Vec<Thread>) -> Bill {
        Bill::of(&observed(threads), &Prices(&Tolls))
    }

    fn timer(bill: &Bill) -> (f64, f64) {
        let line = bill.lines.iter().find(|line| line.of == Of::Timer).unwrap();
        (line.count, line.sum.as_ref().unwrap().ns)
    }

    /// Timers of TCP by the hundred were priced as ticks, of which a thread has one in 4 ms: 40 % of the bill of a curl.
    #[test]
    fn interrupts_of_the_timer_beyond_the_ticks_are_none_of_the_schedulers() {
        let bill = billed(vec![thread(40, 360, 250)]);
        assert_eq!(timer(&bill), (250.0, 100.0 * 10_000.0 + 150.0 * 5_000.0));
        // Where fewer were counted than there are ticks, all are such.
        assert_eq!(timer(&billed(vec![thread(40, 360, 30)])), (30.0, 300_000.0));
    }

    #[test]
    fn interrupts_of_the_timer_come_to_no_more_than_the_kernels_time() {
        let bill = billed(vec![thread(398, 2, 1000)]);
        let kernel = bill.kernel.unwrap();
        assert!((timer(&bill).1 - kernel.ns).abs() < 1.0, "{bill:?}");
    }

    /// By `--exact` a loop of reads was said to be in the kernel for 36 % of its time, which it is for 89 %.
    #[test]
    fn what_counting_took_is_in_no_time_of_the_program() {
        let mut counts = Counts { watched: Duration::from_secs(1), ..Counts::default() };
        counts.threads = vec![thread(100, 900, 0)];
        counts.cost = Duration::from_millis(600);
        let bill = Bill::of(&made_up::observed(counts), &Prices(&Tolls));
        let (kernel, user) = (bill.kernel.unwrap(), bill.user.unwrap());
        assert_eq!([kernel.ns, user, bill.ran, bill.counting].map(f64::round), [300e6, 100e6, 400e6, 600e6]);
    }

    #[test]
    fn the_kernels_own_threads_are_in_it_all_of_their_time() {
        let worker = Thread { number: 8, is_kernel_worker: true, ..thread(0, 600, 0) };
        let bill = billed(vec![thread(300, 100, 0), worker.clone()]);
        let (kernel, workers) = (bill.kernel.unwrap(), bill.lines.iter().find(|line| line.of == Of::Workers));
        assert!((kernel.ns - 700e6).abs() < 1.0 && kernel.lo >= 600e6 && kernel.hi < 1e9, "{kernel:?}");
        assert_eq!(bill.ran, 1e9);
        let workers = workers.unwrap();
        assert_eq!((workers.count, workers.sum.clone(), workers.inside), (1.0, None, Some(600e6)));
        // By ptrace these are the only threads with times: the kernel's in all is not known.
        let threads = vec![Thread { user: None, system: None, ran: None, ..thread(0, 0, 0) }, worker];
        let traced = Bill::of(&Observed { disturbs: true, ..observed(threads) }, &Prices(&Tolls));
        assert_eq!((traced.kernel, traced.ran), (None, 0.0));
        assert!(traced.lines.iter().any(|line| line.of == Of::Workers));
    }

    /// Names are those of their own tables, and what is like them is only the least that they cost.
    #[test]
    fn calls_of_32_bits_have_their_names_and_prices_at_least() {
        let call = |number: u32| Calls { number, count: 10, file: File::default(), ..Calls::default() };
        let calls = vec![call(20 + numbers::I386), call(110), call(110 + numbers::X32)];
        let bill = billed(vec![Thread { calls, ..thread(400, 0, 0) }]);
        let found = |name: &str| {
            let of = Of::Call(name.into(), FileKind::None);
            let line =
                bill.lines.iter().find(|line| line.of == of).unwrap_or_else(|| panic!("{name}: {bill:?}"));
            let sum = line.sum.clone().unwrap();
            (sum.ns, sum.at_least)
        };
        assert_eq!(found("getppid"), (1_000.0, false));
        assert_eq!([found("getpid (32-bit)"), found("getppid (x32)")], [(1_000.0, true); 2]);
    }

    #[test]
    fn where_the_tolls_say_much_more_a_reason_stands_beside_it() {
        let calls = |count| vec![Calls { number: 110, count, inside: milliseconds(20), ..Calls::default() }];
        let notes = |count| {
            let thread = Thread { calls: calls(count), ..thread(200, 200, 0) };
            let bill = BillDocument::of(&observed(vec![thread]), &Prices(&Tolls), None).unwrap();
            (bill.to_text(None), bill.sum_line(None))
        };
        let sum = |count| notes(count).1;
        let notes = |count| notes(count).0;
        // 400 and 200 ms of tolls, of 200 that were measured.
        let (more, as_much) = (notes(4_000_000), notes(2_000_000));
        let reason = "200 % explained [159 %, 241 %]: most of it is getppid, which costs less here than its toll, 100 ns";
        assert!(more.contains(reason), "{more}");
        assert!(sum(4_000_000).contains(reason), "the line of `--quiet` has it as well");
        assert!(as_much.contains("100 % explained [80 %, 120 %]\n"), "{as_much}");
    }

    /// The kernel tells at all times how often a thread slept; whether it was woken from its own core, in slices alone.
    #[test]
    fn from_where_sleeps_were_ended_is_an_estimate_where_both_happened() {
        let halves = |across| {
            let woken = |here, across| Moments {
                voluntary: Some(0),
                woken_here: Some(here),
                woken_across: Some(across),
                ..Moments::default()
            };
            let seen = Moments { voluntary: Some(1_000), ..woken(60, across) };
            let of = |moments| vec![Thread { moments, ..thread(0, 0, 0) }];
            // Of 240 and 80, a tenth either.
            let uncertainty = [(Counted::WokenHere, 24.0), (Counted::WokenAcross, across as f64 * 0.4)];
            let observed = observed(of(seen));
            let counts = Counts {
                extra: of(woken(180, 3 * across)),
                uncertainty: uncertainty.into_iter().filter(|(_, half)| *half > 0.0).collect(),
                ..observed.counts.clone()
            };
            let bill = Bill::of(&Observed { counts, ..observed }, &Prices(&Tolls));
            let sleeps = bill.lines.iter().filter(|line| matches!(line.of, Of::Sleep(_)));
            sleeps.map(|line| (line.count, line.uncertainty, line.is_estimate)).collect::<Vec<_>>()
        };
        assert_eq!(halves(20), [(750.0, 37.5, true), (250.0, 37.5, true)]);
        assert_eq!(halves(0), [(1_000.0, 0.0, false)]);
    }

    /// Of bills of tar, in a guest of whose memory the host had taken much back, 40 % were explained, and nothing said why.
    #[test]
    fn who_may_have_waited_for_memory_of_the_host_is_told() {
        let notes = |kernel, goes_back| {
            let moments = Moments { minor: Some(20_000), ..Moments::default() };
            let thread = Thread { moments, ..thread(kernel, kernel, 0) };
            let bill = BillDocument::of(&observed(vec![thread]), &Prices(&Tolls), None).unwrap();
            BillDocument { memory_goes_back: goes_back, ..bill }.to_text(None)
        };
        let reason = "free page reporting of virtio-balloon";
        let faults = notes(200, true);
        assert!(faults.contains(reason), "{faults}");
        assert!(!notes(200, false).contains(reason));
        let explained = notes(40, true);
        assert!(!explained.contains(reason), "{explained}");
    }

    /// What is of all threads together was asked once of each: a bill of 4000 processes took 14 s after they had ended, one of these some
    /// minutes.
    #[test]
    fn a_bill_of_many_processes_is_made_at_once() {
        let threads = (1..30_000).map(|process| Thread {
            number: process,
            process,
            calls: vec![Calls { number: 110, count: 1, ..Calls::default() }],
            ..thread(1, 1, 0)
        });
        let bill = BillDocument::of(&observed(threads.collect()), &Prices(&Tolls), None).unwrap();
        assert_eq!(bill.lines[0].count, 29_999.0);
    }
}
