//! How long packets are on their way: one in some hundred is timed.
//!
//! All of its times are of one clock (CLOCK_REALTIME): the generator's, which is in the frame, the kernel's at the tap, and
//! ours when a read hands its first packet over and when the application looks at this one.

use tollway_core::{Recorder, Tally};

use crate::engine::generate::Stamp;
use crate::engine::in_process::Clock;
use crate::engine::{Packet, Timestamp};

/// A packet in so many is timed, on average. Reading the clock costs some 60 cycles.
const ONE_IN: u64 = 128;

/// From so many packets a read on, its beginning is always asked for: it costs each of them little.
const MANY: u64 = 16;

/// In shorter reads only where the packet to be timed may come: in so many times the packets of the read before, and so
/// many more. A packet of a read that brings still more goes untimed.
const TIMES: u64 = 4;

/// Bits of the time in a frame.
const TIME: u64 = (1 << 48) - 1;

/// The stages, in order.
const STAGES: [&str; 4] = ["sent to tap", "tap to read", "read to application", "sent to application"];

pub(super) struct Latency {
    clock: Clock,
    /// Ticks of the run's clock in a nanosecond.
    ticks: f64,
    /// Whether the kernel stamps packets; without it the first two stages are one.
    stamped: bool,
    /// Whether what is timed is kept.
    pub(super) on: bool,
    /// Packets until something is to be done: the only thing that every packet pays for.
    left: u64,
    /// The packet to be timed, counted from 1.
    next: u64,
    random: u64,
    /// Packets before this read.
    seen: u64,
    /// Whether its first packet is to be stamped, and its stamp.
    awaited: bool,
    read: Option<Timestamp>,
    stages: [Recorder; 4],
}

impl Latency {
    pub(super) fn new(clock: Clock, ticks: f64, stamped: bool) -> Latency {
        Latency {
            clock,
            ticks,
            stamped,
            on: false,
            left: ONE_IN,
            next: ONE_IN,
            random: 0x9e37_79b9_7f4a_7c15,
            seen: 0,
            awaited: false,
            read: None,
            stages: std::array::from_fn(|_| Recorder::new()),
        }
    }

    /// A read begins, when so many packets were seen.
    #[inline]
    pub(super) fn begin(&mut self, seen: u64) {
        let before = seen - self.seen;
        if before == 0 && self.awaited {
            return;
        }
        self.seen = seen;
        self.read = None;
        self.awaited = before >= MANY || seen + TIMES * (before + 1) >= self.next;
        self.left = if self.awaited { 1 } else { self.next - seen };
    }

    /// The application is about to look at a packet.
    #[inline]
    pub(super) fn see(&mut self, packet: &Packet<'_>) {
        self.left -= 1;
        if self.left == 0 {
            self.due(packet);
        }
    }

    #[cold]
    fn due(&mut self, packet: &Packet<'_>) {
        let mut at = self.next;
        if self.awaited {
            (self.awaited, self.read) = (false, Some(self.clock.now()));
            at = self.seen + 1;
        }
        if at == self.next {
            self.time(packet);
            // Marsaglia's xorshift (2003): between half and one and a half times the distance, so that no pattern of
            // reads keeps step with it.
            self.random ^= self.random << 13;
            self.random ^= self.random >> 7;
            self.random ^= self.random << 17;
            self.next += ONE_IN / 2 + self.random % ONE_IN;
        }
        self.left = self.next - at;
    }

    fn time(&mut self, packet: &Packet<'_>) {
        let (Some(read), true) = (self.read, self.on) else { return };
        let Some(sent) = Stamp::read(packet.bytes) else { return };
        let now = self.clock.now();
        let ticks = self.ticks;
        let mut record = |stage: usize, ns: u64| self.stages[stage].sample((ns as f64 * ticks) as u64);
        // The frame has the lower bits of its time only.
        let since = |earlier: u64, later: Timestamp| later.0.wrapping_sub(earlier) & TIME;
        if self.stamped {
            record(0, since(sent.time, packet.timestamp));
            record(1, read.0.saturating_sub(packet.timestamp.0));
        } else {
            record(1, since(sent.time, read));
        }
        record(2, now.0.saturating_sub(read.0));
        record(3, since(sent.time, now));
    }

    /// The stages that were timed, added to a tally.
    pub(super) fn told(&self, tally: Tally) -> Tally {
        STAGES.iter().zip(&self.stages).enumerate().fold(tally, |tally, (i, (name, recorder))| {
            let spread = recorder.spread();
            let name = if i == 1 && !self.stamped { "sent to read" } else { name };
            if spread.ops == 0 { tally } else { tally.stage(name, spread) }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::generate::{Frames, Group, HEAD, Size, Sizes, Transport};
    use crate::engine::in_process::ClockKind;

    /// Reads of so many packets each, sent 5 µs before the tap and read at once: what was timed.
    fn timed(reads: &[u64]) -> Tally {
        let sizes = Sizes::Fixed(Size::new(64).unwrap());
        let mut frames = Frames::new(&Group::v4(Transport::Tcp).into(), &sizes, 1).unwrap();
        let mut clock = Clock::new(ClockKind::Vdso).unwrap();
        let mut latency = Latency::new(Clock::new(ClockKind::Vdso).unwrap(), 1.0, true);
        latency.on = true;
        let mut frame = vec![0; HEAD.max(60)];
        let mut seen = 0;
        for read in reads {
            latency.begin(seen);
            for _ in 0..*read {
                let tap = clock.now();
                frames.write(&mut frame, &Stamp::new(seen, Timestamp(tap.0 - 5_000)));
                latency.see(&Packet { timestamp: tap, bytes: &frame[..60], wire_length: 60 });
                seen += 1;
            }
        }
        latency.told(Tally::default())
    }

    #[test]
    fn one_in_128_is_timed_however_many_a_read_brings() {
        for reads in [vec![1; 100_000], vec![7; 14_000], vec![64; 1600], vec![2000; 50], [1, 300].repeat(330)]
        {
            let packets: u64 = reads.iter().sum();
            let tally = timed(&reads);
            let names: Vec<&str> = tally.stages.iter().map(|s| s.name.as_str()).collect();
            assert_eq!(names, STAGES);
            let [sent, .., whole] = &tally.stages[..] else { panic!("{names:?}") };
            let expected = packets as f64 / ONE_IN as f64;
            let timed = whole.spread.samples() as f64;
            // Where reads of one and of hundreds take turns, the long ones come unforeseen.
            let least = if reads[0] == reads[1] { 0.9 } else { 0.01 };
            assert!((least..1.1).contains(&(timed / expected)), "{timed} of {expected}, {:?}", &reads[..2]);
            // A histogram knows a time to a thousandth.
            assert!(sent.spread.quantile(0.5).is_some_and(|ns| (4_990.0..5_010.0).contains(&ns)));
            assert!(whole.spread.mean() >= sent.spread.mean());
        }
    }

    #[test]
    fn nothing_is_kept_before_it_is_on_and_reads_that_bring_nothing_change_nothing() {
        let mut latency = Latency::new(Clock::new(ClockKind::Vdso).unwrap(), 1.0, true);
        let packet = Packet { timestamp: Timestamp(1), bytes: &[0; 60], wire_length: 60 };
        for seen in 0..10_000 {
            latency.begin(seen);
            latency.begin(seen);
            latency.see(&packet);
        }
        assert_eq!(latency.told(Tally::default()), Tally::default());
    }
}
