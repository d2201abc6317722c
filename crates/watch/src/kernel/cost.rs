//! What it costs a thread to be watched: measured on this machine, on the calls of this thread, by the processor time that it had. Other programs have the processor
//! meanwhile as they like.

use std::fs::{self, File};
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::os::unix::process::parent_id;
use std::process;
use std::sync::mpsc;
use std::time::Duration;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use tollway_core::{Error, Result};
use tollway_host::samplers::thread_time::thread as ran;

use super::layout::call;
use super::{Kernel, Passed};
use crate::living::{clock_of, life_of};

/// Calls of which the mean is one measurement: in less than a millisecond others come seldom.
const CALLS: u32 = 1000;
/// Measurements in a round.
const GOES: usize = 5;
const ROUNDS: usize = 3;
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
    /// By which part that may be more or less.
    pub numbered_error: f64,
    /// How long the program at the end of calls on no file took meanwhile, by its own stamps.
    pub program: Duration,
    /// The same of calls by a path.
    pub program_by_path: Duration,
    /// The same of calls on a file.
    pub program_on_file: Duration,
    /// The same of the program at their beginnings, where they are counted by their numbers.
    pub program_by_number: Duration,
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
        let mut all = Rounds::default();
        for _ in 0..ROUNDS {
            own.round(kernel, &mut all)?;
        }
        Ok(all.cost())
    }

    /// The same where all of it takes this many times as long.
    pub(super) fn times(self, dearer: f64) -> Cost {
        let times = |time: Duration| time.mul_f64(dearer);
        Cost {
            call: times(self.call),
            call_by_path: times(self.call_by_path),
            call_on_file: times(self.call_on_file),
            switch: times(self.switch),
            numbered: times(self.numbered),
            numbered_error: self.numbered_error,
            program: times(self.program),
            program_by_path: times(self.program_by_path),
            program_on_file: times(self.program_on_file),
            program_by_number: times(self.program_by_number),
            stamped: times(self.stamped),
        }
    }
}

/// This thread, on whose calls it is measured, and what these are made on.
struct Own {
    number: u32,
    zeroes: File,
    partner: Partner,
}

/// What was measured in all rounds.
///
/// What else there is on a machine makes everything slower for a while, by a quarter here, and never faster: of each the lowest quarter tells what it takes
/// where nothing else is. That there is more of it in a program, the programs at the ends of its calls tell, by the same factor. By the medians of each round,
/// counting a call by its number was said to take 59 to 135 ns where it took 67 in each quiet moment (AMD EPYC guest, Linux 6.18).
#[derive(Default)]
struct Rounds {
    without: Measured,
    with: Measured,
    /// Empty calls that are counted by their numbers.
    numbered: Vec<Duration>,
    program_by_number: Vec<Duration>,
}

/// How long each took, again and again.
#[derive(Default)]
struct Measured {
    empty: Times,
    by_path: Times,
    on_file: Times,
    round_trip: Vec<Duration>,
}

/// How long a call took, and, where it was counted, how long the program at its end did, and how long it was by its stamps.
#[derive(Default)]
struct Times {
    call: Vec<Duration>,
    program: Vec<Duration>,
    stamped: Vec<Duration>,
}

impl Rounds {
    fn cost(&self) -> Cost {
        let (with, without) = (&self.with, &self.without);
        let adds = |of: fn(&Measured) -> &[Duration]| low(of(with)).saturating_sub(low(of(without)));
        let call_on_file = adds(|all| &all.on_file.call);
        let numbered = low(&self.numbered).saturating_sub(low(&without.empty.call));
        let error = spread(&self.numbered) + spread(&without.empty.call);
        Cost {
            call: adds(|all| &all.empty.call),
            call_by_path: adds(|all| &all.by_path.call),
            call_on_file,
            // A round trip is four calls on a file and two switches.
            switch: adds(|all| &all.round_trip).saturating_sub(4 * call_on_file) / 2,
            numbered,
            numbered_error: error.as_secs_f64() / numbered.as_secs_f64().max(1e-9),
            program: low(&with.empty.program),
            program_by_path: low(&with.by_path.program),
            program_on_file: low(&with.on_file.program),
            program_by_number: low(&self.program_by_number),
            stamped: low(&with.empty.stamped),
        }
    }
}

/// What a quarter of them are below.
fn low(times: &[Duration]) -> Duration {
    let mut times = times.to_vec();
    times.sort_unstable();
    times.get(times.len() / 4).copied().unwrap_or_default()
}

/// How far the lowest is below that: little where a quarter of them met nothing else.
fn spread(times: &[Duration]) -> Duration {
    low(times).saturating_sub(times.iter().min().copied().unwrap_or_default())
}

impl Own {
    /// Measures it once.
    fn round(&self, kernel: &mut Kernel, all: &mut Rounds) -> Result<()> {
        self.measure(None, &mut all.without)?;
        kernel.add(self.number, process::id())?;
        kernel.add(self.partner.number, process::id())?;
        kernel.begin()?;
        let with = self.measure(Some(kernel), &mut all.with);
        kernel.begin_numbers(&[Passed::Seldom, Passed::Switches]);
        let numbered = (0..GOES).try_for_each(|_| {
            all.numbered.push(self.timed(None, empty)?.0);
            Ok(())
        });
        let seen = kernel.harvest()?.into_iter().find(|seen| seen.numbers().0 == self.number);
        let mean = seen.and_then(|seen| seen.numbers_times().mean());
        all.program_by_number.extend(mean.map(Duration::from_secs_f64));
        kernel.pause();
        self.measure_call(None, empty, &mut all.without.empty)?;
        kernel.remove(self.number)?;
        kernel.remove(self.partner.number)?;
        kernel.harvest()?;
        with.and(numbered)
    }

    fn measure(&self, kernel: Option<&Kernel>, all: &mut Measured) -> Result<()> {
        let mut byte = [0];
        self.measure_call(kernel, empty, &mut all.empty)?;
        // The caches hold less of what counting needs after a path was followed.
        let by_path = || drop(black_box(fs::metadata(ZEROES)));
        self.measure_call(kernel, by_path, &mut all.by_path)?;
        let on_file = || drop(black_box((&self.zeroes).read(&mut byte)));
        self.measure_call(kernel, on_file, &mut all.on_file)?;
        for _ in 0..GOES {
            let begun = self.partner.ran()? + ran();
            for _ in 0..ROUND_TRIPS {
                self.partner.ask().map_err(|e| Error::system("measuring what watching costs", e))?;
            }
            let both = ran() + self.partner.ran()?;
            all.round_trip.push((both - begun) / ROUND_TRIPS);
        }
        Ok(())
    }

    fn measure_call(&self, kernel: Option<&Kernel>, mut one: impl FnMut(), all: &mut Times) -> Result<()> {
        for _ in 0..GOES {
            let (call, program, stamped) = self.timed(kernel, &mut one)?;
            all.call.push(call);
            all.program.push(program);
            all.stamped.push(stamped);
        }
        Ok(())
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
            let sum = |at: i16| seen.calls.iter().map(|call| call.word(at)).sum();
            let empty = seen.calls.iter().filter(|call| i64::from(call.number) == libc::SYS_getppid);
            let of_empty = |at: i16| empty.clone().map(|call| call.word(at)).sum();
            let [program, programs] = [call::PROGRAM_TIME, call::PROGRAM_TIMED].map(sum);
            Ok([program, programs, of_empty(call::INSIDE), of_empty(call::TIMED)])
        };
        let before = words()?;
        let begun = ran();
        for _ in 0..CALLS {
            one();
        }
        let call = (ran() - begun) / CALLS;
        let after = words()?;
        let mean = |sum: usize, number: usize| {
            let mean = (after[sum] - before[sum]) as f64 / (after[number] - before[number]).max(1) as f64;
            Duration::from_secs_f64(mean / 1e9)
        };
        Ok((call, mean(0, 1), mean(2, 3)))
    }
}

/// A call that does nothing, by a function of the C library, as programs mostly make them: counting by its number takes 0.7 of that
/// where a call is made in line and nothing returns behind it (AMD EPYC guest, Linux 6.18).
fn empty() {
    black_box(parent_id());
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
