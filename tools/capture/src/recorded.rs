//! From a file: read, filtered, written or printed.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::Result;
use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::Filter;
use tollway_capture::engine::file::{self, Copied, Copy, Format, Input, Reader, Sink, pcap};
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
    let reader = open(path, stop).map_err(|error| match &error {
        file::Error::System { doing: "reading", file, .. } if called_off.load(Ordering::Relaxed) => {
            anyhow::anyhow!(
                "called off before {file} had given the header of a capture file: nothing was read"
            )
        }
        _ => damaged(error),
    })?;
    let (link_type, snapshot) = first_interface(&reader);
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
    let kept = options.snapshot_length.filter(|bytes| *bytes > 0).unwrap_or(snapshot).min(snapshot);
    let program = asked.wanted(link_type, snapshot, !options.program.no_optimize)?;
    let mut layout: pcap::Layout = match reader.format() {
        Format::Pcap(header) => header.into(),
        Format::PcapNg(_) => pcap::Layout { snapshot, ..pcap::Layout::new(link_type) },
    };
    layout.snapshot = layout.snapshot.min(kept);
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
        snapshot: (kept < snapshot).then_some(kept),
        link_type: program.is_some().then_some(link_type),
        flush: options.packet_buffered || options.printing.line_buffered,
    };
    let filter = program.as_ref().map(Filter::new);
    let user = options.relinquish_privileges.as_deref();
    let job = Copying { reader, copy, filter: filter.as_ref(), called_off, user };
    let outcome = output::with(options, layout, json, job)?;
    Ok(Session::new(options, source, asked, program.as_ref(), filter.as_ref(), outcome))
}

/// The programs of a file's packets (-d): what they are and how much of them is kept.
///
/// # Errors
/// What cannot be opened or is no capture file.
pub fn facts(path: &Path) -> Result<(LinkType, u32)> {
    Ok(first_interface(&Reader::open(path).map_err(damaged)?))
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

/// What packets are, and how much of each is kept at most: of the first interface, and of the one that keeps most.
fn first_interface(reader: &Reader) -> (LinkType, u32) {
    let link = reader.link_type(0).unwrap_or(LinkType::ETHERNET);
    let most = (0..reader.interfaces_known() as u32).filter_map(|n| reader.snapshot(n)).max();
    (link, most.unwrap_or(file::LONGEST_PACKET))
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
    called_off: Arc<AtomicBool>,
    user: Option<&'a str>,
}

impl Job for Copying<'_> {
    type Outcome = Outcome;

    fn run<S: Ends + Send>(mut self, mut sink: S) -> Result<Outcome> {
        privileges::drop(self.user)?;
        let copied = copied(&self.copy, &mut self.reader, &mut sink, self.filter);
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

/// Copies by the filter's own engine, so that nothing is decided for each packet that is known before.
fn copied(copy: &Copy, reader: &mut Reader, sink: &mut impl Sink, filter: Option<&Filter>) -> Copied {
    let Some(filter) = filter else { return copy.run(reader, sink, |_, _| u32::MAX) };
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
