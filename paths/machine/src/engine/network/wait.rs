//! Waiting for the other end, but not for ever.

use std::io::{self, ErrorKind};
use std::net::TcpStream;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use tollway_core::{Error, Result};

use super::PATIENCE;

/// Waits until something can be done with one of these.
///
/// # Errors
/// Nothing could be for [`PATIENCE`].
pub fn until_ready(of: &mut [PollFd<'_>], doing: &str) -> Result<()> {
    let patience =
        Timespec { tv_sec: PATIENCE.as_secs().cast_signed(), tv_nsec: PATIENCE.subsec_nanos().into() };
    loop {
        match poll(of, Some(&patience)) {
            Ok(0) => return Err(failed(doing, ErrorKind::TimedOut.into())),
            Ok(_) => return Ok(()),
            Err(Errno::INTR) => {}
            Err(error) => return Err(Error::system(doing, error)),
        }
    }
}

/// Which of these numbered sockets are ready, once one is; none of none.
///
/// # Errors
/// None is for [`PATIENCE`].
pub fn which_are_ready<'s>(
    of: impl Iterator<Item = (usize, &'s TcpStream)>,
    flags: PollFlags,
    doing: &str,
) -> Result<Vec<usize>> {
    let (numbers, mut sockets): (Vec<usize>, Vec<PollFd<'_>>) =
        of.map(|(number, socket)| (number, PollFd::new(socket, flags))).unzip();
    if numbers.is_empty() {
        return Ok(numbers);
    }
    until_ready(&mut sockets, doing)?;
    Ok(numbers
        .into_iter()
        .zip(sockets)
        .filter(|(_, fd)| !fd.revents().is_empty())
        .map(|(at, _)| at)
        .collect())
}

/// What a socket answered, in words for who waits for the other end.
pub fn failed(doing: &str, error: io::Error) -> Error {
    match error.kind() {
        ErrorKind::TimedOut | ErrorKind::WouldBlock => {
            Error::system(doing, format!("nothing came from the other end for {} s", PATIENCE.as_secs()))
        }
        ErrorKind::UnexpectedEof => Error::system(doing, "the other end has gone"),
        _ => Error::system(doing, error),
    }
}
