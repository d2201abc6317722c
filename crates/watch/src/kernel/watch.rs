//! Watches a program by the kernel's tracepoints: all the time, or in slices of it.
//!
//! Whoever watches calls [`Watch::tick`] when it is due. As long as watching costs less than is allowed, everything is counted. A program that makes calls so
//! often that it would cost more is counted in slices: some milliseconds, and then not for as long as brings the average down. Slices are of random distance, so that
//! what a program does in a rhythm is met as often as it happens.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use tollway_core::{Error, Missing, Result};

use super::Kernel;
use super::clocks::Clocks;
use super::cost::Cost;
use super::harvest::{Call, Seen};
use super::kind::kind_of;
use super::layout::{call, thread};
use crate::counts::{Calls, Counts, File, Moments, Thread};
use crate::living::{Life, life_of, threads_of};
use crate::start::started;

/// How long it is counted until it is first asked what that costs, and in each slice.
const SLICE: Duration = Duration::from_millis(20);
/// How often it is asked where everything is counted.
const LOOK: Duration = Duration::from_millis(100);
/// The longest and the shortest between two slices: attaching waits for the kernel where it was detached less long ago.
const LONGEST: Duration = Duration::from_secs(2);
const SHORTEST: Duration = Duration::from_millis(50);

/// A program that is watched.
pub struct Watch {
    kernel: Kernel,
    children: bool,
    cost: Cost,
    allowed: Option<f64>,
    begun: Instant,
    counted: Duration,
    counting_since: Option<Instant>,
    /// How long the watched had run when this stretch of counting began, and how long they ran in those before.
    ran_before: Duration,
    ran: Duration,
    clocks: Clocks,
    due: Instant,
    /// What watching had cost when it was asked last, and of that what it cost those who have ended: in seconds.
    spent_before: f64,
    spent_on_ended: f64,
    /// What those who have ended did of what the kernel counts anyway.
    anyway: u64,
    lot: u64,
    /// What threads had done when they were first watched.
    earlier: BTreeMap<u32, Life>,
    living: BTreeMap<u32, Seen>,
    ended: BTreeMap<(u32, String), Thread>,
}

impl Watch {
    /// Programs at the kernel's tracepoints that watch nobody yet. With `children` the children of who is watched are watched as well. `allowed` is what
    /// watching may cost, as a share of the time of the watched (0.03); without, everything is counted whatever it costs.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) with what this process or kernel lacks.
    pub fn new(children: bool, allowed: Option<f64>) -> Result<Watch> {
        let mut kernel = Kernel::new(children)?;
        let cost = Cost::measured(&mut kernel)?;
        let now = Instant::now();
        Ok(Watch {
            kernel,
            children,
            cost,
            allowed,
            begun: now,
            counted: Duration::ZERO,
            counting_since: None,
            ran_before: Duration::ZERO,
            ran: Duration::ZERO,
            clocks: Clocks::default(),
            due: now,
            spent_before: 0.0,
            spent_on_ended: 0.0,
            anyway: 0,
            lot: u64::from(std::process::id()) | 1 << 32,
            earlier: BTreeMap::new(),
            living: BTreeMap::new(),
            ended: BTreeMap::new(),
        })
    }

    /// Starts a program, which is watched from its first instruction on and is bound to us in no way: whatever ends this process, it goes on.
    ///
    /// # Errors
    /// It cannot be started or watched.
    pub fn start(&mut self, command: &mut Command) -> Result<Child> {
        self.count()?;
        started(command, |process| {
            self.earlier.insert(process, life_of(process, process).unwrap_or_default());
            self.kernel.add(process, process)?;
            // It came to its first instruction by a call whose end came before anybody watched.
            self.kernel.count_one(process, libc::SYS_execve as u16)
        })
    }

    /// Watches a program that runs, with all its threads.
    ///
    /// # Errors
    /// There is none of that number, or too many threads.
    pub fn attach(&mut self, process: u32) -> Result<()> {
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
            for (thread, process) in threads {
                if let Entry::Vacant(place) = self.earlier.entry(thread)
                    && let Some(life) = life_of(thread, process)
                {
                    place.insert(life);
                    self.kernel.add(thread, process)?;
                }
            }
        }
        self.count()?;
        self.kernel.look_again()
    }

    /// The processes that are watched.
    pub fn processes(&self) -> impl Iterator<Item = u32> {
        self.kernel.processes().into_iter()
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
            Some(since) => self.look(now - since)?,
        };
        self.due = Instant::now() + pause;
        Ok(pause)
    }

    /// Asks what it cost to count so long, and stops for a while if that was more than is allowed.
    fn look(&mut self, counted: Duration) -> Result<Duration> {
        self.collect()?;
        let ran = self.ran;
        self.end_stretch();
        let ran = self.ran.saturating_sub(ran);
        let spent = self.spent();
        let cost = (spent - self.spent_before).max(0.0);
        self.spent_before = spent;
        let share = cost / counted.max(ran).as_secs_f64().max(1e-9);
        match self.allowed {
            Some(allowed) if share > allowed => {
                self.kernel.pause();
                let rest = counted.as_secs_f64() * (share / allowed - 1.0) * self.between(0.5, 1.5);
                Ok(Duration::from_secs_f64(rest.min(LONGEST.as_secs_f64())).max(SHORTEST))
            }
            // Each stretch is judged by itself.
            _ => {
                self.begin_stretch();
                Ok(LOOK)
            }
        }
    }

    /// Counts from now on.
    fn count(&mut self) -> Result<()> {
        if self.counting_since.is_none() {
            self.kernel.begin_with_calls()?;
            self.begin_stretch();
            self.kernel.begin_the_rest()?;
            self.due = Instant::now() + SLICE;
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
            let now = self.clocks.now(&self.kernel.ran());
            self.ran += now.saturating_sub(self.ran_before);
        }
    }

    /// A number between two, evenly: by a generator of Marsaglia's (Xorshift RNGs, 2003), which is good enough to miss a rhythm.
    fn between(&mut self, low: f64, high: f64) -> f64 {
        self.lot ^= self.lot << 13;
        self.lot ^= self.lot >> 7;
        self.lot ^= self.lot << 17;
        low + (high - low) * (self.lot >> 11) as f64 / (1u64 << 53) as f64
    }

    /// What watching has cost the watched so far, in seconds.
    fn spent(&self) -> f64 {
        self.spent_on_ended + self.living.values().map(|one| self.spent_on(one)).sum::<f64>()
    }

    fn spent_on(&self, one: &Seen) -> f64 {
        let cost = self.cost;
        let on_file = one.calls.iter().filter(|call| call.kind != 0);
        let on_file: u64 = on_file.map(|call| call.word(call::COUNT)).sum();
        let others = one.word(thread::CALLS).saturating_sub(on_file);
        let switches = one.word(thread::VOLUNTARY) + one.word(thread::INVOLUNTARY);
        others as f64 * cost.call.as_secs_f64()
            + (on_file + switches) as f64 * cost.call_on_file.as_secs_f64()
    }

    /// Reads what was counted.
    fn collect(&mut self) -> Result<()> {
        self.living.clear();
        for seen in self.kernel.harvest()? {
            let (number, process) = seen.numbers();
            if seen.is_gone() {
                let earlier = self.earlier.remove(&number).unwrap_or_default();
                let last = last_of(&seen);
                self.clocks.ended(process, last.ran);
                self.spent_on_ended += self.spent_on(&seen);
                self.anyway += last.anyway(&earlier);
                let ended = told(&seen, &last, &earlier);
                let same = self.ended.entry((process, ended.name.clone())).or_default();
                same.number = ended.number;
                same.process = process;
                same.name.clone_from(&ended.name);
                same.add(&ended);
            } else {
                self.living.insert(number, seen);
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
        let mut anyway = self.anyway;
        let mut threads: Vec<Thread> = self.ended.values().cloned().collect();
        for (number, seen) in &self.living {
            let earlier = self.earlier.get(number).cloned().unwrap_or_default();
            let life = match seen.word(thread::DIED) {
                0 => life_of(*number, seen.numbers().1).unwrap_or_else(|| earlier.clone()),
                _ => last_of(seen),
            };
            anyway += life.anyway(&earlier);
            threads.push(told(seen, &life, &earlier));
        }
        if self.counting_since.is_some() {
            self.end_stretch();
            self.begin_stretch();
        }
        Ok(Counts {
            threads,
            watched: self.begun.elapsed(),
            counted: self.counted,
            ran_counted: Some(self.ran),
            anyway: Some(anyway),
            lost: self.kernel.lost()?,
        })
    }
}

/// The life of a thread that has ended, as the kernel's programs noted it then.
fn last_of(seen: &Seen) -> Life {
    Life {
        name: seen.name(),
        minor: seen.word(thread::MINOR),
        major: seen.word(thread::MAJOR),
        user: Duration::from_nanos(seen.word(thread::USER)),
        system: Duration::from_nanos(seen.word(thread::SYSTEM)),
        ran: Duration::from_nanos(seen.word(thread::RAN)),
        transfers: seen.word(thread::READS) + seen.word(thread::WRITES),
        switches: seen.word(thread::WAITS) + seen.word(thread::DISPLACED),
    }
}

/// A thread as it is told, of what was seen of it, what it did in its life and what of that before it was watched.
fn told(seen: &Seen, life: &Life, earlier: &Life) -> Thread {
    let word = |at: i16| Some(seen.word(at));
    let (number, process) = seen.numbers();
    let moments = Moments {
        voluntary: word(thread::VOLUNTARY),
        involuntary: word(thread::INVOLUNTARY),
        woken_here: word(thread::WOKEN_HERE),
        woken_across: word(thread::WOKEN_ACROSS),
        minor: Some(life.minor.saturating_sub(earlier.minor)),
        major: Some(life.major.saturating_sub(earlier.major)),
        signals: word(thread::SIGNALS),
        interrupts: word(thread::INTERRUPTS),
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
        file: File { kind: kind_of(one.kind, one.inode, one.what), inode: one.inode },
        count,
        failed: Some(one.word(call::FAILED)),
        results: Some(one.word(call::RESULTS)),
        inside: of_all(call::INSIDE).map(Duration::from_nanos),
        away: of_all(call::AWAY).map(Duration::from_nanos),
        slept: of_all(call::SLEPT),
        woke_here: of_all(call::WOKE_HERE),
        woke_across: of_all(call::WOKE_ACROSS),
    }
}
