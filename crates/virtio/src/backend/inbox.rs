//! Reads messages as they trickle in, without ever waiting for the rest of one.
//!
//! Descriptors come with the first byte of what their sender sent at once. So no read goes beyond the message that it
//! is for, else descriptors of the next one would be taken for those of this one.

use std::io::IoSliceMut;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::io::Errno;
use rustix::net::{RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, recvmsg};

use super::Refused;
use super::message::{HEADER, Header, MOST_DESCRIPTORS, Message};
use super::received::{Bin, Received};
use crate::wiped::Wiped;

/// The most descriptors that come with a message (unix(7): SCM_MAX_FD). What there is no room for the kernel closes
/// while it is read, however long that takes.
const MOST_SENT: usize = 253;

/// What has come of a message so far.
#[derive(Debug, Default)]
pub(crate) struct Inbox {
    head: [u8; HEADER],
    /// The header, once all of it is there.
    header: Option<Header>,
    /// Wiped, also where the rest of it never comes.
    body: Wiped,
    /// Bytes of the header, or of the body, that are there.
    got: usize,
    descriptors: Vec<Received>,
    bin: Arc<Bin>,
}

/// What a look into the socket brought.
#[derive(Debug)]
pub(crate) enum Arrived {
    /// A whole message.
    Message(Message),
    /// Not all of one yet.
    Nothing,
    /// The peer has closed the connection, between two messages.
    End,
}

impl Inbox {
    /// An empty one; what comes along and belongs to nothing is put into `bin`.
    pub(crate) fn new(bin: Arc<Bin>) -> Inbox {
        Inbox { bin, ..Inbox::default() }
    }

    /// Reads what is there, up to the end of one message.
    pub(crate) fn receive(&mut self, socket: impl AsFd) -> Result<Arrived, Refused> {
        loop {
            let header = match self.header {
                Some(header) if self.got == header.size => {
                    let message = Message {
                        header,
                        body: std::mem::take(&mut self.body),
                        descriptors: std::mem::take(&mut self.descriptors),
                    };
                    (self.header, self.got) = (None, 0);
                    return Ok(Arrived::Message(message));
                }
                header => header,
            };
            let bytes = match self.read(&socket, header.is_some()) {
                Ok(bytes) => bytes,
                Err(Errno::INTR) => continue,
                Err(Errno::AGAIN) => return Ok(Arrived::Nothing),
                Err(Errno::TOOBIG) => return Err(Refused::Descriptors),
                Err(error) => return Err(Refused::Connection(error.to_string())),
            };
            if bytes == 0 {
                if header.is_none() && self.got == 0 {
                    return Ok(Arrived::End);
                }
                return Err(Refused::Connection("the peer closed it within a message".into()));
            }
            self.got += bytes;
            if header.is_none() && self.got == HEADER {
                let header = Header::parse(&self.head)?;
                self.body = Wiped::zeros(header.size);
                (self.header, self.got) = (Some(header), 0);
            }
        }
    }

    /// One read. Too many descriptors are told as E2BIG, which recvmsg(2) does not return itself.
    fn read(&mut self, socket: impl AsFd, body: bool) -> Result<usize, Errno> {
        let into = if body { &mut self.body[self.got..] } else { &mut self.head[self.got..] };
        let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_SENT))];
        let mut control = RecvAncillaryBuffer::new(&mut space);
        let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
        let received = recvmsg(socket, &mut [IoSliceMut::new(into)], &mut control, flags)?;
        for part in control.drain() {
            if let RecvAncillaryMessage::ScmRights(descriptors) = part {
                let received = descriptors.map(|one| Received::new(one, self.bin.clone()));
                self.descriptors.extend(received);
            }
        }
        if received.flags.contains(ReturnFlags::CTRUNC) || self.descriptors.len() > MOST_DESCRIPTORS {
            return Err(Errno::TOOBIG);
        }
        Ok(received.bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixStream;

    use tollway_host::descriptor;

    use super::*;

    fn bytes(request: u32, flags: u32, size: u32) -> Vec<u8> {
        [request, flags, size].into_iter().flat_map(u32::to_ne_bytes).collect()
    }

    fn nothing(arrived: Result<Arrived, Refused>) -> bool {
        matches!(arrived, Ok(Arrived::Nothing))
    }

    #[test]
    fn a_message_in_single_bytes_is_a_message() {
        let (mut peer, here) = UnixStream::pair().unwrap();
        let mut inbox = Inbox::default();
        assert!(nothing(inbox.receive(&here)));
        let mut whole = bytes(2, 0x9, 8);
        whole.extend(7u64.to_ne_bytes());
        whole.extend(bytes(1, 1, 0));
        for (at, byte) in whole.iter().enumerate() {
            peer.write_all(&[*byte]).unwrap();
            match inbox.receive(&here).unwrap() {
                Arrived::Message(message) if at == 19 => {
                    assert_eq!((message.header.request, message.u64().unwrap()), (2, 7));
                    assert!(message.header.need_reply);
                }
                Arrived::Message(message) => {
                    assert_eq!((at, message.header.request, message.body.len()), (31, 1, 0));
                }
                Arrived::Nothing => assert!(at != 19 && at != 31),
                Arrived::End => panic!("byte {at}"),
            }
        }
        drop(peer);
        assert!(matches!(inbox.receive(&here), Ok(Arrived::End)));
    }

    #[test]
    fn what_is_no_message_is_refused() {
        let refused = |bytes: &[u8]| {
            let (mut peer, here) = UnixStream::pair().unwrap();
            peer.write_all(bytes).unwrap();
            drop(peer);
            let mut inbox = Inbox::default();
            loop {
                match inbox.receive(&here) {
                    Err(refused) => return refused,
                    Ok(Arrived::Message(_)) => {}
                    Ok(other) => panic!("{other:?}"),
                }
            }
        };
        assert!(matches!(refused(&bytes(1, 0, 0)), Refused::Header { request: 1, flags: 0, size: 0 }));
        assert!(matches!(refused(&bytes(1, 5, 0)), Refused::Header { .. }));
        assert!(matches!(refused(&bytes(1, 1, u32::MAX)), Refused::Header { .. }));
        assert!(matches!(refused(&bytes(1, 1, 4097)), Refused::Header { .. }));
        assert!(matches!(refused(&bytes(1, 1, 1)), Refused::Connection(_)));
        assert!(matches!(refused(&bytes(1, 1, 0)[..5]), Refused::Connection(_)));
    }

    #[test]
    fn too_many_descriptors_are_refused_and_closed() {
        let (peer, here) = UnixStream::pair().unwrap();
        let (watched, sent) = UnixStream::pair().unwrap();
        let many: Vec<OwnedFd> =
            (0..MOST_DESCRIPTORS + 1).map(|_| sent.try_clone().unwrap().into()).collect();
        descriptor::send(&peer, &many).unwrap();
        drop((many, sent));
        let mut inbox = Inbox::default();
        assert_eq!(inbox.receive(&here).unwrap_err(), Refused::Descriptors);
        drop(inbox);
        let mut byte = [0];
        assert_eq!(rustix::io::read(&watched, &mut byte).unwrap(), 0, "somebody still has it open");
    }
}
