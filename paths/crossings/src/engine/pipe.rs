//! A byte through one pipe, and its echo through another.

use std::os::fd::OwnedFd;

use rustix::io::{read, write};
use rustix::pipe::pipe;
use tollway_core::{Error, Params, Result};

use super::{Caller, Exchange, Server};

/// The byte that ends the exchange; all others are echoed.
const STOP: u8 = 0xff;

/// Two pipes, one for each direction.
pub struct PipeExchange;

/// The end that asks.
pub struct PipeCaller {
    to: OwnedFd,
    from: OwnedFd,
    next: u8,
    wrong: u64,
}

/// The end that echoes.
pub struct PipeServer {
    from: OwnedFd,
    to: OwnedFd,
}

impl Exchange for PipeExchange {
    type Caller = PipeCaller;
    type Server = PipeServer;

    fn caller(_: &Params) -> Result<(PipeCaller, Vec<OwnedFd>)> {
        let make = || pipe().map_err(|e| Error::system("making a pipe", e));
        let (server_from, to) = make()?;
        let (from, server_to) = make()?;
        Ok((PipeCaller { to, from, next: 0, wrong: 0 }, vec![server_from, server_to]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<PipeServer> {
        let [from, to] = super::exactly(descriptors)?;
        Ok(PipeServer { from, to })
    }
}

impl Caller for PipeCaller {
    #[inline]
    fn ask(&mut self) {
        let mut reply = [STOP];
        let sent = write(&self.to, &[self.next]);
        let got = read(&self.from, &mut reply);
        self.wrong += u64::from(sent != Ok(1) || got != Ok(1) || reply[0] != self.next);
        self.next = (self.next + 1) & 0x7f;
    }

    fn stop(&mut self) -> Result<()> {
        write(&self.to, &[STOP]).map(drop).map_err(|e| Error::system("stopping the pipe's server", e))
    }

    fn verify(&mut self, asked: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {asked} bytes did not come back as they were sent"))),
        }
    }
}

impl Server for PipeServer {
    fn serve(&mut self) -> Result<u64> {
        let mut served = 0;
        let mut byte = [0];
        loop {
            match read(&self.from, &mut byte) {
                Ok(1) if byte[0] != STOP => {
                    write(&self.to, &byte).map_err(|e| Error::system("answering through a pipe", e))?;
                    served += 1;
                }
                // The stop byte, or the caller's end closed.
                Ok(_) => return Ok(served),
                Err(e) => return Err(Error::system("reading a pipe", e)),
            }
        }
    }
}
