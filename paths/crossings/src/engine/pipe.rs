//! Two pipes, one for each direction.

use std::os::fd::OwnedFd;

use rustix::pipe::{PipeFlags, pipe_with};
use tollway_core::{Error, Result};

use super::echo::{Channel, End};

/// A pipe there and another back. A pipe whose other end is closed ends a read by itself.
pub struct Pipes;

impl Channel for Pipes {
    fn open() -> Result<(End, Vec<OwnedFd>)> {
        let make = || pipe_with(PipeFlags::CLOEXEC).map_err(|e| Error::system("making a pipe", e));
        let (server_from, to) = make()?;
        let (from, server_to) = make()?;
        Ok((End::two(to, from), vec![server_from, server_to]))
    }

    fn adopt(descriptors: Vec<OwnedFd>) -> Result<End> {
        let [from, to] = super::exactly(descriptors)?;
        Ok(End::two(to, from))
    }
}
