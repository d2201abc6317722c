//! What a bound on time is of, in a test, so that nothing else that the machine does is in it.

use std::fs;
use std::time::Duration;

/// Processor time of this thread so far: the first number of its schedstat (Documentation/scheduler/sched-stats.rst).
pub fn processor_time() -> Duration {
    let stat = fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    Duration::from_nanos(stat.split(' ').next().unwrap().parse().unwrap())
}
