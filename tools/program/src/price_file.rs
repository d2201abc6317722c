//! The file of a machine's price list: where it lies, whether it is believed, and how it is replaced.
//!
//! A list that root measured lies in [`MACHINES`], where all may read it; another user's in that user's own folder of data (XDG Base Directory
//! Specification: `$XDG_DATA_HOME`, else `~/.local/share`). [`FOLDER`] names another folder, and then it is the only one.
//!
//! Prices decide what a person is advised to change, so root believes no list that somebody else could have written: the file and each folder
//! above it must be root's, and writable by nobody else. That is looked at on descriptors, from the root folder down and without following
//! links, and what is read is the very file that was looked at. Another user believes what is root's or his own.
//!
//! A list is replaced whole by `rename(2)`, so who reads has an old one or a new one. Those who write take turns by a lock
//! ([`Turn`]), which ends with its process.

use std::env;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::fs::{AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, Stat};
use rustix::fs::{fchmod, flock, fstat, fsync, mkdirat, openat, renameat, unlinkat};
use rustix::io::Errno;
use rustix::process::geteuid;

/// The folder of lists that root measured.
pub const MACHINES: &str = "/var/lib/tollway";
/// The variable that names another folder for lists.
pub const FOLDER: &str = "TOLLWAY_PRICES";

/// The largest list that is read, in bytes: one of 300 prices has some 150 KiB.
const LARGEST: u64 = 16 << 20;
/// How often it is asked whether it is this process' turn.
const ASKED: Duration = Duration::from_millis(50);
/// The lock's file, beside the lists.
const LOCK: &str = "prices.lock";

/// The folders of lists, in the order in which they are read.
pub fn folders() -> Vec<PathBuf> {
    if let Some(folder) = env::var_os(FOLDER).filter(|folder| !folder.is_empty()) {
        return vec![folder.into()];
    }
    [Some(PathBuf::from(MACHINES)), data_home()].into_iter().flatten().collect()
}

/// The folders that a list may be written to, the best first.
pub fn writable_folders() -> Vec<PathBuf> {
    let is_ours = |folder: &PathBuf| geteuid().is_root() || folder != Path::new(MACHINES);
    folders().into_iter().filter(is_ours).collect()
}

/// The user's own folder of data. A relative path is none (XDG Base Directory Specification 0.8, "Basics").
fn data_home() -> Option<PathBuf> {
    let absolute = |name| env::var_os(name).map(PathBuf::from).filter(|folder| folder.is_absolute());
    let home = absolute("XDG_DATA_HOME").or_else(|| Some(absolute("HOME")?.join(".local/share")))?;
    Some(home.join("tollway"))
}

/// A machine's file in a folder.
pub fn file_in(folder: &Path, machine: &str) -> PathBuf {
    folder.join(name_of(machine))
}

fn name_of(machine: &str) -> String {
    format!("prices-{machine}.json")
}

/// Why a list is not used.
#[derive(Debug, thiserror::Error)]
pub enum NotUsed {
    /// There is none.
    #[error("there is none")]
    NotThere,
    /// Somebody else could have written it.
    #[error("{}: not believed, as {who} could have written it; {remedy}", file.display())]
    NotBelieved {
        /// The file or folder.
        file: PathBuf,
        /// Who else.
        who: String,
        /// What to do.
        remedy: String,
    },
    /// It cannot be read, or what is in it is no price list.
    #[error("{}: not used ({reason}); remove it, and the next bill makes it anew", file.display())]
    Unusable {
        /// The file.
        file: PathBuf,
        /// Why.
        reason: String,
    },
}

/// The text of a list that is believed.
///
/// # Errors
/// There is none, it cannot be read, or somebody else could have written it.
pub fn read(file: &Path) -> Result<String, NotUsed> {
    let unusable = |e: io::Error| match e.kind() {
        ErrorKind::NotFound => NotUsed::NotThere,
        _ => NotUsed::Unusable { file: file.into(), reason: e.to_string() },
    };
    let (folder, name) = split(file).map_err(unusable)?;
    let folder = Folder::open(folder).map_err(|e| e.not_used(file))?;
    // Neither a link nor a pipe that one would wait at.
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(&folder.descriptor, name, flags, Mode::empty());
    let opened = opened.map_err(|e| unusable(e.into()))?;
    let about = fstat(&opened).map_err(|e| unusable(e.into()))?;
    if FileType::from_raw_mode(about.st_mode) != FileType::RegularFile {
        return Err(NotUsed::Unusable { file: file.into(), reason: "it is no regular file".into() });
    }
    believe(file, &about).map_err(|e| e.not_used(file))?;
    let mut text = String::new();
    File::from(opened).take(LARGEST + 1).read_to_string(&mut text).map_err(unusable)?;
    if text.len() as u64 > LARGEST {
        return Err(NotUsed::Unusable { file: file.into(), reason: "it is too long for a list".into() });
    }
    Ok(text)
}

/// Whether root can believe what is in that file, whose folder nobody else may change either. For all other users it is so.
///
/// # Errors
/// Who else could have written it.
pub fn believed_by_root(file: &Path) -> Result<(), NotUsed> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let seen = || {
        let file = fs::canonicalize(file)?;
        let (folder, name) = split(&file)?;
        let folder = Folder::open(folder)?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let about = fstat(openat(&folder.descriptor, name, flags, Mode::empty())?)?;
        believe(&file, &about)
    };
    seen().map_err(|e: Unbelieved| e.not_used(file))
}

fn split(file: &Path) -> io::Result<(&Path, &std::ffi::OsStr)> {
    let folder = file.parent().map(|folder| if folder == Path::new("") { Path::new(".") } else { folder });
    folder.zip(file.file_name()).ok_or_else(|| ErrorKind::InvalidInput.into())
}

/// Why something is not believed, or cannot be looked at.
enum Unbelieved {
    Writable { file: PathBuf, who: String, remedy: String },
    System(io::Error),
}

impl From<io::Error> for Unbelieved {
    fn from(error: io::Error) -> Self {
        Unbelieved::System(error)
    }
}

impl From<Errno> for Unbelieved {
    fn from(error: Errno) -> Self {
        Unbelieved::System(error.into())
    }
}

impl Unbelieved {
    fn not_used(self, asked: &Path) -> NotUsed {
        match self {
            Unbelieved::Writable { file, who, remedy } => NotUsed::NotBelieved { file, who, remedy },
            Unbelieved::System(e) if e.kind() == ErrorKind::NotFound => NotUsed::NotThere,
            Unbelieved::System(e) => NotUsed::Unusable { file: asked.into(), reason: e.to_string() },
        }
    }

    fn into_io(self) -> io::Error {
        match self {
            Unbelieved::Writable { file, who, .. } => {
                io::Error::other(format!("{who} could write to {}", file.display()))
            }
            Unbelieved::System(error) => error,
        }
    }
}

/// Whether only root, or for another user root and that user, could have written what this is about.
fn believe(file: &Path, about: &Stat) -> Result<(), Unbelieved> {
    let own = geteuid();
    let is_folder = FileType::from_raw_mode(about.st_mode) == FileType::Directory;
    let refused = |who: String, change: String| {
        let remedy = match is_folder {
            true => format!("{FOLDER}=FOLDER names another folder for price lists"),
            false => format!("`{change} {}` if it is right, else remove it", file.display()),
        };
        Err(Unbelieved::Writable { file: file.into(), who, remedy })
    };
    if about.st_uid != 0 && about.st_uid != own.as_raw() {
        return refused(format!("user {}", about.st_uid), format!("chown {}", own.as_raw()));
    }
    // In such a folder only who owns a file, or the folder, may replace it (the sticky bit; unlink(2), EPERM).
    let is_sticky = is_folder && about.st_mode & libc::S_ISVTX != 0;
    if about.st_mode & 0o022 != 0 && !is_sticky {
        let who = if about.st_mode & 0o002 != 0 { "any user" } else { "a group" };
        return refused(who.into(), "chmod go-w".into());
    }
    Ok(())
}

/// An open folder; for root one to which nobody else can write.
struct Folder {
    descriptor: OwnedFd,
}

impl Folder {
    fn open(folder: &Path) -> Result<Folder, Unbelieved> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        if !geteuid().is_root() {
            return Ok(Folder { descriptor: openat(CWD, folder, flags, Mode::empty())? });
        }
        // Links are resolved once, by name; one that is put in place afterwards is not followed.
        let whole = fs::canonicalize(folder)?;
        let mut so_far = PathBuf::from("/");
        let mut descriptor = openat(CWD, "/", flags, Mode::empty())?;
        believe(&so_far, &fstat(&descriptor)?)?;
        for part in whole.components().skip(1) {
            so_far.push(part);
            descriptor = openat(&descriptor, part.as_os_str(), flags | OFlags::NOFOLLOW, Mode::empty())?;
            believe(&so_far, &fstat(&descriptor)?)?;
        }
        Ok(Folder { descriptor })
    }

    /// Makes it where it is missing: root's is for all to read, another user's for that user.
    fn made(folder: &Path) -> Result<Folder, Unbelieved> {
        match Folder::open(folder) {
            Err(Unbelieved::System(e)) if e.kind() == ErrorKind::NotFound => {}
            other => return other,
        }
        let (above, name) = split(folder)?;
        let above = Folder::made(above)?;
        let mode = if geteuid().is_root() { Mode::from_raw_mode(0o755) } else { Mode::RWXU };
        let is_new = match mkdirat(&above.descriptor, name, mode) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let descriptor = openat(&above.descriptor, name, flags, Mode::empty())?;
        if geteuid().is_root() {
            believe(folder, &fstat(&descriptor)?)?;
        }
        if is_new {
            // The mask of new files says nothing about what all may read.
            fchmod(&descriptor, mode)?;
        }
        Ok(Folder { descriptor })
    }
}

/// The turn of this process among those that measure prices and write to a folder.
pub struct Turn {
    folder: Folder,
    path: PathBuf,
    _lock: OwnedFd,
}

impl Turn {
    /// Waits for it, as long as is given: `waits` is called once where it has to. `None` where another process has it all the time.
    ///
    /// # Errors
    /// The folder cannot be made or written to, or root would not believe what is in it.
    pub fn take(path: &Path, longest: Duration, waits: impl FnOnce()) -> io::Result<Option<Turn>> {
        let folder = Folder::made(path).map_err(Unbelieved::into_io)?;
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // Nobody else may open it: who could, might hold it for ever.
        let lock = openat(&folder.descriptor, LOCK, flags, Mode::RUSR | Mode::WUSR)?;
        let until = Instant::now() + longest;
        let mut waits = Some(waits);
        loop {
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Some(Turn { folder, path: path.into(), _lock: lock })),
                Err(Errno::WOULDBLOCK) if Instant::now() < until => {
                    if let Some(waits) = waits.take() {
                        waits();
                    }
                    std::thread::sleep(ASKED);
                }
                Err(Errno::WOULDBLOCK) => return Ok(None),
                Err(error) => return Err(error.into()),
            }
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.path
    }

    /// Replaces a machine's list; it is on the disk when this returns, and else nothing has changed.
    ///
    /// # Errors
    /// It cannot be written, as on a disk without room.
    pub fn replace(&self, machine: &str, text: &str) -> io::Result<PathBuf> {
        let name = name_of(machine);
        let beside = format!("{name}.new");
        let folder = &self.folder.descriptor;
        let written = || -> io::Result<()> {
            // One that was killed half way left it: nobody else writes now.
            match unlinkat(folder, &beside, AtFlags::empty()) {
                Ok(()) | Err(Errno::NOENT) => {}
                Err(error) => return Err(error.into()),
            }
            let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let mut file = File::from(openat(folder, &beside, flags, Mode::RUSR | Mode::WUSR)?);
            file.write_all(text.as_bytes())?;
            fchmod(&file, Mode::RUSR | Mode::WUSR | Mode::RGRP | Mode::ROTH)?;
            file.sync_all()?;
            renameat(folder, &beside, folder, &name)?;
            Ok(fsync(folder)?)
        };
        written().inspect_err(|_| {
            let _ = unlinkat(folder, &beside, AtFlags::empty());
        })?;
        Ok(self.path.join(name))
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use super::*;

    const MACHINE: &str = "0123456789abcdef";

    fn write(folder: &Path, text: &str) -> PathBuf {
        let turn = Turn::take(folder, Duration::ZERO, || {}).unwrap().unwrap();
        turn.replace(MACHINE, text).unwrap()
    }

    fn refused(file: &Path) -> String {
        read(file).unwrap_err().to_string()
    }

    #[test]
    fn a_list_is_read_as_it_was_written_and_by_all() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("a/b");
        assert!(matches!(read(&file_in(&inner, MACHINE)), Err(NotUsed::NotThere)));
        write(&inner, "first");
        let file = write(&inner, "second");
        assert_eq!((read(&file).unwrap().as_str(), &file), ("second", &file_in(&inner, MACHINE)));
        assert_eq!(fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o644);
        let names: Vec<_> = fs::read_dir(&inner).unwrap().map(|one| one.unwrap().file_name()).collect();
        assert_eq!(names.len(), 2, "the list and the lock: {names:?}");
    }

    #[test]
    fn what_a_killed_writer_left_is_no_list_and_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path(), "whole");
        let left = folder.path().join(format!("{}.new", name_of(MACHINE)));
        fs::write(&left, "ha").unwrap();
        assert_eq!(read(&file).unwrap(), "whole");
        write(folder.path(), "next");
        assert!(read(&file).unwrap() == "next" && !left.exists());
    }

    #[test]
    fn turns_are_taken_one_after_the_other_and_not_waited_for_without_end() {
        let folder = tempfile::tempdir().unwrap();
        let first = Turn::take(folder.path(), Duration::ZERO, || {}).unwrap().unwrap();
        let mut waited = false;
        let second = Turn::take(folder.path(), Duration::from_millis(1), || waited = true).unwrap();
        assert!(second.is_none() && waited);
        drop(first);
        assert!(Turn::take(folder.path(), Duration::ZERO, || panic!("it is free")).unwrap().is_some());
    }

    #[test]
    fn neither_a_link_nor_a_pipe_nor_what_others_can_write_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = write(folder.path(), "whole");
        let mode = |mode| fs::set_permissions(&file, Permissions::from_mode(mode)).unwrap();
        mode(0o666);
        assert!(refused(&file).contains("any user could have written it; `chmod go-w"), "{}", refused(&file));
        mode(0o664);
        assert!(refused(&file).contains("a group could have written it"), "{}", refused(&file));
        mode(0o644);
        let link = file_in(folder.path(), "link");
        symlink(&file, &link).unwrap();
        assert!(matches!(read(&link), Err(NotUsed::Unusable { .. })));
        let pipe = file_in(folder.path(), "pipe");
        rustix::fs::mknodat(CWD, &pipe, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
        assert!(refused(&pipe).contains("no regular file"), "{}", refused(&pipe));
        assert_eq!(read(&file).unwrap(), "whole");
    }

    #[test]
    fn root_believes_no_file_or_folder_of_another() {
        if !geteuid().is_root() {
            return eprintln!("not tested here: only root can give files away");
        }
        let folder = tempfile::tempdir().unwrap();
        let (outer, inner) = (folder.path().join("a"), folder.path().join("a/b"));
        let file = write(&inner, "whole");
        for changed in [&outer, &inner, &file] {
            chown(changed, Some(65534), None).unwrap();
            assert!(refused(&file).contains("user 65534 could have written it"), "{}", refused(&file));
            assert!(believed_by_root(&file).is_err());
            if changed != &file {
                let error = Turn::take(&inner, Duration::ZERO, || {}).err().unwrap();
                assert!(error.to_string().contains("user 65534 could write"), "{error}");
            }
            chown(changed, Some(0), None).unwrap();
            assert_eq!(read(&file).unwrap(), "whole");
            believed_by_root(&file).unwrap();
        }
        for changed in [&outer, &inner] {
            fs::set_permissions(changed, Permissions::from_mode(0o777)).unwrap();
            assert!(refused(&file).contains("any user could have written it"), "{}", refused(&file));
            // As /tmp is: there nobody can replace what is root's.
            fs::set_permissions(changed, Permissions::from_mode(0o1777)).unwrap();
            assert_eq!(read(&file).unwrap(), "whole");
            fs::set_permissions(changed, Permissions::from_mode(0o755)).unwrap();
        }
        // A link on the way to it is followed before anything is looked at.
        symlink(&inner, folder.path().join("link")).unwrap();
        assert_eq!(read(&file_in(&folder.path().join("link"), MACHINE)).unwrap(), "whole");
    }
}
