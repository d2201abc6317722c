//! What Linux decides.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::net::{self, AddressFamily, SocketFlags, SocketType};
use tollway_capture::engine::bpf::Instruction;

/// Linux, by a socket pair with the program attached to one end: what arrives there is what the program keeps.
///
/// The two ends are each other's only peer, so that the number of datagrams that wait has no limit but the sender's
/// buffer (`unix_dgram_sendmsg`): many are sent at once, then all that arrived are taken.
pub struct Linux {
    sender: OwnedFd,
    receiver: OwnedFd,
    /// Where datagrams are received.
    rooms: Vec<[u8; ROOM]>,
}

/// As many packets as may be sent at once.
pub const BATCH: usize = 64;
/// The longest of them.
const ROOM: usize = 512;

impl Linux {
    /// Makes the sockets.
    pub fn new() -> io::Result<Self> {
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let (sender, receiver) = net::socketpair(AddressFamily::UNIX, SocketType::DGRAM, flags, None)?;
        Ok(Linux { sender, receiver, rooms: vec![[0; ROOM]; BATCH] })
    }

    /// Attaches a program in the place of the one before.
    pub fn attach(&self, instructions: &[Instruction]) -> io::Result<()> {
        let program = libc::sock_fprog {
            len: u16::try_from(instructions.len()).map_err(io::Error::other)?,
            filter: instructions.as_ptr().cast_mut().cast(),
        };
        // SAFETY: the kernel copies the program, whose layout is that of `struct sock_filter` (a test says so).
        let result = unsafe {
            libc::setsockopt(
                self.receiver.as_raw_fd(),
                libc::SOL_SOCKET,
                libc::SO_ATTACH_FILTER,
                (&raw const program).cast(),
                size_of_val(&program) as u32,
            )
        };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// What arrives of packets, `BATCH` of them at most, in their order. Those that are not wanted do not.
    pub fn pass(&mut self, packets: &[Vec<u8>]) -> io::Result<Vec<&[u8]>> {
        assert!(packets.len() <= BATCH && packets.iter().all(|p| p.len() <= ROOM));
        let empty = libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 };
        let mut vectors = [empty; BATCH];
        for (vector, packet) in vectors.iter_mut().zip(packets) {
            *vector = libc::iovec { iov_base: packet.as_ptr().cast_mut().cast(), iov_len: packet.len() };
        }
        let mut headers = headers(&mut vectors);
        let count = packets.len() as u32;
        // SAFETY: every header has one vector, and every vector a packet that is only read.
        let sent = unsafe { libc::sendmmsg(self.sender.as_raw_fd(), headers.as_mut_ptr(), count, 0) };
        if sent != count as i32 {
            return Err(io::Error::last_os_error());
        }
        for (vector, room) in vectors.iter_mut().zip(&mut self.rooms) {
            *vector = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: ROOM };
        }
        let mut headers = self::headers(&mut vectors);
        let (receiver, none) = (self.receiver.as_raw_fd(), std::ptr::null_mut());
        // SAFETY: every header has one vector, and every vector a room of `ROOM` bytes that nothing else borrows.
        let received = unsafe { libc::recvmmsg(receiver, headers.as_mut_ptr(), BATCH as u32, 0, none) };
        let received = match received {
            -1 if io::Error::last_os_error().kind() == io::ErrorKind::WouldBlock => 0,
            -1 => return Err(io::Error::last_os_error()),
            received => received as usize,
        };
        let rooms = self.rooms.iter().zip(&headers[..received]);
        Ok(rooms.map(|(room, header)| &room[..header.msg_len as usize]).collect())
    }
}

fn headers(vectors: &mut [libc::iovec; BATCH]) -> Vec<libc::mmsghdr> {
    let header = |vector: &mut libc::iovec| {
        // SAFETY: a header of zeros is one without name, vectors and control data.
        let mut header: libc::mmsghdr = unsafe { std::mem::zeroed() };
        header.msg_hdr.msg_iov = vector;
        header.msg_hdr.msg_iovlen = 1;
        header
    };
    vectors.iter_mut().map(header).collect()
}
