//! Ends of connections that are written out by hand, so that they can do what ours never would.

use std::io::Write;
use std::net::{SocketAddrV4, TcpStream};

/// The byte with which a control connection begins, and that with which one for content does.
pub const CONTROL: u8 = 1;
pub const CONTENT: u8 = 2;

pub fn connect(to: SocketAddrV4, purpose: u8) -> TcpStream {
    let mut socket = TcpStream::connect(to).unwrap();
    socket.write_all(&[purpose]).unwrap();
    socket
}
