//! A capture that has ended: told in words or as a document, and as an error if it was one.

use anyhow::{Result, anyhow};
use tollway_capture::engine::bpf::{Filter, Program};

use crate::args::{FileFormat, FilterPlace, Options, SourceWay};
use crate::document::{
    CaptureDocument, Ended, FilterDocument, OutputDocument, PacketsDocument, SCHEMA_VERSION, SourceDocument,
};
use crate::filter::Asked;
use crate::recorded::is_broken_pipe;
use crate::usage::processor;

/// What came of a capture.
pub struct Outcome {
    /// Where packets went.
    pub packets: PacketsDocument,
    /// Bytes of the file that was written.
    pub bytes: Option<u64>,
    /// How it ended.
    pub ended: Ended,
    /// What went wrong.
    pub error: Option<anyhow::Error>,
}

/// A capture that has ended.
pub struct Session {
    /// All there is to tell.
    pub document: CaptureDocument,
    error: Option<anyhow::Error>,
}

impl Session {
    /// Puts together what is known.
    pub fn new(
        options: &Options,
        source: SourceDocument,
        asked: &Asked,
        program: Option<&Program>,
        filter: Option<&Filter>,
        outcome: Outcome,
    ) -> Session {
        let live = source.interface.is_some();
        // AF_XDP's packets pass no classic filter.
        let in_kernel = options.ways.source != SourceWay::Xdp;
        let place = match options.ways.filter_in {
            FilterPlace::Kernel if live && in_kernel => "kernel",
            FilterPlace::Both if live && in_kernel => "both",
            _ => "user",
        };
        let (user, system) = processor();
        let filter = program.map(|program| FilterDocument {
            expression: asked.expression().map(str::to_owned),
            instructions: program.instructions().len(),
            engine: filter.map_or("the kernel's", Filter::engine).into(),
            place: place.into(),
        });
        let format = match options.ways.format {
            FileFormat::Pcap => "pcap",
            FileFormat::Pcapng => "pcapng",
        };
        let output = options.write.as_ref().map(|file| OutputDocument {
            file: file.display().to_string(),
            format: format.into(),
            bytes: outcome.bytes,
        });
        // What the system answered is in the error's own words already, and need not follow them again.
        let error = outcome.error.filter(|error| !is_broken_pipe(error)).map(|error| anyhow!("{error}"));
        let document = CaptureDocument {
            schema_version: SCHEMA_VERSION,
            source,
            filter,
            output,
            packets: outcome.packets,
            seconds: 0.0,
            user_seconds: user.as_secs_f64(),
            system_seconds: system.as_secs_f64(),
            ended: outcome.ended,
            error: error.as_ref().map(ToString::to_string),
        };
        Session { document, error }
    }

    /// What went wrong, once all that came before is told.
    ///
    /// # Errors
    /// That.
    pub fn end(self) -> Result<()> {
        self.error.map_or(Ok(()), Err)
    }
}
