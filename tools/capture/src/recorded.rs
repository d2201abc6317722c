//! From a file: read, filtered, written or printed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{Filter, Origin, Program};
use tollway_capture::engine::file::pcapng::Interface;
use tollway_capture::engine::file::{self, Copied, Copy, Format, Input, Kind, Reader, Sink, pcap};
use tollway_core::Error;
use tollway_wire::Stop;

use crate::args::Options;
use crate::document::{Ended, OfferedBy, PacketsDocument, SourceDocument};
use crate::filter::Asked;
use crate::output::{self, Ends, Job};
use crate::session::{Outcome, Session};
use crate::{privileges, signals};

/// Reads a file that is given as `-r`.
///
/// # Errors
/// What cannot be opened or is no capture file; a filter that is none. What goes wrong later is in the outcome.
pub fn run(options: &Options, path: &Path, asked: &Asked, json: bool) -> Result<Session> {
    if let Some(write) = &options.write {
        output::must_differ(path, write)?;
    }
    let stop = Stop::new()?;
    let called_off = signals::call_off(vec![stop.clone()])?;
    let mut reader = open(path, stop).map_err(|error| match &error {
        file::Error::System { doing: "reading", file, .. } if called_off.load(Ordering::Relaxed) => {
            anyhow::anyhow!(
                "called off before {file} had given the header of a capture file: nothing was read"
            )
        }
        _ => damaged(error),
    })?;
    let (kind, snapshot) = first_packet(&mut reader).map_err(damaged)?;
    let link_type = kind.link_type;
    if let Some(wanted) = options.program.linktype
        && LinkType(wanted) != link_type
    {
        return Err(Error::Input {
            place: format!("-y {wanted}"),
            reason: format!("packets of {} are of link type {}", reader.name(), link_type.0),
            remedy: "leave -y out: the file says what its packets are".into(),
        }
        .into());
    }
    let asked_for = options.snapshot_length.filter(|bytes| *bytes > 0);
    let kept = match reader.format() {
        Format::Pcap(_) => asked_for.unwrap_or(snapshot).min(snapshot),
        // An interface that comes later may keep more than those that are known.
        Format::PcapNg(_) => asked_for.unwrap_or(snapshot),
    };
    let mut each = Each { asked, snapshot, optimize: !options.program.no_optimize, made: Vec::new() };
    let program = match reader.format() {
        Format::PcapNg(_) if *asked != Asked::All => {
            each.check(path, &reader, kind)?;
            Some(each.of(kind)?.program.clone())
        }
        _ => asked.wanted(link_type, origin(kind), snapshot, each.optimize)?,
    };
    let mut layout: pcap::Layout = match reader.format() {
        Format::Pcap(header) => header.into(),
        Format::PcapNg(interfaces) => pcap::Layout { snapshot, ..pcap::Layout::new(link_type) }
            .with_check_sequence(check_sequence(interfaces, link_type)),
    };
    layout.snapshot = if let Format::PcapNg(_) = reader.format() { kept } else { layout.snapshot.min(kept) };
    layout.resolution = output::resolution(options);
    let source = SourceDocument {
        interface: None,
        file: Some(path.display().to_string()),
        way: None,
        cores: 1,
        link_type: link_type.0,
        snapshot_length: kept,
    };
    let copy = Copy {
        count: options.count,
        snapshot: asked_for.filter(|bytes| *bytes < snapshot || matches!(reader.format(), Format::PcapNg(_))),
        link_type: None,
        flush: options.packet_buffered || options.printing.line_buffered,
    };
    let filter = program.as_ref().map(Filter::new);
    let user = options.relinquish_privileges.as_deref();
    let job = Copying { reader, copy, filter: filter.as_ref(), each, called_off, user };
    let outcome = output::with(options, layout, json, job)?;
    Ok(Session::new(options, source, asked, program.as_ref(), filter.as_ref(), outcome))
}

/// The programs of a file's packets (-d): what they are and how much of them is kept.
///
/// # Errors
/// What cannot be opened or is no capture file.
pub fn facts(path: &Path) -> Result<(LinkType, Origin, u32)> {
    let mut reader = Reader::open(path).map_err(damaged)?;
    let (kind, snapshot) = first_packet(&mut reader).map_err(damaged)?;
    Ok((kind.link_type, origin(kind), snapshot))
}

fn origin(kind: Kind) -> Origin {
    Origin::File { is_swapped: kind.is_swapped }
}

fn open(path: &Path, stop: Stop) -> Result<Reader, file::Error> {
    let (name, file) = if path == Path::new("-") {
        (
            "standard input".into(),
            rustix::io::dup(rustix::stdio::stdin()).map(File::from).map_err(io::Error::from),
        )
    } else {
        (path.display().to_string(), File::open(path))
    };
    let file = file.map_err(|source| file::Error::System {
        doing: "opening",
        file: name.clone(),
        offset: 0,
        source,
    })?;
    // Only a hint: what is not a file cannot take it.
    let _ = rustix::fs::fadvise(&file, 0, None, rustix::fs::Advice::Sequential);
    Reader::new(Input::from_read(name, signals::Stoppable::new(file, stop)))
}

/// What the first packet is, and how much of a packet is kept at most: by the interface that keeps most of those that are
/// described before it.
fn first_packet(reader: &mut Reader) -> Result<(Kind, u32), file::Error> {
    let interface = match reader.format() {
        Format::Pcap(_) => 0,
        Format::PcapNg(_) => reader.interface_of_next()?.unwrap_or_default(),
    };
    let link_type = reader.link_type(interface).unwrap_or(LinkType::ETHERNET);
    let most = (0..reader.interfaces_known() as u32).filter_map(|n| reader.snapshot(n)).max();
    let kind = Kind { link_type, is_swapped: reader.is_swapped() };
    Ok((kind, most.unwrap_or(file::LONGEST_PACKET)))
}

/// The bits of the frame check sequence that packets of a link type end in, where all interfaces described so
/// far say the same.
fn check_sequence(interfaces: &[Interface], link_type: LinkType) -> Option<u8> {
    let mut said = interfaces.iter().filter(|i| i.link_type == link_type).map(|i| i.check_sequence_bits);
    let first = said.next()??;
    said.all(|other| other == Some(first)).then_some(first)
}

/// An error of a file with what to do about it.
fn damaged(error: file::Error) -> anyhow::Error {
    match &error {
        file::Error::Damaged { fault, .. } => {
            let remedy = fault.remedy();
            anyhow::anyhow!("{error}; {remedy}")
        }
        file::Error::System { .. } | file::Error::Format { .. } => anyhow::anyhow!("{error}"),
    }
}

struct Copying<'a> {
    reader: Reader,
    copy: Copy,
    filter: Option<&'a Filter>,
    each: Each<'a>,
    called_off: Arc<AtomicBool>,
    user: Option<&'a str>,
}

impl Job for Copying<'_> {
    type Outcome = Outcome;

    fn run<S: Ends + Send>(mut self, mut sink: S) -> Result<Outcome> {
        privileges::drop(self.user)?;
        let copied = copied(&self.copy, &mut self.reader, &mut sink, self.filter, &mut self.each);
        let files_full = sink.is_over();
        let written = sink.end();
        let content = sink.content();
        let bytes = content.map(|content| content.bytes);
        // What was handed over, and could then not be written.
        let lost = content.map_or(0, |content| copied.written.saturating_sub(content.packets));
        let packets = PacketsDocument::of(&copied.accounting(), lost, OfferedBy::File);
        let called_off = self.called_off.load(Ordering::Relaxed);
        let is_full = self.copy.count.is_some_and(|count| copied.written >= count);
        // A writer that has failed says less the second time.
        let (ended, error) = match (copied.ended, written) {
            (Err(error @ file::Error::System { doing: "writing", .. }), _) | (Ok(()), Err(error)) => {
                (Ended::OutputFailed, Some(error.into()))
            }
            (Ok(()), Ok(())) if is_full => (Ended::Count, None),
            (Ok(()), Ok(())) if files_full => (Ended::Files, None),
            (Ok(()), Ok(())) => (Ended::EndOfFile, None),
            (Err(file::Error::System { doing: "reading", .. }), Ok(())) if called_off => {
                (Ended::CalledOff, None)
            }
            (Err(error), _) => (Ended::SourceFailed, Some(damaged(error))),
        };
        Ok(Outcome { packets, bytes, ended, error })
    }
}

/// The filter for each kind of packets of a file, made when the first of them comes.
struct Each<'a> {
    asked: &'a Asked,
    snapshot: u32,
    optimize: bool,
    made: Vec<Made>,
}

/// The filter for packets of a kind.
struct Made {
    kind: Kind,
    program: Program,
    filter: Filter,
    /// libpcap's words where it says that the filter is true of none of them.
    never: Option<Error>,
}

impl Each<'_> {
    fn of(&mut self, kind: Kind) -> Result<&mut Made, Error> {
        let at = match self.made.iter().position(|made| made.kind == kind) {
            Some(at) => at,
            None => {
                let Each { asked, snapshot, optimize, .. } = *self;
                let (program, never) =
                    asked.among_others(kind.link_type, origin(kind), snapshot, optimize)?;
                self.made.push(Made { kind, filter: Filter::new(&program), program, never });
                self.made.len() - 1
            }
        };
        Ok(&mut self.made[at])
    }

    /// Refuses a filter before a packet is taken: that libpcap refuses for packets that there are; or that is true of no
    /// packet of any kind that there is, as libpcap refuses it for a file of one link type.
    ///
    /// The file is looked through only where an interface that is described before its first packet, which is of the kind
    /// `first`, is such: one without packets is in nobody's way. Of what can be read once only, such packets are met as
    /// they come.
    fn check(&mut self, path: &Path, reader: &Reader, first: Kind) -> Result<()> {
        self.of(first)?;
        let known = (0..reader.interfaces_known() as u32).filter_map(|number| reader.link_type(number));
        let mut known =
            known.map(|link_type| Kind { link_type, is_swapped: reader.is_swapped() }).chain([first]);
        let is_true_of_some = known.all(|kind| self.of(kind).is_ok_and(|made| made.never.is_none()));
        if is_true_of_some || path == Path::new("-") || !path.is_file() {
            return Ok(());
        }
        let mut reader = Reader::open(path).map_err(damaged)?;
        let mut found = Vec::new();
        // What is damaged is met again, after what comes before it.
        while let Ok(Some(captured)) = reader.next() {
            let interface = captured.interface;
            let Some(link_type) = reader.link_type(interface) else { continue };
            let kind = Kind { link_type, is_swapped: reader.is_swapped() };
            if !found.contains(&kind) {
                self.of(kind).map_err(|error| of_interface(error, interface, kind))?;
                found.push(kind);
            }
        }
        let mut made = self.made.iter_mut().filter(|made| found.contains(&made.kind));
        match made.next().map(|made| made.never.take()) {
            Some(Some(never)) if made.all(|made| made.never.is_some()) => Err(never.into()),
            _ => Ok(()),
        }
    }

    fn verdict(&mut self, kind: Kind, bytes: &[u8], length: u32) -> Result<u32, file::Error> {
        let made = self.of(kind).map_err(|error| file::Error::Format {
            file: format!("packets of link type {}", kind.link_type.0),
            reason: error.to_string(),
            remedy: LEAVE_OUT,
        })?;
        Ok(made.filter.run(bytes, length))
    }
}

/// What to do about packets that a filter cannot be for.
const LEAVE_OUT: &str = "leave such packets out (editcap, tshark), or the filter";

/// A refusal with the interface whose packets it is for.
fn of_interface(error: Error, interface: u32, kind: Kind) -> Error {
    match error {
        Error::Input { place, reason, .. } => Error::Input {
            place,
            reason: format!("for packets of interface {interface}, link type {}, {reason}", kind.link_type.0),
            remedy: LEAVE_OUT.into(),
        },
        other => other,
    }
}

/// Copies by the filter's own engine, so that nothing is decided for each packet that is known before.
fn copied(
    copy: &Copy,
    reader: &mut Reader,
    sink: &mut impl Sink,
    filter: Option<&Filter>,
    each: &mut Each<'_>,
) -> Copied {
    let Some(filter) = filter else { return copy.run(reader, sink, |_, _| u32::MAX) };
    if let Format::PcapNg(_) = reader.format() {
        return copy.run_each(reader, sink, |kind, bytes, length| each.verdict(kind, bytes, length));
    }
    #[cfg(target_arch = "x86_64")]
    if let Some(machine) = filter.machine() {
        return copy.run(reader, sink, |bytes, length| machine.run(bytes, length));
    }
    copy.run(reader, sink, |bytes, length| filter.run(bytes, length))
}

/// Why the standard output ended early is for the caller to see.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    let broken = |e: &(dyn std::error::Error + 'static)| match e.downcast_ref::<file::Error>() {
        Some(file::Error::System { source, .. }) => source.kind() == io::ErrorKind::BrokenPipe,
        _ => e.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe),
    };
    error.chain().any(broken)
}
