//! How long round trips took, in stretches: to read the clock at each would cost as much as some of them.

use tollway_core::Clock;
use tollway_host::clock::RunClock;

/// Round trips of a stretch.
const TRIPS: u64 = 256;

/// How long stretches of round trips took.
pub struct Stretches {
    clock: RunClock,
    begun: u64,
    /// Of the stretch that has begun.
    trips: u64,
    ticks: Vec<u64>,
}

impl Stretches {
    /// For about so many round trips. They begin now.
    pub fn begin(trips: u64) -> Stretches {
        let clock = RunClock::chosen();
        let ticks = Vec::with_capacity((trips / TRIPS) as usize + 1);
        Stretches { clock, begun: clock.now(), trips: 0, ticks }
    }

    /// One more has come back.
    #[inline]
    pub fn trip(&mut self) {
        self.trips += 1;
        if self.trips == TRIPS {
            let now = self.clock.now();
            self.ticks.push(now - self.begun);
            (self.begun, self.trips) = (now, 0);
        }
    }

    /// Prints the median and the mean, without the first tenth.
    pub fn print(mut self) {
        let counted = self.ticks.len() / 10;
        let counted = &mut self.ticks[counted..];
        if counted.is_empty() {
            return;
        }
        let mean = counted.iter().sum::<u64>() as f64 / counted.len() as f64;
        counted.sort_unstable();
        let median = counted[counted.len() / 2] as f64;
        println!("median {:.3}\nmean {:.3}", median / TRIPS as f64, mean / TRIPS as f64);
    }
}
