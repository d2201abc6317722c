//! Writes pcap files, byte for byte as tcpdump does: version 2.4, this machine's byte order.

use super::super::error::Error;
use super::super::limits::snapshot_length;
use super::super::output::Output;
use super::super::resolution::Resolution;
use super::super::sink::Content;
use super::RECORD_HEADER;
use super::header::{FILE_HEADER, Header, check_sequence_bits, link_extension};
use crate::engine::{LinkType, Packet};

/// What the header of a pcap file shall say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// What the packets are.
    pub link_type: LinkType,
    /// The upper bits of the link type's word, as of [`Header::link_extension`]; mostly 0.
    /// [`Layout::with_check_sequence`] makes them.
    pub link_extension: u32,
    /// Bytes kept of a packet at most; 0: all of it. Longer ones are cut.
    pub snapshot: u32,
    /// Unit of the fractions of a second.
    pub resolution: Resolution,
}

impl Layout {
    /// Whole packets of a link type, in microseconds: what `tcpdump -w` writes.
    pub fn new(link_type: LinkType) -> Layout {
        Layout { link_type, link_extension: 0, snapshot: 0, resolution: Resolution::Micros }
    }

    /// The same for packets that end in a frame check sequence of so many bits. What is no multiple of 16
    /// pcap has no room for: it is left open then.
    pub fn with_check_sequence(self, bits: Option<u8>) -> Layout {
        Layout { link_extension: link_extension(bits), ..self }
    }

    /// Refuses packets of which the header would say what is not so: of another link type, or of another
    /// frame check sequence where it says one.
    #[inline(never)]
    pub(in super::super) fn suits(
        &self,
        link_type: LinkType,
        check_sequence: Option<u8>,
        file: &str,
    ) -> Result<(), Error> {
        let refuse = |reason| Err(Error::Format { file: file.into(), reason, remedy: "write pcapng" });
        let registered = |link: LinkType| LinkType::from_file(link.0);
        if link_type != self.link_type && registered(link_type) != registered(self.link_type) {
            return refuse(format!(
                "a pcap file of link type {} cannot have packets of {}",
                self.link_type.0, link_type.0
            ));
        }
        match (check_sequence_bits(self.link_extension), check_sequence) {
            (Some(said), bits) if bits != Some(said) => {
                let bits = bits.map_or("an unknown number".into(), |bits| bits.to_string());
                refuse(format!(
                    "a pcap file whose packets end in {said} bits of frame check sequence cannot have packets \
                     with {bits} of them"
                ))
            }
            _ => Ok(()),
        }
    }
}

impl From<&Header> for Layout {
    /// As the file was that has been read, but for the resolution: microseconds, unless somebody asks for more.
    fn from(header: &Header) -> Layout {
        Layout {
            link_type: header.link_type,
            link_extension: header.link_extension,
            snapshot: header.snapshot,
            resolution: Resolution::Micros,
        }
    }
}

/// Writes a pcap file.
pub struct Writer {
    output: Output,
    layout: Layout,
    snapshot: u32,
    resolution: Resolution,
}

impl Writer {
    /// Begins a file: its header is in the buffer when this returns.
    ///
    /// # Errors
    /// A link type of more than 16 bits; if the buffer had to be written, that it could not be.
    pub fn new(mut output: Output, layout: Layout) -> Result<Writer, Error> {
        let link_type = LinkType::from_file(layout.link_type.0);
        if link_type.0 > u16::MAX.into() {
            return Err(Error::Format {
                file: output.name().into(),
                reason: format!("link type {} has more than 16 bits", link_type.0),
                remedy: "give a number of www.tcpdump.org/linktypes.html",
            });
        }
        let snapshot = snapshot_length(layout.snapshot, link_type);
        output.set_boundary(boundary);
        let word = link_type.0 | layout.link_extension;
        output.append(&Header::to_bytes(word, snapshot, layout.resolution), 0)?;
        Ok(Writer { output, layout, snapshot, resolution: layout.resolution })
    }

    /// Writes a packet, cut to the snapshot length.
    ///
    /// # Errors
    /// If the system takes no more, or the packet is of a time after 2106: seconds are 32 bits wide.
    #[inline]
    pub fn write(&mut self, packet: &Packet<'_>) -> Result<(), Error> {
        let nanos = packet.timestamp.0;
        let Ok(seconds) = u32::try_from(nanos / 1_000_000_000) else { return Err(self.too_late()) };
        let fraction = (nanos % 1_000_000_000) as u32 / self.resolution.nanos();
        let bytes = &packet.bytes[..packet.bytes.len().min(self.snapshot as usize)];
        let place = self.output.reserve(RECORD_HEADER + bytes.len())?;
        place[0..4].copy_from_slice(&seconds.to_ne_bytes());
        place[4..8].copy_from_slice(&fraction.to_ne_bytes());
        place[8..12].copy_from_slice(&(bytes.len() as u32).to_ne_bytes());
        place[12..16].copy_from_slice(&packet.wire_length.to_ne_bytes());
        place[RECORD_HEADER..].copy_from_slice(bytes);
        Ok(())
    }

    /// The same of a packet that was cut already, as far as it shall be: one that is longer than the header says would lose its end with
    /// nobody told.
    #[inline]
    pub(in super::super) fn write_whole(&mut self, packet: &Packet<'_>) -> Result<(), Error> {
        if packet.bytes.len() > self.snapshot as usize {
            Err(self.too_long(packet))
        } else {
            self.write(packet)
        }
    }

    #[cold]
    fn too_long(&self, packet: &Packet<'_>) -> Error {
        Error::Format {
            file: self.output.name().into(),
            reason: format!(
                "a packet has {} bytes, of an interface that was described after the first packet, and the file's header says that \
                 it has {} at most",
                packet.bytes.len(),
                self.snapshot
            ),
            remedy: "write pcapng, or say with -s how much to keep",
        }
    }

    #[cold]
    fn too_late(&self) -> Error {
        Error::Format {
            file: self.output.name().into(),
            reason: "a packet is of a time after 2106, which pcap has no room for".into(),
            remedy: "write pcapng",
        }
    }

    /// Writes so many whole records as they are: of this machine's byte order and this file's unit, and none too long.
    #[inline]
    pub(in super::super) fn write_plain(&mut self, records: &[u8], packets: u64) -> Result<(), Error> {
        self.output.append(records, packets)
    }

    /// The same for records that are not next to each other: where in `bytes` each begins and ends.
    #[inline]
    pub(in super::super) fn gather_plain(
        &mut self,
        bytes: &[u8],
        records: &[(usize, usize)],
    ) -> Result<(), Error> {
        self.output.gather(bytes, records)
    }

    /// Refuses packets of which the header would say what is not so.
    #[inline]
    pub(in super::super) fn suits(
        &self,
        link_type: LinkType,
        check_sequence: Option<u8>,
    ) -> Result<(), Error> {
        // Of most files.
        if link_type == self.layout.link_type && self.layout.link_extension == 0 {
            return Ok(());
        }
        self.layout.suits(link_type, check_sequence, self.output.name())
    }

    /// Bytes kept of a packet at most.
    pub fn snapshot(&self) -> u32 {
        self.snapshot
    }

    /// Unit of the fractions of a second.
    pub fn resolution(&self) -> Resolution {
        self.resolution
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

/// The largest end of a record at or before `limit`, at the file's start that of its header too, and the packets up to it.
fn boundary(bytes: &[u8], limit: usize, at_start: bool) -> (usize, u64) {
    let mut at = if at_start { FILE_HEADER } else { 0 };
    if at > limit {
        return (0, 0);
    }
    let mut packets = 0;
    while let Some(stored) = bytes.get(at + 8..at + 12) {
        let stored = u32::from_ne_bytes([stored[0], stored[1], stored[2], stored[3]]);
        match at.checked_add(RECORD_HEADER + stored as usize) {
            Some(end) if end <= limit => {
                at = end;
                packets += 1;
            }
            _ => break,
        }
    }
    (at, packets)
}
