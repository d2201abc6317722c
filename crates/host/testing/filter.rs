//! Forbids a process system calls, as a sandbox does: a filter that the kernel asks at each of them (seccomp(2)).

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// AUDIT_ARCH_X86_64 of linux/audit.h: EM_X86_64, 64 bits, little-endian. The numbers of calls are those of this one.
const X86_64: u32 = 0xc000_003e;

/// Where number and architecture lie in struct seccomp_data.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;

/// Calls of a filter at the most: how far a jump reaches is a byte.
const MOST: usize = 8;

fn step(code: u32, jump: [u8; 2], k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: jump[0], jf: jump[1], k }
}

/// Has a command's process, and all that it starts, find that the kernel refuses those calls by that error number.
pub fn forbid(command: &mut Command, calls: &[i64], errno: i32) {
    assert!(calls.len() <= MOST);
    let load = libc::BPF_LD | libc::BPF_W | libc::BPF_ABS;
    let is = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
    let says = libc::BPF_RET | libc::BPF_K;
    let count = calls.len() as u8;
    let mut filter =
        vec![step(load, [0, 0], ARCHITECTURE), step(is, [0, count + 1], X86_64), step(load, [0, 0], NUMBER)];
    for (at, call) in calls.iter().enumerate() {
        filter.push(step(is, [count - at as u8, 0], *call as u32));
    }
    filter.push(step(says, [0, 0], libc::SECCOMP_RET_ALLOW));
    filter.push(step(says, [0, 0], libc::SECCOMP_RET_ERRNO | errno as u32));
    let forbids = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
        // SAFETY: flags, and a filter that lives for as long as the call; the kernel checks and copies it.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: between fork and exec it makes two system calls, and nothing that is not async-signal-safe.
    unsafe { command.pre_exec(forbids) };
}
