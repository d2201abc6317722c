//! Bytes out of /dev/zero and into /dev/null: calls that move bytes from nowhere to nowhere.

use std::os::fd::OwnedFd;

use rustix::fs::{Mode, OFlags, open};
use rustix::io;
use tollway_core::{Error, Result};

use super::{IN_A_ROW, Row, Single};

pub(super) fn read(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Zeroes {
        zeroes: device("/dev/zero", OFlags::RDONLY)?,
        bytes: vec![1; size],
        row: row.of(IN_A_ROW),
    }))
}

pub(super) fn write(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Null {
        null: device("/dev/null", OFlags::WRONLY)?,
        bytes: vec![1; size],
        row: row.of(IN_A_ROW),
    }))
}

fn device(path: &str, access: OFlags) -> Result<OwnedFd> {
    open(path, access | OFlags::CLOEXEC, Mode::empty())
        .map_err(|e| Error::system(format!("opening {path}"), e))
}

/// The kernel clears the bytes.
struct Zeroes {
    zeroes: OwnedFd,
    bytes: Vec<u8>,
    row: u32,
}

impl Single for Zeroes {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        let size = self.bytes.len();
        (0..self.row).map(|_| u32::from(io::read(&self.zeroes, &mut self.bytes[..]) == Ok(size))).sum()
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
    row: u32,
}

impl Single for Null {
    fn count(&self) -> u32 {
        self.row
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        (0..self.row).map(|_| u32::from(io::write(&self.null, &self.bytes) == Ok(self.bytes.len()))).sum()
    }
}
