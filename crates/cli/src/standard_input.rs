//! Standard input that waits, whatever whoever started the program has set on it.
//!
//! `O_NONBLOCK` belongs to the pipe and not to the process: a parent that reads or writes by events (Node, libuv, a shell that
//! was interrupted) leaves it set, and a plain read says `EAGAIN` where nothing has come yet.

use std::io::{self, BufReader, ErrorKind, Read, StdinLock};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

/// Bytes that are read at a time.
const BUFFER: usize = 1 << 18;

/// Standard input from here on, in large pieces.
pub fn read() -> BufReader<impl Read> {
    BufReader::with_capacity(BUFFER, Waiting(io::stdin().lock()))
}

struct Waiting(StdinLock<'static>);

impl Read for Waiting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.0.read(buffer) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => wait(&self.0)?,
                other => return other,
            }
        }
    }
}

/// Until there is something to read, or the end.
fn wait(stdin: &StdinLock<'_>) -> io::Result<()> {
    match poll(&mut [PollFd::new(stdin, PollFlags::IN)], None) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}
