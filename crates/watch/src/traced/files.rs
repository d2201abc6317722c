//! What a descriptor of another process leads to.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd};

use rustix::fs::{AtFlags, CWD, StatxFlags, fstat, statx};
use rustix::net::{AddressFamily, SocketType, ipproto, sockopt};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};
use rustix::time::{ClockId, clock_gettime};

use crate::{File, FileKind, is_proc_own};

/// What is known of files.
#[derive(Default)]
pub(super) struct Files {
    /// Sockets that were asked what they are, by inode.
    sockets: HashMap<u64, FileKind>,
    /// Paths of files that were found last, on file systems.
    named: Vec<(File, String)>,
    /// Where descriptors of processes lead: to look there costs as much as all else that is done at a call.
    known: HashMap<(u32, i32), File>,
    /// How many are in a call after which a descriptor may lead elsewhere. Until it has come back nothing is taken for known.
    changing: u64,
    /// /proc has other numbers than are known here.
    is_proc_others: bool,
}

/// A call that may make the file that it opens.
pub(super) struct Creation {
    /// It fails where there is one (O_EXCL).
    is_alone: bool,
    /// When it began, by the clock that file systems go by: seconds and nanoseconds since 1970.
    began: (i64, i64),
}

impl Creation {
    /// Of a call that begins now, by its flags; `None` if it makes no file.
    pub(super) fn of(flags: u64) -> Option<Creation> {
        let has = |flag: i32| flags & flag as u64 != 0;
        has(libc::O_CREAT).then(|| {
            let now = clock_gettime(ClockId::RealtimeCoarse);
            Creation { is_alone: has(libc::O_EXCL), began: (now.tv_sec, now.tv_nsec) }
        })
    }
}

impl Files {
    /// As /proc tells where that has the numbers that are known here, else by descriptors of our own, which
    /// who may trace may have.
    pub(super) fn new() -> Files {
        Files { is_proc_others: !is_proc_own(), ..Files::default() }
    }

    /// Somebody begins a call after which a descriptor may lead elsewhere. Processes may share descriptors (CLONE_FILES): nothing is known of any.
    pub(super) fn change(&mut self) {
        self.changing += 1;
        self.known.clear();
    }

    /// That call came back, or never will.
    pub(super) fn changed(&mut self) {
        self.changing = self.changing.saturating_sub(1);
        self.known.clear();
    }

    /// A process is no more; its number may be another's.
    pub(super) fn forget(&mut self, process: u32) {
        self.known.retain(|(of, _), _| *of != process);
    }

    /// What a thread's descriptor leads to, now; [`FileKind::None`] if it is none.
    pub(super) fn file(&mut self, process: u32, thread: u32, descriptor: u64) -> File {
        // The kernel takes an `int` and looks at no more of the register.
        let descriptor = descriptor as i32;
        if descriptor < 0 {
            return File::default();
        }
        if let Some(file) = self.known.get(&(process, descriptor)) {
            return *file;
        }
        // Follows the link that no path names: it is the open file itself that is asked. Those of a process are asked by a thread, because a first thread that
        // has ended has none.
        let file = match self.is_proc_others {
            true => taken(process, descriptor)
                .and_then(|own| File::at(&format!("/proc/self/fd/{}", own.as_raw_fd()))),
            false => File::at(&format!("/proc/{thread}/fd/{descriptor}")),
        };
        let Some(mut file) = file else { return File::default() };
        if file.kind == FileKind::Socket {
            file.kind = self.socket(process, descriptor, file.inode);
        }
        if file.kind.is_of_a_file_system() && !self.is_proc_others {
            self.named.extend(path_of(thread, descriptor).map(|path| (file, path)));
        }
        if self.changing == 0 && file.kind != FileKind::Socket {
            self.known.insert((process, descriptor), file);
        }
        file
    }

    /// Whether such a call has made the file to which its descriptor leads, by when that was made, where the file system knows: a file that was made
    /// just before it, within a tick of the clock, is taken for its own.
    pub(super) fn is_made(&self, process: u32, thread: u32, descriptor: i64, call: &Creation) -> bool {
        let born = |file: &str| {
            let about = statx(CWD, file, AtFlags::empty(), StatxFlags::BTIME).ok()?;
            let is_known = StatxFlags::from_bits_retain(about.stx_mask).contains(StatxFlags::BTIME);
            is_known.then_some((about.stx_btime.tv_sec, i64::from(about.stx_btime.tv_nsec)))
        };
        let born = || match self.is_proc_others {
            true => born(&format!("/proc/self/fd/{}", taken(process, descriptor as i32)?.as_raw_fd())),
            false => born(&format!("/proc/{thread}/fd/{descriptor}")),
        };
        call.is_alone || born().is_some_and(|born| born >= call.began)
    }

    /// Paths of files that were found since this was asked last.
    pub(super) fn named(&mut self) -> impl Iterator<Item = (File, String)> {
        self.named.drain(..)
    }

    fn socket(&mut self, process: u32, descriptor: i32, inode: u64) -> FileKind {
        if let Some(kind) = self.sockets.get(&inode) {
            return *kind;
        }
        // One that could not be asked is asked again.
        let Some(kind) = asked(process, descriptor, inode) else { return FileKind::Socket };
        self.sockets.insert(inode, kind);
        kind
    }
}

/// The path of what a thread's descriptor leads to, as /proc has it.
fn path_of(thread: u32, descriptor: i32) -> Option<String> {
    let path = std::fs::read_link(format!("/proc/{thread}/fd/{descriptor}")).ok()?;
    Some(path.to_string_lossy().into_owned())
}

/// Asks a socket itself, through a descriptor of our own (pidfd_getfd(2), Linux 5.6), which who may trace may have. /proc/PID/net would tell it only of
/// sockets that are bound or connected, and of one kind in each file.
fn asked(process: u32, descriptor: i32, inode: u64) -> Option<FileKind> {
    let socket = taken(process, descriptor)?;
    (fstat(&socket).ok()?.st_ino == inode).then(|| protocol(&socket))?
}

/// What a descriptor of a process leads to, by one of our own.
fn taken(process: u32, descriptor: i32) -> Option<OwnedFd> {
    let process = pidfd_open(Pid::from_raw(process as i32)?, PidfdFlags::empty()).ok()?;
    pidfd_getfd(process, descriptor, PidfdGetfdFlags::empty()).ok()
}

fn protocol(socket: &OwnedFd) -> Option<FileKind> {
    let family = sockopt::socket_domain(socket).ok()?;
    if family == AddressFamily::UNIX {
        return Some(FileKind::Unix);
    }
    if family != AddressFamily::INET && family != AddressFamily::INET6 {
        return Some(FileKind::Socket);
    }
    Some(match (sockopt::socket_type(socket).ok()?, sockopt::socket_protocol(socket).ok()?) {
        (SocketType::STREAM, Some(ipproto::TCP) | None) => FileKind::Tcp,
        (SocketType::DGRAM, Some(ipproto::UDP) | None) => FileKind::Udp,
        _ => FileKind::Socket,
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;

    use rustix::event::{EventfdFlags, eventfd};
    use rustix::fs::{Mode, OFlags, open};

    use super::*;

    fn file_of(descriptor: &impl AsRawFd) -> File {
        let (process, thread) = (std::process::id(), rustix::thread::gettid().as_raw_nonzero().get() as u32);
        Files::default().file(process, thread, descriptor.as_raw_fd() as u64)
    }

    fn of(descriptor: &impl AsRawFd) -> FileKind {
        file_of(descriptor).kind
    }

    #[test]
    fn files_of_every_kind() {
        let opened = |path: &str| open(path, OFlags::RDONLY, Mode::empty()).unwrap();
        let found = [
            of(&opened("/dev/null")),
            of(&opened("/dev/zero")),
            of(&opened("/dev/urandom")),
            of(&opened("/")),
            of(&opened("/proc/self/exe")),
            of(&std::io::pipe().unwrap().0),
            of(&eventfd(0, EventfdFlags::empty()).unwrap()),
            of(&UnixStream::pair().unwrap().0),
            of(&TcpListener::bind("127.0.0.1:0").unwrap()),
            of(&UdpSocket::bind("127.0.0.1:0").unwrap()),
        ];
        assert_eq!(
            found,
            [
                FileKind::Null,
                FileKind::Zero,
                FileKind::Character,
                FileKind::Folder,
                FileKind::Regular,
                FileKind::Pipe,
                FileKind::Anonymous,
                FileKind::Unix,
                FileKind::Tcp,
                FileKind::Udp
            ]
        );
        assert_eq!(Files::default().file(1, 1, u64::from(u32::MAX)), File::default());
    }

    #[test]
    fn a_file_has_its_device_and_a_pipe_has_none() {
        let folder = open("/", OFlags::RDONLY, Mode::empty()).unwrap();
        let about = fstat(&folder).unwrap();
        let expected = File { kind: FileKind::Folder, inode: about.st_ino, device: about.st_dev };
        assert_eq!(file_of(&folder), expected);
        assert_eq!(file_of(&std::io::pipe().unwrap().0).device, 0);
    }
}
