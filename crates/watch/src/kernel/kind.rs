//! What a file is, of what the kernel has of it.

use std::os::linux::fs::MetadataExt;
use std::sync::OnceLock;

use crate::FileKind;

use super::files::{BLOCK, CHARACTER, FOLDER, PIPE, SOCKET};

/// Bits of a device's minor number in the kernel (include/linux/kdev_t.h, MINORBITS).
const MINOR_BITS: u32 = 20;

/// Families of sockets and protocols (linux/socket.h, linux/in.h); one of the protocols is MPTCP, which is TCP to its user.
const UNIX: u64 = 1;
const INTERNET: [u64; 2] = [2, 10];
const TCP: [u64; 2] = [6, 262];
const UDP: [u64; 2] = [17, 136];

/// Of the type, the inode's number and what stands beside them in [`layout::thread`](super::layout::thread).
pub(super) fn kind_of(kind: u16, inode: u64, what: u64) -> FileKind {
    match i32::from(kind) {
        0 if inode == 0 => FileKind::None,
        0 => FileKind::Anonymous,
        PIPE => FileKind::Pipe,
        FOLDER => FileKind::Folder,
        BLOCK => FileKind::Block,
        CHARACTER => character(what >> MINOR_BITS, what & ((1 << MINOR_BITS) - 1)),
        SOCKET => {
            let (family, protocol) = (what & 0xffff, what >> 16);
            match family {
                UNIX => FileKind::Unix,
                _ if INTERNET.contains(&family) && TCP.contains(&protocol) => FileKind::Tcp,
                _ if INTERNET.contains(&family) && UDP.contains(&protocol) => FileKind::Udp,
                _ => FileKind::Socket,
            }
        }
        // Since Linux 6.16 files without a name say that they are regular ones.
        _ if Some(what) == without_names() => FileKind::Anonymous,
        _ => FileKind::Regular,
    }
}

/// Numbers of devices: Documentation/admin-guide/devices.txt.
pub(crate) fn character(major: u64, minor: u64) -> FileKind {
    match (major, minor) {
        (1, 3) => FileKind::Null,
        (1, 5) => FileKind::Zero,
        (4 | 5 | 136..=143, _) => FileKind::Terminal,
        _ => FileKind::Character,
    }
}

/// The number of the file system that files without a name are in, as the kernel has it.
fn without_names() -> Option<u64> {
    static NUMBER: OnceLock<Option<u64>> = OnceLock::new();
    *NUMBER.get_or_init(|| {
        let one = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).ok()?;
        let device = std::fs::File::from(one).metadata().ok()?.st_dev();
        Some(u64::from(rustix::fs::major(device)) << MINOR_BITS | u64::from(rustix::fs::minor(device)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_and_sockets_are_told_apart() {
        assert_eq!(kind_of(2, 3, 1 << 20 | 3), FileKind::Null);
        assert_eq!(kind_of(2, 4, 1 << 20 | 5), FileKind::Zero);
        assert_eq!(kind_of(2, 5, 136 << 20 | 7), FileKind::Terminal);
        assert_eq!(kind_of(12, 5, 2 | 6 << 16), FileKind::Tcp);
        assert_eq!(kind_of(12, 5, 10 | 17 << 16), FileKind::Udp);
        assert_eq!(kind_of(12, 5, 1), FileKind::Unix);
        assert_eq!(kind_of(12, 5, 16 | 15 << 16), FileKind::Socket);
        assert_eq!(kind_of(0, 0, 0), FileKind::None);
    }
}
