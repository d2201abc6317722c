//! One process or thread, from /proc/PID/stat and status.
//!
//! * **Switches** in /proc/PID/status are of the main thread only; ask for each thread ([`ProcessSample::thread`]) or
//!   take [`usage`](super::usage) inside the process. Involuntary ones mean that something else wanted the core.
//! * **Faults and times** in /proc/PID/stat are of all its threads, ended ones included; of a thread, its own.
//!   Waited-for children are not in them. Times are in ticks of 1/100 s; [`thread_time`](super::thread_time) has
//!   nanoseconds.
//! * **Resident memory** is of the whole process; the kernel batches it per processor, so it is off by up to 64 pages
//!   a thread. The peak is since the process started or /proc/PID/clear_refs was written.
//! * A process that ended and whose number was taken by another one is told apart by its start time: no difference.

use procfs::process::{Process, Stat, Status};
use rustix::param::{clock_ticks_per_second, page_size};
use serde::{Deserialize, Serialize};
use tollway_core::Missing;

use crate::found::{Found, risen};

/// A process or thread at one moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessSample {
    /// Its number.
    pub id: i32,
    /// When it started, in ticks after boot.
    pub started: u64,
    /// Voluntary context switches: it waited. See the module's caveats.
    pub voluntary: Option<u64>,
    /// Involuntary context switches: it was displaced.
    pub involuntary: Option<u64>,
    /// Page faults served without a disk.
    pub minor_faults: u64,
    /// Page faults that needed a disk.
    pub major_faults: u64,
    /// Time in user mode, guests included, in ticks.
    pub user: u64,
    /// Time in the kernel, in ticks.
    pub system: u64,
    /// Resident memory, in bytes; `None` for kernel threads.
    pub resident: Option<u64>,
    /// The most it ever was, in bytes.
    pub peak_resident: Option<u64>,
}

impl ProcessSample {
    /// The calling process.
    ///
    /// # Errors
    /// [`Missing`] if /proc cannot be read.
    pub fn read() -> Found<ProcessSample> {
        ProcessSample::of(std::process::id() as i32)
    }

    /// Another process.
    ///
    /// # Errors
    /// [`Missing`] if there is none of this number, or /proc hides it.
    pub fn of(pid: i32) -> Found<ProcessSample> {
        let process = open(pid)?;
        let (stat, status) = (process.stat(), process.status());
        sample(&format!("process {pid}"), stat, status)
    }

    /// One thread of a process.
    ///
    /// # Errors
    /// [`Missing`] if there is none of this number, or /proc hides it.
    pub fn thread(pid: i32, tid: i32) -> Found<ProcessSample> {
        let what = format!("thread {tid} of process {pid}");
        let task = open(pid)?.task_from_tid(tid).map_err(|e| gone(&what, e))?;
        sample(&what, task.stat(), task.status())
    }
}

fn open(pid: i32) -> Found<Process> {
    Process::new(pid).map_err(|e| gone(&format!("process {pid}"), e))
}

fn gone(what: &str, error: impl std::fmt::Display) -> Missing {
    Missing::new(what, error.to_string(), "sample it while it lives; mount /proc without hidepid")
}

fn sample(
    what: &str,
    stat: procfs::ProcResult<Stat>,
    status: procfs::ProcResult<Status>,
) -> Found<ProcessSample> {
    let (stat, status) = (stat.map_err(|e| gone(what, e))?, status.map_err(|e| gone(what, e))?);
    Ok(ProcessSample {
        id: stat.pid,
        started: stat.starttime,
        voluntary: status.voluntary_ctxt_switches,
        involuntary: status.nonvoluntary_ctxt_switches,
        minor_faults: stat.minflt,
        major_faults: stat.majflt,
        user: stat.utime,
        system: stat.stime,
        resident: status
            .vmrss
            .map(|kib| kib * 1024)
            .or((stat.rss > 0).then(|| stat.rss * page_size() as u64)),
        peak_resident: status.vmhwm.map(|kib| kib * 1024),
    })
}

/// A process or thread over an interval; `None` is unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ProcessDelta {
    /// Voluntary context switches.
    pub voluntary: Option<u64>,
    /// Involuntary context switches.
    pub involuntary: Option<u64>,
    /// Page faults served without a disk.
    pub minor_faults: Option<u64>,
    /// Page faults that needed a disk.
    pub major_faults: Option<u64>,
    /// Seconds in user mode.
    pub user: Option<f64>,
    /// Seconds in the kernel.
    pub system: Option<f64>,
}

/// What happened between two samples; `None` if they are not of the same process or thread.
pub fn delta(before: &ProcessSample, after: &ProcessSample) -> Option<ProcessDelta> {
    if (before.id, before.started) != (after.id, after.started) {
        return None;
    }
    let both = |before: Option<u64>, after: Option<u64>| risen(before?, after?);
    let seconds = |before, after| Some(risen(before, after)? as f64 / clock_ticks_per_second() as f64);
    Some(ProcessDelta {
        voluntary: both(before.voluntary, after.voluntary),
        involuntary: both(before.involuntary, after.involuntary),
        minor_faults: risen(before.minor_faults, after.minor_faults),
        major_faults: risen(before.major_faults, after.major_faults),
        user: seconds(before.user, after.user),
        system: seconds(before.system, after.system),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::asleep::sleeper;

    #[test]
    fn a_thread_that_sleeps_switches_voluntarily() {
        std::thread::spawn(|| {
            let tid = rustix::thread::gettid().as_raw_nonzero().get();
            let read = || ProcessSample::thread(std::process::id() as i32, tid).unwrap();
            let mut sleep = sleeper(10, || ());
            let before = read();
            (0..10).for_each(|_| sleep());
            let d = delta(&before, &read()).unwrap();
            assert!(d.voluntary.unwrap() >= 10, "{d:?}");
        })
        .join()
        .unwrap();
    }

    #[test]
    fn touched_memory_shows_as_faults_and_peak() {
        let before = ProcessSample::read().unwrap();
        let memory = std::hint::black_box(vec![1u8; 32 << 20]);
        let after = ProcessSample::read().unwrap();
        let d = delta(&before, &after).unwrap();
        assert!(d.minor_faults.unwrap() > 10, "{d:?}");
        assert!(after.peak_resident.unwrap() >= 32 << 20);
        drop(memory);
    }

    #[test]
    fn another_process_of_the_same_number_is_not_the_same() {
        let before = ProcessSample::read().unwrap();
        let after = ProcessSample { started: before.started + 1, ..before.clone() };
        assert_eq!(delta(&before, &after), None);
    }

    #[test]
    fn a_process_that_is_not_there_is_missing() {
        assert!(ProcessSample::of(i32::MAX).is_err());
        assert!(ProcessSample::thread(std::process::id() as i32, i32::MAX).is_err());
    }
}
