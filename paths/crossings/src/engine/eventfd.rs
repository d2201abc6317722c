//! Two eventfds, one for each direction.

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::event::{EventfdFlags, eventfd};
use rustix::io::{Errno, read, write};
use tollway_core::{Error, Params, Place, Result};
use tollway_host::watch::Release;

use super::sequence::Sequence;
use super::{Caller, Exchange, Server};

/// What ends the exchange: a counter adds up what is written to it, so whatever else is in it, it is at least this.
const STOP: u64 = 1 << 40;

/// A number added to a counter that is slept on, and the same number back.
pub struct EventfdExchange;

/// The end that asks.
pub struct EventfdCaller {
    to: OwnedFd,
    from: Arc<OwnedFd>,
    sequence: Sequence,
}

/// The end that answers.
pub struct EventfdServer {
    from: Arc<OwnedFd>,
    to: OwnedFd,
}

impl Exchange for EventfdExchange {
    type Caller = EventfdCaller;
    type Server = EventfdServer;

    fn caller(_: &Params, _: &Place) -> Result<(EventfdCaller, Vec<OwnedFd>)> {
        let failed = |e| Error::system("making an eventfd", e);
        let make = || eventfd(0, EventfdFlags::CLOEXEC).map_err(failed);
        let (to, from) = (make()?, make()?);
        let share = |e: &OwnedFd| e.try_clone().map_err(|e| Error::system("sharing an eventfd", e));
        let for_server = vec![share(&to)?, share(&from)?];
        Ok((EventfdCaller { to, from: Arc::new(from), sequence: Sequence::default() }, for_server))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<EventfdServer> {
        let [from, to] = super::exactly(descriptors)?;
        Ok(EventfdServer { from: Arc::new(from), to })
    }
}

impl Caller for EventfdCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        let sent = add(&self.to, u64::from(number));
        match take(&self.from) {
            Ok(answer) if answer < STOP => self.sequence.note(sent && answer == u64::from(number)),
            _ => self.sequence.end(),
        }
    }

    fn stop(&mut self) -> Result<()> {
        if add(&self.to, STOP) {
            Ok(())
        } else {
            Err(Error::system("stopping the server", "the eventfd is full"))
        }
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        stopping(&self.from)
    }
}

impl Server for EventfdServer {
    fn serve(&mut self) -> Result<u64> {
        let mut served = 0;
        loop {
            let number = take(&self.from).map_err(|e| Error::system("reading an eventfd", e))?;
            if number >= STOP {
                return Ok(served);
            }
            if !add(&self.to, number) {
                return Err(Error::system("answering through an eventfd", "it is full"));
            }
            served += 1;
        }
    }

    fn release(&self) -> Release {
        stopping(&self.from)
    }
}

/// What ends whoever sleeps on `event`.
fn stopping(event: &Arc<OwnedFd>) -> Release {
    let event = event.clone();
    Box::new(move || {
        add(&event, STOP);
    })
}

/// Adds to a counter.
#[inline]
pub(super) fn add(event: impl AsFd, number: u64) -> bool {
    write(event, &number.to_ne_bytes()) == Ok(8)
}

/// Sleeps until a counter is not zero, and takes what is in it.
#[inline]
pub(super) fn take(event: impl AsFd) -> rustix::io::Result<u64> {
    let mut number = [0; 8];
    loop {
        match read(event.as_fd(), &mut number) {
            Err(Errno::INTR) => {}
            other => return other.map(|_| u64::from_ne_bytes(number)),
        }
    }
}
