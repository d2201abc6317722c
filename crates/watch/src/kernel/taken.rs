//! What watching has taken of the processor time of the watched: events × what each adds, at the time and place.
//!
//! A virtual processor is at half its speed for some milliseconds at times, and what counting needs is in the caches or not. That the programs at the
//! ends of calls tell, and those at their beginnings where calls are counted by their numbers: they time themselves at one call of each sixteen, so that
//! sixteen times what they took is what all took, of each slice by itself. By one mean for all of a thread's life, counting was said to take twice what it
//! does of the getppid of a loop that also had phases of statx, and of one whose first slice met a slow moment: such bills were 40 % high.

use std::ops::{Add, Sub};
use std::time::Duration;

use super::calls::TIMED_CALLS;
use super::cost::Cost;
use super::harvest::{Call, Seen};
use super::layout::{call, thread};
use crate::numbers;

/// Counting a call by its number takes this many times what it does of an empty call of this process, on which it is measured, where it leads to a file by
/// a path: the caches hold less of what counting needs. In quiet moments it took 155 ns of statx for 99 of getppid, and 120 to 155 in loops of statx.
const NUMBERED_BY_PATH: f64 = 1.55;
/// And as much of other calls in another program: 112 ns for 99 of loops of getppid by the C library, 75 for 67 of such in line (AMD EPYC guest, Linux 6.18).
/// The cause is not known.
const NUMBERED: f64 = 1.13;
/// At one of how many calls a program times itself.
const TIMED: f64 = TIMED_CALLS as f64;

/// Processor time, in seconds, of the watched.
#[derive(Clone, Copy, Default)]
pub(super) struct Taken {
    /// What they had while everything was counted.
    pub(super) ran: f64,
    /// What that took of it.
    pub(super) everything: f64,
    /// How long the programs at the ends of calls took, and how long they would have where the machine were as it was when that was measured.
    pub(super) programs: f64,
    pub(super) programs_as_measured: f64,
    /// What they had while calls were counted by their numbers, as far as it was seen.
    pub(super) ran_numbered: f64,
    /// What it took to count calls by their numbers, where that is what was done.
    pub(super) numbers: f64,
    /// What it would have taken where everything was counted.
    pub(super) instead: f64,
    /// How often they were switched, and faulted, there.
    pub(super) switches: f64,
}

impl Taken {
    /// What it took of a thread that had this much processor time while everything was counted, and while calls were by their numbers.
    pub(super) fn of(one: &Seen, cost: &Cost, (ran, ran_numbered): (Duration, Duration)) -> Taken {
        let (mut programs, mut programs_as_measured, mut calls) = (0.0, 0.0, 0.0);
        for call in &one.calls {
            let (adds, program) = Way::of(call).cost(cost);
            let timed = call.program_times();
            programs += TIMED * timed.seconds;
            programs_as_measured += TIMED * timed.count * program;
            calls += TIMED * timed.seconds * adds / program;
        }
        // Calls that were the first of their number on their file had a new entry made, in that program alone.
        let (first, (adds, program)) = (one.first_program_times(), Way::OnFile.cost(cost));
        calls += TIMED * (first.seconds + first.count * (adds - program));
        let switches = one.word(thread::VOLUNTARY) + one.word(thread::INVOLUNTARY);
        let dearer = if programs_as_measured > 0.0 { programs / programs_as_measured } else { 1.0 };
        // What is in no cache makes the program at a call's end dearer, which needs more of it; what returns cost makes both so.
        let speed = one.numbers_times().mean().filter(|_| cost.program_by_number > Duration::ZERO);
        let speed = speed.map_or(1.0, |mean| mean / cost.program_by_number.as_secs_f64());
        let by_numbers = dearer.min(speed);
        let each = one.calls.iter().map(|call| (call.number, call.word(call::COUNT) as f64));
        let by_number = one.numbered.iter().map(|(number, count)| (*number, *count as f64));
        Taken {
            ran: ran.as_secs_f64(),
            everything: calls
                + cost.switch.as_secs_f64() * switches as f64 * dearer
                + Duration::from_nanos(one.word(thread::NAMING)).as_secs_f64(),
            programs,
            programs_as_measured,
            ran_numbered: ran_numbered.as_secs_f64(),
            numbers: of_numbers(by_number, cost) * by_numbers,
            instead: of_numbers(each, cost) * by_numbers,
            switches: (switches + one.word(thread::FAULTS)) as f64,
        }
    }

    /// What was taken in all.
    pub(super) fn cost(&self) -> Duration {
        Duration::from_secs_f64((self.everything + self.numbers).max(0.0))
    }
}

impl Add for Taken {
    type Output = Taken;

    fn add(self, other: Taken) -> Taken {
        Taken {
            ran: self.ran + other.ran,
            everything: self.everything + other.everything,
            programs: self.programs + other.programs,
            programs_as_measured: self.programs_as_measured + other.programs_as_measured,
            ran_numbered: self.ran_numbered + other.ran_numbered,
            numbers: self.numbers + other.numbers,
            instead: self.instead + other.instead,
            switches: self.switches + other.switches,
        }
    }
}

impl Sub for Taken {
    type Output = Taken;

    fn sub(self, other: Taken) -> Taken {
        Taken {
            ran: self.ran - other.ran,
            everything: self.everything - other.everything,
            programs: self.programs - other.programs,
            programs_as_measured: self.programs_as_measured - other.programs_as_measured,
            ran_numbered: self.ran_numbered - other.ran_numbered,
            numbers: self.numbers - other.numbers,
            instead: self.instead - other.instead,
            switches: self.switches - other.switches,
        }
    }
}

/// How a call leads to its file, if it does: what counting needs then is another.
#[derive(Clone, Copy)]
enum Way {
    NoFile,
    ByPath,
    OnFile,
}

impl Way {
    fn of(call: &Call) -> Way {
        match (call.kind, numbers::is_on_file(call.number)) {
            (0, false) => Way::NoFile,
            (0, true) => Way::ByPath,
            _ => Way::OnFile,
        }
    }

    /// Seconds that counting adds to such a call, and those of the program at its end, as they were measured.
    fn cost(self, cost: &Cost) -> (f64, f64) {
        let (adds, program) = match self {
            Way::NoFile => (cost.call, cost.program),
            Way::ByPath => (cost.call_by_path, cost.program_by_path),
            Way::OnFile => (cost.call_on_file, cost.program_on_file),
        };
        (adds.as_secs_f64(), program.as_secs_f64().max(1e-9))
    }
}

/// Seconds that it takes to count these calls of each number, with how many there are, by their numbers, as it was measured.
pub(super) fn of_numbers(calls: impl Iterator<Item = (u32, f64)>, cost: &Cost) -> f64 {
    let leads = |number| numbers::opened(number).or(numbers::flags_of_asking(number)).is_some();
    let weight = |number| if leads(number) { NUMBERED_BY_PATH } else { NUMBERED };
    calls.map(|(number, count)| weight(number) * count).sum::<f64>() * cost.numbered.as_secs_f64()
}
