//! `tollway capture`: packets from an interface or a file, filtered, into a file or as lines of text.
//!
//! ```text
//! args → filter (libpcap's expression, or bytecode) ┐
//!        live (an interface) or recorded (a file)   ┼→ output (pcap, pcapng, text, nothing) → document, summary
//!        privileges dropped once all is open        ┘
//! ```
//!
//! It is mounted in the program as a verb. The letters are tcpdump's where there is one; the words are ours.

pub mod advise;
pub mod args;
mod counters;
mod decode;
pub mod document;
mod filter;
pub mod generate;
mod interfaces;
mod link_type;
mod live;
mod output;
mod position;
mod print;
mod privileges;
mod recorded;
mod session;
mod signals;
mod times;
mod usage;

use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::Origin;
use tollway_core::Error;

use args::Options;
use filter::Asked;
use session::Session;

/// Does what the command line says. `json`: tells how it ended as a document on standard output.
///
/// # Errors
/// What was asked for cannot be, or went wrong on its way; what came before is kept.
pub fn run(options: &Options, json: bool) -> Result<()> {
    let begun = Instant::now();
    if options.list_interfaces {
        return interfaces::list(json);
    }
    let asked = Asked::of(options)?;
    if options.program.dump > 0 || options.program.machine_code {
        if json {
            return Err(usage(
                "--json",
                "a filter's program is printed as text",
                "leave it out; -ddd is for programs",
            ));
        }
        return show_program(options, &asked);
    }
    let is_stdout = options.write.as_deref() == Some(Path::new("-"));
    if is_stdout && json {
        return Err(usage(
            "-w -",
            "--json writes its document to standard output",
            "write packets to a file",
        ));
    }
    if is_stdout && io::stdout().is_terminal() {
        return Err(usage(
            "-w -",
            "standard output is a terminal",
            "redirect it, or leave -w out to print packets",
        ));
    }
    let mut session = match (&options.read, &options.interface) {
        (Some(file), _) => recorded::run(options, file, &asked, json)?,
        (None, Some(name)) => live::run(options, name, &asked, json)?,
        (None, None) => {
            return Err(usage("-i IF", "no interface is named, and no file (-r)", &interfaces::choices()));
        }
    };
    session.document.seconds = begun.elapsed().as_secs_f64();
    tell(session, json)
}

/// How it ended: the document on standard output, or the summary on standard error.
fn tell(session: Session, json: bool) -> Result<()> {
    if json {
        let mut out = io::stdout().lock();
        serde_json::to_writer_pretty(&mut out, &session.document).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    } else {
        say(&session.document.summary());
    }
    session.end()
}

/// Tells something beside the results, on standard error. Nobody is left to tell where that is closed.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "{text}");
}

/// -d, -dd, -ddd and --machine-code.
fn show_program(options: &Options, asked: &Asked) -> Result<()> {
    let (link, origin, snapshot) = match &options.read {
        Some(file) => recorded::facts(file)?,
        None if options.interface.is_some() => {
            let interface = interfaces::named(options.interface.as_deref().unwrap_or_default())?;
            let link = tollway_capture::engine::source::link_type(&interface).map_err(Error::from)?;
            (link, Origin::Live, tollway_capture::engine::file::LONGEST_PACKET)
        }
        None => (LinkType::ETHERNET, Origin::Live, tollway_capture::engine::file::LONGEST_PACKET),
    };
    let link = options.program.linktype.map_or(link, LinkType);
    let snapshot = options.snapshot_length.filter(|bytes| *bytes > 0).unwrap_or(snapshot);
    let program = asked.program(link, origin, snapshot, !options.program.no_optimize)?;
    let text = match options.program.dump {
        0 => filter::machine_code(&program)?,
        1 => program.to_text(),
        2 => program.to_c(),
        _ => program.to_numbers(),
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(())
}

fn usage(place: &str, reason: &str, remedy: &str) -> anyhow::Error {
    Error::Input { place: place.into(), reason: reason.into(), remedy: remedy.into() }.into()
}
