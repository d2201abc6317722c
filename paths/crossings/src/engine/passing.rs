//! A descriptor handed to another process and back, over a Unix socket.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};

use rustix::fs::fstat;
use rustix::io::Errno;
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, SocketFlags, SocketType, recvmsg, sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, pipe_with};
use tollway_core::{Error, Params, Place, Result};
use tollway_host::watch::Release;

use super::sequence::Sequence;
use super::{Caller, Exchange, Server};

/// The byte of the message that ends the exchange; it carries no descriptor.
const STOP: u8 = 0xff;

/// A descriptor sent with a byte, and both returned.
pub struct PassingExchange;

/// The end that hands out a descriptor of its own, and gets another for the same file.
pub struct PassingCaller {
    socket: OwnedFd,
    own: OwnedFd,
    /// What the last round brought.
    returned: Option<OwnedFd>,
    sequence: Sequence,
}

/// The end that returns what it gets.
pub struct PassingServer {
    socket: OwnedFd,
}

impl Exchange for PassingExchange {
    type Caller = PassingCaller;
    type Server = PassingServer;

    fn caller(_: &Params, _: &Place) -> Result<(PassingCaller, Vec<OwnedFd>)> {
        let failed = |e| Error::system("making what is to be passed", e);
        let kind = (SocketType::STREAM, SocketFlags::CLOEXEC);
        let (socket, there) = socketpair(AddressFamily::UNIX, kind.0, kind.1, None).map_err(failed)?;
        let (own, _) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
        Ok((PassingCaller { socket, own, returned: None, sequence: Sequence::default() }, vec![there]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<PassingServer> {
        let [socket] = super::exactly(descriptors)?;
        Ok(PassingServer { socket })
    }
}

impl Caller for PassingCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        let mark = (number & 0x7f) as u8;
        let sent = send(&self.socket, mark, Some(&self.own));
        match receive(&self.socket) {
            // The descriptor of the round before is closed here.
            Ok(Some((byte, returned @ Some(_)))) => {
                self.returned = returned;
                self.sequence.note(sent.is_ok() && byte == mark);
            }
            Ok(Some((_, None))) => self.sequence.note(false),
            Ok(None) | Err(_) => self.sequence.end(),
        }
    }

    fn stop(&mut self) -> Result<()> {
        send(&self.socket, STOP, None).map_err(|e| Error::system("stopping the server", e))
    }

    /// Every round brought one descriptor; the last one is looked at: it must be of the file that was sent.
    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        let file = |fd: &OwnedFd| fstat(fd).map(|s| (s.st_dev, s.st_ino)).ok();
        if self.returned.as_ref().and_then(file) != file(&self.own) {
            return Err(Error::Wrong(
                "the descriptor that came back is not of the file that was sent".into(),
            ));
        }
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        // The socket between the two is closed with its other end.
        Box::new(|| ())
    }
}

impl Server for PassingServer {
    fn serve(&mut self) -> Result<u64> {
        let mut served = 0;
        loop {
            match receive(&self.socket).map_err(|e| Error::system("receiving a descriptor", e))? {
                Some((byte, Some(descriptor))) if byte != STOP => {
                    send(&self.socket, byte, Some(&descriptor))
                        .map_err(|e| Error::system("returning a descriptor", e))?;
                    served += 1;
                }
                _ => return Ok(served),
            }
        }
    }

    fn release(&self) -> Release {
        Box::new(|| ())
    }
}

#[inline]
fn send(socket: &OwnedFd, byte: u8, descriptor: Option<&OwnedFd>) -> rustix::io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let borrowed;
    if let Some(descriptor) = descriptor {
        borrowed = [descriptor.as_fd()];
        if !control.push(SendAncillaryMessage::ScmRights(&borrowed)) {
            return Err(Errno::NOBUFS);
        }
    }
    sendmsg(socket, &[IoSlice::new(&[byte])], &mut control, SendFlags::empty()).map(drop)
}

/// A byte, and the descriptor that came with it; `None` where the other end is closed.
#[inline]
fn receive(socket: &OwnedFd) -> rustix::io::Result<Option<(u8, Option<OwnedFd>)>> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let mut byte = [0];
    let got = loop {
        match recvmsg(socket, &mut [IoSliceMut::new(&mut byte)], &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?.bytes,
        }
    };
    let mut descriptor = None;
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(mut several) = part {
            descriptor = several.next();
        }
    }
    Ok((got == 1).then_some((byte[0], descriptor)))
}
