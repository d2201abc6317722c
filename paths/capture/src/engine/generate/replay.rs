//! The frames of a capture file, sent as they are, at the gaps with which they were captured.

use std::fmt;

use tollway_core::Ticks;
use tollway_wire::send::SLOT;

use super::pace::Due;
use super::{Ended, GenerateError, Stamp};
use crate::engine::file::{Captured, Reader};
use crate::engine::{LinkType, Timestamp};

/// When the frames of a file are due.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ReplayPace {
    /// At their gaps, times a factor: 1 as captured, 0.5 twice as fast. A frame stamped earlier than the one before it is
    /// due with that one.
    Gaps(f64),
    /// At so many frames per second, whatever their gaps were.
    Rate(f64),
    /// As fast as the interface takes them.
    FullSpeed,
}

/// A frame that was captured: when, where that was written; how many bytes of it there are and were, what it begins with.
pub(super) struct Frame {
    captured: Option<Timestamp>,
    kept: usize,
    whole: usize,
    link: Option<LinkType>,
}

/// Frames that were captured, one after the other.
pub(super) trait Recorded {
    /// The next; `None` after the last. As much of it as there is room for goes into `room`.
    ///
    /// # Errors
    /// What is wrong from here on, with its place.
    fn next(&mut self, room: &mut [u8]) -> Result<Option<Frame>, String>;
}

impl Recorded for Reader {
    fn next(&mut self, room: &mut [u8]) -> Result<Option<Frame>, String> {
        let Some(Captured { packet, interface, has_time }) = Reader::next(self).map_err(|e| e.to_string())?
        else {
            return Ok(None);
        };
        let (captured, kept) = (has_time.then_some(packet.timestamp), packet.bytes.len());
        let whole = kept.max(packet.wire_length as usize);
        let copied = kept.min(room.len());
        room[..copied].copy_from_slice(&packet.bytes[..copied]);
        Ok(Some(Frame { captured, kept, whole, link: self.link_type(interface) }))
    }
}

/// The shortest that has a whole header.
const SHORTEST: usize = 14;

/// Sends what was recorded.
pub(super) struct Replay<R> {
    from: R,
    clock: Mapping,
    /// The longest frame that the interface takes.
    most: usize,
    next: Box<[u8; SLOT]>,
    length: usize,
    due: Option<Ticks>,
    ended: Option<String>,
    skipped: u64,
    padded: u64,
}

/// From times of capture to ticks after the start.
#[derive(Debug)]
struct Mapping {
    pace: ReplayPace,
    hz: f64,
    /// When the first was captured, in nanoseconds since 1970.
    first: Option<u64>,
    frames: u64,
    last: Ticks,
}

impl Mapping {
    fn due(&mut self, captured: u64) -> Ticks {
        let first = *self.first.get_or_insert(captured);
        let due = match self.pace {
            ReplayPace::FullSpeed => 0,
            // Of the frame's own number, so nothing adds up.
            ReplayPace::Rate(rate) => (self.frames as f64 * self.hz / rate) as Ticks,
            ReplayPace::Gaps(factor) => {
                (captured.saturating_sub(first) as f64 * factor * self.hz / 1e9) as Ticks
            }
        };
        self.frames += 1;
        self.last = due.max(self.last);
        self.last
    }
}

impl<R> fmt::Debug for Replay<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replay").field("clock", &self.clock).field("due", &self.due).finish_non_exhaustive()
    }
}

impl<R: Recorded> Replay<R> {
    /// Reads as far as the first frame that can be sent.
    pub(super) fn of(from: R, pace: ReplayPace, hz: f64, most: usize) -> Result<Self, GenerateError> {
        let proper = match pace {
            ReplayPace::Gaps(factor) => (0.0..=1e6).contains(&factor),
            ReplayPace::Rate(rate) => (1e-3..=1e9).contains(&rate),
            ReplayPace::FullSpeed => true,
        };
        if !proper {
            return Err(GenerateError::input(
                format!("a replay at {pace:?}"),
                "nothing can be sent at it",
                "give gaps times 0 to 1e6, or 0.001 to 1e9 frames/s",
            ));
        }
        let clock = Mapping { pace, hz, first: None, frames: 0, last: 0 };
        let (next, most) = (Box::new([0; SLOT]), most.min(SLOT));
        let mut replay =
            Replay { from, clock, most, next, length: 0, due: None, ended: None, skipped: 0, padded: 0 };
        replay.advance();
        match replay.ended.take() {
            Some(reason) if replay.due.is_none() => Err(GenerateError::Replay(reason)),
            None if replay.due.is_none() => Err(GenerateError::Replay(match replay.skipped {
                0 => "it has no packets".into(),
                skipped => {
                    format!("of its {skipped} packets none has from {SHORTEST} to {} bytes", replay.most)
                }
            })),
            ended => Ok(Replay { ended, ..replay }),
        }
    }

    /// Takes the next frame that can be sent out of the record.
    fn advance(&mut self) {
        self.due = None;
        loop {
            let Frame { captured, kept, whole, link } = match self.from.next(&mut self.next[..]) {
                Ok(Some(found)) => found,
                Ok(None) => return,
                Err(reason) => {
                    self.ended = Some(reason);
                    return;
                }
            };
            if link != Some(LinkType::ETHERNET) {
                let number = link.map_or("unknown".into(), |link| link.0.to_string());
                self.ended = Some(format!("its frames have no Ethernet header: their link type is {number}"));
                return;
            }
            if kept < SHORTEST || whole > self.most {
                self.skipped += 1;
                continue;
            }
            if captured.is_none() && matches!(self.clock.pace, ReplayPace::Gaps(_)) {
                let number = self.clock.frames + self.skipped + 1;
                self.ended = Some(format!(
                    "its packet {number} has no time (pcapng's simple packets have none), so there is no gap to send it after: give a --rate"
                ));
                return;
            }
            self.padded += u64::from(whole > kept);
            self.next[kept..whole].fill(0);
            self.length = whole;
            self.due = Some(self.clock.due(captured.unwrap_or_default().0));
            return;
        }
    }
}

impl<R: Recorded> Due for Replay<R> {
    #[inline]
    fn due(&self) -> Option<Ticks> {
        self.due
    }

    #[inline]
    fn write(&mut self, slot: &mut [u8], _: &Stamp) -> usize {
        let length = self.length;
        slot[..length].copy_from_slice(&self.next[..length]);
        self.advance();
        length
    }

    fn ended(&mut self) -> Ended {
        self.ended.take().map_or(Ended::Done, Ended::Damaged)
    }

    fn altered(&self) -> (u64, u64) {
        (self.skipped, self.padded)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When a frame was captured that has no time.
    const TIMELESS: u64 = u64::MAX;

    /// Frames in memory: when captured, bytes kept, bytes on the wire.
    struct Tape(std::vec::IntoIter<(u64, usize, u32)>, LinkType);

    impl Recorded for Tape {
        fn next(&mut self, room: &mut [u8]) -> Result<Option<Frame>, String> {
            match self.0.next() {
                Some((0, ..)) => Err("offset 99: damaged".into()),
                Some((at, kept, wire_length)) => {
                    let copied = kept.min(room.len());
                    room[..copied].fill(7);
                    let whole = kept.max(wire_length as usize);
                    let captured = (at != TIMELESS).then_some(Timestamp(at));
                    Ok(Some(Frame { captured, kept, whole, link: Some(self.1) }))
                }
                None => Ok(None),
            }
        }
    }

    fn replay(frames: Vec<(u64, usize, u32)>, pace: ReplayPace) -> Replay<Tape> {
        Replay::of(Tape(frames.into_iter(), LinkType::ETHERNET), pace, 2e9, 1514).unwrap()
    }

    fn dues(mut replay: Replay<Tape>) -> (Vec<(Ticks, usize)>, (u64, u64), Ended) {
        let mut dues = Vec::new();
        let mut slot = [1; SLOT];
        while let Some(due) = replay.due() {
            let length = replay.write(&mut slot, &Stamp { number: 0, time: 0 });
            dues.push((due, length));
        }
        (dues, replay.altered(), replay.ended())
    }

    #[test]
    fn gaps_are_those_of_the_capture_times_a_factor() {
        let frames = vec![(1_000, 60, 60), (1_500, 60, 60), (1_400, 60, 60), (3_000, 60, 60)];
        let at = |pace| dues(replay(frames.clone(), pace)).0.iter().map(|d| d.0).collect::<Vec<_>>();
        assert_eq!(at(ReplayPace::Gaps(1.0)), [0, 1000, 1000, 4000]);
        assert_eq!(at(ReplayPace::Gaps(0.5)), [0, 500, 500, 2000]);
        assert_eq!(at(ReplayPace::Rate(1e6)), [0, 2000, 4000, 6000]);
        assert_eq!(at(ReplayPace::FullSpeed), [0, 0, 0, 0]);
    }

    #[test]
    fn what_cannot_be_sent_is_counted_and_what_is_cut_is_filled_up() {
        let frames =
            vec![(5, 13, 13), (6, 60, 100), (7, 1515, 1515), (8, 60, 9000), (9, 1514, 1514), (9, 14, 14)];
        let mut tape = replay(frames, ReplayPace::FullSpeed);
        let mut slot = [1; SLOT];
        assert_eq!(tape.write(&mut slot, &Stamp { number: 0, time: 0 }), 100);
        assert!(slot[..60] == [7; 60] && slot[60..100] == [0; 40] && slot[100] == 1);
        let (rest, altered, ended) = dues(tape);
        assert_eq!((rest.len(), altered), (2, (3, 1)));
        assert!(matches!(ended, Ended::Done));
    }

    #[test]
    fn damage_ends_it_after_what_came_before() {
        let (sent, _, ended) = dues(replay(vec![(5, 60, 60), (6, 60, 60), (0, 0, 0)], ReplayPace::FullSpeed));
        assert_eq!(sent.len(), 2);
        assert!(matches!(ended, Ended::Damaged(reason) if reason.contains("offset 99")));
        let empty = Replay::of(
            Tape(vec![(0, 0, 0)].into_iter(), LinkType::ETHERNET),
            ReplayPace::FullSpeed,
            2e9,
            1514,
        );
        assert!(empty.err().unwrap().to_string().contains("offset 99"));
        let raw = Tape(vec![(1, 60, 60)].into_iter(), LinkType::RAW);
        let error = Replay::of(raw, ReplayPace::FullSpeed, 2e9, 1514).err().unwrap();
        assert!(error.to_string().contains("link type is 101"), "{error}");
    }

    #[test]
    fn a_file_of_which_nothing_can_be_sent_is_refused() {
        for (frames, says) in [(vec![], "it has no packets"), (vec![(5, 13, 13)], "of its 1 packets none")] {
            let tape = Tape(frames.into_iter(), LinkType::ETHERNET);
            let error = Replay::of(tape, ReplayPace::FullSpeed, 2e9, 1514).err().unwrap().to_string();
            assert!(error.contains(says), "{error}");
        }
    }

    #[test]
    fn a_frame_without_a_time_has_no_gap() {
        let frames = vec![(5, 60, 60), (TIMELESS, 60, 60), (7, 60, 60)];
        let (sent, _, ended) = dues(replay(frames.clone(), ReplayPace::Gaps(1.0)));
        assert_eq!(sent.len(), 1);
        let Ended::Damaged(reason) = ended else { panic!("{ended:?}") };
        assert!(reason.contains("its packet 2 has no time") && reason.contains("--rate"), "{reason}");
        let first = Tape(Vec::from(&frames[1..]).into_iter(), LinkType::ETHERNET);
        let error = Replay::of(first, ReplayPace::Gaps(1.0), 2e9, 1514).err().unwrap().to_string();
        assert!(error.contains("its packet 1 has no time"), "{error}");
        for pace in [ReplayPace::Rate(1e3), ReplayPace::FullSpeed] {
            assert_eq!(dues(replay(frames.clone(), pace)).0.len(), 3);
        }
    }

    #[test]
    fn paces_that_are_none_are_refused() {
        for pace in [
            ReplayPace::Gaps(-1.0),
            ReplayPace::Gaps(f64::NAN),
            ReplayPace::Rate(0.0),
            ReplayPace::Rate(f64::INFINITY),
        ] {
            let tape = Tape(vec![(1, 60, 60)].into_iter(), LinkType::ETHERNET);
            assert!(Replay::of(tape, pace, 2e9, 1514).is_err(), "{pace:?}");
        }
    }
}
