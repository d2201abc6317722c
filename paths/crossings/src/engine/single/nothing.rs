//! Bytes out of /dev/zero and into /dev/null: calls that move bytes from nowhere to nowhere.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use tollway_core::{Error, Result};

use super::{IN_A_ROW, Single};

pub(super) fn read(size: usize) -> Result<Box<dyn Single>> {
    Ok(Box::new(Zeroes { zeroes: device("/dev/zero", OFlags::RDONLY)?, bytes: vec![1; size] }))
}

pub(super) fn write(size: usize) -> Result<Box<dyn Single>> {
    Ok(Box::new(Null { null: device("/dev/null", OFlags::WRONLY)?, bytes: vec![1; size] }))
}

fn device(path: &str, access: OFlags) -> Result<OwnedFd> {
    open(path, access | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Error::system(format!("opening {path}"), e))
}

/// The kernel clears the bytes.
struct Zeroes {
    zeroes: OwnedFd,
    bytes: Vec<u8>,
}

impl Single for Zeroes {
    #[inline]
    fn calls(&mut self) -> u32 {
        let size = self.bytes.len();
        (0..IN_A_ROW).map(|_| u32::from(io::read(&self.zeroes, &mut self.bytes[..]) == Ok(size))).sum()
    }

    fn verify(&mut self, _: u64) -> Result<()> {
        if self.bytes.iter().all(|byte| *byte == 0) {
            return Ok(());
        }
        Err(Error::Wrong("what came out of /dev/zero is not zero".into()))
    }
}

/// The kernel looks at no byte.
struct Null {
    null: OwnedFd,
    bytes: Vec<u8>,
}

impl Single for Null {
    #[inline]
    fn calls(&mut self) -> u32 {
        (0..IN_A_ROW).map(|_| u32::from(io::write(&self.null, &self.bytes) == Ok(self.bytes.len()))).sum()
    }
}
