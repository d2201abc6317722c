//! Counts that were made in slices of time: how often what was counted really happened.

use crate::kernel::Cost;
use crate::{Counts, FileKind, Thread};

/// Seconds of processor time without which a share of it says nothing.
const FEW: f64 = 0.005;

/// Reads, writes and switches in slices without which their number says little: by these it is known to some 5 %.
const ENOUGH: u64 = 500;

/// How many reads and writes the kernel counts a call as (fs/read_write.c, inc_syscr and inc_syscw).
fn transfers(number: u32) -> u64 {
    match i64::from(number) {
        libc::SYS_read | libc::SYS_pread64 | libc::SYS_readv | libc::SYS_preadv | libc::SYS_preadv2 => 1,
        libc::SYS_write | libc::SYS_pwrite64 | libc::SYS_writev | libc::SYS_pwritev | libc::SYS_pwritev2 => 1,
        libc::SYS_sendfile | libc::SYS_copy_file_range => 2,
        _ => 0,
    }
}

impl Counts {
    /// How often what was counted really happened: more often, where it was counted in slices of time. Reads, writes and switches are counted by the kernel
    /// at all times, so where there are enough of them it is known how many there were; the others are taken to have been in slices as often as these. Where
    /// there are few it goes by the time that the program ran, less what counting took of that: while it is counted it does less in a second. That is
    /// the rougher way: it stands and falls with what counting costs.
    pub fn scale(&self, cost: Cost) -> f64 {
        if !self.is_sliced() {
            return 1.0;
        }
        let part = self.counted_anyway();
        if let Some(all) = self.anyway
            && part >= ENOUGH
        {
            return (all as f64 / part as f64).max(1.0);
        }
        let ran = self.threads.iter().filter_map(|thread| thread.ran);
        let ran: f64 = ran.map(|ran| ran.as_secs_f64()).sum();
        let counted = self.ran_counted.unwrap_or_default().as_secs_f64();
        let cost = self.cost_of_counting(cost);
        let by_time = self.watched.as_secs_f64() / self.counted.as_secs_f64().max(1e-9);
        let (all, part) = (ran - cost, counted - cost);
        // Where it ran too little to say, by the time that went by.
        if counted > FEW && part > 0.1 * counted { (all / part).max(1.0) } else { by_time.max(1.0) }
    }

    /// What we counted of that which the kernel counts at all times.
    fn counted_anyway(&self) -> u64 {
        let of = |thread: &Thread| {
            let transfers: u64 = thread.calls.iter().map(|calls| calls.count * transfers(calls.number)).sum();
            transfers + thread.moments.voluntary.unwrap_or(0) + thread.moments.involuntary.unwrap_or(0)
        };
        self.threads.iter().map(of).sum()
    }

    /// Processor time of the watched that counting took, in seconds: events × what each adds.
    pub fn cost_of_counting(&self, cost: Cost) -> f64 {
        let (call, on_file) = (cost.call.as_secs_f64(), cost.call_on_file.as_secs_f64());
        let calls = self.threads.iter().flat_map(|thread| &thread.calls);
        let calls: f64 = calls
            .map(|calls| calls.count as f64 * if calls.file.kind == FileKind::None { call } else { on_file })
            .sum();
        let switches = self
            .threads
            .iter()
            .map(|thread| thread.moments.voluntary.unwrap_or(0) + thread.moments.involuntary.unwrap_or(0));
        calls + switches.sum::<u64>() as f64 * on_file
    }

    /// Whether it was counted in slices of time.
    pub fn is_sliced(&self) -> bool {
        self.counted.as_secs_f64() < 0.98 * self.watched.as_secs_f64()
    }
}
