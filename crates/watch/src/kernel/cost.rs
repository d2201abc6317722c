//! What it costs a thread to be watched: measured on this machine, on the calls of this thread, by the processor time that it had. Other programs have the processor
//! meanwhile as they like.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::process;
use std::sync::mpsc;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, statat};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getppid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use tollway_core::{Error, Result};
use tollway_host::samplers::thread_time::thread as ran;

use super::layout::{call, thread};
use super::{Kernel, Passed};
use crate::living::{clock_of, life_of};

/// Calls of which the mean counts, as it does in a program: the fastest would be less than what a call mostly costs,
/// by a tenth here.
const CALLS: u32 = 5000;
/// Goes of round trips, of which the median counts.
const GOES: usize = 9;
/// The same of calls that are counted by their numbers, and of those that are not: what that adds to one is little, and a virtual processor
/// may be half as fast for a millisecond.
const GOES_OF_CALLS: usize = 3;
/// Rounds of these, of which the median counts.
const ROUNDS: usize = 5;
/// As many at the most, while it is not known this well what counting a call by its number takes.
const MOST_ROUNDS: usize = 10;
const WELL: f64 = 0.15;
/// A file that each machine has.
const ZEROES: &str = "/dev/zero";
/// Round trips in one go.
const ROUND_TRIPS: u32 = 60;

/// What each event adds to the thread that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// A system call that is on no file.
    pub call: Duration,
    /// A system call that could be on a file and is on none: by a path, mostly.
    pub call_by_path: Duration,
    /// A system call on a file.
    pub call_on_file: Duration,
    /// A switch to another thread, with the wake-up before it.
    pub switch: Duration,
    /// A system call that is counted by its number alone.
    pub numbered: Duration,
    /// By which part that may be more or less, by how the rounds differ in which it was measured.
    pub numbered_error: f64,
    /// How long the program at the end of such calls took meanwhile, by its own stamps.
    pub program: Duration,
    /// The same of calls on a file.
    pub program_on_file: Duration,
    /// How long a call that does nothing is in the kernel by the stamps around it: nearly all of it is what counting adds between the two.
    pub stamped: Duration,
}

impl Cost {
    /// Measures it, in some milliseconds. Others' calls become slower meanwhile, as they are while anybody is watched.
    ///
    /// # Errors
    /// As [`Kernel::begin`].
    pub fn measured(kernel: &mut Kernel) -> Result<Cost> {
        let own = Own {
            number: gettid().as_raw_nonzero().get() as u32,
            zeroes: File::open(ZEROES).map_err(|e| Error::system(format!("opening {ZEROES}"), e))?,
            partner: Partner::start()?,
        };
        let mut rounds = Vec::new();
        while rounds.len() < ROUNDS || rounds.len() < MOST_ROUNDS && error_of(&rounds) > WELL {
            rounds.push(own.round(kernel)?);
        }
        // Of a round what is the same however fast the machine is at the moment.
        let part = |of: fn(&Cost) -> Duration| {
            let parts =
                rounds.iter().map(|cost| of(cost).as_secs_f64() / cost.program.as_secs_f64().max(1e-9));
            let mut parts: Vec<f64> = parts.collect();
            parts.sort_by(f64::total_cmp);
            parts[parts.len() / 2]
        };
        let program = median(rounds.iter().map(|cost| cost.program).collect());
        let of = |part: f64| program.mul_f64(part);
        Ok(Cost {
            call: of(part(|cost| cost.call)),
            call_by_path: of(part(|cost| cost.call_by_path)),
            call_on_file: of(part(|cost| cost.call_on_file)),
            switch: of(part(|cost| cost.switch)),
            numbered: of(part(|cost| cost.numbered)),
            numbered_error: error_of(&rounds),
            program,
            program_on_file: of(part(|cost| cost.program_on_file)),
            stamped: of(part(|cost| cost.stamped)),
        })
    }
}

/// This thread, on whose calls it is measured, and what these are made on.
struct Own {
    number: u32,
    zeroes: File,
    partner: Partner,
}

/// By which part the median of what counting a call by its number takes may be off, with 95 % confidence, by the quartiles of the rounds. Of five
/// normal values these are 0.99 standard deviations apart on the average, of many 1.35; their median has 1.25 of one over the square root of how
/// many there are (order statistics). By 2.5 of these, as there are few.
fn error_of(rounds: &[Cost]) -> f64 {
    let ratio = |cost: &Cost| cost.numbered.as_secs_f64() / cost.program.as_secs_f64().max(1e-9);
    let mut ratios: Vec<f64> = rounds.iter().map(ratio).collect();
    ratios.sort_by(f64::total_cmp);
    let many = ratios.len();
    let apart = ratios[many * 3 / 4] - ratios[many / 4];
    2.5 * 1.25 / (many as f64).sqrt() * apart / ratios[many / 2].max(1e-9)
}

/// How long each takes: the medians of several goes.
struct Medians {
    call: Duration,
    call_by_path: Duration,
    call_on_file: Duration,
    round_trip: Duration,
    /// What the program at the ends of calls took, of the first and of those on a file.
    program: Duration,
    program_on_file: Duration,
    /// How long the first was in the kernel by its stamps.
    stamped: Duration,
}

impl Own {
    /// Measures it once.
    fn round(&self, kernel: &mut Kernel) -> Result<Cost> {
        let without = self.medians(None)?;
        let before = self.empty_calls_in_goes()?;
        kernel.add(self.number, process::id())?;
        kernel.add(self.partner.number, process::id())?;
        kernel.begin()?;
        let with = self.medians(Some(kernel));
        kernel.begin_numbers(&[Passed::Seldom, Passed::Switches]);
        let numbered = self.empty_calls_in_goes();
        kernel.pause();
        let after = self.empty_calls_in_goes()?;
        kernel.remove(self.number)?;
        kernel.remove(self.partner.number)?;
        kernel.harvest()?;
        let (with, numbered) = (with?, numbered?);
        let call_on_file = with.call_on_file.saturating_sub(without.call_on_file);
        // A round trip is four calls on a file and two switches.
        let round_trip = with.round_trip.saturating_sub(without.round_trip);
        Ok(Cost {
            call: with.call.saturating_sub(without.call),
            call_by_path: with.call_by_path.saturating_sub(without.call_by_path),
            call_on_file,
            switch: round_trip.saturating_sub(4 * call_on_file) / 2,
            numbered: numbered.saturating_sub((before + after) / 2),
            numbered_error: 0.0,
            program: with.program,
            program_on_file: with.program_on_file,
            stamped: with.stamped,
        })
    }

    fn medians(&self, kernel: Option<&Kernel>) -> Result<Medians> {
        let mut byte = [0];
        let (call, program, stamped) = self.empty_calls(kernel)?;
        // The caches hold less of what counting needs after a path was followed: a call of an empty path costs 60 ns less.
        let (call_by_path, ..) = self.timed(kernel, || {
            let _ = black_box(statat(CWD, ZEROES, AtFlags::empty()));
        })?;
        let (call_on_file, program_on_file, _) = self.timed(kernel, || {
            let _ = black_box((&self.zeroes).read(&mut byte));
        })?;
        let mut round_trips = Vec::new();
        for _ in 0..GOES {
            let begun = self.partner.ran()? + ran();
            for _ in 0..ROUND_TRIPS {
                self.partner.ask().map_err(|e| Error::system("measuring what watching costs", e))?;
            }
            let both = ran() + self.partner.ran()?;
            round_trips.push((both - begun) / ROUND_TRIPS);
        }
        let round_trip = median(round_trips);
        Ok(Medians { call, call_by_path, call_on_file, round_trip, program, program_on_file, stamped })
    }

    /// How long a call that does nothing takes: the median of several goes.
    fn empty_calls_in_goes(&self) -> Result<Duration> {
        let goes = (0..GOES_OF_CALLS).map(|_| self.empty_calls(None).map(|(each, ..)| each));
        Ok(median(goes.collect::<Result<_>>()?))
    }

    /// Of calls that do nothing.
    fn empty_calls(&self, kernel: Option<&Kernel>) -> Result<(Duration, Duration, Duration)> {
        self.timed(kernel, || {
            black_box(getppid());
        })
    }

    /// How long a call takes; where it is counted also how long the program at its end does, and how long the call was by its stamps.
    fn timed(
        &self,
        kernel: Option<&Kernel>,
        mut one: impl FnMut(),
    ) -> Result<(Duration, Duration, Duration)> {
        let words = || -> Result<[u64; 4]> {
            let Some(kernel) = kernel else { return Ok([0; 4]) };
            let Some(seen) = kernel.harvest()?.into_iter().find(|seen| seen.numbers().0 == self.number)
            else {
                return Ok([0; 4]);
            };
            let empty = seen.calls.iter().filter(|call| i64::from(call.number) == libc::SYS_getppid);
            let [inside, timed] =
                [call::INSIDE, call::TIMED].map(|at| empty.clone().map(|call| call.word(at)).sum());
            Ok([seen.word(thread::PROGRAM_TIME), seen.word(thread::PROGRAM_TIMED), inside, timed])
        };
        let before = words()?;
        let begun = ran();
        for _ in 0..CALLS {
            one();
        }
        let each = (ran() - begun) / CALLS;
        let after = words()?;
        let mean = |sum: usize, number: usize| {
            let mean = (after[sum] - before[sum]) as f64 / (after[number] - before[number]).max(1) as f64;
            Duration::from_secs_f64(mean / 1e9)
        };
        Ok((each, mean(0, 1), mean(2, 3)))
    }
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A thread that answers each byte with another, on the processor on which this one stays meanwhile.
struct Partner {
    number: u32,
    question: File,
    answer: File,
    before: CpuSet,
}

impl Partner {
    fn start() -> Result<Partner> {
        let failed = |e: io::Error| Error::system("measuring what watching costs", e);
        let pipe = || {
            pipe_with(PipeFlags::CLOEXEC)
                .map(|(out, into)| (File::from(out), File::from(into)))
                .map_err(io::Error::from)
        };
        let ((asked, question), (answer, reply)) = (pipe().map_err(failed)?, pipe().map_err(failed)?);
        let before = sched_getaffinity(None).map_err(|e| failed(e.into()))?;
        let mut here = CpuSet::new();
        here.set(sched_getcpu());
        let (tell, told) = mpsc::channel();
        sched_setaffinity(None, &here).map_err(|e| failed(e.into()))?;
        // It inherits the one processor, and ends with its pipe.
        let answering = move || {
            let _ = tell.send(gettid().as_raw_nonzero().get() as u32);
            let mut byte = [0];
            while matches!((&asked).read(&mut byte), Ok(1)) && matches!((&reply).write(&byte), Ok(1)) {}
        };
        std::thread::Builder::new().name("cost".into()).spawn(answering).map_err(failed)?;
        let number = told.recv().map_err(|e| Error::system("measuring what watching costs", e))?;
        Ok(Partner { number, question, answer, before })
    }

    fn ask(&self) -> io::Result<()> {
        let mut byte = [0];
        (&self.question).write_all(&byte)?;
        (&self.answer).read_exact(&mut byte)
    }

    /// The processor time that it has had: exact, as it sleeps while it is not asked.
    fn ran(&self) -> Result<Duration> {
        let life = life_of(self.number, process::id());
        life.map(|life| life.ran)
            .or_else(|| clock_of(self.number))
            .ok_or_else(|| Error::system("measuring what watching costs", "its second thread is gone"))
    }
}

impl Drop for Partner {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}
