//! System calls that do as little as the kernel lets them.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::{read, write};
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

/// One byte out of /dev/zero.
pub struct ReadByte {
    zeroes: OwnedFd,
    wrong: u64,
}

impl Operation for ReadByte {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(ReadByte { zeroes: device("/dev/zero", OFlags::RDONLY)?, wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        let mut byte = [1];
        let got = read(&self.zeroes, &mut byte);
        self.wrong += u64::from(got != Ok(1) || byte[0] != 0);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} reads did not give a zero"))),
        }
    }
}

/// One byte into /dev/null.
pub struct WriteByte {
    null: OwnedFd,
    wrong: u64,
}

impl Operation for WriteByte {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        Ok(WriteByte { null: device("/dev/null", OFlags::WRONLY)?, wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.wrong += u64::from(write(&self.null, &[1]) != Ok(1));
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} writes did not take the byte"))),
        }
    }
}

fn device(path: &str, access: OFlags) -> Result<OwnedFd> {
    open(path, access | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Error::system(format!("opening {path}"), e))
}
