//! A message through a channel, and its echo: what pipes and sockets of every kind have in common.

use std::marker::PhantomData;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;

use rustix::io::{Errno, read, write};
use tollway_core::{Error, Params, Place, Result};
use tollway_host::watch::Release;

use super::sequence::Sequence;
use super::{Caller, Exchange, Server};

/// The longest message, in bytes.
pub const LONGEST: usize = 64;

/// First and last byte of the message that ends the exchange; all others are echoed.
const STOP: u8 = 0xff;

/// One kind of channel.
pub trait Channel: 'static {
    /// Makes a channel: this process's end, and the descriptors of the other's.
    fn open() -> Result<(End, Vec<OwnedFd>)>;

    /// Makes an end of the descriptors that another process sent.
    fn adopt(descriptors: Vec<OwnedFd>) -> Result<End>;

    /// Wakes whoever sleeps in a read of this end, where a channel whose other end is closed does not do so itself.
    fn interrupt(_from: &OwnedFd) {}
}

/// One end of a channel.
pub struct End {
    to: Arc<OwnedFd>,
    from: Arc<OwnedFd>,
}

impl End {
    /// Two descriptors, one for each direction.
    pub fn two(to: OwnedFd, from: OwnedFd) -> End {
        End { to: Arc::new(to), from: Arc::new(from) }
    }

    /// One descriptor for both directions.
    pub fn one(both: OwnedFd) -> End {
        let both = Arc::new(both);
        End { to: both.clone(), from: both }
    }

    #[inline]
    fn send(&self, message: &[u8]) -> bool {
        write(&*self.to, message) == Ok(message.len())
    }

    /// Fills `message`, however many pieces it comes in. `false`: the channel was closed, or failed.
    #[inline]
    fn receive(&self, message: &mut [u8]) -> bool {
        let mut got = 0;
        while got < message.len() {
            match read(self.from.as_fd(), &mut message[got..]) {
                Ok(0) => return false,
                Ok(n) => got += n,
                Err(Errno::INTR) => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// A message sent through `C` and echoed.
pub struct Echo<C>(PhantomData<fn() -> C>);

/// The end that asks.
pub struct EchoCaller<C> {
    end: End,
    size: usize,
    sequence: Sequence,
    over: PhantomData<fn() -> C>,
}

/// The end that echoes.
pub struct EchoServer<C> {
    end: End,
    size: usize,
    over: PhantomData<fn() -> C>,
}

impl<C: Channel> Exchange for Echo<C> {
    type Caller = EchoCaller<C>;
    type Server = EchoServer<C>;

    fn caller(params: &Params, _: &Place) -> Result<(EchoCaller<C>, Vec<OwnedFd>)> {
        let (end, for_server) = C::open()?;
        let caller =
            EchoCaller { end, size: size(params)?, sequence: Sequence::default(), over: PhantomData };
        Ok((caller, for_server))
    }

    fn server(params: &Params, descriptors: Vec<OwnedFd>) -> Result<EchoServer<C>> {
        Ok(EchoServer { end: C::adopt(descriptors)?, size: size(params)?, over: PhantomData })
    }
}

impl<C: Channel> Caller for EchoCaller<C> {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        let mark = (number & 0x7f) as u8;
        let (mut message, mut echo) = ([mark; LONGEST], [STOP; LONGEST]);
        let (message, echo) = (&mut message[..self.size], &mut echo[..self.size]);
        if self.end.send(message) && self.end.receive(echo) {
            self.sequence.note(message == echo);
        } else {
            self.sequence.end();
        }
    }

    fn stop(&mut self) -> Result<()> {
        if self.end.send(&[STOP; LONGEST][..self.size]) {
            return Ok(());
        }
        Err(Error::system("stopping the server", "it has closed the channel"))
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        let from = self.end.from.clone();
        Box::new(move || C::interrupt(&from))
    }
}

impl<C: Channel> Server for EchoServer<C> {
    fn serve(&mut self) -> Result<u64> {
        let mut served = 0;
        let mut message = [0; LONGEST];
        let message = &mut message[..self.size];
        while self.end.receive(message) && message[0] != STOP {
            if !self.end.send(message) {
                return Err(Error::system("echoing a message", "the caller has closed the channel"));
            }
            served += 1;
        }
        Ok(served)
    }

    fn release(&self) -> Release {
        let from = self.end.from.clone();
        Box::new(move || C::interrupt(&from))
    }
}

/// The axis `size` where there is one, else one byte.
fn size(params: &Params) -> Result<usize> {
    if params.get("size").is_none() {
        return Ok(1);
    }
    match usize::try_from(params.int("size")?) {
        Ok(size @ 1..=LONGEST) => Ok(size),
        _ => Err(Error::Input {
            place: "axis `size`".into(),
            reason: "a message of that size does not exist".into(),
            remedy: format!("give 1 to {LONGEST} bytes"),
        }),
    }
}
