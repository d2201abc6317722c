//! Copies a capture file through a filter: `copy IN OUT [EXPRESSION]`. Says the seconds it took, and how many packets it
//! read and wrote.
//!
//! OUT is pcap, in microseconds, as of `tcpdump -r IN -w OUT EXPRESSION`. The benchmark of files runs it.

use std::env;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use tollway_capture::engine::LinkType;
use tollway_capture::engine::bpf::{self, Filter};
use tollway_capture::engine::file::{Copied, Copy, Format, Input, LONGEST_PACKET, Output, Reader, pcap};
use tollway_core::Error;

fn main() -> ExitCode {
    let begun = Instant::now();
    let arguments: Vec<String> = env::args().skip(1).collect();
    let outcome = match arguments.as_slice() {
        [from, to] => copy(from, to, ""),
        [from, to, expression] => copy(from, to, expression),
        _ => Err(Error::Input {
            place: "command line".into(),
            reason: "two files are needed, and perhaps a filter".into(),
            remedy: "copy IN OUT [EXPRESSION]".into(),
        }),
    };
    match outcome {
        Ok(copied) => {
            println!("{} {} {}", begun.elapsed().as_secs_f64(), copied.read, copied.written);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn copy(from: &str, to: &str, expression: &str) -> Result<Copied, Error> {
    let mapped = env::var_os("COPY_MAPPED").is_some();
    // SAFETY: whoever asks for a map lets the file alone meanwhile.
    let input = if mapped { unsafe { Input::map(Path::new(from)) } } else { Input::open(Path::new(from)) }?;
    let mut reader = Reader::new(input)?;
    let layout = match reader.format() {
        Format::Pcap(header) => header.into(),
        Format::PcapNg(interfaces) => {
            let link_type = interfaces.first().map_or(LinkType::ETHERNET, |i| i.link_type);
            let snapshot = interfaces.iter().map(|i| i.snapshot).max().unwrap_or_default();
            pcap::Layout { snapshot, ..pcap::Layout::new(link_type) }
        }
    };
    let mut writer = pcap::Writer::new(Output::create(Path::new(to))?, layout)?;
    let copy = Copy { link_type: Some(layout.link_type), ..Copy::default() };
    let copied = if expression.is_empty() {
        copy.run(&mut reader, &mut writer, |_, _| u32::MAX)
    } else {
        let filter = Filter::new(&bpf::compile(
            expression,
            layout.link_type,
            bpf::Origin::File { is_swapped: reader.is_swapped() },
            LONGEST_PACKET,
            true,
        )?);
        copy.run(&mut reader, &mut writer, |bytes, wire_length| filter.run(bytes, wire_length))
    };
    writer.finish()?;
    copied.ended?;
    Ok(Copied { ended: Ok(()), ..copied })
}
