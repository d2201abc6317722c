//! From one file through a filter into another: the fastest way, chosen by what the two files have in common.

use super::error::Error;
use super::host_order;
use super::pcap::{self, Header, RECORD_HEADER, Record};
use super::pcapng::Described;
use super::reader::{Captured, Decoder, Format, Reader};
use super::resolution::Resolution;
use super::sink::Sink;
use crate::engine::{Accounting, LinkType, Packet, Timestamp};

/// Records decided on before any of them is copied. With its bytes that is about what a first-level cache has.
const STRETCH: usize = 512;

/// How long such a stretch gets at most, in bytes, but for its last record.
const STRETCH_BYTES: usize = 32 << 10;

/// How to copy.
#[derive(Clone, Copy, Debug, Default)]
pub struct Copy {
    /// Stop after so many packets that the filter wanted.
    pub count: Option<u64>,
    /// Bytes kept of a packet at most; `None`: as the filter says, and of pcap into pcap as the file that is written. Of another format a packet
    /// that is longer than a pcap file's header says is an error, unless this cuts it.
    pub snapshot: Option<u32>,
    /// The one link type that packets may have, because a filter was made for it; `None`: any. [`Copy::run_each`] has a filter for
    /// each.
    pub link_type: Option<LinkType>,
    /// Write what there is before waiting for more to read, so that a reader of the copy lags behind no longer than this.
    pub flush: bool,
}

/// What packets of an interface are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Kind {
    /// Their link type.
    pub link_type: LinkType,
    /// Whether numbers of the file are of the other byte order than this machine's.
    pub is_swapped: bool,
}

/// What was copied, and how it ended.
#[derive(Debug)]
pub struct Copied {
    /// Packets read.
    pub read: u64,
    /// Those that the filter wanted and that were handed to the writer. If writing failed, [`Sink::content`] says how many
    /// of them are in the file.
    pub written: u64,
    /// How it ended. After an error, what came before it has been handed to the writer.
    pub ended: Result<(), Error>,
}

impl Copied {
    /// The same as an account: a file drops nothing; what was lost before it was written is not known.
    pub fn accounting(&self) -> Accounting {
        Accounting {
            offered: Some(self.read),
            filtered_out: Some(self.read - self.written),
            delivered: self.written,
            dropped: Some(0),
            lost_before: None,
        }
    }
}

impl Copy {
    /// Copies packets for which `filter` (bytes kept, length on the wire) tells how many bytes to keep: 0 is none of it, as
    /// of classic BPF.
    ///
    /// The caller finishes the writer.
    pub fn run(
        &self,
        reader: &mut Reader,
        sink: &mut impl Sink,
        filter: impl Fn(&[u8], u32) -> u32,
    ) -> Copied {
        let mut copied = Copied { read: 0, written: 0, ended: Ok(()) };
        copied.ended = match (&reader.decoder, sink.pcap()) {
            (Decoder::Pcap(header), Some(writer)) if reader.is_as_it_stands() => {
                let header = *header;
                if let Err(error) = self
                    .suits(reader, header.link_type)
                    .and_then(|()| writer.suits(header.link_type, header.check_sequence_bits()))
                {
                    Err(error)
                } else if header.is_plain() && header.resolution == writer.resolution() {
                    self.records::<true>(reader, &header, writer, filter, &mut copied)
                } else {
                    self.records::<false>(reader, &header, writer, filter, &mut copied)
                }
            }
            _ => self.packets(reader, sink, |_, bytes, length| Ok(filter(bytes, length)), &mut copied),
        };
        copied
    }

    /// The same with a filter for what packets are: `filter` is given that beside the bytes and the length.
    ///
    /// The caller finishes the writer.
    pub fn run_each(
        &self,
        reader: &mut Reader,
        sink: &mut impl Sink,
        filter: impl FnMut(Kind, &[u8], u32) -> Result<u32, Error>,
    ) -> Copied {
        let mut copied = Copied { read: 0, written: 0, ended: Ok(()) };
        copied.ended = self.packets(reader, sink, filter, &mut copied);
        copied
    }

    /// Refuses an interface whose packets cannot go where the others go.
    fn suits(&self, reader: &Reader, found: LinkType) -> Result<(), Error> {
        let refuse = |reason, remedy| Err(Error::Format { file: reader.name().into(), reason, remedy });
        if let Some(wanted) = self.link_type
            && found != wanted
        {
            return refuse(
                format!("an interface has link type {}, and the filter is for {}", found.0, wanted.0),
                "leave the filter out",
            );
        }
        Ok(())
    }

    fn count(&self) -> u64 {
        self.count.unwrap_or(u64::MAX)
    }

    /// Any format into any other. Apart from the loops over records, which registers are for.
    #[inline(never)]
    fn packets(
        &self,
        reader: &mut Reader,
        sink: &mut impl Sink,
        mut filter: impl FnMut(Kind, &[u8], u32) -> Result<u32, Error>,
        copied: &mut Copied,
    ) -> Result<(), Error> {
        let snapshot = self.snapshot.unwrap_or(u32::MAX);
        let mut described = 0;
        // What packets of each interface are, from its first one on, and whether one was written.
        let mut kinds: Vec<Option<(Kind, bool)>> = Vec::new();
        let mut latest = Timestamp(0);
        while copied.written < self.count() {
            let Some(found) = reader.find()? else { break };
            while described <= found.interface {
                let mut interface = reader.describe(described);
                interface.snapshot = interface.snapshot.min(snapshot);
                sink.describe(&interface)?;
                kinds.push(None);
                described += 1;
            }
            let at = found.interface as usize;
            let (kind, is_taken) = match kinds[at] {
                Some(known) => known,
                None => {
                    let interface = reader.describe(found.interface);
                    self.suits(reader, interface.link_type)?;
                    let kind = Kind { link_type: interface.link_type, is_swapped: reader.is_swapped() };
                    kinds[at] = Some((kind, false));
                    (kind, false)
                }
            };
            let Captured { packet, .. } = reader.show(&found);
            let keep = filter(kind, packet.bytes, packet.wire_length)?.min(snapshot) as usize;
            if keep > 0 && !is_taken {
                sink.takes(&reader.describe(found.interface))?;
                kinds[at] = Some((kind, true));
            }
            let Captured { interface, packet, has_time } = reader.show(&found);
            if keep > 0 {
                let bytes = host_order::taken(kind.link_type, kind.is_swapped, packet.bytes);
                let packet = Packet { bytes: &bytes[..bytes.len().min(keep)], ..packet };
                if has_time {
                    sink.write(interface, &packet)?;
                } else {
                    sink.write_untimed(interface, &packet)?;
                }
                if sink.is_over() {
                    break;
                }
                copied.written += 1;
                if self.flush {
                    sink.flush()?;
                }
            }
            copied.read += 1;
            latest = latest.max(packet.timestamp);
            reader.pass_over(&found);
        }
        if let Format::PcapNg(interfaces) = reader.format() {
            for (number, interface) in (0..described).zip(interfaces) {
                if let Some(statistics) = &interface.statistics {
                    sink.conclude(number, statistics, latest)?;
                }
            }
        }
        Ok(())
    }

    /// pcap into pcap, window by window. `PLAIN`: records of the one are records of the other.
    fn records<const PLAIN: bool>(
        &self,
        reader: &mut Reader,
        header: &Header,
        writer: &mut pcap::Writer,
        filter: impl Fn(&[u8], u32) -> u32,
        copied: &mut Copied,
    ) -> Result<(), Error> {
        let cut = header.snapshot.min(writer.snapshot()).min(self.snapshot.unwrap_or(u32::MAX));
        let mut batch = Batch { header, cut, wanted: self.count(), at: 0, read: 0, written: 0 };
        loop {
            let window = reader.input.window();
            let outcome = batch.run::<PLAIN>(window, writer, &filter);
            reader.input.advance(batch.at);
            reader.packets += batch.read;
            copied.read += batch.read;
            copied.written += batch.written;
            outcome?;
            if copied.written >= self.count() {
                return Ok(());
            }
            if self.flush {
                writer.flush()?;
            }
            if reader.find()?.is_none() {
                return Ok(());
            }
            batch = Batch { wanted: batch.wanted - batch.written, at: 0, read: 0, written: 0, ..batch };
        }
    }
}

/// The records that are whole in a window.
struct Batch<'a> {
    header: &'a Header,
    /// Bytes written of a packet at most.
    cut: u32,
    /// Stop after so many written.
    wanted: u64,
    /// How far it has come in the window.
    at: usize,
    read: u64,
    written: u64,
}

impl Batch<'_> {
    #[inline]
    fn run<const PLAIN: bool>(
        &mut self,
        window: &[u8],
        writer: &mut pcap::Writer,
        filter: &impl Fn(&[u8], u32) -> u32,
    ) -> Result<(), Error> {
        if PLAIN { self.plain(window, writer, filter) } else { self.translated(window, writer, filter) }
    }

    /// The record that comes next, where its bytes begin, and how many of them are kept; `None` if it is not whole.
    #[inline]
    fn decide<const PLAIN: bool>(
        &self,
        window: &[u8],
        at: usize,
        filter: &impl Fn(&[u8], u32) -> u32,
    ) -> Option<(Record, usize, u32)> {
        let header = self.header;
        let begin = at + if PLAIN { RECORD_HEADER } else { header.record_header };
        let head = window.get(at..begin)?;
        let record = if PLAIN { Record::read_plain(head) } else { Record::read(header, head) };
        let stored = window.get(begin..begin + record.stored as usize)?;
        if record.stored > header.longest {
            return None;
        }
        let bytes = &stored[..stored.len().min(header.snapshot as usize)];
        let keep = filter(bytes, record.wire_length).min(self.cut);
        Some((record, begin, keep))
    }

    /// Records that are written as they are, but for those that are cut.
    ///
    /// A stretch of them is decided on first and copied then: the processor cannot foresee what the filter says, and what
    /// it guesses wrong it has to undo. So no jump but those of the filter itself depends on what it says.
    fn plain(
        &mut self,
        window: &[u8],
        writer: &mut pcap::Writer,
        filter: &impl Fn(&[u8], u32) -> u32,
    ) -> Result<(), Error> {
        let mut wanted = [(0, 0); STRETCH];
        // Stretches next to each other of which everything is wanted, in one piece.
        let mut run = self.at..self.at;
        let mut in_run = 0;
        loop {
            let mut at = self.at;
            let (mut read, mut found) = (0, 0);
            let room = usize::try_from(self.wanted - self.written).map_or(STRETCH, |rest| rest.min(STRETCH));
            let end = window.len().min(at + STRETCH_BYTES);
            let mut shorter = None;
            while read < room
                && at < end
                && let Some((record, bytes, keep)) = self.decide::<true>(window, at, filter)
            {
                if keep < record.stored && keep > 0 {
                    shorter = Some((record, bytes, keep));
                    break;
                }
                let end = bytes + record.stored as usize;
                wanted[found % STRETCH] = (at, end);
                found += usize::from(keep > 0);
                read += 1;
                at = end;
            }
            if found == read {
                run.end = at;
                in_run += found as u64;
            } else {
                writer.write_plain(&window[run], in_run)?;
                (run, in_run) = (at..at, 0);
                writer.gather_plain(window, &wanted[..found])?;
            }
            self.at = at;
            self.read += read as u64;
            self.written += found as u64;
            if let Some((record, bytes, keep)) = shorter {
                writer.write_plain(&window[run], in_run)?;
                self.write(window, writer, record, bytes, keep)?;
                (run, in_run) = (self.at..self.at, 0);
            } else if read == 0 {
                return writer.write_plain(&window[run], in_run);
            }
        }
    }

    /// Records that are written anew.
    fn translated(
        &mut self,
        window: &[u8],
        writer: &mut pcap::Writer,
        filter: &impl Fn(&[u8], u32) -> u32,
    ) -> Result<(), Error> {
        while self.written < self.wanted
            && let Some((record, bytes, keep)) = self.decide::<false>(window, self.at, filter)
        {
            self.write(window, writer, record, bytes, keep)?;
        }
        Ok(())
    }

    /// Writes as much of a packet as is kept, and goes on behind it.
    fn write(
        &mut self,
        window: &[u8],
        writer: &mut pcap::Writer,
        record: Record,
        begin: usize,
        keep: u32,
    ) -> Result<(), Error> {
        if keep > 0 {
            let length = record.stored.min(self.header.snapshot).min(keep) as usize;
            let bytes = &window[begin..begin + length];
            let timestamp = record.timestamp(self.header.resolution);
            writer.write(&Packet { timestamp, bytes, wire_length: record.wire_length })?;
        }
        self.read += 1;
        self.written += u64::from(keep > 0);
        self.at = begin + record.stored as usize;
        Ok(())
    }
}

impl Reader {
    /// An interface as it goes into another file.
    fn describe(&self, interface: u32) -> Described {
        match self.format() {
            Format::Pcap(header) => Described {
                link_type: header.link_type,
                snapshot: header.snapshot,
                name: None,
                check_sequence_bits: header.check_sequence_bits(),
                resolution: header.resolution,
            },
            Format::PcapNg(interfaces) => {
                let interface = &interfaces[interface as usize];
                let fine = interface.ticks_per_second() > 1_000_000;
                Described {
                    link_type: interface.link_type,
                    snapshot: interface.snapshot,
                    name: interface.name.clone(),
                    check_sequence_bits: interface.check_sequence_bits,
                    resolution: if fine { Resolution::Nanos } else { Resolution::Micros },
                }
            }
        }
    }
}
