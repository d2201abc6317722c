//! What /proc tells of threads that live: their names and times, and whose children they are.

use std::time::Duration;

use procfs::process::{Process, Task};
use tollway_core::Missing;

/// A thread's life so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Life {
    /// Its name.
    pub name: String,
    /// It is the kernel's own in the process of a program.
    pub is_kernel_worker: bool,
    /// Page faults without a disk, and with one.
    pub minor: u64,
    pub major: u64,
    /// Switches because it had to wait, and although it had work.
    pub voluntary: u64,
    pub involuntary: u64,
    /// Calls that read or write.
    pub moved: u64,
    /// Processor time as ticks found it, and exactly.
    pub user: Duration,
    pub system: Duration,
    pub ran: Duration,
}

/// A process' threads, with its children's and theirs where these are asked for: the numbers of each and its process.
pub(crate) fn threads_of(process: u32, children: bool) -> Vec<(u32, u32)> {
    let mut threads = Vec::new();
    let mut waiting = vec![process];
    while let Some(process) = waiting.pop() {
        let Some(tasks) = known(process).and_then(|known| known.tasks().ok()) else { continue };
        for task in tasks.flatten() {
            threads.push((task.tid as u32, process));
            if children {
                waiting.extend(task.children().unwrap_or_default());
            }
        }
    }
    threads
}

/// A thread's life so far, if it still lives.
pub(crate) fn life_of(thread: u32, process: u32) -> Option<Life> {
    let task: Task = known(process)?.task_from_tid(i32::try_from(thread).ok()?).ok()?;
    let stat = task.stat().ok()?;
    let tick = Duration::from_secs(1) / u32::try_from(procfs::ticks_per_second()).ok()?;
    let ticks = |count: u64| tick * u32::try_from(count).unwrap_or(u32::MAX);
    let status = task.status().ok();
    let switches =
        |of: fn(&procfs::process::Status) -> Option<u64>| status.as_ref().and_then(of).unwrap_or_default();
    Some(Life {
        voluntary: switches(|status| status.voluntary_ctxt_switches),
        involuntary: switches(|status| status.nonvoluntary_ctxt_switches),
        moved: task.io().map(|io| io.syscr + io.syscw).unwrap_or_default(),
        minor: stat.minflt,
        major: stat.majflt,
        user: ticks(stat.utime),
        system: ticks(stat.stime),
        ran: task.schedstat().map(|stat| Duration::from_nanos(stat.sum_exec_runtime)).unwrap_or_default(),
        is_kernel_worker: is_kernel_worker(stat.flags, thread == process),
        name: stat.comm,
    })
}

/// Flags of threads that the kernel makes in the process of a program (include/linux/sched.h): `PF_IO_WORKER`, and since
/// Linux 6.4 `PF_USER_WORKER`, which those of vhost have alone.
const IO_WORKER: u32 = 0x10;
const USER_WORKER: u32 = 0x4000;

/// Whether a thread with these flags is the kernel's own in the process of a program. The first thread of a process never
/// is: older kernels had another meaning for one of the flags.
pub(crate) fn is_kernel_worker(flags: u32, is_first: bool) -> bool {
    !is_first && flags & (IO_WORKER | USER_WORKER) != 0
}

/// Whether the numbers that /proc has are those of this process' PID namespace: it may be mounted for another
/// one, and tell of others under the same numbers.
pub fn is_proc_own() -> bool {
    let own = std::fs::read_link("/proc/self").ok();
    own.is_some_and(|own| own.to_str() == Some(std::process::id().to_string().as_str()))
}

/// Who is to be watched while it runs has to be found there.
///
/// # Errors
/// [`Missing`] with what is to be done.
pub fn has_own_proc(process: u32) -> Result<(), Missing> {
    if is_proc_own() {
        return Ok(());
    }
    Err(Missing::new(
        format!("process {process}"),
        "/proc is of another PID namespace, whose numbers are others, or is not mounted",
        "mount that of this namespace (`unshare --pid --fork --mount-proc`, or mount -t proc proc /proc)",
    ))
}

/// The processor time of a thread of this process, without /proc: by the clock of its number
/// (include/linux/posix-timers_types.h, CPUCLOCK_PERTHREAD and CPUCLOCK_SCHED).
pub(crate) fn clock_of(thread: u32) -> Option<Duration> {
    let clock = !thread.cast_signed() << 3 | 4 | 2;
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the kernel writes one `timespec`, which is ours.
    let result = unsafe { libc::clock_gettime(clock, &raw mut time) };
    (result == 0).then(|| Duration::new(time.tv_sec as u64, time.tv_nsec as u32))
}

fn known(process: u32) -> Option<Process> {
    if !is_proc_own() {
        return None;
    }
    Process::new(i32::try_from(process).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_its_threads_and_a_life() {
        let me = std::process::id();
        let (end, ends) = std::sync::mpsc::channel::<()>();
        let other = std::thread::spawn(move || ends.recv().is_ok());
        let threads = threads_of(me, false);
        assert!(threads.len() >= 2 && threads.contains(&(me, me)), "{threads:?}");
        let life = life_of(me, me).unwrap();
        assert!(!life.name.is_empty() && life.minor > 10 && life.ran > Duration::ZERO, "{life:?}");
        assert_eq!(life_of(me, 1 << 22), None);
        let clock = clock_of(me).unwrap();
        assert!(
            clock > Duration::ZERO && clock.abs_diff(life_of(me, me).unwrap().ran) < life.ran,
            "{clock:?}"
        );
        assert_eq!(clock_of(1 << 22), None);
        assert!(is_proc_own());
        drop(end);
        assert!(!other.join().unwrap());
    }
}
