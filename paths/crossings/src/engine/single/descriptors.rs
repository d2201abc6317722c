//! Descriptors made and closed: files that exist, and sockets.

use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};

use rustix::fs::{CWD, Mode, OFlags, fstat, openat};
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketFlags, SocketType, ipproto, socket_with};
use tollway_core::{Error, Result};

use super::files::Named;
use super::{Row, Single};

/// Calls of a sample.
pub(super) const CALLS: u32 = 16;

pub(super) fn open_file(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Open::new(Named::new()?, opens, row)))
}

pub(super) fn close_file(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Close { named: Named::new()?, opened: row.room(CALLS), calls: row.of(CALLS) }))
}

pub(super) fn socket_tcp(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Socket { made: row.room(CALLS), calls: row.of(CALLS), pending: false }))
}

fn opens(named: &Named) -> Result<OwnedFd, Errno> {
    openat(CWD, &*named.path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
}

/// Closes it, by one call and no other: dropping it asks first, in a build for tests, whether it is open.
#[inline]
pub(super) fn close(descriptor: OwnedFd) -> bool {
    // SAFETY: it is open, and nobody else has it.
    unsafe { libc::close(descriptor.into_raw_fd()) == 0 }
}

/// openat of a file that exists: by its path, or by its name in a folder.
pub(super) struct Open<T, O> {
    there: T,
    opens: O,
    opened: Vec<OwnedFd>,
    calls: u32,
    pending: bool,
}

impl<T, O: Fn(&T) -> Result<OwnedFd, Errno>> Open<T, O> {
    pub(super) fn new(there: T, opens: O, row: Row) -> Open<T, O> {
        Open { there, opens, opened: row.room(CALLS), calls: row.of(CALLS), pending: false }
    }
}

impl<T: Send, O: Fn(&T) -> Result<OwnedFd, Errno> + Send> Single for Open<T, O> {
    fn count(&self) -> u32 {
        self.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let mut right = 0;
        // There is room for them: `restock` has emptied it.
        while self.opened.len() < self.calls as usize
            && let Ok(file) = (self.opens)(&self.there)
        {
            self.opened.push(file);
            right += 1;
        }
        right
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let files = self.opened.iter().all(|file| fstat(file).is_ok());
        let right = !std::mem::take(&mut self.pending) || self.opened.len() == self.calls as usize && files;
        self.opened.clear();
        right
    }
}

/// close of a file that nobody else has open.
struct Close {
    named: Named,
    opened: Vec<OwnedFd>,
    calls: u32,
}

impl Single for Close {
    fn count(&self) -> u32 {
        self.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.opened.drain(..).map(|file| u32::from(close(file))).sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        while self.opened.len() < self.calls as usize
            && let Ok(file) = opens(&self.named)
        {
            self.opened.push(file);
        }
        self.opened.len() == self.calls as usize
    }

    /// What is opened next has the lowest number that is free: numbers that do not rise are numbers that were given back.
    fn verify(&mut self, done: u64) -> Result<()> {
        let most = self.opened.iter().map(|file| file.as_raw_fd()).max().unwrap_or(0);
        if (most as u64) < done.max(4096) {
            return Ok(());
        }
        Err(Error::Wrong(format!("{done} files were closed, and the next has the number {most}")))
    }
}

/// socket of TCP.
struct Socket {
    made: Vec<OwnedFd>,
    calls: u32,
    pending: bool,
}

impl Single for Socket {
    fn count(&self) -> u32 {
        self.calls
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.pending = true;
        let mut right = 0;
        while self.made.len() < self.calls as usize
            && let Ok(socket) =
                socket_with(AddressFamily::INET, SocketType::STREAM, SocketFlags::CLOEXEC, Some(ipproto::TCP))
        {
            self.made.push(socket);
            right += 1;
        }
        right
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let right = !std::mem::take(&mut self.pending) || self.made.len() == self.calls as usize;
        self.made.clear();
        right
    }
}
