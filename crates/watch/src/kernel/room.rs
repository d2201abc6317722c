//! By when those who have ended are to be removed, for others to have room.
//!
//! The kernel frees many tasks at once, some milliseconds after their ends, and none for as long: how fast
//! threads end is what the last look found, and never thought to
//! become slower by more than half from one to the next.

use std::time::{Duration, Instant};

use super::maps::SLOTS;

/// As many may end until it is looked again.
const ENDS: u32 = SLOTS / 8;

pub(super) struct Room {
    /// The longest between two looks.
    longest: Duration,
    /// When those who had ended were removed last.
    looked: Instant,
    /// How long it takes until another one ends.
    each: Duration,
    due: Instant,
}

impl Room {
    pub(super) fn new(now: Instant, longest: Duration) -> Room {
        Room { longest, looked: now, each: longest, due: now + longest }
    }

    /// So many who had ended were removed now.
    pub(super) fn looked(&mut self, now: Instant, ended: u32) {
        let each = (now - self.looked).div_f64(f64::from(ended.max(1)));
        self.each = each.min(2 * self.each).min(self.longest);
        self.looked = now;
        self.due = now + (self.each * ENDS).min(self.longest);
    }

    /// How long it is until it is to be looked again.
    pub(super) fn left(&self, now: Instant) -> Duration {
        self.due.saturating_duration_since(now)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONGEST: Duration = Duration::from_millis(100);

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    /// Ten times a second was too seldom: of 40,000 threads that lived for microseconds a quarter were in no
    /// count.
    #[test]
    fn the_faster_threads_end_the_sooner_it_is_looked_again() {
        let begun = Instant::now();
        let mut room = Room::new(begun, LONGEST);
        assert_eq!(room.left(begun), LONGEST);
        room.looked(begun + ms(100), 4000);
        // Each 25 µs.
        assert_eq!(room.left(begun + ms(100)), Duration::from_micros(25) * ENDS);
        room.looked(begun + ms(110), 1000);
        assert_eq!(room.left(begun + ms(110)), Duration::from_micros(10) * ENDS);
        assert_eq!(room.left(begun + ms(200)), Duration::ZERO);
    }

    #[test]
    fn one_look_that_finds_none_is_no_calm() {
        let begun = Instant::now();
        let mut room = Room::new(begun, LONGEST);
        room.looked(begun + ms(10), 1000);
        for (look, times) in [(20, 2), (30, 4), (40, 8)] {
            room.looked(begun + ms(look), 0);
            let expected = (Duration::from_micros(10) * times * ENDS).min(LONGEST);
            assert_eq!(room.left(begun + ms(look)), expected);
        }
    }
}
