//! Writes pcapng files: one section, its interfaces, packets, and at the end what each interface counted.

use super::super::error::Error;
use super::super::limits::snapshot_length;
use super::super::output::Output;
use super::super::resolution::Resolution;
use super::super::sink::Content;
use super::block::{HEAD, INTERFACE, PACKET, SECTION, STATISTICS, TAIL, padded};
use super::interface::{IF_NAME, IF_TSRESOL};
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
    /// Unit of its clock.
    pub resolution: Resolution,
}

/// Writes a pcapng file.
pub struct Writer {
    output: Output,
    /// Snapshot length and unit of each interface.
    interfaces: Vec<(u32, Resolution)>,
}

impl Writer {
    /// Begins a file by `application`.
    ///
    /// # Errors
    /// None now; if the buffer had to be written, that it could not be.
    pub fn new(mut output: Output, application: &str) -> Result<Writer, Error> {
        output.set_boundary(boundary);
        let mut body = Vec::new();
        body.extend_from_slice(&0x1a2b_3c4du32.to_ne_bytes());
        body.extend_from_slice(&1u16.to_ne_bytes());
        body.extend_from_slice(&0u16.to_ne_bytes());
        // The section's length is not told: nobody knows it yet.
        body.extend_from_slice(&u64::MAX.to_ne_bytes());
        options::put(&mut body, APPLICATION, application.as_bytes());
        options::end(&mut body);
        let mut writer = Writer { output, interfaces: Vec::new() };
        writer.block(SECTION, &body)?;
        Ok(writer)
    }

    /// Adds an interface; its number is how many there were before.
    ///
    /// # Errors
    /// If the system takes no more, or the link type's number is more than 16 bits.
    pub fn add_interface(&mut self, interface: &Described) -> Result<u32, Error> {
        let link_type = u16::try_from(interface.link_type.0).map_err(|_| Error::Format {
            file: self.output.name().into(),
            reason: format!("link type {} does not go into pcapng", interface.link_type.0),
            remedy: "write pcap",
        })?;
        let snapshot = snapshot_length(interface.snapshot, interface.link_type);
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
        options::end(&mut body);
        self.block(INTERFACE, &body)?;
        self.interfaces.push((snapshot, interface.resolution));
        Ok(self.interfaces.len() as u32 - 1)
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
        let Some(&(snapshot, resolution)) = self.interfaces.get(interface as usize) else {
            return Err(self.no_interface(interface));
        };
        let bytes = &packet.bytes[..packet.bytes.len().min(snapshot as usize)];
        let length = AROUND + padded(bytes.len());
        let ticks = packet.timestamp.0 / u64::from(resolution.nanos());
        let block = self.output.reserve(length)?;
        let (head, rest) = block.split_at_mut(AROUND - TAIL);
        let numbers = [
            PACKET,
            length as u32,
            interface,
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
        let Some(&(_, resolution)) = self.interfaces.get(interface as usize) else {
            return Err(self.no_interface(interface));
        };
        let ticks = now.0 / u64::from(resolution.nanos());
        let mut body = Vec::new();
        for number in [interface, (ticks >> 32) as u32, ticks as u32] {
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
        let length = (HEAD + body.len() + TAIL) as u32;
        let mut block = Vec::with_capacity(length as usize);
        block.extend_from_slice(&kind.to_ne_bytes());
        block.extend_from_slice(&length.to_ne_bytes());
        block.extend_from_slice(body);
        block.extend_from_slice(&length.to_ne_bytes());
        self.output.append(&block, 0)
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
                packets += u64::from(bytes[at..at + 4] == PACKET.to_ne_bytes());
                at = end;
            }
            _ => break,
        }
    }
    (at, packets)
}
