//! Messages into and out of channels: pipes, Unix sockets, TCP and UDP over the loopback device.
//!
//! Of several channels each takes one message a sample, so that every write finds its channel empty and every read finds one
//! message: many messages in one channel would share pages of a pipe and buffers of a socket, and each would
//! cost less. A TCP connection answers each message with one as long, untimed: the kernel then knows that answers carry
//! acknowledgements, as it does with a program that asks and is answered, and no read sends one by itself.

use std::io::{self, IoSlice, IoSliceMut};
use std::mem;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create, sendfile};
use rustix::io::{Errno, ioctl_fionbio, ioctl_fionread, pwrite, read, write};
use rustix::net::sockopt::{set_socket_recv_buffer_size, set_socket_send_buffer_size};
use rustix::net::{
    AddressFamily, RecvAncillaryBuffer, RecvFlags, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType,
    recvmsg, sendmsg, socketpair,
};
use rustix::pipe::{PipeFlags, SpliceFlags, pipe_with, splice};
use tollway_core::{Error, Result, Tally};

use super::{Row, Single};

/// Messages up to this size, in bytes, are written to several channels in a row; longer ones take so long that one is enough for the
/// stamps to be below 1 %, and stay in the caches so.
const SHORT: usize = 4096;

/// Asked for the buffers of sockets, in bytes: room for the largest message with what the kernel accounts on top.
const BUFFERS: usize = 1 << 18;

/// How long a message that should be there already is waited for, in seconds.
const PATIENCE: i64 = 1;

/// Where data is written and where it comes out.
type Ends = (OwnedFd, OwnedFd);

pub(super) fn read_pipe(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Reads(Channels::new(size, row.of(8), false, pipe)?)))
}

pub(super) fn write_pipe(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(8), false, pipe)?)))
}

pub(super) fn read_unix(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Reads(Channels::new(size, row.of(8), false, unix)?)))
}

pub(super) fn write_unix(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(8), false, unix)?)))
}

pub(super) fn read_tcp(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Reads(Channels::new(size, row.of(4), true, tcp)?)))
}

pub(super) fn write_tcp(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(2), true, tcp)?)))
}

pub(super) fn read_udp(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Reads(Channels::new(size, row.of(4), false, udp)?)))
}

pub(super) fn write_udp(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(4), false, udp)?)))
}

pub(super) fn receive_message(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Reads(Channels::new(size, row.of(8), false, unix)?.by(By::Message)?)))
}

pub(super) fn send_message(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(8), false, unix)?.by(By::Message)?)))
}

pub(super) fn send_file(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(2), true, tcp)?.by(By::File)?)))
}

pub(super) fn splice_file(size: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Writes(Channels::new(size, row.of(8), false, pipe)?.by(By::Splice)?)))
}

fn pipe() -> Result<Ends> {
    let (from, to) = pipe_with(PipeFlags::CLOEXEC).map_err(|e| Error::system("making a pipe", e))?;
    Ok((to, from))
}

fn unix() -> Result<Ends> {
    let pair = socketpair(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
        .map_err(|e| Error::system("making a pair of Unix sockets", e))?;
    set_socket_send_buffer_size(&pair.0, BUFFERS)
        .map_err(|e| Error::system("enlarging a socket's buffer", e))?;
    Ok(pair)
}

fn tcp() -> Result<Ends> {
    let connect = || -> io::Result<_> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        // The window is offered when the connection is made: whoever is accepted has the listener's buffer.
        set_socket_recv_buffer_size(&listener, BUFFERS)?;
        let here = TcpStream::connect(listener.local_addr()?)?;
        let (there, from) = listener.accept()?;
        if from != here.local_addr()? {
            return Err(io::Error::other("somebody else connected to the port"));
        }
        for end in [&here, &there] {
            end.set_nodelay(true)?;
            set_socket_send_buffer_size(end, BUFFERS)?;
        }
        Ok((here.into(), there.into()))
    };
    connect().map_err(|e| Error::system("connecting through TCP on 127.0.0.1", e))
}

fn udp() -> Result<Ends> {
    let connect = || -> io::Result<_> {
        let here = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
        here.connect(there.local_addr()?)?;
        there.connect(here.local_addr()?)?;
        set_socket_send_buffer_size(&here, BUFFERS)?;
        set_socket_recv_buffer_size(&there, BUFFERS)?;
        Ok((here.into(), there.into()))
    };
    connect().map_err(|e| Error::system("making UDP sockets on 127.0.0.1", e))
}

/// By which call bytes are sent, or received.
#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// write and read.
    Plain,
    /// sendmsg and recvmsg.
    Message,
    /// sendfile of a file in memory.
    File,
    /// splice of a file in memory.
    Splice,
}

/// Channels of one kind, each with one message or none.
struct Channels {
    ends: Vec<Ends>,
    by: By,
    /// What is sent, as a file in memory.
    file: Option<OwnedFd>,
    /// What is sent; its first byte changes from sample to sample.
    message: Vec<u8>,
    came: Vec<u8>,
    /// Whether what came is answered.
    answers: bool,
    /// Whether calls were made whose traces were not looked at yet.
    pending: bool,
    /// Messages of which not all had come when the call that sent them had returned.
    late: u64,
}

impl Channels {
    fn new(size: usize, count: u32, answers: bool, open: fn() -> Result<Ends>) -> Result<Channels> {
        let count = if size <= SHORT { count } else { 1 };
        let ends = (0..count).map(|_| open()).collect::<Result<Vec<_>>>()?;
        for end in ends.iter().flat_map(|(to, from)| [to, from]) {
            // Nobody sleeps: a call that would have to wait is a wrong one.
            ioctl_fionbio(end, true).map_err(|e| Error::system("making a descriptor non-blocking", e))?;
        }
        let message = (0..size).map(|at| (at as u32).wrapping_mul(0x9e37_79b9).to_be_bytes()[0]).collect();
        Ok(Channels {
            ends,
            by: By::Plain,
            file: None,
            message,
            came: vec![0; size],
            answers,
            pending: false,
            late: 0,
        })
    }

    /// The same, by other calls.
    fn by(mut self, by: By) -> Result<Channels> {
        if matches!(by, By::File | By::Splice) {
            let failed = |e: Errno| Error::system("making a file in memory", e);
            let file = memfd_create("tollway", MemfdFlags::CLOEXEC).map_err(failed)?;
            if pwrite(&file, &self.message, 0).map_err(failed)? != self.message.len() {
                return Err(Error::system("filling a file in memory", "it took only a part"));
            }
            self.file = Some(file);
        }
        self.by = by;
        Ok(self)
    }

    fn next(&mut self) {
        self.message[0] = self.message[0].wrapping_add(1);
        if let Some(file) = &self.file {
            // What is read in the end is held against the message, so that a write that failed would be seen.
            let _ = pwrite(file, &self.message[..1], 0);
        }
        self.came.fill(0);
    }

    /// Sends into each channel.
    #[inline]
    fn send(&self) -> u32 {
        let Channels { message, by, file, .. } = self;
        let sent = |to: &OwnedFd| match (by, file) {
            (By::Plain, _) => write(to, message),
            (By::Message, _) => {
                sendmsg(to, &[IoSlice::new(message)], &mut SendAncillaryBuffer::default(), SendFlags::empty())
            }
            (By::File, Some(file)) => sendfile(to, file, Some(&mut 0), message.len()),
            (By::Splice, Some(file)) => {
                splice(file, Some(&mut 0), to, None, message.len(), SpliceFlags::empty())
            }
            (By::File | By::Splice, None) => Err(Errno::BADF),
        };
        self.ends.iter().map(|(to, _)| u32::from(sent(to) == Ok(message.len()))).sum()
    }

    /// Reads from each channel, each over what came out of the one before.
    #[inline]
    fn receive(&mut self) -> u32 {
        let Channels { ends, came, message, by, .. } = self;
        let mut received = |from: &OwnedFd| match by {
            By::Message => {
                let mut room = [IoSliceMut::new(came)];
                let got = recvmsg(from, &mut room, &mut RecvAncillaryBuffer::default(), RecvFlags::empty());
                got.map(|got| got.bytes)
            }
            _ => read(from, &mut came[..]),
        };
        ends.iter().map(|(_, from)| u32::from(received(from) == Ok(message.len()))).sum()
    }

    /// Whether what was read last is what was sent.
    fn is_right(&self) -> bool {
        self.came == self.message
    }

    /// Takes the messages out of all channels, and checks them.
    fn empty(&mut self) -> bool {
        let Channels { ends, message, came, late, .. } = self;
        ends.iter().all(|(_, from)| {
            came.fill(0);
            *late += u64::from(ioctl_fionread(from) != Ok(message.len() as u64));
            take(from, came) && came == message
        })
    }

    /// Answers on all channels that do.
    fn answer(&mut self) -> bool {
        let Channels { ends, message, came, answers, .. } = self;
        !*answers || ends.iter().all(|(to, from)| write(from, message) == Ok(message.len()) && take(to, came))
    }

    /// Nearly every message had come when its write returned.
    fn verify(&self, done: u64) -> Result<()> {
        if self.late * 100 <= done {
            return Ok(());
        }
        Err(Error::Wrong(format!("{} of {done} messages had not come when they were sent", self.late)))
    }

    fn tally(&self, done: u64) -> Tally {
        Tally::default().counter("operations", done).counter("late", self.late)
    }
}

/// Fills `bytes`, in however many pieces they come.
fn take(from: &OwnedFd, bytes: &mut [u8]) -> bool {
    let (mut got, mut waited) = (0, false);
    while got < bytes.len() {
        match read(from, &mut bytes[got..]) {
            Ok(0) => return false,
            Ok(n) => (got, waited) = (got + n, false),
            Err(Errno::INTR) => {}
            Err(Errno::AGAIN) if !waited => {
                let patience = Timespec { tv_sec: PATIENCE, tv_nsec: 0 };
                let _ = poll(&mut [PollFd::new(from, PollFlags::IN)], Some(&patience));
                waited = true;
            }
            Err(_) => return false,
        }
    }
    true
}

/// Timed: a write to each channel, which is empty.
struct Writes(Channels);

impl Single for Writes {
    fn count(&self) -> u32 {
        self.0.ends.len() as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.0.pending = true;
        self.0.send()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let pending = mem::take(&mut self.0.pending);
        let right = !pending || self.0.empty() && self.0.answer();
        self.0.next();
        right
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.0.verify(done)
    }

    fn tally(&self, done: u64) -> Tally {
        self.0.tally(done)
    }
}

/// Timed: a read from each channel, which has one message.
struct Reads(Channels);

impl Single for Reads {
    fn count(&self) -> u32 {
        self.0.ends.len() as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.0.pending = true;
        self.0.receive()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let channels = &mut self.0;
        let pending = mem::take(&mut channels.pending);
        let right = !pending || channels.is_right() && channels.answer();
        channels.next();
        let sent = channels.send() as usize == channels.ends.len();
        let size = channels.message.len() as u64;
        let there = channels.ends.iter().filter(|(_, from)| ioctl_fionread(from) == Ok(size)).count();
        channels.late += (channels.ends.len() - there) as u64;
        right && sent
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        self.0.verify(done)
    }

    fn tally(&self, done: u64) -> Tally {
        self.0.tally(done)
    }
}
