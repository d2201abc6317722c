//! Watches a program by the kernel's tracepoints: all the time, or in slices of it.
//!
//! Whoever watches calls [`Watch::tick`] when it is due. As long as watching costs less than is allowed, everything is counted. A program that makes calls so
//! often that it would cost more is counted in slices: some milliseconds, and then not for as long as brings the average down. Slices are of random distance, so that
//! what a program does in a rhythm is met as often as it happens.

use std::collections::BTreeMap;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tollway_core::{Error, Missing, Result};

use super::Kernel;
use super::clocks::Clocks;
use super::cost::Cost;
use super::harvest::{Call, Seen};
use super::kind::file_of;
use super::layout::{call, thread};
use crate::counts::{Calls, Counts, Moments, Thread};
use crate::living::{Life, has_own_proc, is_proc_own, life_of, threads_of};
use crate::numbers;
use crate::start::started;

/// How long it is counted until it is first asked what that costs, and in each slice.
const SLICE: Duration = Duration::from_millis(20);
/// How often it is asked where everything is counted.
const LOOK: Duration = Duration::from_millis(100);
/// The longest and the shortest between two slices: attaching waits for the kernel where it was detached less long ago.
const LONGEST: Duration = Duration::from_secs(2);
const SHORTEST: Duration = Duration::from_millis(50);

/// So many crossings, and so many seconds of processor time, say how much of all was counted.
const MANY: u64 = 2000;
const RAN: f64 = 0.005;

/// A program that is watched.
pub struct Watch {
    kernel: Kernel,
    children: bool,
    cost: Cost,
    allowed: Option<f64>,
    /// When it first was counted.
    begun: Option<Instant>,
    counted: Duration,
    counting_since: Option<Instant>,
    /// How long the watched had run when this stretch of counting began, and how long they ran in those before.
    ran_before: Duration,
    ran: Duration,
    clocks: Clocks,
    due: Instant,
    /// What watching had cost when it was last looked, and of that what it cost those who have ended.
    cost_before: Duration,
    cost_of_ended: Duration,
    lot: u64,
    /// What threads had done when they were first watched, and what is known of those that live, by their
    /// slots: an exec may give one the number of another.
    earlier: BTreeMap<u32, Life>,
    living: BTreeMap<u32, Seen>,
    ended: BTreeMap<(u32, String), Thread>,
    ended_known: Known,
    /// How it stood in the midst of the first slice, and before the first pause.
    midst: Option<Stand>,
    exact: Option<Stand>,
}

/// What is known at a moment.
#[derive(Clone, Debug, Default)]
struct Stand {
    threads: Vec<Thread>,
    known: Known,
    /// How long it was watched and counted, how long the watched ran while they were counted, and what that cost them.
    watched: Duration,
    counted: Duration,
    ran: Duration,
    cost: Duration,
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
            allowed,
            begun: None,
            counted: Duration::ZERO,
            counting_since: None,
            ran_before: Duration::ZERO,
            ran: Duration::ZERO,
            clocks: Clocks::default(),
            due: now,
            cost_before: Duration::ZERO,
            cost_of_ended: Duration::ZERO,
            lot: u64::from(std::process::id()) | 1 << 32,
            earlier: BTreeMap::new(),
            living: BTreeMap::new(),
            ended: BTreeMap::new(),
            ended_known: Known::default(),
            midst: None,
            exact: None,
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

    /// What watching costs.
    pub fn cost(&self) -> Cost {
        self.cost
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
            return Ok(self.due - now);
        }
        let pause = match self.counting_since {
            None => {
                self.count()?;
                SLICE
            }
            // What a program does to begin is in the first half, and not what it goes on with.
            Some(_) if self.midst.is_none() => {
                self.collect()?;
                self.end_stretch();
                self.midst = Some(self.stand());
                self.cost_before = self.cost_of_counting();
                self.begin_stretch();
                SLICE / 2
            }
            Some(since) => self.look(now - since)?,
        };
        self.due = Instant::now() + pause;
        Ok(pause)
    }

    /// Asks what it cost to count so long, and stops for a while if that was more than is allowed.
    fn look(&mut self, counted: Duration) -> Result<Duration> {
        self.collect()?;
        let ran = self.clocks.now(&self.kernel.ran()).saturating_sub(self.ran_before);
        let all = self.cost_of_counting();
        let cost = all.saturating_sub(std::mem::replace(&mut self.cost_before, all));
        let share = cost.as_secs_f64() / counted.max(ran).as_secs_f64().max(1e-9);
        match self.allowed {
            Some(allowed) if share > allowed => {
                self.kernel.hold();
                self.end_stretch();
                if self.exact.is_none() {
                    self.collect()?;
                    self.exact = Some(self.stand());
                }
                self.kernel.pause();
                let rest = counted.as_secs_f64() * (share / allowed - 1.0) * self.between(0.5, 1.5);
                Ok(Duration::from_secs_f64(rest.min(LONGEST.as_secs_f64())).max(SHORTEST))
            }
            // Each stretch is judged by itself.
            _ => {
                self.end_stretch();
                self.begin_stretch();
                Ok(LOOK)
            }
        }
    }

    /// Counts from now on.
    fn count(&mut self) -> Result<()> {
        if self.counting_since.is_none() {
            self.kernel.begin()?;
            self.begin_stretch();
            self.begun.get_or_insert_with(Instant::now);
            self.due = Instant::now() + if self.midst.is_none() { SLICE / 2 } else { SLICE };
        }
        Ok(())
    }

    fn begin_stretch(&mut self) {
        self.ran_before = self.clocks.now(&self.kernel.ran());
        self.counting_since = Some(Instant::now());
    }

    fn end_stretch(&mut self) {
        if let Some(since) = self.counting_since.take() {
            self.counted += since.elapsed();
            self.ran += self.clocks.now(&self.kernel.ran()).saturating_sub(self.ran_before);
        }
    }

    /// A number between two, evenly: by a generator of Marsaglia's (Xorshift RNGs, 2003), which is good enough to miss a rhythm.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.lot ^= self.lot << 13;
        self.lot ^= self.lot >> 7;
        self.lot ^= self.lot << 17;
        low + (high - low) * (self.lot >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What counting has taken of the processor time of the watched: events × what each adds.
    fn cost_of_counting(&self) -> Duration {
        self.cost_of_ended + self.living.values().map(|one| self.cost_of(one)).sum::<Duration>()
    }

    fn cost_of(&self, one: &Seen) -> Duration {
        let on_file = one.calls.iter().filter(|call| call.kind != 0);
        let on_file: u64 = on_file.map(|call| call.word(call::COUNT)).sum();
        let others = one.word(thread::CALLS).saturating_sub(on_file);
        let switches = one.word(thread::VOLUNTARY) + one.word(thread::INVOLUNTARY);
        let each = |count: u64, cost: Duration| cost.mul_f64(count as f64);
        each(others, self.cost.call)
            + each(on_file, self.cost.call_on_file)
            + each(switches, self.cost.switch)
    }

    /// Reads what was counted.
    fn collect(&mut self) -> Result<()> {
        self.living.clear();
        for seen in self.kernel.harvest()? {
            let process = seen.numbers().1;
            if seen.is_gone() {
                let earlier = self.earlier.remove(&seen.slot()).unwrap_or_default();
                let last = last_of(&seen);
                self.clocks.ended(process, last.ran);
                self.cost_of_ended += self.cost_of(&seen);
                let ended = told(&seen, &last, &earlier);
                self.ended_known += Known::of(&seen, &last, &earlier);
                let same = self.ended.entry((process, ended.name.clone())).or_default();
                same.number = if same.name.is_empty() { seen.first_number() } else { 0 };
                same.process = process;
                same.name.clone_from(&ended.name);
                same.add(&ended);
            } else {
                self.living.insert(seen.slot(), seen);
            }
        }
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
        }
        let now = self.stand();
        let lost = self.kernel.lost()?;
        let Some(exact) = &self.exact else {
            let (threads, watched) = (now.threads, now.watched);
            return Ok(Counts { threads, watched, counted: watched, lost, ..Counts::default() });
        };
        // Until it has been counted again, the end of the first slice stands for what came after.
        let is_counted_again = now.counted - exact.counted >= SLICE / 2;
        let exact = if is_counted_again { exact } else { self.midst.as_ref().unwrap_or(exact) };
        Ok(Counts {
            scale: scale(exact, &now),
            exact: exact.threads.clone(),
            threads: now.threads,
            watched: now.watched,
            counted: now.counted,
            lost,
        })
    }

    /// How it stands, of what was collected last.
    fn stand(&self) -> Stand {
        let mut known = self.ended_known;
        let mut threads: Vec<Thread> = self.ended.values().cloned().collect();
        for (slot, seen) in &self.living {
            let earlier = self.earlier.get(slot).cloned().unwrap_or_default();
            let (number, process) = seen.numbers();
            let life = match seen.word(thread::DIED) {
                0 => life_of(number, process).unwrap_or_else(|| earlier.clone()),
                _ => last_of(seen),
            };
            known += Known::of(seen, &life, &earlier);
            threads.push(told(seen, &life, &earlier));
        }
        let (watched, counted, ran, cost) = (
            self.begun.map_or(Duration::ZERO, |begun| begun.elapsed()),
            self.counted,
            self.ran,
            self.cost_of_counting(),
        );
        Stand { threads, known, watched, counted, ran, cost }
    }
}

/// How often what was counted in slices since a moment happened in all: by the crossings that the kernel counts in any case. Where these are too few to say, by
/// processor time less what counting took of it: what is counted is slower. Where that is too little, by the time that went by.
fn scale(since: &Stand, now: &Stand) -> f64 {
    let counted = now.known.counted.saturating_sub(since.known.counted);
    if counted >= MANY {
        return (now.known.all.saturating_sub(since.known.all) as f64 / counted as f64).max(1.0);
    }
    let in_all = |stand: &Stand| -> f64 {
        stand.threads.iter().filter_map(|thread| thread.ran).map(|ran| ran.as_secs_f64()).sum()
    };
    let between = |then: Duration, now: Duration| now.saturating_sub(then).as_secs_f64();
    let (ran, counted, cost) =
        (in_all(now) - in_all(since), between(since.ran, now.ran), between(since.cost, now.cost));
    if counted > RAN && counted - cost > 0.1 * counted {
        return ((ran - cost) / (counted - cost)).max(1.0);
    }
    (between(since.watched, now.watched) / between(since.counted, now.counted).max(1e-9)).max(1.0)
}

/// Crossings that the kernel counts whether anybody watches or not, switches and calls that read or write: all of them, and those among them that were counted
/// here.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    all: u64,
    counted: u64,
}

impl Known {
    fn of(seen: &Seen, life: &Life, earlier: &Life) -> Known {
        let all = |life: &Life| life.voluntary + life.involuntary + life.moved;
        let moves = |call: &&Call| numbers::is_accounted(call.number);
        let moved: u64 = seen.calls.iter().filter(moves).map(|call| call.word(call::COUNT)).sum();
        let counted = seen.word(thread::VOLUNTARY) + seen.word(thread::INVOLUNTARY) + moved;
        Known { all: all(life).saturating_sub(all(earlier)), counted }
    }
}

impl std::ops::AddAssign for Known {
    fn add_assign(&mut self, other: Known) {
        self.all += other.all;
        self.counted += other.counted;
    }
}

/// The life of a thread that has ended, as the kernel's programs noted it then.
fn last_of(seen: &Seen) -> Life {
    Life {
        name: seen.name(),
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

/// A thread as it is told, of what was seen of it, what it did in its life and what of that before it was watched.
fn told(seen: &Seen, life: &Life, earlier: &Life) -> Thread {
    let word = |at: i16| Some(seen.word(at));
    let (number, process) = (seen.first_number(), seen.numbers().1);
    let moments = Moments {
        voluntary: Some(life.voluntary.saturating_sub(earlier.voluntary)),
        involuntary: Some(life.involuntary.saturating_sub(earlier.involuntary)),
        woken_here: word(thread::WOKEN_HERE),
        woken_across: word(thread::WOKEN_ACROSS),
        minor: Some(life.minor.saturating_sub(earlier.minor)),
        major: Some(life.major.saturating_sub(earlier.major)),
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
    }
}
