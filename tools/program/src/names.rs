//! What files are called: paths of those that are open, the ends of connections.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use procfs::process::{FDTarget, Process};
use tollway_watch::{File, is_proc_own};

/// From one look to the next: at first, as a program may be short, and at the most; and at how many descriptors of a process: this is read from /proc, one by one.
const FIRST: Duration = Duration::from_millis(5);
const EVERY: Duration = Duration::from_secs(1);
const MOST: usize = 2048;

/// Names by number of the inode, and where that number is its own.
#[derive(Debug)]
pub(crate) struct Names {
    known: BTreeMap<u64, BTreeMap<u64, String>>,
    looked: Instant,
    pause: Duration,
}

impl Default for Names {
    fn default() -> Names {
        Names { known: BTreeMap::new(), looked: Instant::now(), pause: FIRST }
    }
}

impl Names {
    /// Looks at what these processes have open, if it is time to.
    pub fn look(&mut self, processes: impl Iterator<Item = u32>) {
        if self.looked.elapsed() < self.pause || !is_proc_own() {
            return;
        }
        (self.looked, self.pause) = (Instant::now(), (2 * self.pause).min(EVERY));
        for number in processes {
            let Some(process) = i32::try_from(number).ok().and_then(|number| Process::new(number).ok())
            else {
                continue;
            };
            self.look_at(&process);
        }
    }

    fn look_at(&mut self, process: &Process) {
        let Ok(open) = process.fd() else { return };
        let mut sockets = Vec::new();
        for one in open.flatten().take(MOST) {
            match one.target {
                FDTarget::Path(path) => {
                    let file = format!("/proc/{}/fd/{}", process.pid, one.fd);
                    if let Some(file) = File::at(&file) {
                        self.insert(file.inode, file.device, path.display().to_string());
                    }
                }
                FDTarget::Socket(inode) if !self.knows_socket(inode) => sockets.push(inode),
                _ => {}
            }
        }
        if sockets.is_empty() {
            return;
        }
        let tcp = process.tcp().unwrap_or_default().into_iter().chain(process.tcp6().unwrap_or_default());
        let named = tcp.map(|one| (one.inode, format!("{} to {}", one.local_address, one.remote_address)));
        let udp = process
            .udp()
            .unwrap_or_default()
            .into_iter()
            .map(|one| (one.inode, one.local_address.to_string()));
        let unix = process.unix().unwrap_or_default().into_iter();
        let unix = unix.filter_map(|one| Some((one.inode, one.path?.display().to_string())));
        let named: BTreeMap<u64, String> = named.chain(udp).chain(unix).collect();
        for inode in sockets {
            if let Some(name) = named.get(&inode) {
                self.insert(inode, 0, name.clone());
            }
        }
    }

    fn knows_socket(&self, inode: u64) -> bool {
        self.known.get(&inode).is_some_and(|names| names.contains_key(&0))
    }

    fn insert(&mut self, inode: u64, device: u64, name: String) {
        self.known.entry(inode).or_default().insert(device, name);
    }

    /// Takes names that were learnt as files were opened, of those that were not open when it was looked: these may be as programs gave them.
    pub fn learn(&mut self, names: Vec<(File, String)>) {
        for (file, name) in names {
            if !name.is_empty() && self.of(&file).is_none() {
                self.insert(file.inode, file.device, name);
            }
        }
    }

    /// What a file is called, if that is known.
    pub fn of(&self, file: &File) -> Option<&str> {
        let names = self.known.get(&file.inode)?;
        // A file system may tell user mode of another device than the kernel has it on (a subvolume of btrfs, a layer of
        // an overlay): one whose number is nobody else's is known by that.
        let only = || names.values().next().filter(|_| names.len() == 1 && file.device != 0);
        names.get(&file.device).or_else(only).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;
    use std::os::linux::fs::MetadataExt;

    use tollway_watch::FileKind;

    use super::*;

    #[test]
    fn files_with_one_number_on_two_file_systems_have_their_own_names() {
        let mut names = Names::default();
        names.insert(7, 1, "/a".into());
        names.insert(7, 2, "/b".into());
        names.insert(7, 0, "a pipe".into());
        names.insert(8, 1, "/c".into());
        let of = |inode: u64, device: u64| names.of(&File { kind: FileKind::Regular, inode, device });
        assert_eq!([of(7, 1), of(7, 2), of(7, 0)], [Some("/a"), Some("/b"), Some("a pipe")]);
        assert_eq!(of(7, 3), None, "it is one of several, and nobody knows which");
        assert_eq!([of(8, 3), of(8, 0), of(9, 1)], [Some("/c"), None, None]);
    }

    #[test]
    fn a_name_that_was_seen_counts_more_than_one_that_was_given() {
        let mut names = Names::default();
        names.insert(7, 1, "/folder/a".into());
        let file = |inode| File { kind: FileKind::Regular, inode, device: 1 };
        names.learn(vec![(file(7), "a".into()), (file(8), "b".into()), (file(9), String::new())]);
        assert_eq!([7, 8, 9].map(|inode| names.of(&file(inode))), [Some("/folder/a"), Some("b"), None]);
    }

    #[test]
    fn what_is_open_is_named() {
        let file = std::fs::File::open("/proc/version").unwrap();
        let about = file.metadata().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        let link = format!("/proc/self/fd/{}", listener.as_raw_fd());
        let socket = std::fs::metadata(link).unwrap().st_ino();
        let mut names = Names::default();
        names.look_at(&Process::myself().unwrap());
        let of = |kind, inode, device| names.of(&File { kind, inode, device });
        let named = of(FileKind::Regular, about.st_ino(), about.st_dev());
        assert!(named.is_some_and(|name| name.ends_with("/version")), "{named:?}");
        assert_eq!(of(FileKind::Unix, socket, 0), path.to_str());
    }
}
