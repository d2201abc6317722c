//! Connections over the loopback device by TCP, and within the machine by Unix sockets: made, taken from a listener, closed.
//!
//! What a sample leaves is torn down by a reset, untimed, so that no port waits for two minutes before it can be used again.

use std::mem;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::io::{Errno, ioctl_fionbio};
use rustix::net::addr::SocketAddrArg;
use rustix::net::sockopt::set_socket_linger;
use rustix::net::{
    AddressFamily, SocketAddrAny, SocketAddrUnix, SocketFlags, SocketType, accept_with, bind, connect,
    getpeername, getsockname, listen, socket_with,
};
use tollway_core::{Error, Result};

use super::descriptors::close;
use super::{Row, Single};

/// Calls of a sample: fewer than what a listener lets wait (SOMAXCONN).
const CALLS: u32 = 4;

/// Who may wait with a listener (linux/socket.h).
const SOMAXCONN: i32 = 4096;

pub(super) fn connect_tcp(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Connect(Connections::tcp(row)?)))
}

pub(super) fn accept_tcp(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Accept(Connections::tcp(row)?)))
}

pub(super) fn close_tcp(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Close(Connections::tcp(row)?)))
}

pub(super) fn connect_unix(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Connect(Connections::unix(row)?)))
}

pub(super) fn accept_unix(_: usize, row: Row) -> Result<Box<dyn Single>> {
    Ok(Box::new(Accept(Connections::unix(row)?)))
}

fn socket(family: AddressFamily) -> rustix::io::Result<OwnedFd> {
    socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)
}

/// A listener, and what is connected to it.
struct Connections {
    family: AddressFamily,
    listener: OwnedFd,
    address: SocketAddrAny,
    /// Calls of a sample.
    calls: usize,
    /// Who connects.
    here: Vec<OwnedFd>,
    /// Who is accepted.
    there: Vec<OwnedFd>,
    pending: bool,
}

impl Connections {
    /// At a port of 127.0.0.1 that the kernel chooses.
    fn tcp(row: Row) -> Result<Connections> {
        let any = SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0);
        let of = Self::at(AddressFamily::INET, &any, row);
        of.map_err(|e| Error::system("listening on 127.0.0.1", e))
    }

    /// At a name in no folder that the kernel chooses (unix(7), autobind).
    fn unix(row: Row) -> Result<Connections> {
        let of = Self::at(AddressFamily::UNIX, &SocketAddrUnix::new_unnamed(), row);
        of.map_err(|e| Error::system("listening on a Unix socket", e))
    }

    fn at(family: AddressFamily, address: &impl SocketAddrArg, row: Row) -> rustix::io::Result<Connections> {
        let listener = socket(family)?;
        bind(&listener, address)?;
        listen(&listener, SOMAXCONN)?;
        // Who finds nobody waiting is told so, and does not sleep.
        ioctl_fionbio(&listener, true)?;
        let address = getsockname(&listener)?;
        let calls = row.of(CALLS) as usize;
        let [here, there] = [(); 2].map(|()| Vec::with_capacity(calls));
        Ok(Connections { family, listener, address, calls, here, there, pending: false })
    }

    /// As many sockets that are not connected.
    fn prepare(&mut self) -> bool {
        while self.here.len() < self.calls {
            match socket(self.family) {
                Ok(socket) => self.here.push(socket),
                Err(_) => return false,
            }
        }
        true
    }

    #[inline]
    fn connect(&self) -> u32 {
        self.here.iter().map(|socket| u32::from(connect(socket, &self.address).is_ok())).sum()
    }

    #[inline]
    fn accept(&mut self) -> u32 {
        let mut right = 0;
        while self.there.len() < self.calls {
            match accept_with(&self.listener, SocketFlags::CLOEXEC) {
                Ok(socket) => self.there.push(socket),
                Err(Errno::INTR) => continue,
                Err(_) => break,
            }
            right += 1;
        }
        right
    }

    /// Whether all are connected.
    fn are_connected(&self) -> bool {
        let both = self.here.iter().chain(&self.there);
        self.here.len() == self.calls
            && self.there.len() == self.calls
            && both.into_iter().all(|socket| getpeername(socket).is_ok())
    }

    /// Resets what there is.
    fn reset(&mut self) -> bool {
        let reset = |socket: &OwnedFd| set_socket_linger(socket, Some(Duration::ZERO)).is_ok();
        let all = self.here.iter().chain(&self.there).all(reset);
        self.here.clear();
        self.there.clear();
        all
    }
}

/// connect, until the connection is in the listener's queue.
struct Connect(Connections);

impl Single for Connect {
    fn count(&self) -> u32 {
        self.0.calls as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.0.pending = true;
        self.0.connect()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let right = !mem::take(&mut self.0.pending)
            || self.0.accept() as usize == self.0.calls && self.0.are_connected();
        self.0.reset() && self.0.prepare() && right
    }
}

/// accept4 of a connection that waits.
struct Accept(Connections);

impl Single for Accept {
    fn count(&self) -> u32 {
        self.0.calls as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.0.pending = true;
        self.0.accept()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        let right = !mem::take(&mut self.0.pending) || self.0.are_connected();
        self.0.reset() && self.0.prepare() && self.0.connect() as usize == self.0.calls && right
    }
}

/// close of a connection whose other end is open still: it says so (FIN), and is told that this was heard.
struct Close(Connections);

impl Single for Close {
    fn count(&self) -> u32 {
        self.0.calls as u32
    }

    #[inline]
    fn calls(&mut self) -> u32 {
        self.0.pending = true;
        self.0.here.drain(..).map(|socket| u32::from(close(socket))).sum()
    }

    fn uses_up(&self) -> bool {
        true
    }

    fn restock(&mut self) -> bool {
        // The other ends have heard the end.
        let heard = |socket: &OwnedFd| rustix::io::read(socket, &mut [0; 1]) == Ok(0);
        let right = !mem::take(&mut self.0.pending) || self.0.there.iter().all(heard);
        self.0.reset()
            && self.0.prepare()
            && self.0.connect() as usize == self.0.calls
            && self.0.accept() as usize == self.0.calls
            && right
    }
}
