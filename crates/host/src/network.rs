//! Whether this process may make network namespaces, hear whole frames, and have XDP programs feed it.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};
use std::thread;

use tollway_core::Missing;

use crate::found::Found;

const REMEDY_AF_XDP: &str = "use Linux 5.9 or later with CONFIG_XDP_SOCKETS and CONFIG_BPF_SYSCALL";

/// A namespace, made by a thread that ends with it.
pub(crate) fn namespaces() -> Found<()> {
    let made = thread::spawn(|| {
        // SAFETY: a system call without pointers; of this thread only the network changes.
        let result = unsafe { libc::unshare(libc::CLONE_NEWNET) };
        if result == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    });
    let made = made.join().unwrap_or_else(|_| Err(io::Error::other("the probe's thread panicked")));
    made.map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EINVAL) => "use a kernel with CONFIG_NET_NS",
            Some(libc::ENOSPC) => "raise the limit: sysctl user.max_net_namespaces",
            _ => "run as root, or with CAP_SYS_ADMIN and CAP_NET_ADMIN",
        };
        Missing::new("network namespaces", format!("unshare: {error}"), remedy)
    })
}

/// A packet socket that hears nothing.
pub(crate) fn packet_sockets() -> Found<()> {
    socket(libc::AF_PACKET).map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EAFNOSUPPORT) => "use a kernel with CONFIG_PACKET (modprobe af_packet)",
            _ => "run as root, or with CAP_NET_RAW (setcap cap_net_raw,cap_net_admin+ep PROGRAM)",
        };
        Missing::new("packet sockets", format!("socket(AF_PACKET): {error}"), remedy)
    })
}

/// A socket of the kind, and a program of two instructions of the type that feeds it.
pub(crate) fn af_xdp() -> Found<()> {
    let what = "AF_XDP sockets";
    socket(libc::AF_XDP).map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::EAFNOSUPPORT) => REMEDY_AF_XDP,
            _ => "run as root, or with CAP_NET_RAW, CAP_NET_ADMIN and CAP_BPF",
        };
        Missing::new(what, format!("socket(AF_XDP): {error}"), remedy)
    })?;
    xdp_program().map_err(|error| {
        let remedy = match error.raw_os_error() {
            Some(libc::ENOSYS | libc::EINVAL) => REMEDY_AF_XDP,
            _ => "run as root, or with CAP_BPF and CAP_NET_ADMIN",
        };
        Missing::new(what, format!("loading an XDP program: {error}"), remedy)
    })
}

fn socket(family: i32) -> io::Result<()> {
    // SAFETY: a system call without pointers.
    owned(unsafe { libc::socket(family, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) }.into()).map(drop)
}

fn xdp_program() -> io::Result<()> {
    // BPF_ALU64 | BPF_MOV | BPF_K: r0 = 2 (XDP_PASS); BPF_JMP | BPF_EXIT. One instruction is eight bytes.
    let program: [u64; 2] = [0x0000_0002_0000_00b7, 0x95];
    let license = c"Dual MIT/GPL";
    // The start of union bpf_attr for BPF_PROG_LOAD (linux/bpf.h): type BPF_PROG_TYPE_XDP = 6, number of instructions,
    // their address, the license's address; then log level and size, log buffer.
    let mut attributes = [0u64; 6];
    attributes[0] = 6 | (program.len() as u64) << 32;
    attributes[1] = program.as_ptr() as u64;
    attributes[2] = license.as_ptr() as u64;
    const BPF_PROG_LOAD: i32 = 5;
    // SAFETY: the kernel reads so many bytes of `attributes`, and the program and text that it points to; all live on.
    let fd = unsafe {
        libc::syscall(libc::SYS_bpf, BPF_PROG_LOAD, attributes.as_ptr(), size_of_val(&attributes) as u32)
    };
    owned(fd).map(drop)
}

/// A descriptor that a system call answered.
fn owned(fd: i64) -> io::Result<OwnedFd> {
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: it was just made, and nobody else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(fd as i32) })
}
