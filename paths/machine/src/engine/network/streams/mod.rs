//! Streams of TCP from one end to the other, as many at a time as are wanted, by one thread at each end: blocks are handed to the
//! kernel as fast as it takes them, and taken from it as they come.

mod receive;
mod send;

use std::net::TcpStream;
use std::os::fd::AsRawFd;

use tollway_core::{Error, Result};

pub use receive::receive;
pub use send::Sender;

/// What the streams of one measurement are like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// How many there are at a time: 1 or more.
    pub streams: usize,
    /// Bytes that are handed over at a time: 8 or more.
    pub block: usize,
    /// Bytes of a socket's buffer, which bounds TCP's window; the kernel's choice, which grows with need, where there is none.
    pub buffer: Option<usize>,
}

impl Shape {
    /// One stream, by blocks of 128 KiB, and the kernel's buffers.
    pub const USUAL: Shape = Shape { streams: 1, block: 128 << 10, buffer: None };
}

/// What one end has to tell of all streams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Moved {
    /// Bytes, as many at one end as at the other.
    pub bytes: u64,
    /// Bytes of a socket's buffer at the end, for content: half of what the kernel has, which needs the other (socket(7)).
    pub buffer: u64,
    /// Segments that TCP sent more than once; at the sending end.
    pub again: u64,
}

/// Segments that were sent again (tcp(7), TCP_INFO).
fn sent_again(socket: &TcpStream) -> Result<u64> {
    // SAFETY: integers only.
    let mut info: libc::tcp_info = unsafe { std::mem::zeroed() };
    let mut size = size_of::<libc::tcp_info>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes of `info`.
    let told = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            (&raw mut info).cast(),
            &raw mut size,
        )
    };
    if told != 0 {
        return Err(Error::system("asking TCP what it sent again", std::io::Error::last_os_error()));
    }
    Ok(info.tcpi_total_retrans.into())
}
