//! System calls that do as little as the kernel lets them.

use rustix::process::{Pid, getppid};
use tollway_core::{Error, Params, Place, Result};

use super::Operation;

/// `getppid`: into the kernel and out again, with next to nothing between.
pub struct Getppid {
    expected: Option<Pid>,
    wrong: u64,
}

impl Operation for Getppid {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(Getppid { expected: getppid(), wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.wrong += u64::from(getppid() != self.expected);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} calls named another parent"))),
        }
    }
}
