//! Whether what is written to a folder goes to a disk: of an overlay it goes to the upper layer, which may
//! lie in memory where the overlay itself does not say so (live systems, containers on a tmpfs).

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use rustix::fs::{Mode, OFlags, open, statfs};

/// `TMPFS_MAGIC` and `RAMFS_MAGIC` of linux/magic.h: file systems without a disk.
const IN_MEMORY: [u64; 2] = [0x0102_1994, 0x8584_58f6];

/// `OVERLAYFS_SUPER_MAGIC` there.
const OVERLAY: u64 = 0x794c_7630;

/// Overlays that are looked through: Linux stacks no more than two (`FILESYSTEM_MAX_STACK_DEPTH`).
const MAX_OVERLAYS: u32 = 2;

/// Whether what is written there has no disk under it. A folder that cannot be asked counts as having one,
/// and so does an overlay whose upper layer is not to be seen from here, as in most containers.
pub fn in_memory(folder: &Path) -> bool {
    is_in_memory(folder, MAX_OVERLAYS)
}

fn is_in_memory(folder: &Path, overlays: u32) -> bool {
    let Ok(about) = statfs(folder) else { return false };
    match about.f_type as u64 {
        OVERLAY if overlays > 0 => {
            upper_layer(folder).is_some_and(|upper| is_in_memory(&upper, overlays - 1))
        }
        kind => IN_MEMORY.contains(&kind),
    }
}

/// Where the overlay of a folder has what is written to it.
fn upper_layer(folder: &Path) -> Option<PathBuf> {
    let opened = open(folder, OFlags::PATH | OFlags::CLOEXEC, Mode::empty()).ok()?;
    // This thread's: it may have a mount namespace of its own.
    let read = |file: String| fs::read(format!("/proc/thread-self/{file}")).ok();
    let about = read(format!("fdinfo/{}", opened.as_raw_fd()))?;
    let about = String::from_utf8_lossy(&about);
    let mount = about.lines().find_map(|line| line.strip_prefix("mnt_id:"))?.trim();
    upper_of(&String::from_utf8_lossy(&read("mountinfo".into())?), mount)
}

/// The upper layer of the mount with that number (proc_pid_mountinfo(5)).
fn upper_of(mounts: &str, number: &str) -> Option<PathBuf> {
    let line = mounts.lines().find(|line| line.split(' ').next() == Some(number))?;
    // The type of the file system, its source, its options.
    let (_, about) = line.split_once(" - ")?;
    let options = about.split(' ').nth(2)?;
    let upper = options.split(',').find_map(|option| option.strip_prefix("upperdir="))?;
    // One that is not told from the root on was told from a folder that nobody knows any more.
    Some(unescaped(upper)).filter(|upper| upper.is_absolute())
}

/// The kernel writes what would part options or words as a backslash and three octal digits.
fn unescaped(text: &str) -> PathBuf {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((first, after)) = rest.split_first() {
        let digits = after.get(..3).filter(|_| *first == b'\\').and_then(|d| std::str::from_utf8(d).ok());
        let escaped = digits.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(escaped.unwrap_or(*first));
        rest = if escaped.is_some() { &after[3..] } else { after };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use std::ffi::CString;
    use std::io;
    use std::os::unix::ffi::OsStrExt;
    use std::thread;

    use tollway_core::Missing;

    use super::*;
    use crate::requirement::skip_test;

    #[test]
    fn the_upper_layer_of_an_overlay_is_the_one_of_its_mount() {
        let mounts = "\
            27 1 254:0 / / rw,relatime - ext4 /dev/vda rw\n\
            40 27 0:40 / /a rw,relatime shared:5 - overlay overlay rw,lowerdir=/l,upperdir=/run/u\\040\\054p,workdir=/w\n\
            41 27 0:41 / /b ro - overlay overlay ro,lowerdir=/l:/m\n\
            42 27 0:42 / /c rw - overlay overlay rw,lowerdir=/l,upperdir=upper,workdir=work\n";
        assert_eq!(upper_of(mounts, "40"), Some(PathBuf::from("/run/u ,p")));
        for other in ["27", "41", "42", "4", ""] {
            assert_eq!(upper_of(mounts, other), None, "{other}");
        }
        assert_eq!(unescaped("/a\\09\\777\\"), PathBuf::from("/a\\09\\777\\"));
    }

    fn mount(source: &str, at: &Path, kind: &str, options: &str) -> io::Result<()> {
        let text = |bytes: &[u8]| CString::new(bytes).unwrap();
        let [source, kind, options] = [source, kind, options].map(|word| text(word.as_bytes()));
        let at = text(at.as_os_str().as_bytes());
        // SAFETY: all four are strings that end with a zero and live through the call.
        let done =
            unsafe { libc::mount(source.as_ptr(), at.as_ptr(), kind.as_ptr(), 0, options.as_ptr().cast()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// A mount namespace that this thread alone has, in which nothing is seen by others.
    fn apart() -> io::Result<()> {
        // SAFETY: it concerns this thread, which ends with the test, and its view of mounts.
        if unsafe { libc::unshare(libc::CLONE_NEWNS) } != 0 {
            return Err(io::Error::last_os_error());
        }
        let root = c"/".as_ptr();
        let none = std::ptr::null();
        // SAFETY: the target is a string that ends with a zero; of the others none is looked at.
        let done = unsafe { libc::mount(none, root, none, libc::MS_REC | libc::MS_PRIVATE, none.cast()) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    }

    /// Its rows were measured as a disk's: 2 GB/s of memory.
    #[test]
    fn an_overlay_whose_upper_layer_is_a_tmpfs_is_in_memory() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().to_owned();
        let asked = thread::spawn(move || -> io::Result<[bool; 3]> {
            apart()?;
            let place = |name: &str| {
                let place = root.join(name);
                fs::create_dir_all(&place).map(|()| place)
            };
            let (lower, memory, over, disk) = (place("l"), place("m"), place("o"), place("d"));
            let (lower, memory, over, disk) = (lower?, memory?, over?, disk?);
            mount("tmpfs", &memory, "tmpfs", "size=1m")?;
            place("m/upper")?;
            place("m/work")?;
            let layers = |upper: &Path| {
                let (lower, upper) = (lower.display(), upper.display());
                format!("lowerdir={lower},upperdir={upper}/upper,workdir={upper}/work")
            };
            mount("overlay", &over, "overlay", &layers(&memory))?;
            place("o/folder")?;
            let found = [in_memory(&memory), in_memory(&over.join("folder")), in_memory(&disk)];
            Ok(found)
        });
        match asked.join().unwrap() {
            Ok([memory, over, disk]) => {
                assert!(memory && over, "what is written to memory counts as a disk's");
                assert_eq!(disk, in_memory(folder.path()), "a folder beside it is as its own file system");
            }
            Err(error) => skip_test(
                &["mount"],
                &Missing::new("a mount of one's own", error.to_string(), "run as root, with overlayfs"),
            ),
        }
    }
}
