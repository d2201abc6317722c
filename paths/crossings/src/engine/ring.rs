//! io_uring: several operations for one entry into the kernel.

use std::os::fd::{AsRawFd, OwnedFd};

use io_uring::{IoUring, opcode, squeue, types};
use rustix::fs::{Mode, OFlags, open};
use tollway_core::{Error, Missing, Params, Place, Result, Tally};

use super::Operation;

/// An operation that is asked of a ring.
pub trait Asked: Send + Sized + 'static {
    /// What it is called.
    const NAME: &'static str;
    /// What comes of each.
    const RESULT: i32;

    /// What it is made on.
    fn prepare() -> Result<Self>;

    /// One of them. It refers to no memory but such as lives as long as the program.
    fn entry(&self) -> squeue::Entry;
}

/// Nothing.
pub struct Nop;

impl Asked for Nop {
    const NAME: &'static str = "no-ops";
    const RESULT: i32 = 0;

    fn prepare() -> Result<Nop> {
        Ok(Nop)
    }

    #[inline]
    fn entry(&self) -> squeue::Entry {
        opcode::Nop::new().build()
    }
}

/// One byte into /dev/null: what `write-byte` does with a call of its own.
pub struct NullWrite(OwnedFd);

impl Asked for NullWrite {
    const NAME: &'static str = "writes";
    const RESULT: i32 = 1;

    fn prepare() -> Result<NullWrite> {
        let null = open("/dev/null", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
        null.map(NullWrite).map_err(|e| Error::system("opening /dev/null", e))
    }

    #[inline]
    fn entry(&self) -> squeue::Entry {
        static BYTE: u8 = 1;
        opcode::Write::new(types::Fd(self.0.as_raw_fd()), &raw const BYTE, 1).build()
    }
}

/// `depth` operations, submitted with one call and all reaped.
pub struct Batch<A> {
    ring: IoUring,
    asked: A,
    depth: u32,
    enters: u64,
    wrong: u64,
}

impl<A: Asked> Operation for Batch<A> {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let depth = params.int("depth")? as u32;
        let ring = IoUring::new(depth.next_power_of_two()).map_err(|e| {
            Error::Missing(Missing::new(
                "io_uring",
                format!("the kernel refused a ring: {e}"),
                "sysctl kernel.io_uring_disabled=0; in a container, a seccomp profile that allows io_uring_setup",
            ))
        })?;
        Ok(Batch { ring, asked: A::prepare()?, depth, enters: 0, wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let mut asked = 0;
        {
            let mut submission = self.ring.submission();
            for number in 0..u64::from(self.depth) {
                let entry = self.asked.entry().user_data(number);
                // SAFETY: it refers to no memory but what lives as long as the program, and to a descriptor that outlives the ring's work: all of it is reaped
                // below.
                asked += u32::from(unsafe { submission.push(&entry) }.is_ok());
            }
        }
        let submitted = self.ring.submit_and_wait(asked as usize);
        self.enters += 1;
        let mut sum = 0;
        let mut reaped = 0;
        for completion in self.ring.completion() {
            reaped += 1;
            sum += completion.user_data();
            self.wrong += u64::from(completion.result() != A::RESULT);
        }
        let n = u64::from(self.depth);
        let all = asked == self.depth && submitted.is_ok_and(|s| s == asked as usize) && reaped == n;
        self.wrong += u64::from(!all || sum != n * (n - 1) / 2);
    }

    fn operations(&self) -> u32 {
        self.depth
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 if self.enters * u64::from(self.depth) == done => Ok(()),
            n => {
                let what = A::NAME;
                Err(Error::Wrong(format!("{done} {what} with {} calls, {n} of them incomplete", self.enters)))
            }
        }
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).visited("enter", self.enters)
    }
}
