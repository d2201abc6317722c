//! A control group in which a program has the time of one processor and no more.
//!
//! Sources: Documentation/admin-guide/cgroup-v2.rst (cpu.max) and Documentation/scheduler/sched-bwc.rst of Linux (cpu.cfs_quota_us, of the first version).

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command};

use tollway_core::{Error, Missing, Result};

use super::keeper::Keeper;

/// Where control groups are mounted: the second version, and the processors of the first.
const SECOND: &str = "/sys/fs/cgroup";
const FIRST: &str = "/sys/fs/cgroup/cpu";
/// As much time as one processor has in a period: both are this many microseconds, the kernel's own default.
const PERIOD: &str = "100000";

/// A group in which somebody still is stays, without a limit.
const UNDO: &str = r#"rmdir "$1" || { sleep 0.1; rmdir "$1"; } || printf %s "$3" > "$2""#;

/// A limit, until this is dropped. What still runs in the group then goes on without it.
#[derive(Debug)]
pub(super) struct Limit {
    group: PathBuf,
    _keeper: Keeper,
}

impl Limit {
    /// Has a command start in such a group.
    ///
    /// # Errors
    /// [`Missing`](Error::Missing) where groups are not there, or not for this process.
    pub fn of_one_processor(command: &mut Command) -> Result<Limit> {
        let limit = Limit::made().map_err(|e| {
            Error::Missing(Missing::new(
                "a control group with a limit of processor time",
                format!("making one below {SECOND}: {e}"),
                "run as root, with control groups mounted and the controller cpu (`cat /sys/fs/cgroup/cgroup.controllers`)",
            ))
        })?;
        let failed = |e: io::Error| Error::system("entering a control group", e);
        let mut members =
            File::options().write(true).open(limit.group.join("cgroup.procs")).map_err(failed)?;
        // SAFETY: the closure makes one system call and allocates nothing.
        unsafe { command.pre_exec(move || members.write_all(b"0")) };
        Ok(limit)
    }

    fn made() -> io::Result<Limit> {
        let name = format!("tollway-{}", process::id());
        if Path::new(FIRST).join("cpu.cfs_quota_us").exists() || Path::new(FIRST).join("cpu.shares").exists()
        {
            let limit = Limit::at(Path::new(FIRST).join(name), ("cpu.cfs_quota_us", "-1"))?;
            fs::write(limit.group.join("cpu.cfs_period_us"), PERIOD)?;
            fs::write(limit.group.join("cpu.cfs_quota_us"), PERIOD)?;
            return Ok(limit);
        }
        // Who is below may only have the controllers that are switched on here.
        fs::write(Path::new(SECOND).join("cgroup.subtree_control"), "+cpu")?;
        let limit = Limit::at(Path::new(SECOND).join(name), ("cpu.max", "max"))?;
        fs::write(limit.group.join("cpu.max"), format!("{PERIOD} {PERIOD}"))?;
        Ok(limit)
    }

    /// A group without a limit yet; by `lifts` a file that sets it, and what lifts it.
    fn at(group: PathBuf, (file, lifts): (&str, &str)) -> io::Result<Limit> {
        match fs::create_dir(&group) {
            // Of one before us that was killed.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made?,
        }
        let undo =
            [group.to_string_lossy(), group.join(file).to_string_lossy()].map(|path| path.into_owned());
        let keeper = Keeper::begin(UNDO, &[&undo[0], &undo[1], lifts]).map_err(io::Error::other)?;
        Ok(Limit { group, _keeper: keeper })
    }
}
