//! Writes pcapng files: a section, its interfaces, packets, and at the end what each interface counted.
//!
//! A packet without a time has a block of its own kind, the simple one, which says neither of which interface
//! it is nor how much of it was kept: both follow from the first interface of the section. Where that is
//! another one, a new section begins.

use super::super::error::Error;
use super::super::limits::snapshot_length;
use super::super::output::Output;
use super::super::resolution::Resolution;
use super::super::sink::Content;
use super::block::{HEAD, INTERFACE, PACKET, SECTION, SIMPLE_PACKET, STATISTICS, TAIL, padded};
use super::interface::{IF_FCSLEN, IF_NAME, IF_TSRESOL};
use super::options;
use super::statistics::Statistics;
use crate::engine::{LinkType, Packet, Timestamp};

/// Option shb_userappl. Source: draft-ietf-opsawg-pcapng, section 4.1.
const APPLICATION: u16 = 4;

/// Length of an enhanced packet block without the packet, in bytes.
const AROUND: usize = HEAD + 20 + TAIL;

/// An interface as a file shall describe it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Described {
    /// What its packets are.
    pub link_type: LinkType,
    /// Bytes kept of a packet at most; 0: all of it. Longer ones are cut.
    pub snapshot: u32,
    /// Its name.
    pub name: Option<String>,
    /// The bits of the frame check sequence at the end of each packet, where that is known.
    pub check_sequence_bits: Option<u8>,
    /// Unit of its clock.
    pub resolution: Resolution,
}

impl Described {
    /// One without a name, that keeps whole packets of a link type and has a clock of microseconds.
    pub fn new(link_type: LinkType) -> Described {
        Described {
            link_type,
            snapshot: 0,
            name: None,
            check_sequence_bits: None,
            resolution: Resolution::Micros,
        }
    }
}

/// An interface that was added.
struct Added {
    described: Described,
    /// Bytes kept of a packet at most.
    snapshot: u32,
    resolution: Resolution,
    /// Its number in the present section.
    number: u32,
}

/// The number of an interface that the present section does not describe.
const UNDESCRIBED: u32 = u32::MAX;

/// Writes a pcapng file.
pub struct Writer {
    output: Output,
    application: String,
    interfaces: Vec<Added>,
    /// How many interfaces the present section describes.
    in_section: u32,
    /// The first of them, and the snapshot length that it is described with.
    first: Option<(u32, u32)>,
}

impl Writer {
    /// Begins a file by `application`.
    ///
    /// # Errors
    /// None now; if the buffer had to be written, that it could not be.
    pub fn new(mut output: Output, application: &str) -> Result<Writer, Error> {
        output.set_boundary(boundary);
        let mut writer = Writer {
            output,
            application: application.into(),
            interfaces: Vec::new(),
            in_section: 0,
            first: None,
        };
        writer.begin_section()?;
        Ok(writer)
    }

    /// Begins a section, in which no interface is described.
    fn begin_section(&mut self) -> Result<(), Error> {
        let mut body = Vec::new();
        body.extend_from_slice(&0x1a2b_3c4du32.to_ne_bytes());
        body.extend_from_slice(&1u16.to_ne_bytes());
        body.extend_from_slice(&0u16.to_ne_bytes());
        // The section's length is not told: nobody knows it yet.
        body.extend_from_slice(&u64::MAX.to_ne_bytes());
        options::put(&mut body, APPLICATION, self.application.as_bytes());
        options::end(&mut body);
        self.interfaces.iter_mut().for_each(|added| added.number = UNDESCRIBED);
        (self.in_section, self.first) = (0, None);
        self.block(SECTION, &body)
    }

    /// Adds an interface; its number is how many there were before.
    ///
    /// # Errors
    /// If the system takes no more, or the link type's number is more than 16 bits.
    pub fn add_interface(&mut self, interface: &Described) -> Result<u32, Error> {
        let snapshot = snapshot_length(interface.snapshot, interface.link_type);
        let number = self.describe(interface, self.interfaces.len() as u32, snapshot)?;
        let (described, resolution) = (interface.clone(), interface.resolution);
        self.interfaces.push(Added { described, snapshot, resolution, number });
        Ok(self.interfaces.len() as u32 - 1)
    }

    /// Describes an interface in the present section, and says its number there.
    fn describe(&mut self, interface: &Described, which: u32, snapshot: u32) -> Result<u32, Error> {
        let link_type = u16::try_from(interface.link_type.0).map_err(|_| Error::Format {
            file: self.output.name().into(),
            reason: format!("link type {} has more than 16 bits", interface.link_type.0),
            remedy: "give a number of www.tcpdump.org/linktypes.html",
        })?;
        let mut body = Vec::new();
        body.extend_from_slice(&link_type.to_ne_bytes());
        body.extend_from_slice(&[0; 2]);
        body.extend_from_slice(&snapshot.to_ne_bytes());
        if let Some(name) = &interface.name {
            options::put(&mut body, IF_NAME, name.as_bytes());
        }
        let power = match interface.resolution {
            Resolution::Micros => 6,
            Resolution::Nanos => 9,
        };
        options::put(&mut body, IF_TSRESOL, &[power]);
        if let Some(bits) = interface.check_sequence_bits {
            options::put(&mut body, IF_FCSLEN, &[bits]);
        }
        options::end(&mut body);
        self.block(INTERFACE, &body)?;
        let number = self.in_section;
        self.in_section += 1;
        self.first.get_or_insert((which, snapshot));
        Ok(number)
    }

    /// Describes an interface once more: a section has begun since.
    #[cold]
    fn describe_again(&mut self, which: u32) -> Result<u32, Error> {
        let Added { described, snapshot, .. } = &self.interfaces[which as usize];
        let (described, snapshot) = (described.clone(), *snapshot);
        let number = self.describe(&described, which, snapshot)?;
        self.interfaces[which as usize].number = number;
        Ok(number)
    }

    /// How many interfaces were added.
    pub fn interfaces(&self) -> u32 {
        self.interfaces.len() as u32
    }

    /// Writes a packet of an interface, cut to its snapshot length.
    ///
    /// # Errors
    /// If the system takes no more, or the interface was not added.
    #[inline]
    pub fn write(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        let Some(&Added { snapshot, resolution, number, .. }) = self.interfaces.get(interface as usize)
        else {
            return Err(self.no_interface(interface));
        };
        let number = if number == UNDESCRIBED { self.describe_again(interface)? } else { number };
        let bytes = &packet.bytes[..packet.bytes.len().min(snapshot as usize)];
        let length = AROUND + padded(bytes.len());
        let ticks = packet.timestamp.0 / u64::from(resolution.nanos());
        let block = self.output.reserve(length)?;
        let (head, rest) = block.split_at_mut(AROUND - TAIL);
        let numbers = [
            PACKET,
            length as u32,
            number,
            (ticks >> 32) as u32,
            ticks as u32,
            bytes.len() as u32,
            packet.wire_length,
        ];
        for (place, number) in head.chunks_exact_mut(4).zip(numbers) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        let (kept, rest) = rest.split_at_mut(bytes.len());
        kept.copy_from_slice(bytes);
        let (padding, tail) = rest.split_at_mut(rest.len() - TAIL);
        padding.fill(0);
        tail.copy_from_slice(&(length as u32).to_ne_bytes());
        Ok(())
    }

    /// Writes a packet of which nobody knows when it was seen, without a time. One of which nothing was kept,
    /// and which was longer, needs a block that has one: it is written with the time that it has.
    ///
    /// # Errors
    /// If the system takes no more, or the interface was not added.
    pub fn write_untimed(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        let Some(&Added { snapshot, .. }) = self.interfaces.get(interface as usize) else {
            return Err(self.no_interface(interface));
        };
        let wire_length = packet.wire_length;
        let kept = (packet.bytes.len() as u32).min(snapshot).min(wire_length);
        if kept == 0 && wire_length > 0 {
            return self.write(interface, packet);
        }
        // The block's reader takes as much as the first interface's snapshot length allows.
        if !self.first.is_some_and(|(which, most)| which == interface && wire_length.min(most) == kept) {
            let most = if kept < wire_length { kept } else { snapshot };
            self.begin_section()?;
            let described = self.interfaces[interface as usize].described.clone();
            let number = self.describe(&described, interface, most)?;
            if most == snapshot {
                self.interfaces[interface as usize].number = number;
            }
        }
        let mut body = Vec::with_capacity(4 + padded(kept as usize));
        body.extend_from_slice(&wire_length.to_ne_bytes());
        body.extend_from_slice(&packet.bytes[..kept as usize]);
        body.resize(4 + padded(kept as usize), 0);
        self.append(SIMPLE_PACKET, &body, 1)
    }

    /// Writes what an interface counted until `now`.
    ///
    /// # Errors
    /// If the system takes no more, or the interface was not added.
    pub fn write_statistics(
        &mut self,
        interface: u32,
        statistics: &Statistics,
        now: Timestamp,
    ) -> Result<(), Error> {
        let Some(&Added { resolution, number, .. }) = self.interfaces.get(interface as usize) else {
            return Err(self.no_interface(interface));
        };
        let number = if number == UNDESCRIBED { self.describe_again(interface)? } else { number };
        let ticks = now.0 / u64::from(resolution.nanos());
        let mut body = Vec::new();
        for number in [number, (ticks >> 32) as u32, ticks as u32] {
            body.extend_from_slice(&number.to_ne_bytes());
        }
        statistics.write(&mut body);
        options::end(&mut body);
        self.block(STATISTICS, &body)
    }

    #[cold]
    fn no_interface(&self, interface: u32) -> Error {
        Error::Format {
            file: self.output.name().into(),
            reason: format!("a packet of interface {interface}, which is not described"),
            remedy: "add the interface first",
        }
    }

    fn block(&mut self, kind: u32, body: &[u8]) -> Result<(), Error> {
        self.append(kind, body, 0)
    }

    /// A block with so many packets in it.
    fn append(&mut self, kind: u32, body: &[u8], packets: u64) -> Result<(), Error> {
        let length = (HEAD + body.len() + TAIL) as u32;
        let mut block = Vec::with_capacity(length as usize);
        block.extend_from_slice(&kind.to_ne_bytes());
        block.extend_from_slice(&length.to_ne_bytes());
        block.extend_from_slice(body);
        block.extend_from_slice(&length.to_ne_bytes());
        self.output.append(&block, packets)
    }

    /// Bytes of the file so far.
    pub fn length(&self) -> u64 {
        self.output.length()
    }

    /// What the file has so far; once a write has failed, what of it is whole.
    pub fn content(&self) -> Content {
        Content { packets: self.output.packets(), bytes: self.output.length() }
    }

    /// Hands all that waits to the system.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn flush(&mut self) -> Result<(), Error> {
        self.output.flush()
    }

    /// Writes the rest and ends the file.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn finish(self) -> Result<(), Error> {
        self.output.finish()
    }
}

/// The largest end of a block at or before `limit`, and the packets up to it.
fn boundary(bytes: &[u8], limit: usize, _at_start: bool) -> (usize, u64) {
    let (mut at, mut packets) = (0, 0);
    while let Some(length) = bytes.get(at + 4..at + 8) {
        let length = u32::from_ne_bytes([length[0], length[1], length[2], length[3]]) as usize;
        match at.checked_add(length) {
            Some(end) if end <= limit && length > 0 => {
                let is_packet =
                    [PACKET, SIMPLE_PACKET].iter().any(|kind| bytes[at..at + 4] == kind.to_ne_bytes());
                packets += u64::from(is_packet);
                at = end;
            }
            _ => break,
        }
    }
    (at, packets)
}
