//! Counts that were made in slices of time: how often what was counted really happened.

use crate::kernel::Cost;
use crate::{Counts, FileKind};

/// Seconds of processor time without which a share of it says nothing.
const FEW: f64 = 0.005;

impl Counts {
    /// How often what was counted really happened: more often, where it was counted in slices of time. What a program does goes by the time that it runs, less
    /// what counting takes of that: while it is counted it does less in a second.
    pub fn scale(&self, cost: Cost) -> f64 {
        if !self.is_sliced() {
            return 1.0;
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
