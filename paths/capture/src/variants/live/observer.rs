//! The application of a live capture: looks at each packet, and knows whether each is one that was sent.

use etherparse::{NetHeaders, PacketHeaders, TransportHeader};
use tollway_core::{Error, Result};
use tollway_load::delay;

use crate::engine::Packet;
use crate::engine::generate::{Sequence, Stamp};
use crate::engine::in_process::Application;

/// A packet in so many is kept, to be checked to the last bit once there is time.
const ONE_IN: u64 = 256;

/// The most that are kept: the last of them.
const KEPT: usize = 256;

/// The shortest piece of a frame that has its number: TCP over IPv4, the time behind it.
const NUMBERED: usize = 60;

pub(super) struct Observer {
    application: Application,
    /// Bytes of a frame, and how many of them are to arrive.
    size: u32,
    kept: usize,
    numbers: Sequence,
    /// Packets that have no number, or another length than they should.
    damaged: u64,
    samples: Box<[u8]>,
    sampled: u64,
    /// Steps of a delay for each packet.
    pub(super) steps: u32,
}

impl Observer {
    /// Of frames of `size` bytes, `kept` of which arrive.
    pub(super) fn new(size: usize, kept: usize, steps: u32) -> Observer {
        Observer {
            application: Application::default(),
            size: size as u32,
            kept,
            numbers: Sequence::new(),
            damaged: 0,
            samples: vec![0; kept * KEPT].into(),
            sampled: 0,
            steps,
        }
    }

    /// Packets seen.
    #[inline]
    pub(super) fn packets(&self) -> u64 {
        self.application.packets
    }

    /// Packets that came after a later one.
    pub(super) fn reordered(&self) -> u64 {
        self.numbers.reordered()
    }

    #[inline]
    pub(super) fn look(&mut self, packet: Packet<'_>) {
        self.application.look(packet);
        if packet.bytes.len() != self.kept || packet.wire_length != self.size {
            self.damaged += 1;
            return;
        }
        if self.kept >= NUMBERED {
            match Stamp::read(packet.bytes) {
                Some(stamp) => self.numbers.see(stamp.number),
                None => self.damaged += 1,
            }
        }
        if self.application.packets.is_multiple_of(ONE_IN) {
            self.keep(packet.bytes);
        }
        if self.steps > 0 {
            delay(self.steps);
        }
    }

    #[cold]
    fn keep(&mut self, bytes: &[u8]) {
        let at = self.sampled as usize % KEPT * self.kept;
        self.samples[at..at + self.kept].copy_from_slice(bytes);
        self.sampled += 1;
    }

    /// Whether all that was seen is what was sent.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn verify(&self) -> Result<()> {
        let (packets, numbers) = (self.application.packets, &self.numbers);
        if self.damaged > 0 {
            return Err(Error::Wrong(format!(
                "{} of {packets} packets are no frames that were sent",
                self.damaged
            )));
        }
        if self.kept >= NUMBERED && numbers.received() != packets {
            return Err(Error::Wrong(format!(
                "of {packets} packets {} came once more, and {} too late to tell",
                numbers.repeated(),
                numbers.too_old()
            )));
        }
        let samples = KEPT.min(self.sampled as usize);
        let torn =
            self.samples.chunks_exact(self.kept).take(samples).filter(|frame| !self.is_whole(frame)).count();
        if torn > 0 {
            return Err(Error::Wrong(format!("{torn} of {samples} packets that were kept are torn")));
        }
        Ok(())
    }

    /// Whether its checksums say that a frame is as it was sent. Of one that was cut, only the header has one.
    fn is_whole(&self, frame: &[u8]) -> bool {
        if frame.len() < NUMBERED {
            return true;
        }
        if frame.len() < self.size as usize {
            let header = frame.get(14..34).and_then(|bytes| etherparse::Ipv4Header::from_slice(bytes).ok());
            return header.is_some_and(|(header, _)| header.header_checksum == header.calc_header_checksum());
        }
        let Ok(parts) = PacketHeaders::from_ethernet_slice(frame) else { return false };
        let (Some(NetHeaders::Ipv4(ip, _)), Some(TransportHeader::Tcp(tcp))) = (&parts.net, &parts.transport)
        else {
            return false;
        };
        ip.header_checksum == ip.calc_header_checksum()
            && tcp.calc_checksum_ipv4(ip, parts.payload.slice()) == Ok(tcp.checksum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::Timestamp;
    use crate::engine::generate::{Frames, Group, HEAD, Size, Sizes, Transport};

    /// Frames 0 to 599, of 100 bytes, as they are sent.
    fn sent() -> Vec<Vec<u8>> {
        let sizes = Sizes::Fixed(Size::new(104).unwrap());
        let mut frames = Frames::new(&Group::v4(Transport::Tcp).into(), &sizes, 1).unwrap();
        let frame = |number| {
            let mut frame = vec![0; HEAD.max(100)];
            frames.write(&mut frame, &Stamp { number, time: number * 7 });
            frame.truncate(100);
            frame
        };
        (0..600).map(frame).collect()
    }

    fn seen(frames: &[Vec<u8>], kept: usize) -> Result<()> {
        let mut observer = Observer::new(100, kept, 0);
        for frame in frames {
            let bytes = &frame[..kept.min(frame.len())];
            observer.look(Packet { timestamp: Timestamp(1), bytes, wire_length: 100 });
        }
        observer.verify()
    }

    #[test]
    fn what_was_sent_passes_in_whole_or_cut_with_gaps_and_out_of_turn() {
        for kept in [100, 64, 60, 34, 1] {
            assert_eq!(seen(&sent(), kept), Ok(()), "{kept}");
        }
        let mut some = sent();
        some.drain(7..90);
        some.swap(100, 101);
        assert_eq!(seen(&some, 100), Ok(()));
    }

    #[test]
    fn what_was_not_sent_is_told() {
        let told = |change: fn(&mut Vec<Vec<u8>>), what: &str| {
            let mut frames = sent();
            change(&mut frames);
            let error = seen(&frames, 100).unwrap_err().to_string();
            assert!(error.contains(what), "{error}");
        };
        told(|frames| frames[300] = frames[299].clone(), "came once more");
        told(|frames| frames[300].truncate(99), "1 of 600 packets are no frames");
        told(|frames| frames[300][6] ^= 1, "1 of 600 packets are no frames");
        // Of those that are kept, counted from 1, this is the second.
        told(|frames| frames[511][90] ^= 1, "1 of 2 packets that were kept are torn");
        told(|frames| frames[511][20] ^= 1, "1 of 2 packets that were kept are torn");
    }
}
