//! Reads capture files of either format, packet by packet, without copying them once more.

use std::path::Path;

use super::error::{Error, Fault, HEADER};
use super::host_order;
use super::input::Input;
use super::order::Order;
use super::pcap;
use super::pcapng::{self, Interface};
use super::step::{Found, Step};
use crate::engine::{Accounting, LinkType, Packet};

/// The shortest beginning that tells a format.
const MAGIC: usize = 4;

/// Reads a capture file.
pub struct Reader {
    pub(super) input: Input,
    pub(super) decoder: Decoder,
    /// Packets shown so far.
    pub(super) packets: u64,
    /// What is still to be passed over before the next record, in bytes.
    pending: u64,
    growing: bool,
    /// Whether packets of some interface are not all as this machine would have them.
    differs: bool,
    /// The packet that was found last as this machine would have it, if it is not so in the file.
    put_right: Option<Vec<u8>>,
}

/// By format.
pub(super) enum Decoder {
    Pcap(pcap::Header),
    PcapNg(pcapng::Decoder),
}

impl Decoder {
    #[inline]
    fn step(&mut self, window: &[u8]) -> Step {
        match self {
            Decoder::Pcap(header) => header.step(window),
            Decoder::PcapNg(decoder) => decoder.step(window),
        }
    }
}

/// A packet of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Captured<'a> {
    /// It.
    pub packet: Packet<'a>,
    /// Which of the interfaces of its file saw it; 0 in a pcap file.
    pub interface: u32,
    /// Whether the file says when it was seen; else the packet's time is the zero of its interface's clock.
    pub has_time: bool,
}

/// What the next look at a file brought.
enum Look {
    Packet(Found),
    Other,
    End,
}

/// Which format a file has, and what it says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Format<'a> {
    /// pcap.
    Pcap(&'a pcap::Header),
    /// pcapng; the interfaces described so far.
    PcapNg(&'a [Interface]),
}

impl Reader {
    /// A file by its path; `-` is the standard input.
    ///
    /// # Errors
    /// As [`Reader::new`].
    pub fn open(path: &Path) -> Result<Reader, Error> {
        Reader::new(Input::open(path)?)
    }

    /// Reads as far as it takes to know the format and, if there is one, the first interface.
    ///
    /// # Errors
    /// If reading fails, or this is no capture file, or a damaged one.
    pub fn new(mut input: Input) -> Result<Reader, Error> {
        let damaged = |input: &Input, offset: usize, fault| Error::Damaged {
            file: input.name().into(),
            offset: input.offset() + offset as u64,
            packet: 0,
            fault,
        };
        let cut = |input: &Input, wanted: usize| {
            let there = input.window().len() as u64;
            damaged(input, 0, Fault::CutShort { what: HEADER, wanted: wanted as u64, there })
        };
        if !input.fill(MAGIC)? {
            return Err(cut(&input, MAGIC));
        }
        let window = input.window();
        let first = [window[0], window[1], window[2], window[3]];
        let decoder = if let Some(order) = pcap::Header::order(first) {
            if !input.fill(pcap::FILE_HEADER)? {
                return Err(cut(&input, pcap::FILE_HEADER));
            }
            let header = pcap::Header::read(order, input.window())
                .map_err(|(at, fault)| damaged(&input, at, fault))?;
            input.advance(pcap::FILE_HEADER);
            Decoder::Pcap(header)
        } else if u32::from_ne_bytes(first) == pcapng::SECTION {
            Decoder::PcapNg(pcapng::Decoder::new())
        } else {
            return Err(damaged(&input, 0, Fault::Unknown { first }));
        };
        let mut reader = Reader {
            input,
            decoder,
            packets: 0,
            pending: 0,
            growing: false,
            differs: false,
            put_right: None,
        };
        reader.look_for_differences();
        while reader.interfaces_known() == 0 && matches!(reader.look()?, Look::Other) {}
        Ok(reader)
    }

    /// Reads on up to the next packet, and says of which interface that is; `None` at the file's end. The interfaces that are
    /// described before it are known then: before the first, mostly all.
    ///
    /// # Errors
    /// If reading fails, or the file is damaged here.
    pub fn interface_of_next(&mut self) -> Result<Option<u32>, Error> {
        Ok(self.find()?.map(|found| found.interface))
    }

    /// A file that another process is still writing: what is not whole at its end is no damage, and `next` may be called
    /// again after it gave `None`.
    pub fn growing(mut self, growing: bool) -> Reader {
        self.growing = growing;
        self
    }

    /// The file's name, for errors.
    pub fn name(&self) -> &str {
        self.input.name()
    }

    /// The file's format.
    pub fn format(&self) -> Format<'_> {
        match &self.decoder {
            Decoder::Pcap(header) => Format::Pcap(header),
            Decoder::PcapNg(decoder) => Format::PcapNg(&decoder.interfaces),
        }
    }

    /// Whether the numbers read last are of the other byte order than this machine's: of all the file, or of the present section.
    pub fn is_swapped(&self) -> bool {
        self.order() == Order::Swapped
    }

    fn order(&self) -> Order {
        match &self.decoder {
            Decoder::Pcap(header) => header.order,
            Decoder::PcapNg(decoder) => decoder.order,
        }
    }

    /// Whether its records are what their packets are: no number in them is of another machine's order.
    pub(super) fn is_as_it_stands(&self) -> bool {
        !self.differs
    }

    /// What the packets of an interface are; `None` if it is not described (yet).
    #[inline]
    pub fn link_type(&self, interface: u32) -> Option<LinkType> {
        match &self.decoder {
            Decoder::Pcap(header) => Some(header.link_type),
            Decoder::PcapNg(decoder) => Some(decoder.interfaces.get(interface as usize)?.link_type),
        }
    }

    /// Bytes kept at most of a packet of an interface.
    pub fn snapshot(&self, interface: u32) -> Option<u32> {
        match &self.decoder {
            Decoder::Pcap(header) => Some(header.snapshot),
            Decoder::PcapNg(decoder) => Some(decoder.interfaces.get(interface as usize)?.snapshot),
        }
    }

    /// The interfaces described so far: one in a pcap file.
    pub fn interfaces_known(&self) -> usize {
        match &self.decoder {
            Decoder::Pcap(_) => 1,
            Decoder::PcapNg(decoder) => decoder.interfaces.len(),
        }
    }

    /// Packets shown so far.
    pub fn packets(&self) -> u64 {
        self.packets
    }

    /// What became of the packets before they came into the file, as far as it tells: a pcapng file may.
    pub fn accounting(&self) -> Accounting {
        let unknown = Accounting { delivered: self.packets, ..Accounting::default() };
        let Decoder::PcapNg(decoder) = &self.decoder else { return unknown };
        let mut all = decoder.interfaces.iter().map(|i| i.statistics);
        let Some(Some(first)) = all.next() else { return unknown };
        let mut sum = first.accounting(0);
        for statistics in all {
            sum += statistics.unwrap_or_default().accounting(0);
        }
        // Where not every interface tells what it delivered, what is in the file is known.
        if decoder.interfaces.iter().any(|i| i.statistics.is_none_or(|s| s.delivered.is_none())) {
            sum.delivered = self.packets;
        }
        sum
    }

    /// The next packet, or `None` at the file's end.
    ///
    /// # Errors
    /// If reading fails, or the file is damaged here. Called again, it says the same again.
    #[allow(clippy::should_implement_trait, reason = "what it gives borrows from the reader")]
    #[inline]
    pub fn next(&mut self) -> Result<Option<Captured<'_>>, Error> {
        Ok(match self.find()? {
            Some(found) => {
                self.pending = found.length as u64;
                self.packets += 1;
                Some(self.show(&found))
            }
            None => None,
        })
    }

    /// Finds the next packet without passing over it; `None` at the file's end.
    #[inline]
    pub(super) fn find(&mut self) -> Result<Option<Found>, Error> {
        loop {
            match self.look()? {
                Look::Packet(found) => return Ok(Some(found)),
                Look::Other => {}
                Look::End => return Ok(None),
            }
        }
    }

    /// Shows a packet that was just found.
    #[inline]
    pub(super) fn show(&self, found: &Found) -> Captured<'_> {
        let bytes = match &self.put_right {
            None => &self.input.window()[found.bytes.clone()],
            Some(bytes) => bytes,
        };
        let packet = Packet { timestamp: found.timestamp, bytes, wire_length: found.wire_length };
        Captured { packet, interface: found.interface, has_time: found.has_time }
    }

    /// Passes over a packet that was just found.
    #[inline]
    pub(super) fn pass_over(&mut self, found: &Found) {
        self.input.advance(found.length);
        self.packets += 1;
    }

    /// One look at the file: it passes over whatever is no packet.
    #[inline]
    fn look(&mut self) -> Result<Look, Error> {
        if self.pending > 0 && !self.pass()? {
            return Ok(Look::End);
        }
        let mut step = self.decoder.step(self.input.window());
        loop {
            match step {
                Step::Packet(mut found) => {
                    if self.differs {
                        self.put_right(&mut found);
                    }
                    return Ok(Look::Packet(found));
                }
                Step::Skip(count) => {
                    self.pending = count;
                    self.look_for_differences();
                    return Ok(Look::Other);
                }
                Step::Need(wanted, what) => {
                    if !self.input.fill(wanted)? {
                        return self.ended(wanted, what);
                    }
                    step = self.decoder.step(self.input.window());
                }
                Step::Bad(offset, fault) => return Err(self.damaged(offset as u64, fault)),
            }
        }
    }

    /// Notes whether packets of the interface that was described last are not all as this machine would have them.
    #[cold]
    fn look_for_differences(&mut self) {
        let last = (self.interfaces_known() as u32).checked_sub(1);
        let link = last.and_then(|interface| self.link_type(interface));
        self.differs |= link.is_some_and(|link| host_order::differ(link, self.order()));
    }

    /// Has a packet that was just found as this machine would have it.
    #[cold]
    fn put_right(&mut self, found: &mut Found) {
        let order = self.order();
        let link = self.link_type(found.interface).filter(|link| host_order::differ(*link, order));
        let mut room = self.put_right.take().unwrap_or_default();
        self.put_right = link.map(|link| {
            room.clear();
            room.extend_from_slice(&self.input.window()[found.bytes.clone()]);
            found.wire_length = host_order::put_right(link, order, &mut room, found.wire_length);
            room
        });
    }

    /// Passes over what is pending; false if the file ends before.
    #[inline]
    fn pass(&mut self) -> Result<bool, Error> {
        let at_hand = self.input.window().len();
        if self.pending <= at_hand as u64 {
            self.input.advance(self.pending as usize);
            self.pending = 0;
            return Ok(true);
        }
        self.pass_far()
    }

    #[cold]
    fn pass_far(&mut self) -> Result<bool, Error> {
        while self.pending > 0 {
            let at_hand = self.input.window().len();
            if at_hand == 0 && !self.input.fill(1)? {
                let wanted = self.pending;
                let cut = Fault::CutShort { what: "a block", wanted, there: 0 };
                return if self.growing { Ok(false) } else { Err(self.damaged(0, cut)) };
            }
            let part = self.pending.min(self.input.window().len() as u64);
            self.input.advance(part as usize);
            self.pending -= part;
        }
        Ok(true)
    }

    #[cold]
    fn ended(&self, wanted: usize, what: &'static str) -> Result<Look, Error> {
        let there = self.input.window().len() as u64;
        if there == 0 || self.growing {
            return Ok(Look::End);
        }
        Err(self.damaged(0, Fault::CutShort { what, wanted: wanted as u64, there }))
    }

    /// An error so many bytes from where the next record begins.
    #[cold]
    pub(super) fn damaged(&self, ahead: u64, fault: Fault) -> Error {
        Error::Damaged {
            file: self.input.name().into(),
            offset: self.input.offset() + ahead,
            packet: self.packets,
            fault,
        }
    }
}
