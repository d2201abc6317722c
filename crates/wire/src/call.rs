//! The system calls that take a plain structure, which rustix has no safe form of.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Types of which any bytes are a value and which hold no pointers: what the kernel fills in.
///
/// # Safety
/// Every bit pattern, all zero included, must be a valid value.
pub unsafe trait Plain: Copy {}

// SAFETY: an integer takes any bits.
unsafe impl Plain for libc::c_int {}
// SAFETY: an integer takes any bits.
unsafe impl Plain for libc::c_uint {}
// SAFETY: integers only.
unsafe impl Plain for libc::tpacket_stats_v3 {}
// SAFETY: integers only.
unsafe impl Plain for libc::xdp_mmap_offsets {}
// SAFETY: integers only.
unsafe impl Plain for libc::xdp_statistics {}
// SAFETY: integers only.
unsafe impl Plain for libc::xdp_options {}

/// setsockopt(2) with a structure or number.
pub fn set_option<T: Copy>(fd: BorrowedFd<'_>, level: i32, option: i32, value: &T) -> io::Result<()> {
    let size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel reads `size` bytes of `value`, which lives on.
    let result = unsafe { libc::setsockopt(fd.as_raw_fd(), level, option, (&raw const *value).cast(), size) };
    done(result)
}

/// getsockopt(2) of a structure or number. What an older kernel does not fill in is zero.
pub fn option<T: Plain>(fd: BorrowedFd<'_>, level: i32, option: i32) -> io::Result<T> {
    let mut value = MaybeUninit::<T>::zeroed();
    let mut size = size_of::<T>() as libc::socklen_t;
    // SAFETY: the kernel writes at most `size` bytes, the size of `value`.
    let result =
        unsafe { libc::getsockopt(fd.as_raw_fd(), level, option, value.as_mut_ptr().cast(), &raw mut size) };
    done(result)?;
    // SAFETY: zeroed before, and any bytes are a `T`.
    Ok(unsafe { value.assume_init() })
}

/// A request of ioctl(2) about the interface of that name; `None` if no interface can have it (IFNAMSIZ, netdevice(7)).
pub fn named(name: &str) -> Option<libc::ifreq> {
    // SAFETY: all-zero is a valid ifreq.
    let mut request: libc::ifreq = unsafe { MaybeUninit::zeroed().assume_init() };
    if name.is_empty() || name.len() >= request.ifr_name.len() {
        return None;
    }
    for (to, from) in request.ifr_name.iter_mut().zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    Some(request)
}

/// The error of a call that answers -1.
pub fn done(result: i32) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
