//! What it costs a thread to be watched: measured on this machine, on the calls of this thread, by the processor time that it had. Other programs have the processor
//! meanwhile as they like.

use std::fs::File;
use std::hint::black_box;
use std::io::{self, Read, Write};
use std::sync::mpsc;
use std::time::Duration;
use std::{process, thread};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::getppid;
use rustix::thread::{CpuSet, gettid, sched_getaffinity, sched_getcpu, sched_setaffinity};
use tollway_core::{Error, Result};
use tollway_host::samplers::thread_time::thread as ran;

use super::Kernel;
use crate::living::{clock_of, life_of};

/// Calls in one go, and goes with the programs and without: the fastest of each counts, so that an interrupt does not, nor caches that another program has used.
const CALLS: u32 = 400;
const GOES: u32 = 8;
/// Round trips in one go.
const ROUND_TRIPS: u32 = 60;

/// What each event adds to the thread that is watched.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cost {
    /// A system call that is on no file.
    pub call: Duration,
    /// A system call on a file.
    pub call_on_file: Duration,
    /// A switch to another thread, with the wake-up before it.
    pub switch: Duration,
}

impl Cost {
    /// Measures it, in some milliseconds. Others' calls become slower meanwhile, as they are while anybody is watched.
    ///
    /// # Errors
    /// As [`Kernel::begin`].
    pub fn measured(kernel: &mut Kernel) -> Result<Cost> {
        let me = gettid().as_raw_nonzero().get() as u32;
        let mut zeroes = File::open("/dev/zero").map_err(|e| Error::system("opening /dev/zero", e))?;
        let partner = Partner::start()?;
        let without = Fastest::of(&mut zeroes, &partner)?;
        kernel.add(me, process::id())?;
        kernel.add(partner.number, process::id())?;
        kernel.begin()?;
        let with = Fastest::of(&mut zeroes, &partner);
        kernel.pause();
        kernel.remove(me)?;
        kernel.remove(partner.number)?;
        kernel.harvest()?;
        let with = with?;
        let call_on_file = with.call_on_file.saturating_sub(without.call_on_file);
        // A round trip is four calls on a file and two switches.
        let round_trip = with.round_trip.saturating_sub(without.round_trip);
        Ok(Cost {
            call: with.call.saturating_sub(without.call),
            call_on_file,
            switch: round_trip.saturating_sub(4 * call_on_file) / 2,
        })
    }
}

/// The fastest of several goes.
struct Fastest {
    call: Duration,
    call_on_file: Duration,
    round_trip: Duration,
}

impl Fastest {
    fn of(zeroes: &mut File, partner: &Partner) -> Result<Fastest> {
        let mut best =
            Fastest { call: Duration::MAX, call_on_file: Duration::MAX, round_trip: Duration::MAX };
        let mut byte = [0];
        for _ in 0..GOES {
            let begun = ran();
            for _ in 0..CALLS {
                black_box(getppid());
            }
            best.call = best.call.min((ran() - begun) / CALLS);
            let begun = ran();
            for _ in 0..CALLS {
                let _ = black_box(zeroes.read(&mut byte));
            }
            best.call_on_file = best.call_on_file.min((ran() - begun) / CALLS);
            let begun = partner.ran()? + ran();
            for _ in 0..ROUND_TRIPS {
                partner.ask().map_err(|e| Error::system("measuring what watching costs", e))?;
            }
            let both = ran() + partner.ran()?;
            best.round_trip = best.round_trip.min((both - begun) / ROUND_TRIPS);
        }
        Ok(best)
    }
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
        thread::Builder::new().name("cost".into()).spawn(answering).map_err(failed)?;
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
