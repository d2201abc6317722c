//! A connection beside what is measured, by which the ends say how much they sent and received.

use std::io::{Read, Write};
use std::net::{SocketAddrV4, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};

use tollway_core::{Error, Result};

use super::listener::{Listener, Purpose, at_once, come};
use super::wait::failed;

/// One end of it. Neither waits for the other longer than is fit.
#[derive(Debug)]
pub struct Control(TcpStream);

impl Control {
    /// The end of who comes.
    pub fn come(to: SocketAddrV4) -> Result<Control> {
        come(to, Purpose::Control).and_then(Control::of)
    }

    /// The end of who listens.
    pub fn accept(listener: &Listener) -> Result<Control> {
        listener.accept_for(Purpose::Control).and_then(Control::of)
    }

    /// Of a connection that is for it.
    pub fn of(socket: TcpStream) -> Result<Control> {
        at_once(socket).map(Control)
    }

    /// Says a number.
    pub fn say(&mut self, number: u64) -> Result<()> {
        self.0.write_all(&number.to_le_bytes()).map_err(|e| failed("telling the other end a count", e))
    }

    /// Hears a number.
    pub fn hear(&mut self) -> Result<u64> {
        let mut bytes = [0; size_of::<u64>()];
        self.0.read_exact(&mut bytes).map_err(|e| failed("hearing a count from the other end", e))?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// Says a number, hears what came of it, and compares.
    pub fn settle(&mut self, sent: u64, what: &str) -> Result<()> {
        self.say(sent)?;
        match self.hear()? {
            came if came == sent => Ok(()),
            came => Err(Error::Wrong(format!("{sent} {what} were sent, the other end has {came}"))),
        }
    }
}

impl AsFd for Control {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
