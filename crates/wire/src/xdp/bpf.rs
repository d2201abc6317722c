//! The system call bpf(2), for the five of its commands that are needed. Source: linux/bpf.h.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

const MAP_CREATE: i32 = 0;
const MAP_LOOKUP: i32 = 1;
const MAP_UPDATE: i32 = 2;
const PROGRAM_LOAD: i32 = 5;
const LINK_CREATE: i32 = 28;

/// `BPF_PROG_TYPE_XDP`.
const XDP_PROGRAM: u64 = 6;
/// `BPF_XDP`, where an XDP program is attached.
const ATTACH_XDP: u64 = 37;

/// `BPF_MAP_TYPE_PERCPU_ARRAY`: a value for each index and processor.
pub const PERCPU_ARRAY: u32 = 6;
/// `BPF_MAP_TYPE_XSKMAP`: AF_XDP sockets by index.
pub const XSKMAP: u32 = 17;

/// `union bpf_attr`, as far as it is used, in words of 64 bits. On little endian, the first of two numbers of 32 bits is
/// the low half.
fn call(command: i32, attributes: &[u64]) -> io::Result<i32> {
    let (address, size) = (attributes.as_ptr(), size_of_val(attributes) as u32);
    // SAFETY: the kernel reads `size` bytes; pointers in them are the callers', to memory that lives through the call.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, address, size) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result as i32) }
}

fn pair(low: u32, high: u32) -> u64 {
    u64::from(low) | u64::from(high) << 32
}

fn number(fd: BorrowedFd<'_>) -> u32 {
    fd.as_raw_fd() as u32
}

fn own(fd: i32) -> OwnedFd {
    // SAFETY: a descriptor that the kernel has just made for us.
    unsafe { OwnedFd::from_raw_fd(fd) }
}

/// A map with keys of 4 bytes and values of `value` bytes.
pub fn map(kind: u32, value: u32, entries: u32) -> io::Result<OwnedFd> {
    call(MAP_CREATE, &[pair(kind, 4), pair(value, entries), 0]).map(own)
}

/// Sets the value of a map whose values are descriptors.
pub fn set_descriptor(map: BorrowedFd<'_>, key: u32, value: BorrowedFd<'_>) -> io::Result<()> {
    let value = number(value);
    call(MAP_UPDATE, &[pair(number(map), 0), &raw const key as u64, &raw const value as u64, 0]).map(drop)
}

/// Reads a value of 8 bytes for each possible processor. `values` must have room for all.
pub fn read_percpu(map: BorrowedFd<'_>, key: u32, values: &mut [u64]) -> io::Result<()> {
    assert!(values.len() >= possible_cpus(), "the kernel writes a value for each possible processor");
    call(MAP_LOOKUP, &[pair(number(map), 0), &raw const key as u64, values.as_mut_ptr() as u64, 0]).map(drop)
}

/// How many processors this machine can ever have; what a map with values for each has.
pub fn possible_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let highest = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    // NR_CPUS of kernels in use is not larger.
    highest.map_or(8192, |highest| highest + 1)
}

/// Loads an XDP program. What the verifier says against it is in the error.
pub fn load(program: &[u64]) -> io::Result<OwnedFd> {
    let license = c"Dual MIT/GPL";
    let (start, license) = (program.as_ptr() as u64, license.as_ptr() as u64);
    let mut attributes = [0u64; 6];
    attributes[0] = XDP_PROGRAM | (program.len() as u64) << 32;
    (attributes[1], attributes[2]) = (start, license);
    call(PROGRAM_LOAD, &attributes).map(own).map_err(|error| {
        if !matches!(error.raw_os_error(), Some(libc::EINVAL | libc::EACCES)) {
            return error;
        }
        let mut log = vec![0u8; 16 << 10];
        attributes[3] = pair(1, log.len() as u32);
        attributes[4] = log.as_mut_ptr() as u64;
        let _ = call(PROGRAM_LOAD, &attributes);
        let said = String::from_utf8_lossy(&log);
        let said = said.trim_end_matches('\0').trim();
        if said.is_empty() { error } else { io::Error::new(error.kind(), format!("{error}: {said}")) }
    })
}

/// Attaches a program to an interface, for as long as the link's descriptor lives.
pub fn attach(program: BorrowedFd<'_>, interface: u32, flags: u32) -> io::Result<OwnedFd> {
    call(LINK_CREATE, &[pair(number(program), interface), ATTACH_XDP | u64::from(flags) << 32]).map(own)
}
