//! Descriptors passed from one process to another, over a Unix socket in the abstract name space (SCM_RIGHTS,
//! unix(7)).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::time::{Duration, Instant};

use rustix::io::{Errno, retry_on_intr};
use rustix::net::sockopt::{Timeout, set_socket_timeout, socket_peercred};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use rustix::process::geteuid;
use rustix::rand::{GetRandomFlags, getrandom};
use tollway_core::{Error, Result};

/// The most descriptors that one message carries here (the kernel's limit is 253, SCM_MAX_FD).
pub const MOST: usize = 16;

/// Listens under a name of the abstract name space (unix(7)) that nobody can foresee, and returns that name.
pub fn listen_anonymously() -> Result<(UnixListener, String)> {
    let mut random = [0u8; 16];
    getrandom(&mut random, GetRandomFlags::empty())
        .map_err(|e| Error::system("drawing a socket's name", e))?;
    let name = format!("tollway-{:032x}", u128::from_ne_bytes(random));
    let listener = SocketAddr::from_abstract_name(&name)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|e| Error::system(format!("listening on the abstract socket `{name}`"), e))?;
    Ok((listener, name))
}

/// Waits for a connection of a process of this user. Abstract sockets have no permissions: connections of others are
/// closed.
pub fn accept(listener: &UnixListener) -> Result<UnixStream> {
    loop {
        let (stream, _) = listener.accept().map_err(|e| Error::system("waiting for a connection", e))?;
        let peer = socket_peercred(&stream).map_err(|e| Error::system("asking who connects", e))?;
        if peer.uid == geteuid() {
            return Ok(stream);
        }
    }
}

/// Connects to a name that [`listen_anonymously`] gave.
///
/// # Errors
/// [`Error::System`] if nobody listens there.
pub fn connect(name: &str) -> Result<UnixStream> {
    SocketAddr::from_abstract_name(name)
        .and_then(|address| UnixStream::connect_addr(&address))
        .map_err(|e| Error::system(format!("connecting to the abstract socket `{name}`"), e))
}

/// Sends at most [`MOST`] descriptors with a message of one byte. The receiver gets copies.
///
/// # Errors
/// [`Error::System`] if there are too many, or the socket refuses.
pub fn send(socket: impl AsFd, descriptors: &[impl AsFd]) -> Result<()> {
    send_with(socket, &[1], descriptors)
}

/// Sends at most [`MOST`] descriptors with these bytes, in one piece (unix(7)). There are some bytes, and a socket's buffer has room for them.
///
/// # Errors
/// [`Error::System`] if there are too many descriptors, or the socket refuses or took only some of the bytes.
pub fn send_with(socket: impl AsFd, bytes: &[u8], descriptors: &[impl AsFd]) -> Result<()> {
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fits = borrowed.len() <= MOST
        && (borrowed.is_empty() || control.push(SendAncillaryMessage::ScmRights(&borrowed)));
    if !fits {
        return Err(Error::system("sending descriptors", format!("{} are more than {MOST}", borrowed.len())));
    }
    match retry_on_intr(|| sendmsg(&socket, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)) {
        Ok(sent) if sent == bytes.len() => Ok(()),
        Ok(sent) => {
            Err(Error::system("sending descriptors", format!("{sent} of {} bytes went", bytes.len())))
        }
        Err(e) => Err(Error::system("sending descriptors", e)),
    }
}

/// Receives the descriptors of one [`send`], close-on-exec.
///
/// # Errors
/// [`Error::System`] if the other side is gone, the socket refuses, or some descriptors did not fit in (this
/// process has too many open: those that came are closed).
pub fn receive(socket: impl AsFd) -> Result<Vec<OwnedFd>> {
    receive_with(socket, &mut [0]).map(|(_, descriptors)| descriptors)
}

/// Receives what one [`send_with`] sent, as far as there is room: how many bytes, at least one, and the descriptors, close-on-exec.
///
/// # Errors
/// As [`receive`].
pub fn receive_with(socket: impl AsFd, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
    received(&socket, bytes, || Ok(()))
}

/// As [`receive_with`], of a socket that blocks, within that time. Signals do not begin it anew; the socket's own time limit for reading (SO_RCVTIMEO,
/// socket(7)) is another afterwards.
///
/// # Errors
/// As [`receive_with`], and [`Error::System`] if nothing comes in time.
pub fn receive_within(
    socket: impl AsFd,
    bytes: &mut [u8],
    within: Duration,
) -> Result<(usize, Vec<OwnedFd>)> {
    let begun = Instant::now();
    received(&socket, bytes, || set_socket_timeout(&socket, Timeout::Recv, Some(left_of(within, begun))))
}

/// What is left of a time, as a time limit of a socket: 1 µs when it is over, as none would be no limit.
pub fn left_of(within: Duration, begun: Instant) -> Duration {
    within.saturating_sub(begun.elapsed()).max(Duration::from_micros(1))
}

/// What one [`send_with`] sent; `before` is done each time before the kernel is asked.
fn received(
    socket: &impl AsFd,
    bytes: &mut [u8],
    before: impl Fn() -> rustix::io::Result<()>,
) -> Result<(usize, Vec<OwnedFd>)> {
    let doing = "receiving descriptors";
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let message = retry_on_intr(|| {
        before()?;
        recvmsg(socket, &mut [IoSliceMut::new(bytes)], &mut control, RecvFlags::CMSG_CLOEXEC)
    })
    .map_err(|e| match e {
        // recv(2): of a socket with a time limit (SO_RCVTIMEO).
        Errno::AGAIN => Error::system(doing, "the other side said nothing in time"),
        e => Error::system(doing, e),
    })?;
    let mut all = Vec::new();
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            all.extend(descriptors);
        }
    }
    if message.bytes == 0 {
        return Err(Error::system(doing, "the other side closed the connection"));
    }
    if message.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Error::system(
            doing,
            "not all of them could be taken: too many are open, or too many were sent",
        ));
    }
    Ok((message.bytes, all))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};

    use super::*;

    #[test]
    fn a_pipe_arrives_and_works() {
        let (listener, name) = listen_anonymously().unwrap();
        let here = connect(&name).unwrap();
        let there = accept(&listener).unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        send(&here, &[write]).unwrap();
        let mut got = receive(&there).unwrap();
        assert_eq!(got.len(), 1);
        std::fs::File::from(got.remove(0)).write_all(b"across").unwrap();
        let mut text = [0; 6];
        std::fs::File::from(read).read_exact(&mut text).unwrap();
        assert_eq!(&text, b"across");
    }

    #[test]
    fn too_many_and_none_are_told_apart() {
        let (here, there) = UnixStream::pair().unwrap();
        let ends = || rustix::pipe::pipe().unwrap().0;
        let many: Vec<OwnedFd> = (0..MOST + 1).map(|_| ends()).collect();
        assert!(send(&here, &many).is_err());
        send(&here, &many[..MOST]).unwrap();
        assert_eq!(receive(&there).unwrap().len(), MOST);
        send(&here, &many[..0]).unwrap();
        assert_eq!(receive(&there).unwrap().len(), 0);
        send_with(&here, b"some bytes", &many[..1]).unwrap();
        let mut bytes = [0; 16];
        let (len, came) = receive_with(&there, &mut bytes).unwrap();
        assert_eq!((&bytes[..len], came.len()), (&b"some bytes"[..], 1));
        drop(here);
        assert!(receive(&there).is_err());
        assert!(send(&there, &many[..1]).is_err(), "an error, not a signal");
        assert!(connect("tollway-nobody-listens-here").is_err());
    }
}
