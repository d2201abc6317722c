//! File descriptors handed from process to process over a Unix socket (SCM_RIGHTS, unix(7)).

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tollway_core::{Error, Result};

/// The most descriptors in one message.
pub const MOST: usize = 16;

/// Listens under a name of the abstract name space that nobody else has (unix(7)), and returns that name.
pub fn listen_anonymously() -> Result<(UnixListener, String)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = format!("tollway-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let listener = SocketAddr::from_abstract_name(&name)
        .and_then(|address| UnixListener::bind_addr(&address))
        .map_err(|e| Error::system(format!("listening on the abstract socket `{name}`"), e))?;
    Ok((listener, name))
}

/// Connects to a name that [`listen_anonymously`] gave.
pub fn connect(name: &str) -> Result<UnixStream> {
    SocketAddr::from_abstract_name(name)
        .and_then(|address| UnixStream::connect_addr(&address))
        .map_err(|e| Error::system(format!("connecting to the abstract socket `{name}`"), e))
}

/// Sends up to [`MOST`] descriptors with some bytes; at least one byte, or a stream socket would send nothing. The
/// descriptors stay open here too.
///
/// # Errors
/// [`Error::Input`] for no byte or too many descriptors; [`Error::System`] if the socket refuses or takes only a part
/// of the bytes.
pub fn send(socket: impl AsFd, descriptors: &[BorrowedFd<'_>], bytes: &[u8]) -> Result<()> {
    if bytes.is_empty() || descriptors.len() > MOST {
        return Err(Error::Input {
            place: "message with descriptors".into(),
            reason: format!("{} bytes and {} descriptors", bytes.len(), descriptors.len()),
            remedy: format!("send at least one byte and at most {MOST} descriptors"),
        });
    }
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = SendAncillaryBuffer::new(&mut room);
    if !descriptors.is_empty() {
        let pushed = ancillary.push(SendAncillaryMessage::ScmRights(descriptors));
        debug_assert!(pushed, "the buffer has room for MOST");
    }
    let doing = "sending descriptors";
    let sent = retry(|| sendmsg(&socket, &[IoSlice::new(bytes)], &mut ancillary, SendFlags::NOSIGNAL))
        .map_err(|e| Error::system(doing, e))?;
    if sent < bytes.len() {
        return Err(Error::system(doing, format!("{sent} of {} bytes went out", bytes.len())));
    }
    Ok(())
}

/// Receives bytes into `bytes`, and the descriptors that came with them (close-on-exec). Returns how many bytes; 0
/// when the other end is closed.
///
/// # Errors
/// [`Error::System`] if the socket refuses, or if more came than there is room for (what came is closed).
pub fn receive(socket: impl AsFd, bytes: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
    let doing = "receiving descriptors";
    let mut room = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut room);
    let message =
        retry(|| recvmsg(&socket, &mut [IoSliceMut::new(bytes)], &mut ancillary, RecvFlags::CMSG_CLOEXEC))
            .map_err(|e| Error::system(doing, e))?;
    let descriptors: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    if message.flags.intersects(ReturnFlags::CTRUNC | ReturnFlags::TRUNC) {
        return Err(Error::system(doing, "the message was cut: it has more than there is room for"));
    }
    Ok((message.bytes, descriptors))
}

fn retry<T>(mut call: impl FnMut() -> rustix::io::Result<T>) -> rustix::io::Result<T> {
    loop {
        match call() {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Seek, Write};
    use std::os::unix::net::{UnixDatagram, UnixStream};

    #[test]
    fn descriptors_arrive_with_their_bytes() {
        let (a, b) = UnixStream::pair().unwrap();
        let mut files = [tempfile::tempfile().unwrap(), tempfile::tempfile().unwrap()];
        files[0].write_all(b"first").unwrap();
        send(&a, &[files[0].as_fd(), files[1].as_fd()], b"two files").unwrap();
        let mut bytes = [0; 32];
        let (n, mut fds) = receive(&b, &mut bytes).unwrap();
        assert_eq!((&bytes[..n], fds.len()), (&b"two files"[..], 2));
        let mut file = File::from(fds.remove(0));
        file.rewind().unwrap();
        let mut text = String::new();
        file.read_to_string(&mut text).unwrap();
        assert_eq!(text, "first");
    }

    #[test]
    fn bytes_alone_and_an_end_are_received() {
        let (a, b) = UnixStream::pair().unwrap();
        send(&a, &[], b"x").unwrap();
        let mut bytes = [0; 4];
        assert_eq!(receive(&b, &mut bytes).unwrap().0, 1);
        drop(a);
        assert_eq!(receive(&b, &mut bytes).unwrap().0, 0);
    }

    #[test]
    fn what_cannot_be_sent_or_kept_is_an_error() {
        let (a, b) = UnixDatagram::pair().unwrap();
        assert!(send(&a, &[], b"").is_err());
        assert!(send(&a, &[a.as_fd(); MOST + 1], b"x").is_err());
        send(&a, &[a.as_fd(); MOST], b"longer than room").unwrap();
        assert!(receive(&b, &mut [0; 4]).unwrap_err().to_string().contains("cut"));
        drop(b);
        assert!(send(&a, &[], b"x").is_err());
    }
}
