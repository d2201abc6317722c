//! Where packets go: a file in either format, lines of text, or nowhere but into the count.

use std::fs;
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use anyhow::Result;
use tollway_capture::engine::file::pcapng::{Described, Statistics};
use tollway_capture::engine::file::{self, Output, Resolution, Rotating, Sink, pcap, pcapng};
use tollway_capture::engine::{Packet, Timestamp};
use tollway_core::Error;

use crate::args::{FileFormat, Options, Precision};
use crate::print::Printer;
use crate::times;

/// A sink that ends.
pub trait Ends: Sink {
    /// Writes the rest. [`Sink::content`] says then how much it was in all.
    ///
    /// # Errors
    /// If the system does not take it.
    fn end(&mut self) -> Result<(), file::Error>;
}

impl Ends for pcap::Writer {
    fn end(&mut self) -> Result<(), file::Error> {
        self.flush()
    }
}

impl Ends for pcapng::Writer {
    fn end(&mut self) -> Result<(), file::Error> {
        self.flush()
    }
}

impl Ends for Rotating {
    fn end(&mut self) -> Result<(), file::Error> {
        self.finish()
    }
}

/// Counts and forgets.
pub struct Nowhere;

impl Sink for Nowhere {
    fn describe(&mut self, _: &Described) -> Result<(), file::Error> {
        Ok(())
    }

    fn conclude(&mut self, _: u32, _: &Statistics, _: Timestamp) -> Result<(), file::Error> {
        Ok(())
    }

    fn write(&mut self, _: u32, _: &Packet<'_>) -> Result<(), file::Error> {
        Ok(())
    }

    fn flush(&mut self) -> Result<(), file::Error> {
        Ok(())
    }
}

impl Ends for Nowhere {
    fn end(&mut self) -> Result<(), file::Error> {
        Ok(())
    }
}

impl<W: Write> Ends for Printer<W> {
    fn end(&mut self) -> Result<(), file::Error> {
        self.flush()
    }
}

/// What is done with a sink of whichever kind, once it is open.
pub trait Job {
    /// What comes of it.
    type Outcome;

    /// Does it.
    ///
    /// # Errors
    /// Whatever goes wrong.
    fn run<S: Ends + Send>(self, sink: S) -> Result<Self::Outcome>;
}

/// The unit that times are written in.
pub fn resolution(options: &Options) -> Resolution {
    match options.ways.time_stamp_precision {
        Precision::Micro => Resolution::Micros,
        Precision::Nano => Resolution::Nanos,
    }
}

/// Whether packets are printed on a terminal, where somebody waits for them.
pub fn prints_on_terminal(options: &Options) -> bool {
    options.write.is_none() && io::stdout().is_terminal()
}

/// Opens what packets go to and does the job with it. `json`: standard output is for the document alone.
///
/// # Errors
/// A file that cannot be made, and whatever goes wrong with the job.
pub fn with<J: Job>(options: &Options, layout: pcap::Layout, json: bool, job: J) -> Result<J::Outcome> {
    let Some(file) = &options.write else {
        if json {
            return job.run(Nowhere);
        }
        // Without the standard library's buffer, which would take what the system did not.
        let out = fs::File::from(io::stdout().as_fd().try_clone_to_owned()?);
        return job.run(Printer::new(out, options));
    };
    if let Some(rotation) = options.in_turn.rotation() {
        if options.ways.format != FileFormat::Pcap || file.as_os_str() == "-" {
            return Err(Error::Input {
                place: "-C, -G".into(),
                reason: "files in turn are pcap files with names".into(),
                remedy: "leave out --format pcapng, and give -w a name".into(),
            }
            .into());
        }
        if rotation.repeats(file) {
            return Err(Error::Input {
                place: format!("-G {}, -w {}", rotation.seconds.unwrap_or_default(), file.display()),
                reason: "files that follow each other would have the same name, and each would be emptied for the next"
                    .into(),
                remedy: "put the time into the name, as strftime(3) writes it: %Y%m%d-%H%M%S".into(),
            }
            .into());
        }
        if rotation.seconds.is_some() && file.to_string_lossy().contains('%') {
            // The C library makes the names, and says nothing of a TZ that it cannot read.
            times::local_zone();
        }
        return job.run(Rotating::new(file, layout, rotation));
    }
    let output = Output::create(file).map_err(|error| {
        anyhow::anyhow!("{error}; check that its folder exists and that it may be written to")
    })?;
    match options.ways.format {
        FileFormat::Pcap => job.run(pcap::Writer::new(output, layout)?),
        FileFormat::Pcapng => {
            let application = concat!("tollway ", env!("CARGO_PKG_VERSION"));
            job.run(pcapng::Writer::new(output, application)?)
        }
    }
}

/// Refuses to write over what is being read.
///
/// # Errors
/// If the two are one file.
pub fn must_differ(read: &Path, write: &Path) -> Result<(), Error> {
    let identity = |path| fs::metadata(path).ok().filter(|m| m.is_file()).map(|m| (m.dev(), m.ino()));
    match (identity(read), identity(write)) {
        (Some(one), Some(other)) if one == other => Err(Error::Input {
            place: format!("-w {}", write.display()),
            reason: "it is the file that is read, and would be emptied".into(),
            remedy: "write to another file".into(),
        }),
        _ => Ok(()),
    }
}
