//! What files are called: paths of those that are open, the ends of connections.

use std::collections::BTreeMap;
use std::os::linux::fs::MetadataExt;
use std::time::{Duration, Instant};

use procfs::process::{FDTarget, Process};

/// From one look to the next: at first, as a program may be short, and at the most; and at how many descriptors of a process: this is read from /proc, one by one.
const FIRST: Duration = Duration::from_millis(5);
const EVERY: Duration = Duration::from_secs(1);
const MOST: usize = 2048;

/// Names by number of the inode.
#[derive(Debug)]
pub(crate) struct Names {
    known: BTreeMap<u64, String>,
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
        if self.looked.elapsed() < self.pause {
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
                    if let Ok(about) = std::fs::metadata(file) {
                        self.known.insert(about.st_ino(), path.display().to_string());
                    }
                }
                FDTarget::Socket(inode) if !self.known.contains_key(&inode) => sockets.push(inode),
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
                self.known.insert(inode, name.clone());
            }
        }
    }

    /// What a file is called, if it was open when it was looked.
    pub fn of(&self, inode: u64) -> Option<&str> {
        self.known.get(&inode).map(String::as_str)
    }
}
