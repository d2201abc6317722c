//! Threads that the kernel has in the processes of traced programs. They have no calls to be traced: what they do is read
//! from /proc.

use std::collections::BTreeMap;
use std::time::Duration;

use procfs::process::{Process, Task};

use crate::Thread;
use crate::living::is_kernel_worker;

/// Those that were seen, by process, number and start.
#[derive(Default)]
pub(super) struct Workers(BTreeMap<(u32, u32, u64), Worker>);

struct Worker {
    name: String,
    /// Processor time that it had when it was first watched, and when it was looked at last.
    before: Duration,
    ran: Duration,
}

impl Workers {
    /// Looks at those of a process; `is_traced` are others. What they did before counts only where they `are_new`.
    pub(super) fn look(&mut self, process: u32, is_traced: impl Fn(u32) -> bool, are_new: bool) {
        let known = i32::try_from(process).ok().and_then(|number| Process::new(number).ok());
        let tasks = known.and_then(|known| known.tasks().ok()).into_iter().flatten().flatten();
        for task in tasks.filter(|task| !is_traced(task.tid as u32)) {
            self.look_at(process, &task, are_new);
        }
    }

    fn look_at(&mut self, process: u32, task: &Task, are_new: bool) {
        let (number, Ok(stat)) = (task.tid as u32, task.stat()) else { return };
        let Ok(schedstat) = task.schedstat() else { return };
        if !is_kernel_worker(stat.flags, number == process) {
            return;
        }
        let ran = Duration::from_nanos(schedstat.sum_exec_runtime);
        let before = if are_new { Duration::ZERO } else { ran };
        let worker = Worker { name: String::new(), before, ran };
        let known = self.0.entry((process, number, stat.starttime)).or_insert(worker);
        (known.name, known.ran) = (stat.comm, ran);
    }

    /// As threads of the program.
    pub(super) fn threads(&self) -> impl Iterator<Item = Thread> {
        self.0.iter().map(|((process, number, _), worker)| {
            let ran = worker.ran.saturating_sub(worker.before);
            Thread {
                number: *number,
                process: *process,
                name: worker.name.clone(),
                is_kernel_worker: true,
                user: Some(Duration::ZERO),
                system: Some(ran),
                ran: Some(ran),
                ..Thread::default()
            }
        })
    }
}
