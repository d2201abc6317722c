//! The slow path: each message is a datagram of a Unix socket of type SOCK_SEQPACKET (unix(7)), header and body in one.
//!
//! The header has 8 bytes, little-endian: the tag (2), 0 (2), and how many bytes follow (4). The kernel keeps datagrams apart; that one has as
//! many bytes as it says, and comes when it is its turn, is checked here.

use std::io::{IoSlice, IoSliceMut};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, recv, recvmsg, send, sendmsg,
};

use super::failed::{Failed, Violation};
use super::waiting::Counts;

/// Bytes of the header.
const HEADER: usize = 8;

/// Where no message is longer than that, header and body are copied together and sent by the shorter call: to describe two pieces to the kernel
/// costs more than to copy one of them.
const SHORT: usize = 1024;

/// One end of the socket.
pub struct Socket {
    socket: OwnedFd,
    longest: usize,
    is_own: bool,
    /// For header and body of short messages.
    datagram: Vec<u8>,
    counts: Counts,
}

impl Socket {
    /// The end that has the first turn, or the other one; the longest message has that many bytes.
    pub fn new(socket: OwnedFd, longest: usize, is_first: bool) -> Socket {
        let datagram = vec![0; HEADER + if longest <= SHORT { longest } else { 0 }];
        Socket { socket, longest, is_own: is_first, datagram, counts: Counts::default() }
    }

    /// The longest message, in bytes.
    pub fn longest(&self) -> usize {
        self.longest
    }

    /// Each message that was given is a notice, and each that was waited for a sleep.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Gives a message away.
    ///
    /// # Errors
    /// [`Failed`].
    #[inline]
    pub fn give(&mut self, tag: u16, bytes: &[u8]) -> Result<(), Failed> {
        if bytes.len() > self.longest {
            return Err(Failed::TooLong);
        }
        if !self.is_own {
            return Err(Failed::NotItsTurn);
        }
        let header = u64::from(tag) | (bytes.len() as u64) << 32;
        self.datagram[..HEADER].copy_from_slice(&header.to_le_bytes());
        // At its turn an end has read all that it was sent: that there is no room is not so.
        let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
        let sent = if self.longest <= SHORT {
            let datagram = &mut self.datagram[..HEADER + bytes.len()];
            datagram[HEADER..].copy_from_slice(bytes);
            retry_on_intr(|| send(&self.socket, datagram, flags))
        } else {
            let parts = [IoSlice::new(&self.datagram), IoSlice::new(bytes)];
            retry_on_intr(|| sendmsg(&self.socket, &parts, &mut SendAncillaryBuffer::default(), flags))
        };
        sent.map_err(failed)?;
        self.is_own = false;
        self.counts.notices += 1;
        Ok(())
    }

    /// Waits for a message, for as long as `left` says that there is time, without end if it says nothing;
    /// and copies its beginning, as far as there is room: its tag, and how many bytes that were.
    ///
    /// # Errors
    /// [`Failed`].
    #[inline]
    pub fn take(
        &mut self,
        into: &mut [u8],
        mut left: impl FnMut() -> Option<Duration>,
    ) -> Result<(u16, usize), Failed> {
        if self.is_own {
            return Err(Failed::NotItsTurn);
        }
        self.counts.sleeps += 1;
        let waiting = match left() {
            None => RecvFlags::empty(),
            Some(first) => {
                self.comes_within(first, left)?;
                RecvFlags::DONTWAIT
            }
        };
        // With MSG_TRUNC the kernel says how many bytes the datagram had, even if there was no room for them.
        let has = if self.longest <= SHORT {
            retry_on_intr(|| recv(&self.socket, &mut self.datagram[..], waiting | RecvFlags::TRUNC))
                .map(|(_, has)| has)
        } else {
            let mut parts = [IoSliceMut::new(&mut self.datagram), IoSliceMut::new(into)];
            retry_on_intr(|| {
                recvmsg(
                    &self.socket,
                    &mut parts,
                    &mut RecvAncillaryBuffer::default(),
                    waiting | RecvFlags::TRUNC,
                )
            })
            .map(|message| message.bytes)
        }
        .map_err(failed)?;
        if has == 0 {
            return Err(Failed::Gone);
        }
        let header = self.datagram.first_chunk().filter(|_| has >= HEADER).copied().map(u64::from_le_bytes);
        let header = header.filter(|header| header & 0xffff_0000 == 0).ok_or(Violation::Header)?;
        let (says, has) = ((header >> 32) as u32, (has - HEADER) as u32);
        if says as usize > self.longest {
            return Err(Violation::Bytes(says).into());
        }
        if says != has {
            return Err(Violation::Datagram { says, has }.into());
        }
        let bytes = into.len().min(says as usize);
        if self.longest <= SHORT {
            into[..bytes].copy_from_slice(&self.datagram[HEADER..HEADER + bytes]);
        }
        self.is_own = true;
        Ok((header as u16, bytes))
    }
}

impl Socket {
    /// Waits until there is something to be received, or the other end is gone. By poll(2), and not by the
    /// socket's own time limit (SO_RCVTIMEO): the other end may have a descriptor of this socket, and change
    /// that.
    fn comes_within(
        &self,
        first: Duration,
        mut left: impl FnMut() -> Option<Duration>,
    ) -> Result<(), Failed> {
        let mut left_now = Some(first);
        loop {
            let at_most = left_now.and_then(|time| Timespec::try_from(time).ok());
            match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], at_most.as_ref()) {
                Ok(0) => return Err(Failed::TimedOut),
                Ok(_) => return Ok(()),
                Err(Errno::INTR) => left_now = left(),
                Err(errno) => return Err(failed(errno)),
            }
        }
    }
}

/// The kernel's errors of a connected socket: sendto(2), recv(2).
#[cold]
fn failed(errno: Errno) -> Failed {
    match errno {
        Errno::PIPE | Errno::CONNRESET | Errno::NOTCONN => Failed::Gone,
        // The other end has a descriptor of this end's socket, or fills it: it never blocks, and has no time limit, by itself.
        Errno::AGAIN | Errno::MSGSIZE => Violation::Socket.into(),
        other => Failed::Kernel(other.raw_os_error()),
    }
}
