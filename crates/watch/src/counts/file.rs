//! Files that calls are made on.

use rustix::fs::{FileType, major, minor, stat};

/// A file that a call is made on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct File {
    /// What it is.
    pub kind: FileKind,
    /// Its inode's number; 0 where that is not known.
    pub inode: u64,
    /// Where that number is its own: the file system's device, as `st_dev` of stat(2) has it. 0 for pipes, sockets and
    /// devices, whose numbers are the kernel's.
    pub device: u64,
}

impl File {
    /// The file that a path leads to, now; `None` where nobody tells. Of a socket only that it is one: its path does not tell which.
    pub fn at(path: &str) -> Option<File> {
        let stat = stat(path).ok()?;
        let kind = match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => FileKind::Pipe,
            FileType::RegularFile => FileKind::Regular,
            FileType::Directory => FileKind::Folder,
            FileType::BlockDevice => FileKind::Block,
            FileType::CharacterDevice => {
                FileKind::of_character_device(major(stat.st_rdev), minor(stat.st_rdev))
            }
            FileType::Socket => FileKind::Socket,
            // An eventfd and its like have no type.
            _ => FileKind::Anonymous,
        };
        Some(File::of(kind, stat.st_ino, stat.st_dev))
    }

    /// As who opened it has it: a folder itself is that folder.
    pub fn opened(self) -> File {
        let kind = if self.kind == FileKind::FolderItself { FileKind::Folder } else { self.kind };
        File { kind, ..self }
    }

    /// As a call finds it whose flags are these: with AT_EMPTY_PATH it is on the folder itself.
    pub(crate) fn with_flags(self, flags: u64) -> File {
        let is_itself = self.kind == FileKind::Folder && flags & libc::AT_EMPTY_PATH as u64 != 0;
        File { kind: if is_itself { FileKind::FolderItself } else { self.kind }, ..self }
    }

    /// Of what is known of its inode; the device counts only where it tells inodes apart.
    pub(crate) fn of(kind: FileKind, inode: u64, device: u64) -> File {
        File { kind, inode, device: if kind.is_of_a_file_system() { device } else { 0 } }
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FileKind {
    /// The call is on no file, or on none that is open.
    #[default]
    None,
    /// None that was open: the call opened a file by its name, and made it.
    Created,
    /// A pipe, with a name or without.
    Pipe,
    /// A Unix socket.
    Unix,
    /// A TCP socket.
    Tcp,
    /// A UDP socket.
    Udp,
    /// Another socket.
    Socket,
    /// A file of a file system.
    Regular,
    /// A folder.
    Folder,
    /// A folder itself, and nothing by its name in it: what C libraries make of fstat, by newfstatat and statx with AT_EMPTY_PATH.
    FolderItself,
    /// /dev/null.
    Null,
    /// /dev/zero.
    Zero,
    /// A terminal.
    Terminal,
    /// Another character device.
    Character,
    /// A block device.
    Block,
    /// A file without a name: an eventfd, a timerfd, an epoll.
    Anonymous,
}

impl FileKind {
    /// Whether it was open when the call was made on it.
    pub fn is_open(self) -> bool {
        !matches!(self, FileKind::None | FileKind::Created)
    }

    /// Whether the numbers of such inodes are those of a file system among others.
    pub fn is_of_a_file_system(self) -> bool {
        matches!(self, FileKind::Regular | FileKind::Folder | FileKind::FolderItself | FileKind::Anonymous)
    }

    /// A character device by its numbers: Documentation/admin-guide/devices.txt.
    pub(crate) fn of_character_device(major: u32, minor: u32) -> FileKind {
        match (major, minor) {
            (1, 3) => FileKind::Null,
            (1, 5) => FileKind::Zero,
            (4 | 5 | 136..=143, _) => FileKind::Terminal,
            _ => FileKind::Character,
        }
    }
}
