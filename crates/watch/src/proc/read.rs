//! What /proc tells of a thread, and of a process.

use std::fs::{self, File};
use std::ops::{Add, Sub};
use std::os::unix::fs::FileExt;
use std::time::Duration;

use procfs::FromRead;
use procfs::process::{Io, Stat, Status};

use crate::living::is_kernel_worker;

/// Numbers that only grow, or the difference of two looks at them. A difference is never less than 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) voluntary: u64,
    pub(super) involuntary: u64,
    pub(super) minor: u64,
    pub(super) major: u64,
    /// Time in user mode, in ticks.
    pub(super) user: u64,
    /// Time in the kernel, in ticks.
    pub(super) system: u64,
    /// Both, in nanoseconds (of threads only).
    pub(super) ran: u64,
    /// Calls that read or wrote.
    pub(super) calls: u64,
    /// Bytes that these asked for and got.
    pub(super) bytes: u64,
}

/// A look at a thread.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Looked {
    pub(super) name: String,
    /// Whether it is the kernel's own in the process of a program.
    pub(super) is_kernel_worker: bool,
    /// When it started, in ticks after boot: what tells two of one number apart.
    pub(super) started: u64,
    pub(super) sums: Sums,
    /// Whether its calls are in the sums: of a zombie only root may know them.
    pub(super) knows_calls: bool,
}

/// A look at a process: of all its threads, the ended ones as well.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Whole {
    pub(super) parent: u32,
    pub(super) started: u64,
    /// Whether its first thread has ended.
    pub(super) is_zombie: bool,
    /// Its own, but for its calls ([`Moved`]).
    pub(super) own: Sums,
    /// Of the children that it has waited for, and whom these had waited for.
    pub(super) waited: Sums,
}

impl Looked {
    /// `None` where there is no such thread any more.
    pub(super) fn at(process: u32, thread: u32) -> Option<Looked> {
        let folder = format!("/proc/{process}/task/{thread}");
        let stat = Stat::from_file(format!("{folder}/stat")).ok()?;
        let status = Status::from_file(format!("{folder}/status")).ok()?;
        let io = Io::from_file(format!("{folder}/io")).ok();
        let ran = fs::read_to_string(format!("{folder}/schedstat")).ok();
        let ran = ran.and_then(|text| text.split(' ').next()?.parse().ok());
        let sums = Sums {
            voluntary: status.voluntary_ctxt_switches.unwrap_or(0),
            involuntary: status.nonvoluntary_ctxt_switches.unwrap_or(0),
            minor: stat.minflt,
            major: stat.majflt,
            user: stat.utime,
            system: stat.stime,
            ran: ran.unwrap_or_else(|| nanoseconds(stat.utime + stat.stime)),
            ..io.as_ref().map(moved).unwrap_or_default()
        };
        Some(Looked {
            is_kernel_worker: is_kernel_worker(stat.flags, thread == process),
            name: stat.comm,
            started: stat.starttime,
            sums,
            knows_calls: io.is_some(),
        })
    }
}

impl Whole {
    /// `None` where there is no such process any more.
    pub(super) fn at(process: u32) -> Option<Whole> {
        let stat = Stat::from_file(format!("/proc/{process}/stat")).ok()?;
        let positive = |ticks: i64| u64::try_from(ticks).unwrap_or(0);
        Some(Whole {
            parent: stat.ppid as u32,
            started: stat.starttime,
            is_zombie: stat.state == 'Z',
            own: Sums {
                minor: stat.minflt,
                major: stat.majflt,
                user: stat.utime,
                system: stat.stime,
                ..Sums::default()
            },
            waited: Sums {
                minor: stat.cminflt,
                major: stat.cmajflt,
                user: positive(stat.cutime),
                system: positive(stat.cstime),
                ..Sums::default()
            },
        })
    }
}

fn moved(io: &Io) -> Sums {
    Sums { calls: io.syscr + io.syscw, bytes: io.rchar + io.wchar, ..Sums::default() }
}

/// Where the calls of a process stand, and those of the children that it has waited for. Only root may open this of a zombie, and who has it open may read it.
pub(super) struct Moved(Option<File>);

impl Moved {
    pub(super) fn of(process: u32) -> Moved {
        Moved(File::open(format!("/proc/{process}/io")).ok())
    }

    /// Calls and bytes; `None` where they may not be known, as of a set-user-ID program.
    pub(super) fn read(&self) -> Option<Sums> {
        let mut text = [0; 512];
        let length = self.0.as_ref()?.read_at(&mut text, 0).ok()?;
        Some(moved(&Io::from_read(&text[..length]).ok()?))
    }
}

/// Of ticks.
pub(super) fn nanoseconds(ticks: u64) -> u64 {
    ticks * (1_000_000_000 / procfs::ticks_per_second())
}

/// Numbers of a process' threads, of now.
pub(super) fn threads(process: u32) -> Vec<u32> {
    numbers(&format!("/proc/{process}/task"))
}

fn numbers(folder: &str) -> Vec<u32> {
    let names = fs::read_dir(folder).into_iter().flatten().flatten();
    names.filter_map(|name| name.file_name().to_str()?.parse().ok()).collect()
}

/// All processes that descend from some, these not among them, by their parents. /proc/PID/task/TID/children would be quicker, and may leave some out
/// while others end (proc_pid_children(5)).
pub(crate) fn descendants_of(processes: &[u32]) -> Vec<u32> {
    let parent =
        |process| Some((process, Stat::from_file(format!("/proc/{process}/stat")).ok()?.ppid as u32));
    let mut others: Vec<(u32, u32)> = numbers("/proc").into_iter().filter_map(parent).collect();
    others.retain(|(process, _)| !processes.contains(process));
    let mut found = processes.to_vec();
    let mut at = 0;
    while let Some(parent) = found.get(at).copied() {
        found.extend(others.iter().filter(|(_, of)| *of == parent).map(|(child, _)| *child));
        others.retain(|(_, of)| *of != parent);
        at += 1;
    }
    found.split_off(processes.len())
}

impl Sums {
    fn each(self, other: Sums, with: fn(u64, u64) -> u64) -> Sums {
        Sums {
            voluntary: with(self.voluntary, other.voluntary),
            involuntary: with(self.involuntary, other.involuntary),
            minor: with(self.minor, other.minor),
            major: with(self.major, other.major),
            user: with(self.user, other.user),
            system: with(self.system, other.system),
            ran: with(self.ran, other.ran),
            calls: with(self.calls, other.calls),
            bytes: with(self.bytes, other.bytes),
        }
    }

    /// Time in user mode and in the kernel: what ran, in the proportion of the ticks; all in user mode where there was none, as the kernel itself has it
    /// (kernel/sched/cputime.c, `cputime_adjust`).
    pub(super) fn times(&self) -> (Duration, Duration) {
        let ticks = self.user + self.system;
        let system = match ticks {
            0 => 0,
            _ => (u128::from(self.ran) * u128::from(self.system) / u128::from(ticks)) as u64,
        };
        (Duration::from_nanos(self.ran - system), Duration::from_nanos(system))
    }
}

impl Add for Sums {
    type Output = Sums;

    fn add(self, other: Sums) -> Sums {
        self.each(other, u64::saturating_add)
    }
}

impl Sub for Sums {
    type Output = Sums;

    /// The kernel divides the time of a process and of each of its threads by ticks of their own, so that one half of the difference may be less than
    /// nothing: then the other is no more than the whole.
    fn sub(self, other: Sums) -> Sums {
        let left = self.each(other, u64::saturating_sub);
        let whole = (self.user + self.system).saturating_sub(other.user + other.system);
        let user = left.user.min(whole);
        Sums { user, system: whole - user, ..left }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_is_divided_as_the_ticks_are() {
        let sums = Sums { user: 1, system: 3, ran: 80, ..Sums::default() };
        assert_eq!(sums.times(), (Duration::from_nanos(20), Duration::from_nanos(60)));
        assert_eq!(
            Sums { ran: 5, ..Sums::default() }.times(),
            (Duration::from_nanos(5), Duration::from_nanos(0))
        );
    }

    #[test]
    fn what_is_left_of_a_time_is_no_more_than_the_whole_however_both_were_divided() {
        let of = |user, system| Sums { user, system, ..Sums::default() };
        for (threads, left) in [
            (of(4, 5), of(6, 5)),
            (of(14, 6), of(0, 0)),
            (of(6, 14), of(0, 0)),
            (of(12, 3), of(0, 5)),
            (of(3, 12), of(5, 0)),
            (of(30, 30), of(0, 0)),
        ] {
            assert_eq!(of(10, 10) - threads, left, "{threads:?}");
        }
    }

    #[test]
    fn a_child_is_a_descendant_and_its_parent_is_none() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let own = std::process::id();
        let found = descendants_of(&[own]);
        assert!(found.contains(&child.id()) && !found.contains(&own));
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
