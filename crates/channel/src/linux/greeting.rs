//! One piece of a greeting: so many bytes and the descriptors that belong to them, in one message, heard whole before one deadline.
//!
//! Who hears it has one deadline for all of it: an end that says it byte by byte holds nobody up for longer than one that says nothing.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, retry_on_intr};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, ReturnFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use tollway_core::{Error, Result};

/// The most descriptors that belong to a piece.
pub(super) const MOST: usize = 4;

/// Says a piece: never waits for the other end to read.
///
/// # Errors
/// [`Error::System`] if there are too many descriptors, the other end is gone, or it has left so much unread that there is no room.
pub(super) fn say(link: impl AsFd, bytes: &[u8], descriptors: &[impl AsFd]) -> Result<()> {
    let doing = "greeting the other end";
    let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let fits = borrowed.len() <= MOST
        && (borrowed.is_empty() || control.push(SendAncillaryMessage::ScmRights(&borrowed)));
    if !fits {
        return Err(Error::system(doing, format!("{} descriptors are more than {MOST}", borrowed.len())));
    }
    let flags = SendFlags::NOSIGNAL | SendFlags::DONTWAIT;
    match retry_on_intr(|| sendmsg(&link, &[IoSlice::new(bytes)], &mut control, flags)) {
        Ok(said) if said == bytes.len() => Ok(()),
        Ok(said) => Err(Error::system(doing, format!("only {said} of {} bytes went out", bytes.len()))),
        Err(e) => Err(Error::system(doing, e)),
    }
}

/// Hears a piece of as many bytes, and at most that many descriptors (close-on-exec), within that time.
///
/// # Errors
/// [`Error::System`] if it has not come whole by then, the other end is gone or gave more descriptors, or this process has too many open.
pub(super) fn hear(
    link: impl AsFd,
    bytes: &mut [u8],
    descriptors: usize,
    within: Duration,
) -> Result<Vec<OwnedFd>> {
    let doing = "hearing the other end's greeting";
    let deadline = Instant::now() + within;
    let mut came = Vec::new();
    let mut heard = 0;
    while heard < bytes.len() {
        match piece(&link, &mut bytes[heard..], &mut came) {
            Ok(0) => return Err(Error::system(doing, "the other end closed the connection")),
            Ok(more) => heard += more,
            Err(Errno::AGAIN) => {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return Err(Error::system(doing, format!("it has not come within {within:?}")));
                }
                let left = Timespec { tv_sec: left.as_secs() as _, tv_nsec: left.subsec_nanos().into() };
                match poll(&mut [PollFd::new(&link, PollFlags::IN)], Some(&left)) {
                    Ok(_) | Err(Errno::INTR) => {}
                    Err(e) => return Err(Error::system(doing, e)),
                }
            }
            Err(Errno::INTR) => {}
            Err(e) => return Err(Error::system(doing, e)),
        }
        if came.len() > descriptors {
            return Err(Error::system(doing, format!("more than {descriptors} descriptors came with it")));
        }
    }
    Ok(came)
}

/// What of a piece is there now. That not all descriptors could be taken is [`Errno::MFILE`].
fn piece(link: impl AsFd, bytes: &mut [u8], came: &mut Vec<OwnedFd>) -> rustix::io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC | RecvFlags::DONTWAIT;
    let message = recvmsg(&link, &mut [IoSliceMut::new(bytes)], &mut control, flags)?;
    for part in control.drain() {
        if let RecvAncillaryMessage::ScmRights(descriptors) = part {
            came.extend(descriptors);
        }
    }
    if message.flags.contains(ReturnFlags::CTRUNC) {
        return Err(Errno::MFILE);
    }
    Ok(message.bytes)
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::sync::mpsc::channel;

    use super::*;

    const NONE: &[OwnedFd] = &[];

    #[test]
    fn bytes_and_descriptors_come_together() {
        let (here, there) = UnixStream::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        say(&here, b"hello", &[&write]).unwrap();
        let mut heard = [0; 5];
        let came = hear(&there, &mut heard, 1, Duration::from_secs(10)).unwrap();
        assert_eq!((&heard, came.len()), (b"hello", 1));
        rustix::io::write(&came[0], b"x").unwrap();
        assert_eq!(rustix::io::read(&read, &mut [0; 2]).unwrap(), 1);
    }

    /// Each byte comes before the last one's time would be over, and all of them too late.
    #[test]
    fn one_deadline_holds_for_all_of_it() {
        let (mut here, there) = UnixStream::pair().unwrap();
        let (ended, is_ended) = channel();
        let speaking = std::thread::spawn(move || {
            while is_ended.recv_timeout(Duration::from_millis(20)).is_err() {
                if here.write_all(&[1]).is_err() {
                    return;
                }
            }
        });
        let begun = Instant::now();
        let heard = hear(&there, &mut [0; 100_000], 0, Duration::from_millis(300));
        assert!(heard.unwrap_err().to_string().contains("300ms"));
        assert!(begun.elapsed() < Duration::from_secs(30));
        ended.send(()).unwrap();
        speaking.join().unwrap();
    }

    #[test]
    fn more_than_was_agreed_is_refused_and_closed() {
        let (here, there) = UnixStream::pair().unwrap();
        let (read, write) = rustix::pipe::pipe().unwrap();
        say(&here, b"hello", &[&write, &write]).unwrap();
        drop(write);
        assert!(hear(&there, &mut [0; 5], 1, Duration::from_secs(10)).is_err());
        assert_eq!(rustix::io::read(&read, &mut [0; 2]).unwrap(), 0, "what came was not closed");
        let many: Vec<_> = (0..MOST + 1).map(|_| &read).collect();
        assert!(say(&here, b"hello", &many).is_err());
        drop(here);
        assert!(hear(&there, &mut [0; 5], 1, Duration::from_secs(10)).is_err());
        assert!(say(&there, b"hello", NONE).is_err(), "an error, not a signal");
    }
}
