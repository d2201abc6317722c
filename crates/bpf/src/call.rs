//! The system call bpf(2), for those of its commands that are needed. Source: linux/bpf.h.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

pub(crate) const MAP_CREATE: i32 = 0;
pub(crate) const MAP_LOOK_UP: i32 = 1;
pub(crate) const MAP_UPDATE: i32 = 2;
pub(crate) const MAP_DELETE: i32 = 3;
pub(crate) const PROGRAM_LOAD: i32 = 5;
pub(crate) const INFORMATION: i32 = 15;
pub(crate) const RAW_TRACEPOINT_OPEN: i32 = 17;
pub(crate) const MAP_TAKE: i32 = 21;
pub(crate) const MAP_LOOK_UP_MANY: i32 = 24;
pub(crate) const LINK_CREATE: i32 = 28;
pub(crate) const LINK_BY_NUMBER: i32 = 30;
pub(crate) const ITERATOR_CREATE: i32 = 33;

/// `union bpf_attr`, as far as it is used, in words of 64 bits. On little endian, the first of two numbers of 32 bits is
/// the low half.
///
/// # Safety
/// What is an address in them, for this command, must lead to memory that may be read, and written where the kernel does so, for as long as the call lasts.
pub(crate) unsafe fn call(command: i32, attributes: &[u64]) -> io::Result<i32> {
    let (address, size) = (attributes.as_ptr(), size_of_val(attributes) as u32);
    // SAFETY: the kernel reads `size` bytes; the caller sees to the addresses among them.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, address, size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

pub(crate) fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

pub(crate) fn number(descriptor: BorrowedFd<'_>) -> u32 {
    descriptor.as_raw_fd() as u32
}

/// A descriptor that the kernel has just made for us.
///
/// # Safety
/// It is what a call of ours has just returned, and nobody else's.
pub(crate) unsafe fn own(descriptor: i32) -> OwnedFd {
    // SAFETY: as the caller says.
    unsafe { OwnedFd::from_raw_fd(descriptor) }
}
