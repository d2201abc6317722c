//! Sockets: Unix pairs, and TCP and UDP over the loopback device.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream, UdpSocket};
use std::os::fd::OwnedFd;

use rustix::net::{AddressFamily, Shutdown, SocketFlags, SocketType, shutdown, socketpair};
use tollway_core::{Error, Result};

use super::echo::{Channel, End};

/// A Unix stream socket.
pub struct UnixStream;

/// A Unix socket that keeps the bounds of messages.
pub struct UnixSeqpacket;

/// A TCP connection to 127.0.0.1, without Nagle's delay.
pub struct TcpLoopback;

/// Two UDP sockets on 127.0.0.1, each connected to the other. A datagram that the kernel drops is not sent again: the
/// caller then waits until its tenant is stopped.
pub struct UdpLoopback;

impl Channel for UnixStream {
    fn open() -> Result<(End, Vec<OwnedFd>)> {
        pair(SocketType::STREAM)
    }

    fn adopt(descriptors: Vec<OwnedFd>) -> Result<End> {
        single(descriptors)
    }
}

impl Channel for UnixSeqpacket {
    fn open() -> Result<(End, Vec<OwnedFd>)> {
        pair(SocketType::SEQPACKET)
    }

    fn adopt(descriptors: Vec<OwnedFd>) -> Result<End> {
        single(descriptors)
    }
}

impl Channel for TcpLoopback {
    fn open() -> Result<(End, Vec<OwnedFd>)> {
        let connect = || -> io::Result<_> {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let here = TcpStream::connect(listener.local_addr()?)?;
            let (there, from) = listener.accept()?;
            if from != here.local_addr()? {
                return Err(io::Error::other("somebody else connected to the port"));
            }
            here.set_nodelay(true)?;
            there.set_nodelay(true)?;
            Ok((here, there))
        };
        let (here, there) = connect().map_err(|e| Error::system("connecting through TCP on 127.0.0.1", e))?;
        Ok((End::one(here.into()), vec![there.into()]))
    }

    fn adopt(descriptors: Vec<OwnedFd>) -> Result<End> {
        single(descriptors)
    }
}

impl Channel for UdpLoopback {
    fn open() -> Result<(End, Vec<OwnedFd>)> {
        let connect = || -> io::Result<_> {
            let here = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            let there = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0))?;
            here.connect(there.local_addr()?)?;
            there.connect(here.local_addr()?)?;
            Ok((here, there))
        };
        let (here, there) = connect().map_err(|e| Error::system("making UDP sockets on 127.0.0.1", e))?;
        Ok((End::one(here.into()), vec![there.into()]))
    }

    fn adopt(descriptors: Vec<OwnedFd>) -> Result<End> {
        single(descriptors)
    }

    fn interrupt(from: &OwnedFd) {
        // It fails only where there is no connection, and then nobody sleeps on it.
        let _ = shutdown(from, Shutdown::Both);
    }
}

fn pair(kind: SocketType) -> Result<(End, Vec<OwnedFd>)> {
    let (here, there) = socketpair(AddressFamily::UNIX, kind, SocketFlags::CLOEXEC, None)
        .map_err(|e| Error::system("making a pair of Unix sockets", e))?;
    Ok((End::one(here), vec![there]))
}

fn single(descriptors: Vec<OwnedFd>) -> Result<End> {
    let [both] = super::exactly(descriptors)?;
    Ok(End::one(both))
}
