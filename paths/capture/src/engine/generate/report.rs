//! What a generator did, against what it was to do.

use std::time::Duration;

use hdrhistogram::Histogram;
use tollway_core::Ticks;
use tollway_host::gap::Gaps;
use tollway_wire::WireError;

/// A distribution of errors, in nanoseconds. What there are too few of to tell is `None`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Errors {
    /// Half of them are below: of two or more.
    pub p50: Option<f64>,
    /// 99 of a hundred are below: of a hundred or more.
    pub p99: Option<f64>,
    /// The largest.
    pub max: Option<f64>,
}

/// Why a generator stopped.
#[derive(Debug)]
pub enum Ended {
    /// All frames that were asked for are sent, or the file is at its end.
    Done,
    /// The time is over.
    TimeOver,
    /// It was told to stop.
    Stopped,
    /// The interface went down or away, or takes no such frame.
    Lost(WireError),
    /// The file that was replayed is damaged from here on; what came before was sent.
    Damaged(String),
}

/// What was sent, and how well it kept to its schedule.
///
/// A moment of sending is the reading of the clock before the system call that hands the frame over. Frames that were due
/// in the past go in one call, so their gaps are 0; the kernel sends them one after the other.
#[derive(Debug)]
pub struct Report {
    /// The interface's name.
    pub interface: String,
    /// The interface's number.
    pub index: u32,
    /// Frames that the kernel took.
    pub sent: u64,
    /// Bytes of those, without check sequences.
    pub bytes: u64,
    /// Frames that the kernel refused with ENOBUFS while the interface had no carrier: its other end was down.
    pub no_carrier: u64,
    /// Frames that it refused with ENOBUFS for another reason, mostly a full queue of the device.
    pub no_buffers: u64,
    /// The same with EAGAIN: the socket's memory was in flight.
    pub try_again: u64,
    /// Calls by [`Method::Ring`](super::Method) that the kernel refused. Their frames went later, or count as refused at the
    /// end; gaps and lateness do not tell of the delay.
    pub put_off: u64,
    /// Frames of a file that could not be sent: shorter than an Ethernet header, or longer than the interface takes.
    pub skipped: u64,
    /// Frames of a file that were cut short when captured, and sent with zeros in place of what is missing.
    pub padded: u64,
    /// From the first frame's moment to the last's.
    pub elapsed: Duration,
    /// Frames per second that the kernel took, from the first's moment to the last's; `None` for fewer than two.
    pub rate: Option<f64>,
    /// How far that is from the schedule's rate, relative (0.001: 0.1 % faster), so frames refused make it slower; `None`
    /// where the schedule gives frames no time (full speed) or there are fewer than two.
    pub rate_error: Option<f64>,
    /// How far gaps between two frames were from the schedule's, more or less.
    pub gap_errors: Errors,
    /// How long after it was due a frame was handed over.
    pub lateness: Errors,
    /// Time that was taken from the sender while it waited, as gaps of more than 2 µs between readings of the clock. What
    /// was taken while it was in the kernel is not in it.
    pub preempted: Gaps,
    /// Processor time of the sending thread, waiting included.
    pub processor: Duration,
    /// System calls made for sending.
    pub calls: u64,
    /// Ticks per second of the clock, by which nanoseconds were reckoned.
    pub hz: f64,
    /// Why it stopped.
    pub ended: Ended,
}

impl Report {
    /// Frames that the kernel refused.
    pub fn refused(&self) -> u64 {
        self.no_carrier + self.no_buffers + self.try_again
    }
}

/// Collects errors while frames are sent; does not allocate.
pub(super) struct Punctuality {
    gap_errors: Histogram<u64>,
    lateness: Histogram<u64>,
    frames: u64,
    first: (Ticks, Ticks),
    last: (Ticks, Ticks),
}

impl Punctuality {
    pub(super) fn new() -> Punctuality {
        // Up to 2^40 ticks, some minutes; three digits.
        let empty = || Histogram::new_with_bounds(1, 1 << 40, 3).expect("the bounds are constants it takes");
        Punctuality { gap_errors: empty(), lateness: empty(), frames: 0, first: (0, 0), last: (0, 0) }
    }

    /// A frame that was due at one moment and handed over at another, not before.
    #[inline]
    pub(super) fn frame(&mut self, due: Ticks, sent: Ticks) {
        let late = sent.saturating_sub(due);
        self.lateness.saturating_record(late);
        if self.frames == 0 {
            self.first = (due, sent);
        } else {
            let before = self.last.1.saturating_sub(self.last.0);
            self.gap_errors.saturating_record(late.abs_diff(before));
        }
        self.last = (due, sent);
        self.frames += 1;
    }

    pub(super) fn gap_errors(&self, hz: f64) -> Errors {
        errors(&self.gap_errors, hz)
    }

    pub(super) fn lateness(&self, hz: f64) -> Errors {
        errors(&self.lateness, hz)
    }

    pub(super) fn elapsed(&self, hz: f64) -> Duration {
        Duration::from_secs_f64((self.last.1 - self.first.1) as f64 / hz)
    }

    /// Of the frames that the kernel took.
    pub(super) fn rate(&self, taken: u64, hz: f64) -> Option<f64> {
        let ticks = self.last.1 - self.first.1;
        (taken > 1 && ticks > 0).then(|| (taken - 1) as f64 / (ticks as f64 / hz))
    }

    /// Of the frames that the kernel took, against all that were due in the same time.
    pub(super) fn rate_error(&self, taken: u64) -> Option<f64> {
        let (due, sent) = (self.last.0 - self.first.0, self.last.1 - self.first.1);
        let share = taken.saturating_sub(1) as f64 / self.frames.saturating_sub(1) as f64;
        (taken > 1 && due > 0 && sent > 0).then(|| share * due as f64 / sent as f64 - 1.0)
    }
}

fn errors(of: &Histogram<u64>, hz: f64) -> Errors {
    let of_at_least = |count: u64, quantile: f64| {
        (of.len() >= count).then(|| of.value_at_quantile(quantile) as f64 / hz * 1e9)
    };
    Errors { p50: of_at_least(2, 0.5), p99: of_at_least(100, 0.99), max: of_at_least(1, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_too_few_tell_is_not_told() {
        let after = |frames: u64| {
            let mut punctuality = Punctuality::new();
            (0..frames).for_each(|number| punctuality.frame(number * 1000, number * 1000 + 8));
            (punctuality.lateness(1e9), punctuality.gap_errors(1e9))
        };
        assert_eq!(after(0), (Errors::default(), Errors::default()));
        assert_eq!(after(1).0, Errors { max: Some(8.0), ..Errors::default() });
        assert_eq!(after(1).1, Errors::default());
        assert_eq!(after(99).0, Errors { p50: Some(8.0), p99: None, max: Some(8.0) });
        assert_eq!(after(100).0, Errors { p50: Some(8.0), p99: Some(8.0), max: Some(8.0) });
        assert_eq!(after(100).1.p99, None);
    }
}
