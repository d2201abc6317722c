//! What a file is, of what the kernel has of it.

use std::sync::OnceLock;

use crate::{File, FileKind};

use super::files::{BLOCK, CHARACTER, CREATED, FOLDER, FOLDER_ITSELF, PIPE, SOCKET};

/// Bits of a device's minor number in the kernel (include/linux/kdev_t.h, MINORBITS).
const MINOR_BITS: u32 = 20;

/// Families of sockets and protocols (linux/socket.h, linux/in.h); one of the protocols is MPTCP, which is TCP to its user.
const UNIX: u64 = 1;
const INTERNET: [u64; 2] = [2, 10];
const TCP: [u64; 2] = [6, 262];
const UDP: [u64; 2] = [17, 136];

/// The file, of its type, its inode's number and what stands beside them in [`layout::thread`](super::layout::thread).
pub(super) fn file_of(kind: u16, inode: u64, what: u64) -> File {
    File::of(kind_of(kind, inode, what), inode, device_of(what))
}

/// A device's number as user mode has it, of what the kernel has.
pub(super) fn device_of(number: u64) -> u64 {
    let (major, minor) = numbers(number);
    rustix::fs::makedev(major, minor)
}

/// Major and minor number of a device.
fn numbers(device: u64) -> (u32, u32) {
    // Of `dev_t` 32 bits are used: include/linux/kdev_t.h.
    ((device >> MINOR_BITS) as u32, (device & ((1 << MINOR_BITS) - 1)) as u32)
}

fn kind_of(kind: u16, inode: u64, what: u64) -> FileKind {
    match i32::from(kind) {
        0 if inode == 0 => FileKind::None,
        0 => FileKind::Anonymous,
        CREATED => FileKind::Created,
        PIPE => FileKind::Pipe,
        FOLDER => FileKind::Folder,
        FOLDER_ITSELF => FileKind::FolderItself,
        BLOCK => FileKind::Block,
        CHARACTER => {
            let (major, minor) = numbers(what);
            FileKind::of_character_device(major, minor)
        }
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
        _ if Some(device_of(what)) == without_names() => FileKind::Anonymous,
        _ => FileKind::Regular,
    }
}

/// The device of the file system that files without a name are in.
fn without_names() -> Option<u64> {
    static DEVICE: OnceLock<Option<u64>> = OnceLock::new();
    *DEVICE.get_or_init(|| {
        let one = rustix::event::eventfd(0, rustix::event::EventfdFlags::CLOEXEC).ok()?;
        Some(rustix::fs::fstat(one).ok()?.st_dev)
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

    #[test]
    fn a_file_is_where_user_mode_finds_it() {
        let (kind, inode) = (FileKind::Regular, 7);
        // A minor number of more than eight bits stands in two places of user mode's (makedev(3)).
        assert_eq!(file_of(8, 7, 259 << 20 | 0x1234), File { kind, inode, device: 0x121_0334 });
        assert_eq!(file_of(12, 7, 2 | 6 << 16), File { kind: FileKind::Tcp, inode, device: 0 });
    }
}
