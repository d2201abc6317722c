//! io_uring no-ops: several operations for one entry into the kernel.

use io_uring::{IoUring, opcode};
use tollway_core::{Error, Missing, Params, Place, Result, Tally};

use super::Operation;

/// `depth` no-ops, submitted with one call and all reaped.
pub struct Nops {
    ring: IoUring,
    depth: u32,
    enters: u64,
    wrong: u64,
}

impl Operation for Nops {
    fn prepare(params: &Params, _: &Place) -> Result<Self> {
        let depth = params.int("depth")? as u32;
        let ring = IoUring::new(depth.next_power_of_two()).map_err(|e| {
            Error::Missing(Missing::new(
                "io_uring",
                format!("the kernel refused a ring: {e}"),
                "sysctl kernel.io_uring_disabled=0; in a container, a seccomp profile that allows io_uring_setup",
            ))
        })?;
        Ok(Nops { ring, depth, enters: 0, wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let mut asked = 0;
        {
            let mut submission = self.ring.submission();
            for number in 0..u64::from(self.depth) {
                let nop = opcode::Nop::new().build().user_data(number);
                // SAFETY: a no-op refers to no memory.
                asked += u32::from(unsafe { submission.push(&nop) }.is_ok());
            }
        }
        let submitted = self.ring.submit_and_wait(asked as usize);
        self.enters += 1;
        let mut sum = 0;
        let mut reaped = 0;
        for completion in self.ring.completion() {
            reaped += 1;
            sum += completion.user_data();
            self.wrong += u64::from(completion.result() != 0);
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
                Err(Error::Wrong(format!("{done} no-ops with {} calls, {n} of them incomplete", self.enters)))
            }
        }
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).visited("enter", self.enters)
    }
}
