//! Watches a program by the kernel's tracepoints: all the time, or in slices of it.
//!
//! [`Watch::tick`] is to be called when it is due. As long as the [`Budget`] of what watching may cost lasts, everything is counted. A program that makes calls so
//! often that it does not last is counted in slices: some milliseconds, and then not for as long as such slices cost what is allowed. Slices are of random distance, so that
//! what a program does in a rhythm is met as often as it happens. Between them calls are counted by their numbers, where that is affordable.

use std::collections::BTreeMap;
use std::fmt;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tollway_core::{Error, Missing, Result};

use super::budget::{Budget, LONGEST, Next, Pause, SHORTEST, SLICE, Stretch};
use super::cost::Cost;
use super::extrapolation::{Extrapolation, Standing};
use super::harvest::{Call, Seen, Timed};
use super::kind::file_of;
use super::layout::{call, thread};
use super::room::Room;
use super::taken::Taken;
use super::{Kernel, Passed};
use crate::counts::{Calls, Counts, File, Moments, Paths, Thread};
use crate::living::{Life, has_own_proc, is_proc_own, life_of, threads_of};
use crate::start::started;

/// How long a program begins, at the most: what it does meanwhile tells nothing of what it goes on with.
const BEGINS: Duration = Duration::from_millis(100);
/// How long calls are counted by their numbers at the most for that, where others have the processor.
const LONGEST_SLICE: Duration = Duration::from_millis(40);
/// How often it is asked where everything is counted, and how often of a program that may make more calls within some milliseconds: in its beginning, and
/// where it did before. A git clone had spent nearly all of its allowance in 100 ms.
const LOOK: Duration = Duration::from_millis(100);
const SOON: Duration = Duration::from_millis(20);
/// Tracepoints that are not passed at each call.
const SELDOM: [Passed; 2] = [Passed::Seldom, Passed::Switches];
/// Switches and page faults in a second that are few: programs at them take less than 0.1 % of the time.
const FEW_SWITCHES: f64 = 20_000.0;

/// A program that is watched.
pub struct Watch {
    kernel: Kernel,
    children: bool,
    cost: Cost,
    /// What it may cost yet; `None` where everything is counted, whatever it costs.
    budget: Option<Budget>,
    /// When it first was counted.
    begun: Option<Instant>,
    counted: Duration,
    counting_since: Option<Instant>,
    /// Calls are counted by their numbers since it was last looked at that, until it is time for the next slice.
    numbering: Option<Numbering>,
    between: Option<Between>,
    numbered: Duration,
    due: Instant,
    room: Room,
    /// What watching had taken when it was last looked, and of that what it took of those who have ended.
    taken_before: Taken,
    taken_of_ended: Taken,
    lot: u64,
    /// What threads had done when they were first watched, and what is known of those that live, by their
    /// slots: an exec may give one the number of another.
    earlier: BTreeMap<u32, Life>,
    living: BTreeMap<u32, Seen>,
    ended: BTreeMap<(u32, String), Thread>,
    /// Whether rates are taken already: what a program does to begin is in none.
    takes_rates: bool,
    /// Whether it was ever not counted.
    has_paused: bool,
    extrapolation: Extrapolation,
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch")
            .field("kernel", &self.kernel)
            .field("children", &self.children)
            .field("cost", &self.cost)
            .finish_non_exhaustive()
    }
}

impl Watch {
    /// Programs at the kernel's tracepoints that watch nobody yet. With `children` the children of who is watched are watched as well. `allowed` is what
    /// watching may cost, as a share of the time of the watched (0.03); without, everything is counted whatever it costs.
    /// So it is where /proc is not this PID namespace's.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this process or kernel lacks.
    pub fn new(children: bool, allowed: Option<f64>) -> Result<Watch> {
        let mut kernel = Kernel::new(children)?;
        let cost = Cost::measured(&mut kernel)?;
        // What is counted in slices is scaled by what /proc tells of those that live.
        let allowed = allowed.filter(|_| is_proc_own());
        let now = Instant::now();
        Ok(Watch {
            kernel,
            children,
            cost,
            budget: allowed.map(Budget::new),
            begun: None,
            counted: Duration::ZERO,
            counting_since: None,
            numbering: None,
            between: None,
            numbered: Duration::ZERO,
            due: now,
            room: Room::new(now, LOOK),
            taken_before: Taken::default(),
            taken_of_ended: Taken::default(),
            lot: u64::from(std::process::id()) | 1 << 32,
            earlier: BTreeMap::new(),
            living: BTreeMap::new(),
            ended: BTreeMap::new(),
            takes_rates: false,
            has_paused: false,
            extrapolation: Extrapolation::default(),
        })
    }

    /// Starts a program, which is watched from its first instruction on and is bound to us in no way: whatever ends this process, it goes on.
    ///
    /// # Errors
    /// It cannot be started or watched.
    pub fn start(&mut self, command: &mut Command) -> Result<Child> {
        self.count()?;
        started(command, |process| {
            let earlier = life_of(process, process).unwrap_or_default();
            self.add(vec![((process, process), earlier)])?;
            // It came to its first instruction by a call whose end came before anybody watched.
            self.kernel.count_one(process, libc::SYS_execve as u16)
        })
    }

    /// Watches a program that runs, with all its threads.
    ///
    /// # Errors
    /// There is none of that number, or too many threads.
    pub fn attach(&mut self, process: u32) -> Result<()> {
        has_own_proc(process).map_err(Error::Missing)?;
        // Twice, as it may begin threads between.
        for _ in 0..2 {
            let threads = threads_of(process, self.children);
            if threads.is_empty() {
                return Err(Error::Missing(Missing::new(
                    format!("process {process}"),
                    "there is none of that number",
                    "`ps -e` lists those that run",
                )));
            }
            let lives = threads.into_iter().filter_map(|one| Some((one, life_of(one.0, one.1)?)));
            self.add(lives.collect())?;
        }
        self.count()?;
        self.kernel.look_again()
    }

    /// Watches threads, with what they had done before; not those of which this is known already.
    fn add(&mut self, threads: Vec<((u32, u32), Life)>) -> Result<()> {
        let (numbers, lives): (Vec<_>, Vec<_>) = threads.into_iter().unzip();
        for (slot, life) in self.kernel.add_all(&numbers)?.into_iter().zip(lives) {
            if let Some(slot) = slot {
                self.earlier.entry(slot).or_insert(life);
            }
        }
        Ok(())
    }

    /// The processes that are watched.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.kernel.processes().into_iter()
    }

    /// Whether all is known of those that have ended: some milliseconds after their parents have waited for them, and never where these do not.
    pub fn is_settled(&self) -> bool {
        self.kernel.is_settled()
    }

    /// The paths by which files were opened while it was counted, as the program gave them: those that were opened last, where there were more
    /// than some thousands.
    ///
    /// # Errors
    /// The kernel's.
    pub fn names(&self) -> Result<Vec<(File, String)>> {
        self.kernel.names()
    }

    /// What watching costs. What it adds to a call within its stamps is as much dearer than it was measured as the programs at the
    /// ends of calls were: they are in the same caches.
    pub fn cost(&self) -> Cost {
        let Taken { programs, programs_as_measured, .. } = self.taken();
        let dearer = if programs_as_measured > 0.0 { programs / programs_as_measured } else { 1.0 };
        self.cost.times(dearer)
    }

    /// Tracepoints that this kernel has not: what they tell of is not counted.
    pub fn absent(&self) -> &[&'static str] {
        &self.kernel.absent
    }

    /// Does what is due; says how long it is until something is again.
    ///
    /// # Errors
    /// The kernel's.
    pub fn tick(&mut self) -> Result<Duration> {
        let now = Instant::now();
        if now < self.due {
            if self.room.left(now).is_zero() {
                self.collect()?;
            }
            let now = Instant::now();
            return Ok(self.due.saturating_duration_since(now).min(self.room.left(now)));
        }
        let pause = match (self.counting_since, self.numbering) {
            (Some(since), _) => self.look(now - since)?,
            (None, Some(numbering)) if now < numbering.until => self.look_at_numbers(numbering)?,
            (None, numbering) => {
                if let Some(numbering) = numbering {
                    self.look_at_numbers(numbering)?;
                }
                match self.between.take().filter(|between| between.left > 0 && numbering.is_none()) {
                    Some(between) => self.resume_numbers(between)?,
                    None => {
                        self.count()?;
                        SLICE
                    }
                }
            }
        };
        let now = Instant::now();
        self.due = now + pause;
        Ok(pause.min(self.room.left(now)))
    }

    /// Asks what it cost to count so long, and stops for a while where no more is allowed.
    fn look(&mut self, counted: Duration) -> Result<Duration> {
        self.collect()?;
        let taken = self.taken() - self.taken_before;
        let counted = counted.as_secs_f64();
        self.end_stretch();
        // Threads that run at once have more time than the clock.
        let time = counted.max(taken.ran);
        let at_once = time / counted.max(1e-9);
        let switches = taken.switches / counted.max(1e-9);
        let keep = if switches < FEW_SWITCHES { &SELDOM[..] } else { &SELDOM[..1] };
        let stretch = Stretch { time, cost: taken.everything, numbers: taken.instead };
        let lasts = match &mut self.budget {
            None => f64::INFINITY,
            Some(budget) => match budget.counted(stretch) {
                Next::Pause { seconds, what } => {
                    let left = if let Pause::Unknown { between } = what { between } else { 0 };
                    let between = Between { seconds: seconds / at_once, left, at_once, keep };
                    self.between = Some(between);
                    return self.pause(between, what == Pause::Numbered);
                }
                Next::GoOn(lasts) => lasts / at_once,
            },
        };
        if self.has_paused {
            // What tells of the gap before is the slice alone, and of the gap behind all this what was counted last.
            self.end_slice();
        } else {
            self.begin_rates();
        }
        self.begin_stretch();
        let begins = self.begun.is_none_or(|begun| begun.elapsed() < 2 * LOOK);
        let longest = if begins || self.has_paused { SOON } else { LOOK };
        Ok(Duration::from_secs_f64(lasts.clamp(SLICE.as_secs_f64(), longest.as_secs_f64())))
    }

    /// Stops counting everything; says when it is due to look again.
    fn pause(&mut self, between: Between, by_number: bool) -> Result<Duration> {
        // Before it does: who ends on the way has to be known to end in the gap.
        self.end_slice();
        self.has_paused = true;
        self.extrapolation.begin_gap();
        let begun = Instant::now();
        // Who runs how long has to be known where there is no more than this to tell of the gap.
        self.kernel.begin_numbers(if by_number { between.keep } else { &SELDOM });
        self.collect()?;
        self.for_each_living(Extrapolation::numbers_settle);
        self.numbered += begun.elapsed();
        Ok(self.number(between, by_number))
    }

    /// Counts calls by their numbers for a while again, of which nothing was counted up to now.
    fn resume_numbers(&mut self, between: Between) -> Result<Duration> {
        self.kernel.resume_numbers()?;
        self.collect()?;
        self.for_each_living(Extrapolation::renew);
        self.extrapolation.begin_gap();
        self.between = Some(Between { left: between.left - 1, ..between });
        Ok(self.number(between, false))
    }

    /// Calls are counted by their numbers from now on, for the whole of a gap or in its beginning. Says when it is due to look.
    fn number(&mut self, between: Between, by_number: bool) -> Duration {
        let pause = Duration::from_secs_f64(between.seconds * self.random(0.5, 1.5));
        let pause = pause.clamp(SHORTEST, LONGEST);
        let now = Instant::now();
        self.taken_before = self.taken();
        let ends = now + if by_number { pause } else { pause.min(SLICE) };
        let ran_before = self.taken_before.ran_numbered;
        let Between { at_once, keep, .. } = between;
        self.numbering =
            Some(Numbering { begun: now, since: now, ends, until: now + pause, ran_before, at_once, keep });
        (ends - now).min(LOOK)
    }

    /// Asks what it cost to count calls by their numbers, and stops where that is too much, or when it is time to. Says when it
    /// is due to look again.
    fn look_at_numbers(&mut self, numbering: Numbering) -> Result<Duration> {
        self.collect()?;
        let (now, taken) = (Instant::now(), self.taken());
        let time = now - numbering.since;
        self.numbered += time;
        let cost = taken.numbers - self.taken_before.numbers;
        self.taken_before = taken;
        self.numbering = None;
        let left = numbering.until.saturating_duration_since(now);
        let is_slice = numbering.ends < numbering.until;
        let ran = self.taken_before.ran_numbered - numbering.ran_before;
        let numbering =
            match is_slice && ran < SLICE.as_secs_f64() / 2.0 && now < numbering.begun + LONGEST_SLICE {
                // Others had the processor: that is no slice of this program.
                true => Numbering { ends: (now + SLICE).min(numbering.until), ..numbering },
                false => numbering,
            };
        let is_affordable = self.is_affordable(time.as_secs_f64() * numbering.at_once, Some(cost));
        if is_affordable && (now < numbering.ends || !is_slice) {
            self.numbering = Some(Numbering { since: now, ..numbering });
            return Ok(numbering.ends.saturating_duration_since(now).min(LOOK));
        }
        self.kernel.rest(numbering.keep);
        self.collect()?;
        self.for_each_living(Extrapolation::end_numbers);
        self.extrapolation.begin_unknown();
        self.is_affordable(left.as_secs_f64() * numbering.at_once, None);
        Ok(left)
    }

    /// Between two slices `time` seconds pass or have passed, of which counting takes `cost`, if it does: whether it may go on.
    fn is_affordable(&mut self, time: f64, cost: Option<f64>) -> bool {
        self.budget.as_mut().is_none_or(|budget| budget.paused(time, cost))
    }

    /// Rates are taken from here on, if the program still begins, or seemed to up to now.
    fn begin_rates(&mut self) {
        if self.takes_rates {
            return;
        }
        self.for_each_living(Extrapolation::begin_at);
        let is_over = self.begun.is_none_or(|begun| begun.elapsed() > BEGINS);
        self.takes_rates = is_over || self.budget.as_ref().is_some_and(Budget::is_low);
    }

    /// Counts from now on.
    fn count(&mut self) -> Result<()> {
        if self.counting_since.is_none() {
            let begun = Instant::now();
            self.kernel.begin()?;
            // Up to then numbers were counted, if they were before.
            self.numbered += self.numbering.take().map_or(Duration::ZERO, |_| begun.elapsed());
            self.begin_stretch();
            self.begun.get_or_insert_with(Instant::now);
            self.due = Instant::now() + SLICE;
        }
        Ok(())
    }

    fn begin_stretch(&mut self) {
        self.taken_before = self.taken();
        self.counting_since = Some(Instant::now());
    }

    fn end_stretch(&mut self) {
        if let Some(since) = self.counting_since.take() {
            self.counted += since.elapsed();
        }
    }

    /// What was counted since the last pause, or since it was last looked at that, tells of the gap before it and of that behind it.
    fn end_slice(&mut self) {
        let has_gap = self.has_paused;
        self.for_each_living(|extrapolation, one| extrapolation.pause(one, has_gap));
    }

    fn for_each_living(&mut self, mut each: impl FnMut(&mut Extrapolation, &Standing<'_>)) {
        let known: Vec<_> = self.living.iter().map(|(slot, seen)| (*slot, self.known_of(seen))).collect();
        for (slot, known) in &known {
            each(&mut self.extrapolation, &known.standing(*slot));
        }
    }

    /// A number between two, evenly: by a generator of Marsaglia's (Xorshift RNGs, 2003), which is good enough to miss a rhythm.
    fn random(&mut self, low: f64, high: f64) -> f64 {
        self.lot ^= self.lot << 13;
        self.lot ^= self.lot >> 7;
        self.lot ^= self.lot << 17;
        low + (high - low) * (self.lot >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What watching has taken of the processor time of the watched: events × what each adds.
    fn taken(&self) -> Taken {
        self.living.values().fold(self.taken_of_ended, |sum, one| sum + self.taken_of(one))
    }

    /// The same of a thread.
    fn taken_of(&self, one: &Seen) -> Taken {
        let ran = (self.kernel.ran_counted(one), self.kernel.ran_numbered(one));
        Taken::of(one, &self.cost, ran)
    }

    /// Reads what was counted.
    fn collect(&mut self) -> Result<()> {
        self.living.clear();
        let (now, mut ended) = (Instant::now(), 0);
        for seen in self.kernel.harvest()? {
            let process = seen.numbers().1;
            if seen.is_gone() {
                ended += 1;
                let known = self.known_of(&seen);
                self.earlier.remove(&seen.slot());
                self.taken_of_ended = self.taken_of_ended + self.taken_of(&seen);
                self.extrapolation.end(&known.standing(seen.slot()), self.has_paused);
                let ended = known.thread;
                let same = self.ended.entry((process, ended.name.clone())).or_default();
                same.number = if same.name.is_empty() { seen.first_number() } else { 0 };
                same.process = process;
                same.name.clone_from(&ended.name);
                same.is_kernel_worker = ended.is_kernel_worker;
                same.add(&ended);
            } else {
                self.living.insert(seen.slot(), seen);
            }
        }
        self.room.looked(now, ended);
        Ok(())
    }

    /// What was counted so far.
    ///
    /// # Errors
    /// The kernel's.
    pub fn counts(&mut self) -> Result<Counts> {
        self.collect()?;
        if self.counting_since.is_some() {
            self.end_stretch();
            self.begin_stretch();
            if self.has_paused {
                self.end_slice();
            }
        }
        let living: Vec<_> = self.living.iter().map(|(slot, seen)| (*slot, self.known_of(seen))).collect();
        let (mut extra, mut uncertainty) = (Vec::new(), BTreeMap::new());
        if self.has_paused {
            let ended: Vec<_> = self.ended.keys().cloned().collect();
            let standing: Vec<_> = living.iter().map(|(slot, known)| known.standing(*slot)).collect();
            let found = self.extrapolation.of(&ended, &standing);
            (extra, uncertainty) = (found.extra, found.uncertainty);
        }
        let ended = self.ended.values().cloned();
        let threads = ended.chain(living.into_iter().map(|(_, known)| known.thread)).collect();
        let watched = self.begun.map_or(Duration::ZERO, |begun| begun.elapsed());
        Ok(Counts {
            threads,
            extra,
            uncertainty,
            watched,
            counted: if self.has_paused { self.counted } else { watched },
            numbered: self.numbered
                + self.numbering.map_or(Duration::ZERO, |numbering| numbering.since.elapsed()),
            cost: self.taken().cost(),
            lost: self.kernel.lost()?,
        })
    }

    /// What is known of a thread now.
    fn known_of(&self, seen: &Seen) -> Known {
        let (number, process) = seen.numbers();
        let earlier = self.earlier.get(&seen.slot()).cloned().unwrap_or_default();
        let life = match seen.word(thread::DIED) {
            0 => life_of(number, process).unwrap_or_else(|| earlier.clone()),
            _ => last_of(seen),
        };
        Known {
            thread: counted_of(seen, &life, &earlier),
            taken: self.taken_of(seen),
            numbered: seen.numbered.clone(),
            number_times: seen.numbers_times(),
            cost: self.cost,
            moved: life.moved.saturating_sub(earlier.moved),
            has_ended: seen.word(thread::DIED) != 0,
        }
    }
}

/// Gaps in which nothing is counted but in their beginnings.
#[derive(Clone, Copy)]
struct Between {
    /// How long each is, in the mean.
    seconds: f64,
    /// How many follow until everything is counted again.
    left: u32,
    /// How many of the watched run at once.
    at_once: f64,
    /// What stays attached then.
    keep: &'static [Passed],
}

/// Calls are counted by their numbers.
#[derive(Clone, Copy)]
struct Numbering {
    begun: Instant,
    /// When it was last looked at that.
    since: Instant,
    /// How long the watched had run so when it began.
    ran_before: f64,
    /// Until when, and when the next slice begins.
    ends: Instant,
    until: Instant,
    /// How many of the watched run at once.
    at_once: f64,
    /// What stays attached then.
    keep: &'static [Passed],
}

/// A thread, what watching it took, and what it did by other accounts.
struct Known {
    thread: Thread,
    taken: Taken,
    numbered: BTreeMap<u32, u64>,
    number_times: Timed,
    cost: Cost,
    moved: u64,
    has_ended: bool,
}

impl Known {
    fn standing(&self, slot: u32) -> Standing<'_> {
        Standing {
            slot,
            thread: &self.thread,
            has_ended: self.has_ended,
            ran: self.thread.ran.unwrap_or_default().as_secs_f64(),
            counted: self.taken.ran,
            cost: self.taken.everything,
            numbered: &self.numbered,
            number_times: self.number_times,
            programs: self.taken.programs,
            programs_as_measured: self.taken.programs_as_measured,
            cost_of_each: &self.cost,
            ran_numbered: self.taken.ran_numbered,
            moved: self.moved,
        }
    }
}

/// The life of a thread that has ended, as the kernel's programs noted it then.
fn last_of(seen: &Seen) -> Life {
    Life {
        name: seen.name(),
        is_kernel_worker: seen.is_kernel_worker(),
        voluntary: seen.word(thread::VOLUNTARY_IN_ALL),
        involuntary: seen.word(thread::INVOLUNTARY_IN_ALL),
        moved: seen.word(thread::READS) + seen.word(thread::WRITES),
        minor: seen.word(thread::MINOR),
        major: seen.word(thread::MAJOR),
        user: Duration::from_nanos(seen.word(thread::USER)),
        system: Duration::from_nanos(seen.word(thread::SYSTEM)),
        ran: Duration::from_nanos(seen.word(thread::RAN)),
    }
}

/// A thread, of what was seen of it, what it did in its life and what of that before it was watched.
fn counted_of(seen: &Seen, life: &Life, earlier: &Life) -> Thread {
    let word = |at: i16| Some(seen.word(at));
    let (number, process) = (seen.first_number(), seen.numbers().1);
    let moments = Moments {
        voluntary: Some(life.voluntary.saturating_sub(earlier.voluntary)),
        involuntary: Some(life.involuntary.saturating_sub(earlier.involuntary)),
        woken_here: word(thread::WOKEN_HERE),
        woken_across: word(thread::WOKEN_ACROSS),
        minor: Some(life.minor.saturating_sub(earlier.minor)),
        major: Some(life.major.saturating_sub(earlier.major)),
        in_user: word(thread::FAULTS),
        reading: word(thread::READING_FAULTS),
        copying: word(thread::COPYING_FAULTS),
        signals: word(thread::SIGNALS),
        interrupts: word(thread::INTERRUPTS),
        ticks: word(thread::TICKS),
        operations: word(thread::OPERATIONS),
        exits: word(thread::EXITS),
        migrations: word(thread::MIGRATIONS),
    };
    Thread {
        number,
        process,
        name: life.name.clone(),
        is_kernel_worker: life.is_kernel_worker,
        calls: seen.calls.iter().filter(|call| call.word(call::COUNT) > 0).map(calls_of).collect(),
        moments,
        user: Some(life.user.saturating_sub(earlier.user)),
        system: Some(life.system.saturating_sub(earlier.system)),
        ran: Some(life.ran.saturating_sub(earlier.ran)),
    }
}

/// Those whose beginning was not seen are taken to be like the others.
fn calls_of(one: &Call) -> Calls {
    let (count, timed) = (one.word(call::COUNT), one.word(call::TIMED));
    let of_all = |at: i16| match timed {
        0 => None,
        timed => u64::try_from(u128::from(one.word(at)) * u128::from(count) / u128::from(timed)).ok(),
    };
    let looked_at = |[paths, names]: [i16; 2]| {
        let paths = Paths { paths: one.word(paths), names: one.word(names) };
        (paths.paths > 0).then_some(paths)
    };
    Calls {
        number: one.number,
        file: file_of(one.kind, one.inode, one.what),
        count,
        failed: Some(one.word(call::FAILED)),
        results: Some(one.word(call::RESULTS)),
        inside: of_all(call::INSIDE).map(Duration::from_nanos),
        away: of_all(call::AWAY).map(Duration::from_nanos),
        slept: of_all(call::SLEPT),
        woke_here: of_all(call::WOKE_HERE),
        woke_across: of_all(call::WOKE_ACROSS),
        woke_busy: of_all(call::WOKE_BUSY),
        paths: looked_at(call::DONE_BY_PATH),
        paths_failed: looked_at(call::FAILED_BY_PATH),
    }
    .with_failures_among_them()
}
