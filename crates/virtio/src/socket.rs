//! Sockets on which a server listens: nobody else's are taken, those of a server that was killed are, and they are gone
//! when it ends.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::fs::{FlockOperation, Mode, flock};
use rustix::net::{
    AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind, connect, listen, socket_with,
};
use tollway_core::{Error, Result};

/// Where two sides meet: one of them listens, the other connects.
#[derive(Debug)]
pub enum Meeting {
    /// The peer connects here.
    Listen(Listener),
    /// The peer listens there (`server=on` of QEMU's chardev), and is called until it answers.
    Call(PathBuf),
    /// Nowhere: the tenant is in this process
    /// ([`Reception::inside`](crate::backend::Reception::inside)).
    Inside,
}

impl Meeting {
    /// The peer, if it is there, without waiting for it.
    ///
    /// # Errors
    /// It is not there, or there is no descriptor for it.
    pub fn meet(&self) -> io::Result<UnixStream> {
        match self {
            Meeting::Listen(listener) => listener.accept(),
            // Its queue of callers may be full: then this one calls again later.
            Meeting::Call(path) => call(path),
            Meeting::Inside => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

/// Connects without waiting: where the queue of callers is full, of a server that was stopped for instance, this is
/// [`io::ErrorKind::WouldBlock`]. So is reading what is not there yet.
///
/// # Errors
/// It is not there, takes nobody in now, or there is no descriptor for it.
pub fn call(path: &Path) -> io::Result<UnixStream> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)?;
    Ok(socket.into())
}

/// How long another who starts at once may keep a folder, and how often that is looked at.
const TURN: Duration = Duration::from_secs(2);
const LOOK: Duration = Duration::from_millis(10);

/// Waits for one's turn with a folder, which whoever may read it can lock, and for ever.
fn lock(folder: &fs::File) -> io::Result<()> {
    let deadline = Instant::now() + TURN;
    loop {
        match flock(folder, FlockOperation::NonBlockingLockExclusive) {
            Err(rustix::io::Errno::AGAIN) if Instant::now() < deadline => thread::sleep(LOOK),
            done => return Ok(done?),
        }
    }
}

/// How many peers may wait to be accepted.
const BACKLOG: i32 = 16;

/// A socket that somebody can connect to.
#[derive(Debug)]
pub struct Listener {
    socket: UnixListener,
    /// Its name, and which file that was, if it is this one's to remove.
    name: Option<(PathBuf, u64, u64)>,
}

impl Listener {
    /// Listens at `path`, with these permissions (0600: for this user alone). A socket there on which nobody listens
    /// is replaced.
    ///
    /// # Errors
    /// [`Error::Input`] if somebody listens there, if there is something that is no socket, or if no socket can be
    /// there.
    pub fn bind(path: &Path, mode: u32) -> Result<Listener> {
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let wrong = |reason: String, remedy: &str| Error::Input {
            place: format!("socket {}", path.display()),
            reason,
            remedy: remedy.into(),
        };
        // Two servers that start at once must not replace each other's.
        let turn = fs::File::open(folder)
            .map_err(|e| wrong(format!("its folder: {e}"), "name a folder that exists and can be read"))?;
        lock(&turn).map_err(|e| {
            let reason = format!("its folder {}: somebody keeps it locked ({e})", folder.display());
            wrong(reason, "end who does (fuser names them), or name a folder that nobody else can open")
        })?;
        match fs::symlink_metadata(path) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => {}
            Err(e) => return Err(wrong(e.to_string(), "name a path that can be used")),
            Ok(file) if !file.file_type().is_socket() => {
                return Err(wrong("something else is there".into(), "name another path, or remove it"));
            }
            Ok(_) => match call(path) {
                Err(e) if e.kind() == io::ErrorKind::ConnectionRefused => {
                    let remedy = "remove it, or name another path";
                    fs::remove_file(path)
                        .map_err(|e| wrong(format!("one that nobody serves: {e}"), remedy))?;
                }
                Ok(_) => {
                    return Err(wrong("somebody serves it".into(), "end that server, or name another path"));
                }
                Err(e) if e.kind() == io::ErrorKind::WouldBlock => {
                    let reason = "somebody serves it, and takes nobody in".into();
                    return Err(wrong(reason, "end that server, or name another path"));
                }
                Err(e) => return Err(wrong(format!("who serves it? {e}"), "name another path")),
            },
        }
        let refused = |e: rustix::io::Errno| {
            wrong(e.to_string(), "name a path of at most 107 bytes that can be written to")
        };
        let address = SocketAddrUnix::new(path).map_err(refused)?;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)
            .map_err(|e| Error::system("making a socket", e))?;
        // Before it has a name, so that it is never there with more permissions than these.
        rustix::fs::fchmod(&socket, Mode::from_raw_mode(mode)).map_err(refused)?;
        bind(&socket, &address).map_err(refused)?;
        listen(&socket, BACKLOG).map_err(refused)?;
        let made = fs::symlink_metadata(path).map_err(|e| Error::system("looking at a socket made", e))?;
        let mut listener = Listener::from(UnixListener::from(socket));
        listener.name = Some((path.to_owned(), made.st_dev(), made.st_ino()));
        // The mask of the process takes permissions away.
        fs::set_permissions(path, fs::Permissions::from_mode(mode))
            .map_err(|e| Error::system("setting a socket's permissions", e))?;
        Ok(listener)
    }

    /// Accepts a peer that has connected, without waiting for one.
    ///
    /// # Errors
    /// If there is none, or no descriptor for it.
    pub fn accept(&self) -> io::Result<UnixStream> {
        self.socket.set_nonblocking(true)?;
        let (stream, _) = self.socket.accept()?;
        Ok(stream)
    }

    /// Its name, if it has one.
    pub fn path(&self) -> Option<&Path> {
        self.name.as_ref().map(|(path, ..)| path.as_path())
    }
}

impl From<UnixListener> for Listener {
    /// A socket that was inherited; its name stays.
    fn from(socket: UnixListener) -> Listener {
        Listener { socket, name: None }
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let Some((path, device, inode)) = &self.name else { return };
        // Not if somebody has put another one there.
        let ours =
            fs::symlink_metadata(path).is_ok_and(|file| (file.st_dev(), file.st_ino()) == (*device, *inode));
        if ours {
            let _ = fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(path: &Path) -> String {
        Listener::bind(path, 0o600).unwrap_err().to_string()
    }

    #[test]
    fn a_dead_servers_socket_is_taken_over_and_a_living_ones_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        // As a killed server leaves it.
        drop(UnixListener::bind(&path).unwrap());
        let first = Listener::bind(&path, 0o600).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(reason(&path).contains("somebody serves it"));
        let peer = UnixStream::connect(&path).unwrap();
        // That of `reason` came first, and went again.
        first.accept().unwrap();
        first.accept().unwrap();
        assert!(first.accept().is_err(), "nobody else is there");
        drop(peer);
        drop(first);
        assert!(!path.exists());
    }

    #[test]
    fn only_its_own_socket_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let first = Listener::bind(&path, 0o660).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o660);
        fs::rename(&path, folder.path().join("b.sock")).unwrap();
        let second = Listener::bind(&path, 0o600).unwrap();
        drop(first);
        assert!(path.exists());
        drop(second);
        assert!(!path.exists());
    }

    #[test]
    fn what_cannot_be_a_socket_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "kept").unwrap();
        assert!(reason(&file).contains("something else is there"));
        assert_eq!(fs::read(&file).unwrap(), b"kept");
        assert!(reason(Path::new("/no/such/folder/a.sock")).contains("its folder"));
        assert!(reason(&folder.path().join("x".repeat(120))).contains("107 bytes"));
    }

    #[test]
    fn who_locks_the_folder_does_not_hold_up_the_start_for_ever() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let locked = fs::File::open(folder.path()).unwrap();
        flock(&locked, FlockOperation::LockExclusive).unwrap();
        let begun = Instant::now();
        let told = reason(&path);
        assert!(told.contains("keeps it locked") && told.contains("name a folder"), "{told}");
        assert!((TURN..10 * TURN).contains(&begun.elapsed()), "{:?}", begun.elapsed());
        let other = thread::spawn(move || {
            thread::sleep(TURN / 4);
            drop(locked);
        });
        Listener::bind(&path, 0o600).unwrap();
        other.join().unwrap();
    }

    #[test]
    fn who_takes_nobody_in_does_not_hold_up_who_calls() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.sock");
        let server = Listener::bind(&path, 0o600).unwrap();
        let mut waiting = Vec::new();
        let full = loop {
            match call(&path) {
                Ok(stream) => waiting.push(stream),
                Err(error) => break error,
            }
        };
        assert_eq!(full.kind(), io::ErrorKind::WouldBlock);
        assert!(waiting.len() >= BACKLOG as usize);
        assert!(reason(&path).contains("takes nobody in"));
        drop(server);
    }
}
