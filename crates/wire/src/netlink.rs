//! The little of rtnetlink that is needed: a request, its attributes, the answer. Source: rtnetlink(7),
//! linux/netlink.h, linux/rtnetlink.h.

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::WireError;
use crate::call::{done, set_option};

/// `NLMSG_ALIGNTO` and `RTA_ALIGNTO`.
const ALIGN: usize = 4;
/// `struct nlmsghdr`: length, type, flags, sequence, port.
const HEADER: usize = 16;
/// `struct ifinfomsg`: family, padding, type, index, flags, change.
pub const IFINFO: usize = 16;
/// `NLMSGERR_ATTR_MSG`: the kernel's own words about an error (linux/netlink.h).
const ERROR_TEXT: u16 = 1;

fn align(length: usize) -> usize {
    length.next_multiple_of(ALIGN)
}

/// A message under construction. Attributes may nest.
pub struct Request {
    bytes: Vec<u8>,
}

impl Request {
    /// A request about an interface: by its index, or with 0 by its name in an attribute. `change` are the bits of
    /// `flags` that count.
    pub fn link(kind: u16, extra_flags: i32, index: u32, flags: u32, change: u32) -> Request {
        let flags_of_message = (libc::NLM_F_REQUEST | libc::NLM_F_ACK | extra_flags) as u16;
        let mut request = Request { bytes: vec![0; 4] };
        request.bytes.extend(kind.to_ne_bytes());
        request.bytes.extend(flags_of_message.to_ne_bytes());
        request.bytes.extend([0; 8]);
        request.interface(index, flags, change);
        request
    }

    /// A `struct ifinfomsg`.
    pub fn interface(&mut self, index: u32, flags: u32, change: u32) {
        self.bytes.extend([0; 4]);
        for word in [index, flags, change] {
            self.bytes.extend(word.to_ne_bytes());
        }
    }

    /// An attribute.
    pub fn attribute(&mut self, kind: u16, value: &[u8]) {
        let length = (HEADER_OF_ATTRIBUTE + value.len()) as u16;
        self.bytes.extend(length.to_ne_bytes());
        self.bytes.extend(kind.to_ne_bytes());
        self.bytes.extend(value);
        self.bytes.resize(align(self.bytes.len()), 0);
    }

    /// An attribute with a text, ended by a zero byte.
    pub fn text(&mut self, kind: u16, value: &str) {
        let mut bytes = value.as_bytes().to_vec();
        bytes.push(0);
        self.attribute(kind, &bytes);
    }

    /// An attribute with a number of 32 bits.
    pub fn number(&mut self, kind: u16, value: u32) {
        self.attribute(kind, &value.to_ne_bytes());
    }

    /// An attribute made of others.
    pub fn nest(&mut self, kind: u16, inside: impl FnOnce(&mut Request)) {
        let start = self.bytes.len();
        self.attribute(kind, &[]);
        inside(self);
        let length = (self.bytes.len() - start) as u16;
        self.bytes[start..start + 2].copy_from_slice(&length.to_ne_bytes());
    }
}

const HEADER_OF_ATTRIBUTE: usize = 4;

/// The attributes of a message: type and value of each. Stops at what is not well formed.
pub fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(bytes.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(bytes.get(2..4)?.try_into().ok()?);
        let value = bytes.get(HEADER_OF_ATTRIBUTE..length)?;
        bytes = bytes.get(align(length)..).unwrap_or_default();
        // The two highest bits say "nested" and "network byte order".
        Some((kind & 0x3fff, value))
    })
}

/// A socket to the kernel's routing tables of the namespace that the thread is in.
#[derive(Debug)]
pub struct Netlink {
    socket: OwnedFd,
}

impl Netlink {
    /// Opens one.
    pub fn open() -> Result<Netlink, WireError> {
        let kind = libc::SOCK_RAW | libc::SOCK_CLOEXEC;
        // SAFETY: a system call without pointers.
        let fd = unsafe { libc::socket(libc::AF_NETLINK, kind, libc::NETLINK_ROUTE) };
        done(fd).map_err(|error| WireError::system("opening a netlink socket", error))?;
        // SAFETY: a descriptor that was just made and that nobody else owns.
        let socket = unsafe { OwnedFd::from_raw_fd(fd) };
        // The kernel's words about an error are welcome, not needed.
        let _ = set_option(socket.as_fd(), libc::SOL_NETLINK, libc::NETLINK_EXT_ACK, &1i32);
        Ok(Netlink { socket })
    }

    /// Sends a request and gives every message of the answer to `each`, without its header, until the kernel says that
    /// it is done.
    ///
    /// # Errors
    /// What the kernel answers, with its own words where it has any.
    pub fn ask(&self, request: Request, mut each: impl FnMut(&[u8])) -> io::Result<()> {
        let mut bytes = request.bytes;
        let length = bytes.len() as u32;
        bytes[..4].copy_from_slice(&length.to_ne_bytes());
        let fd = self.socket.as_raw_fd();
        // SAFETY: the kernel reads `bytes`, which lives on.
        let sent = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), 0) };
        done(sent as i32)?;
        let mut answer = vec![0u8; 64 << 10];
        loop {
            // SAFETY: the kernel writes at most the length of `answer`.
            let got = unsafe { libc::recv(fd, answer.as_mut_ptr().cast(), answer.len(), 0) };
            done(got as i32)?;
            let mut rest = &answer[..got as usize];
            while let Some((kind, body, next)) = message(rest) {
                rest = next;
                match i32::from(kind) {
                    libc::NLMSG_ERROR => return acknowledged(body),
                    libc::NLMSG_DONE => return Ok(()),
                    _ => each(body),
                }
            }
        }
    }
}

impl AsFd for Netlink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The first message: its type, its body, and what follows.
fn message(bytes: &[u8]) -> Option<(u16, &[u8], &[u8])> {
    let length = u32::from_ne_bytes(bytes.get(..4)?.try_into().ok()?) as usize;
    let kind = u16::from_ne_bytes(bytes.get(4..6)?.try_into().ok()?);
    let body = bytes.get(HEADER..length)?;
    Some((kind, body, bytes.get(align(length)..).unwrap_or_default()))
}

/// `struct nlmsgerr`: the negated error, the request's header, and with NETLINK_EXT_ACK attributes.
fn acknowledged(body: &[u8]) -> io::Result<()> {
    let code = body.get(..4).and_then(|b| b.try_into().ok()).map_or(-libc::EPROTO, i32::from_ne_bytes);
    if code == 0 {
        return Ok(());
    }
    let error = io::Error::from_raw_os_error(-code);
    let request = body.get(4..8).and_then(|b| b.try_into().ok()).map_or(0, u32::from_ne_bytes) as usize;
    // With an error the request comes back whole (unless it was capped, which nobody asked for).
    let extra = body.get(4 + align(request)..).unwrap_or_default();
    let text = attributes(extra).find(|(kind, _)| *kind == ERROR_TEXT).map(|(_, text)| text);
    match text {
        // The number must stay: callers look at it.
        Some(text) if !matches!(-code, libc::EPERM | libc::ENODEV | libc::EEXIST) => {
            let text = String::from_utf8_lossy(text);
            Err(io::Error::new(error.kind(), format!("{error}: {}", text.trim_end_matches('\0'))))
        }
        _ => Err(error),
    }
}
