//! What is estimated of slices of time, what watching costs, crowds that take all processors, and what
//! watchers leave behind. Each test has the process to itself, and
//! the machine but for other programs: estimates are worse where two programs are watched at once, and whose
//! descriptors and threads are counted must be known.

use std::fs;
use std::sync::{Mutex, MutexGuard, PoisonError};

#[path = "../common/mod.rs"]
mod common;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
#[path = "../common/kernel.rs"]
mod kernel;
mod kernel_again;
mod kernel_cost;
mod kernel_crowds;
mod kernel_moments;
mod kernel_slices;
#[path = "../../../host/testing/pause.rs"]
mod pause;
#[path = "../../../host/testing/quiet.rs"]
mod quiet;
mod traced_again;

/// One test after the other, also behind one that failed.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How many descriptors and threads this process has, but for threads of tests that wait for their turn:
/// these are named after their tests.
fn own() -> (usize, usize) {
    let name = |task: &str| fs::read_to_string(format!("/proc/self/task/{task}/comm")).unwrap_or_default();
    let tasks = fs::read_dir("/proc/self/task").unwrap().flatten();
    let names = tasks.map(|task| name(&task.file_name().to_string_lossy()));
    let me = fs::read_to_string("/proc/thread-self/comm").unwrap();
    let threads = names.filter(|name| *name == me || !name.contains(':')).count();
    (fs::read_dir("/proc/self/fd").unwrap().count(), threads)
}
