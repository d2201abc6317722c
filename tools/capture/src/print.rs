//! Packets as lines of text on a stream.

use std::fmt::Write as _;
use std::io::{ErrorKind, Write};

use tollway_capture::engine::file::pcapng::{Described, Statistics};
use tollway_capture::engine::file::{self, Content, Sink};
use tollway_capture::engine::{LinkType, Packet, Timestamp};

use crate::args::{Options, Precision};
use crate::decode::{Line, link_header_length};
use crate::times::Times;

/// Bytes of text that are written at once.
const BUFFER: usize = 64 << 10;

/// Which bytes of a packet are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Dump {
    with_link_header: bool,
    with_ascii: bool,
}

/// Prints packets.
pub struct Printer<W: Write> {
    out: W,
    /// Text that waits to be written, and where each packet's ends in it.
    waiting: Vec<u8>,
    ends: Vec<usize>,
    /// What was written.
    content: Content,
    times: Times,
    links: Vec<LinkType>,
    link_header: bool,
    dump: Option<Dump>,
    every_line: bool,
    line: String,
}

impl<W: Write> Printer<W> {
    /// Prints as the command line says.
    pub fn new(out: W, options: &Options) -> Printer<W> {
        let printing = &options.printing;
        let dump = match (printing.hex, printing.hex_and_ascii) {
            (0, 0) => None,
            (hex, 0) => Some(Dump { with_link_header: hex > 1, with_ascii: false }),
            (_, ascii) => Some(Dump { with_link_header: ascii > 1, with_ascii: true }),
        };
        Printer {
            out,
            waiting: Vec::with_capacity(BUFFER),
            ends: Vec::new(),
            content: Content::default(),
            times: Times::new(printing.times, options.ways.time_stamp_precision == Precision::Nano),
            links: Vec::new(),
            link_header: printing.link_header,
            dump,
            every_line: printing.line_buffered,
            line: String::new(),
        }
    }

    fn failed(&self, source: std::io::Error) -> file::Error {
        file::Error::System {
            doing: "writing",
            file: "standard output".into(),
            offset: self.content.bytes,
            source,
        }
    }
}

impl<W: Write> Sink for Printer<W> {
    fn describe(&mut self, interface: &Described) -> Result<(), file::Error> {
        self.links.push(interface.link_type);
        Ok(())
    }

    fn conclude(&mut self, _: u32, _: &Statistics, _: Timestamp) -> Result<(), file::Error> {
        Ok(())
    }

    fn write(&mut self, interface: u32, packet: &Packet<'_>) -> Result<(), file::Error> {
        let link = self.links.get(interface as usize).copied().unwrap_or(LinkType::ETHERNET);
        let mut line = std::mem::take(&mut self.line);
        line.clear();
        self.times.write(packet.timestamp, &mut line);
        let _ = writeln!(line, "{}", Line { packet, link, link_header: self.link_header });
        if let Some(dump) = self.dump {
            let from = if dump.with_link_header { 0 } else { link_header_length(link) };
            bytes(packet.bytes.get(from..).unwrap_or_default(), dump.with_ascii, &mut line);
        }
        self.waiting.extend_from_slice(line.as_bytes());
        self.ends.push(self.waiting.len());
        self.line = line;
        if self.every_line || self.waiting.len() >= BUFFER { self.flush() } else { Ok(()) }
    }

    fn flush(&mut self) -> Result<(), file::Error> {
        let mut done = 0;
        let mut outcome = Ok(());
        while done < self.waiting.len() && outcome.is_ok() {
            match self.out.write(&self.waiting[done..]) {
                Ok(0) => outcome = Err(ErrorKind::WriteZero.into()),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => outcome = Err(error),
            }
        }
        self.content.bytes += done as u64;
        self.content.packets += self.ends.partition_point(|end| *end <= done) as u64;
        // After a failure nothing is written a second time.
        self.waiting.clear();
        self.ends.clear();
        outcome.and_then(|()| self.out.flush()).map_err(|error| self.failed(error))
    }

    fn content(&self) -> Option<Content> {
        let Content { packets, bytes } = self.content;
        Some(Content { packets: packets + self.ends.len() as u64, bytes: bytes + self.waiting.len() as u64 })
    }
}

/// Bytes as tcpdump's -x and -X show them: sixteen a line, by twos.
fn bytes(bytes: &[u8], with_ascii: bool, line: &mut String) {
    for (row, sixteen) in bytes.chunks(16).enumerate() {
        let _ = write!(line, "\t0x{:04x}: ", row * 16);
        for two in sixteen.chunks(2) {
            line.push(' ');
            for byte in two {
                let _ = write!(line, "{byte:02x}");
            }
        }
        if with_ascii {
            // Eight times " ffff", and two blanks.
            let width = sixteen.len() * 2 + sixteen.len().div_ceil(2);
            let _ = write!(line, "{:1$}", "", 40 - width + 2);
            line.extend(sixteen.iter().map(|b| if b.is_ascii_graphic() { *b as char } else { '.' }));
        }
        line.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_stand_in_columns() {
        let mut text = String::new();
        bytes(b"0123456789abcdefgh i", true, &mut text);
        assert_eq!(
            text,
            "\t0x0000:  3031 3233 3435 3637 3839 6162 6364 6566  0123456789abcdef\n\
             \t0x0010:  6768 2069                                gh.i\n"
        );
    }
}
