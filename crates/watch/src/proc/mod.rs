//! stub
use procfs::FromRead;
use procfs::process::Stat;

/// All processes that descend from one, by their parents (/proc/PID/stat). /proc/PID/task/TID/children would be quicker, and may leave some out while others end.
pub(crate) fn descendants(process: u32) -> Vec<u32> {
    let _ = (process, Stat::from_file("/proc/self/stat"));
    Vec::new()
}
