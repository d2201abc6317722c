//! Frames by recvmsg(2) and recvmmsg(2): copied by the kernel, one message each.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use crate::ring::{Received, TAG, Tag};
use crate::{PacketSocket, WireError};

/// Room for the two control messages that are asked for: auxiliary data (40 bytes with their header) and a timestamp
/// (32). In words, for their alignment.
const CONTROL: usize = 16;
/// More than any frame has: 64 KiB, its header, and tags. Not a multiple of a page, so that the frames of a batch do not
/// compete for the same sets of the cache.
const LARGEST_FRAME: usize = (64 << 10) + 128;

/// After which time arriving frames are surely stamped.
const STAMPS_BEGIN: Duration = Duration::from_millis(5);

/// A socket and the memory into which a batch of frames is read.
pub struct Messages {
    socket: PacketSocket,
    /// Frames, `stride` bytes apart, each with room for a tag before it.
    frames: Vec<u8>,
    stride: usize,
    /// The kernel's view of them. It points into `frames`, `_pieces` and `_controls`, which never move.
    headers: Vec<libc::mmsghdr>,
    _pieces: Vec<libc::iovec>,
    _controls: Vec<[u64; CONTROL]>,
    /// Frames of the batch that were read already, and those that there are.
    next: usize,
    filled: usize,
}

impl std::fmt::Debug for Messages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Messages")
            .field("socket", &self.socket)
            .field("stride", &self.stride)
            .finish_non_exhaustive()
    }
}

// SAFETY: the pointers are into vectors that go with it.
unsafe impl Send for Messages {}

impl Messages {
    /// Of a socket that is not bound yet: `batch` frames a call (1 takes recvmsg), of each at most `snapshot` bytes.
    ///
    /// # Errors
    /// If the kernel has no auxiliary data.
    pub fn new(socket: PacketSocket, batch: usize, snapshot: usize) -> Result<Messages, WireError> {
        socket.auxiliary_data()?;
        // The kernel begins to stamp arriving frames a moment after it was asked to (net_enable_timestamp defers it to a
        // work queue); those that came before would get the time at which they are read.
        std::thread::sleep(STAMPS_BEGIN);
        let stride = (TAG + snapshot.min(LARGEST_FRAME)).next_multiple_of(64);
        let batch = batch.max(1);
        let mut frames = vec![0u8; stride * batch];
        let mut controls = vec![[0u64; CONTROL]; batch];
        let mut pieces: Vec<libc::iovec> = frames
            .chunks_exact_mut(stride)
            .map(|frame| libc::iovec { iov_base: frame[TAG..].as_mut_ptr().cast(), iov_len: stride - TAG })
            .collect();
        let headers = pieces
            .iter_mut()
            .zip(&mut controls)
            .map(|(piece, control)| {
                // SAFETY: all-zero is a valid mmsghdr.
                let mut header: libc::mmsghdr = unsafe { MaybeUninit::zeroed().assume_init() };
                header.msg_hdr.msg_iov = piece;
                header.msg_hdr.msg_iovlen = 1;
                header.msg_hdr.msg_control = control.as_mut_ptr().cast();
                header
            })
            .collect();
        let (_pieces, _controls) = (pieces, controls);
        Ok(Messages { socket, frames, stride, headers, _pieces, _controls, next: 0, filled: 0 })
    }

    /// Hands over at most `limit` of the frames that are there, without waiting, and says how many there were.
    ///
    /// # Errors
    /// What the kernel answers: ENETDOWN once, when the interface went down or away. Frames that came before wait still.
    #[inline]
    pub fn read(&mut self, limit: u64, mut sink: impl FnMut(Received<'_>)) -> Result<u64, WireError> {
        let mut seen = 0;
        while seen < limit {
            if self.next == self.filled {
                (self.next, self.filled) = (0, 0);
                match self.fill() {
                    Ok(filled) => self.filled = filled,
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                    Err(error) => return Err(WireError::system("receiving frames", error)),
                }
            }
            sink(self.frame(self.next));
            self.next += 1;
            seen += 1;
        }
        Ok(seen)
    }

    /// Reads as many frames as there are and as fit.
    fn fill(&mut self) -> io::Result<usize> {
        for header in &mut self.headers {
            header.msg_hdr.msg_controllen = size_of::<[u64; CONTROL]>();
        }
        let fd = self.socket.as_fd().as_raw_fd();
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        if let [only] = &mut self.headers[..] {
            // SAFETY: the header points to memory of `self`, with its sizes.
            let length = unsafe { libc::recvmsg(fd, &raw mut only.msg_hdr, flags) };
            only.msg_len = u32::try_from(length).map_err(|_| io::Error::last_os_error())?;
            return Ok(1);
        }
        let (headers, count) = (self.headers.as_mut_ptr(), self.headers.len() as u32);
        // SAFETY: `count` headers, which point to memory of `self`, with its sizes.
        let filled = unsafe { libc::recvmmsg(fd, headers, count, flags, std::ptr::null_mut()) };
        usize::try_from(filled).map_err(|_| io::Error::last_os_error())
    }

    #[inline]
    fn frame(&mut self, i: usize) -> Received<'_> {
        let header = &self.headers[i];
        let memory = &mut self.frames[i * self.stride..(i + 1) * self.stride];
        let kept = (header.msg_len as usize).min(memory.len() - TAG);
        let (mut start, mut wire_length, mut stamp, mut tagged) = (TAG, header.msg_len, None, false);
        // SAFETY: the kernel has filled in the control messages and their length, in memory of `self`.
        let control = unsafe { Control::of(&header.msg_hdr) };
        if let Some(time) = control.time {
            stamp = Some(time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64);
        }
        if let Some(about) = control.about {
            wire_length = about.tp_len;
            let tag = Tag::of(about.tp_status, about.tp_vlan_tci, about.tp_vlan_tpid);
            if let Some(earlier) = tag.and_then(|tag| tag.put_back(memory, start, kept)) {
                (start, wire_length, tagged) = (earlier, wire_length.saturating_add(TAG as u32), true);
            }
        }
        Received { bytes: &memory[start..TAG + kept], wire_length, stamp, tagged }
    }

    /// The socket.
    pub fn socket(&mut self) -> &mut PacketSocket {
        &mut self.socket
    }
}

impl AsFd for Messages {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// What came beside a message.
#[derive(Default)]
struct Control {
    about: Option<libc::tpacket_auxdata>,
    time: Option<libc::timespec>,
}

impl Control {
    /// # Safety
    /// The header's control memory and its length must be as the kernel left them.
    #[inline]
    unsafe fn of(header: &libc::msghdr) -> Control {
        let mut found = Control::default();
        // SAFETY: the caller's promise; the macros stay inside the control memory's length.
        unsafe {
            let mut message = libc::CMSG_FIRSTHDR(header);
            while let Some(current) = message.as_ref() {
                let data = libc::CMSG_DATA(message);
                let length = current.cmsg_len - libc::CMSG_LEN(0) as usize;
                match (current.cmsg_level, current.cmsg_type) {
                    (libc::SOL_PACKET, libc::PACKET_AUXDATA)
                        if length >= size_of::<libc::tpacket_auxdata>() =>
                    {
                        found.about = Some(data.cast::<libc::tpacket_auxdata>().read_unaligned());
                    }
                    (libc::SOL_SOCKET, libc::SCM_TIMESTAMPNS) if length >= size_of::<libc::timespec>() => {
                        found.time = Some(data.cast::<libc::timespec>().read_unaligned());
                    }
                    _ => {}
                }
                message = libc::CMSG_NXTHDR(header, message);
            }
        }
        found
    }
}
