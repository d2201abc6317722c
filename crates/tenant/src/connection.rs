//! One end of the protocol's stream: whole lines in and out, each within a deadline, whatever the other end does.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde::Serialize;

use crate::protocol::LONGEST_LINE;

/// How long a command may take to be taken off our hands: the other end reads at any time.
const TAKEN: Duration = Duration::from_secs(5);

/// How much is read at once, in bytes.
const READ: usize = 64 << 10;

/// A stream socket and what was read of it beyond the last line.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: UnixStream,
    read: Vec<u8>,
    /// So many of the bytes read have no end of a line among them.
    searched: usize,
    /// The other end has closed.
    closed: bool,
}

impl Connection {
    /// Over a socket of which these bytes have been read already.
    pub(crate) fn new(socket: UnixStream, read: Vec<u8>) -> Self {
        Connection { socket, read, searched: 0, closed: false }
    }

    /// What was read and belongs to no line yet handed out.
    pub(crate) fn leftover(&mut self) -> Vec<u8> {
        self.searched = 0;
        std::mem::take(&mut self.read)
    }

    /// Sends one document as a line.
    ///
    /// # Errors
    /// The other end is gone, or does not read.
    pub(crate) fn send(&mut self, document: &impl Serialize) -> io::Result<()> {
        let mut line = serde_json::to_vec(document)?;
        line.push(b'\n');
        let deadline = Instant::now() + TAKEN;
        let mut rest = &line[..];
        while !rest.is_empty() {
            match send(&self.socket, rest, SendFlags::DONTWAIT | SendFlags::NOSIGNAL) {
                Ok(sent) => rest = &rest[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN)
                    if wait(&mut [(self.socket.as_fd(), PollFlags::OUT)], deadline)?.is_some() => {}
                Err(Errno::AGAIN) => return Err(ErrorKind::TimedOut.into()),
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// The next line, without its end; `None` at the end of the stream.
    ///
    /// # Errors
    /// [`ErrorKind::TimedOut`] where the line is not whole before the deadline (it may become so later),
    /// [`ErrorKind::UnexpectedEof`] where the stream ends in the middle of it, [`ErrorKind::InvalidData`] where it is
    /// longer than [`LONGEST_LINE`].
    pub(crate) fn line(&mut self, deadline: Instant) -> io::Result<Option<Vec<u8>>> {
        loop {
            if let Some(line) = self.take_line()? {
                return Ok(Some(line));
            }
            if self.closed {
                return if self.read.is_empty() {
                    Ok(None)
                } else {
                    Err(io::Error::new(ErrorKind::UnexpectedEof, "the line was cut short"))
                };
            }
            if wait(&mut [(self.socket.as_fd(), PollFlags::IN)], deadline)?.is_none() {
                return Err(ErrorKind::TimedOut.into());
            }
            self.pump()?;
        }
    }

    /// Waits until one of these has a line, or has ended, and returns its place; `None` where the deadline passes.
    pub(crate) fn first_of(
        connections: &mut [&mut Connection],
        deadline: Instant,
    ) -> io::Result<Option<usize>> {
        loop {
            if let Some(at) = connections.iter_mut().position(|c| c.closed || c.holds_line()) {
                return Ok(Some(at));
            }
            let mut sockets: Vec<_> = connections.iter().map(|c| (c.socket.as_fd(), PollFlags::IN)).collect();
            let Some(ready) = wait(&mut sockets, deadline)? else { return Ok(None) };
            drop(sockets);
            connections[ready].pump()?;
        }
    }

    fn holds_line(&mut self) -> bool {
        let fresh = &self.read[self.searched..];
        match fresh.iter().position(|byte| *byte == b'\n') {
            Some(_) => true,
            None => {
                self.searched = self.read.len();
                // A line that is too long is worth hearing of, too.
                self.read.len() as u64 > LONGEST_LINE
            }
        }
    }

    fn take_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        if !self.holds_line() {
            return Ok(None);
        }
        let end =
            self.read[self.searched..].iter().position(|byte| *byte == b'\n').map(|at| self.searched + at);
        self.searched = 0;
        match end {
            Some(end) if end as u64 <= LONGEST_LINE => {
                let rest = self.read.split_off(end + 1);
                let mut line = std::mem::replace(&mut self.read, rest);
                line.pop();
                Ok(Some(line))
            }
            _ => {
                self.read.clear();
                let reason = format!("a line is longer than {LONGEST_LINE} bytes");
                Err(io::Error::new(ErrorKind::InvalidData, reason))
            }
        }
    }

    /// Reads what is there.
    fn pump(&mut self) -> io::Result<()> {
        let before = self.read.len();
        self.read.resize(before + READ, 0);
        let (read, outcome) = match recv(&self.socket, &mut self.read[before..], RecvFlags::DONTWAIT) {
            Ok((0, _)) | Err(Errno::CONNRESET) => {
                self.closed = true;
                (0, Ok(()))
            }
            Ok((read, _)) => (read, Ok(())),
            Err(Errno::AGAIN | Errno::INTR) => (0, Ok(())),
            Err(error) => (0, Err(error.into())),
        };
        self.read.truncate(before + read);
        outcome
    }
}

/// Waits for the first of these that is ready; `None` where the deadline passes first. What is there already counts,
/// however late it is.
fn wait(sockets: &mut [(BorrowedFd<'_>, PollFlags)], deadline: Instant) -> io::Result<Option<usize>> {
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut waiting: Vec<PollFd<'_>> =
            sockets.iter().map(|(fd, flags)| PollFd::from_borrowed_fd(*fd, *flags)).collect();
        match poll(&mut waiting, Some(&left)) {
            Ok(0) => return Ok(None),
            Ok(_) => return Ok(waiting.iter().position(|fd| !fd.revents().is_empty())),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn soon() -> Instant {
        Instant::now() + Duration::from_millis(20)
    }

    #[test]
    fn lines_come_whole_and_in_order_and_then_the_end() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let mut ours = Connection::new(ours, b"be".to_vec());
        theirs.write_all(b"fore\nsecond\nthi").unwrap();
        assert_eq!(ours.line(soon()).unwrap().unwrap(), b"before");
        assert_eq!(ours.line(soon()).unwrap().unwrap(), b"second");
        assert_eq!(ours.line(soon()).unwrap_err().kind(), ErrorKind::TimedOut);
        theirs.write_all(b"rd\n").unwrap();
        assert_eq!(ours.line(soon()).unwrap().unwrap(), b"third");
        theirs.write_all(b"cut").unwrap();
        drop(theirs);
        assert_eq!(ours.line(soon()).unwrap_err().kind(), ErrorKind::UnexpectedEof);
        assert_eq!(ours.leftover(), b"cut");
        assert_eq!(ours.line(soon()).unwrap(), None);
    }

    /// A byte now and then must not buy more time than was given.
    #[test]
    fn who_drips_does_not_get_more_time() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let dripping = std::thread::spawn(move || {
            while theirs.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(2));
            }
        });
        let mut ours = Connection::new(ours, Vec::new());
        let begun = Instant::now();
        assert_eq!(ours.line(begun + Duration::from_millis(60)).unwrap_err().kind(), ErrorKind::TimedOut);
        assert!(begun.elapsed() < Duration::from_secs(60));
        drop(ours);
        dripping.join().unwrap();
    }

    #[test]
    fn a_line_without_end_is_refused_before_memory_is_full() {
        let (mut theirs, ours) = UnixStream::pair().unwrap();
        let flooding = std::thread::spawn(move || {
            let block = vec![b' '; 1 << 20];
            let mut sent = 0_u64;
            while theirs.write_all(&block).is_ok() {
                sent += block.len() as u64;
            }
            sent
        });
        let mut ours = Connection::new(ours, Vec::new());
        let error = ours.line(Instant::now() + Duration::from_secs(60)).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidData);
        drop(ours);
        assert!(flooding.join().unwrap() < LONGEST_LINE + (4 << 20));
    }

    #[test]
    fn who_does_not_read_is_not_waited_for_without_end() {
        let (theirs, ours) = UnixStream::pair().unwrap();
        let mut ours = Connection::new(ours, Vec::new());
        let line = "x".repeat(16 << 20);
        assert_eq!(ours.send(&line).unwrap_err().kind(), ErrorKind::TimedOut);
        drop(theirs);
    }

    #[test]
    fn the_first_that_speaks_whole_words_is_heard() {
        let pairs: Vec<_> = (0..3).map(|_| UnixStream::pair().unwrap()).collect();
        let (mut theirs, ours): (Vec<_>, Vec<_>) = pairs.into_iter().unzip();
        let mut ours: Vec<_> = ours.into_iter().map(|s| Connection::new(s, Vec::new())).collect();
        theirs[0].write_all(b"half").unwrap();
        theirs[2].write_all(b"whole\n").unwrap();
        let mut all: Vec<&mut Connection> = ours.iter_mut().collect();
        assert_eq!(Connection::first_of(&mut all, soon()).unwrap(), Some(2));
        assert_eq!(all[2].line(soon()).unwrap().unwrap(), b"whole");
        assert_eq!(Connection::first_of(&mut all, soon()).unwrap(), None);
        theirs.remove(1);
        assert_eq!(Connection::first_of(&mut all, soon()).unwrap(), Some(1));
    }
}
