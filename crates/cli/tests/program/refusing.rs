//! System calls that are refused to a program, as a container's seccomp profile does it.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Has these calls of a program, and of all that it starts, fail with an error number (seccomp(2), SECCOMP_RET_ERRNO).
pub fn refuse(command: &mut Command, calls: &[i64], error: i32) {
    let statement = |code, k| libc::sock_filter { code, jt: 0, jf: 0, k };
    // linux/filter.h: BPF_LD | BPF_W | BPF_ABS, of `nr`, which is the first in `struct seccomp_data`.
    let mut filter = vec![statement(0x20, 0)];
    for call in calls {
        // BPF_JMP | BPF_JEQ | BPF_K: where it is another, the return is passed over.
        filter.push(libc::sock_filter { code: 0x15, jt: 0, jf: 1, k: *call as u32 });
        filter.push(statement(0x06, libc::SECCOMP_RET_ERRNO | error as u32));
    }
    filter.push(statement(0x06, libc::SECCOMP_RET_ALLOW));
    let install = move || {
        let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_ptr().cast_mut() };
        // SAFETY: two system calls; the filter lives as long as the closure, and the kernel copies it.
        let refused = unsafe {
            libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
                || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
        };
        if refused { Err(io::Error::last_os_error()) } else { Ok(()) }
    };
    // SAFETY: the closure makes system calls alone, and allocates nothing.
    unsafe { command.pre_exec(install) };
}
