//! Where the other end comes to, and how it comes: every connection begins with a byte that says what it is for.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener, TcpStream};

use rustix::event::{PollFd, PollFlags};
use rustix::net::sockopt;
use tollway_core::{Error, Missing, Result};

use super::PATIENCE;
use super::wait::{failed, until_ready};

/// What a connection is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To say how much was sent.
    Control = 1,
    /// What is measured.
    Content = 2,
}

const COMING: &str = "connecting to who listens";

/// An end that the other one comes to.
#[derive(Debug)]
pub struct Listener {
    socket: TcpListener,
    address: SocketAddrV4,
}

impl Listener {
    /// Listens at an address of this machine, at a port that is free.
    ///
    /// # Errors
    /// It has no such address.
    pub fn at(ip: Ipv4Addr) -> Result<Listener> {
        let doing = || format!("listening at {ip}");
        let socket = TcpListener::bind((ip, 0)).map_err(|e| Error::system(doing(), e))?;
        match socket.local_addr() {
            Ok(SocketAddr::V4(address)) => Ok(Listener { socket, address }),
            Ok(other) => Err(Error::system(doing(), format!("it is {other}"))),
            Err(error) => Err(Error::system(doing(), error)),
        }
    }

    /// Where it is reached.
    pub fn address(&self) -> SocketAddrV4 {
        self.address
    }

    /// The next connection, and what it is for.
    pub(super) fn accept(&self) -> Result<(Purpose, TcpStream)> {
        let doing = "waiting for a connection";
        until_ready(&mut [PollFd::new(&self.socket, PollFlags::IN)], doing)?;
        let (mut socket, _) = self.socket.accept().map_err(|e| Error::system(doing, e))?;
        let mut purpose = [0];
        let heard = socket
            .set_read_timeout(Some(PATIENCE))
            .and_then(|()| socket.set_write_timeout(Some(PATIENCE)))
            .and_then(|()| socket.read_exact(&mut purpose));
        heard.map_err(|e| failed(doing, e))?;
        match purpose {
            [1] => Ok((Purpose::Control, socket)),
            [2] => Ok((Purpose::Content, socket)),
            _ => Err(Error::system(doing, "somebody else came")),
        }
    }

    /// The next connection, which is for this.
    pub(super) fn accept_for(&self, purpose: Purpose) -> Result<TcpStream> {
        match self.accept()? {
            (came, socket) if came == purpose => Ok(socket),
            (came, _) => Err(Error::system("waiting for a connection", format!("what came is for {came:?}"))),
        }
    }

    /// Has connections that come receive into buffers of so many bytes.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) if the kernel grants less, with what it grants.
    pub fn receive_into(&self, bytes: usize) -> Result<()> {
        let doing = "setting a receive buffer";
        let set = sockopt::set_socket_recv_buffer_size(&self.socket, bytes);
        set.map_err(|e| Error::system(doing, e))?;
        granted(bytes, sockopt::socket_recv_buffer_size(&self.socket), doing)
    }
}

/// Comes to who listens there.
///
/// # Errors
/// Nobody does, or nobody answers for [`PATIENCE`].
pub(super) fn come(to: SocketAddrV4, purpose: Purpose) -> Result<TcpStream> {
    let socket = TcpStream::connect_timeout(&to.into(), PATIENCE).and_then(|mut socket| {
        socket.set_read_timeout(Some(PATIENCE))?;
        socket.set_write_timeout(Some(PATIENCE))?;
        socket.write_all(&[purpose as u8])?;
        Ok(socket)
    });
    socket.map_err(|e| failed(&format!("{COMING} at {to}"), e))
}

/// Has a connection send at once what it is given, however little it is.
pub(super) fn at_once(socket: TcpStream) -> Result<TcpStream> {
    socket.set_nodelay(true).map_err(|e| Error::system("setting TCP_NODELAY", e))?;
    Ok(socket)
}

/// Has a connection send from a buffer of so many bytes.
pub(super) fn send_from(socket: &TcpStream, bytes: usize) -> Result<()> {
    let doing = "setting a send buffer";
    sockopt::set_socket_send_buffer_size(socket, bytes).map_err(|e| Error::system(doing, e))?;
    granted(bytes, sockopt::socket_send_buffer_size(socket), doing)
}

/// The kernel doubles what it is asked for, to have room for its own (socket(7)), and says nothing where it cuts it.
fn granted(asked: usize, told: rustix::io::Result<usize>, doing: &str) -> Result<()> {
    let granted = told.map_err(|e| Error::system(doing, e))? / 2;
    if granted >= asked {
        return Ok(());
    }
    Err(Error::Missing(Missing::new(
        format!("a socket buffer of {asked} bytes"),
        format!("the kernel grants {granted}"),
        format!("as root: sysctl -w net.core.rmem_max={asked} net.core.wmem_max={asked}"),
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_granted_or_what_is_granted_is_told() {
        let listener = Listener::at(Ipv4Addr::LOCALHOST).unwrap();
        listener.receive_into(64 << 10).unwrap();
        // More than any kernel gives: it counts in an int.
        let error = listener.receive_into(1 << 30).unwrap_err();
        let Error::Missing(missing) = error else { panic!("{error}") };
        println!("{missing}");
        assert!(missing.reason.contains("grants") && missing.remedy.contains("rmem_max"), "{missing}");
    }

    #[test]
    fn who_speaks_another_language_is_turned_away() {
        let listener = Listener::at(Ipv4Addr::LOCALHOST).unwrap();
        let mut stranger = TcpStream::connect(listener.address()).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        assert!(listener.accept().unwrap_err().to_string().contains("somebody else"));
    }

    #[test]
    fn where_nobody_listens_nobody_is_met() {
        let address = Listener::at(Ipv4Addr::LOCALHOST).unwrap().address();
        assert!(come(address, Purpose::Content).unwrap_err().to_string().contains("refused"));
    }
}
