//! Copies a capture file: `copy IN OUT [KEPT]`. With KEPT only packets of that IP protocol (17: UDP) over Ethernet.

use std::env;
use std::path::Path;
use std::process::ExitCode;

use tollway_capture::engine::LinkType;
use tollway_capture::engine::file::{Copied, Copy, Format, Input, Output, Reader, pcap};

fn main() -> ExitCode {
    match copy() {
        Ok(copied) => {
            eprintln!("{} packets read, {} written", copied.read, copied.written);
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn copy() -> Result<Copied, tollway_core::Error> {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let [from, to, rest @ ..] = arguments.as_slice() else {
        return Err(tollway_core::Error::Input {
            place: "command line".into(),
            reason: "two files are needed".into(),
            remedy: "copy IN OUT [PROTOCOL]".into(),
        });
    };
    let mapped = env::var_os("MAPPED").is_some();
    // SAFETY: whoever sets MAPPED lets the file alone meanwhile.
    let input = if mapped { unsafe { Input::map(Path::new(from)) } } else { Input::open(Path::new(from)) }?;
    let mut reader = Reader::new(input)?;
    let layout = match reader.format() {
        Format::Pcap(header) => header.into(),
        Format::PcapNg(interfaces) => {
            let mut layout =
                pcap::Layout::new(interfaces.first().map_or(LinkType::ETHERNET, |i| i.link_type));
            layout.snapshot = interfaces.iter().map(|i| i.snapshot).max().unwrap_or_default();
            layout
        }
    };
    let mut writer = pcap::Writer::new(Output::create(Path::new(to))?, layout)?;
    let copy = Copy { link_type: Some(layout.link_type), ..Copy::default() };
    let copied = match rest.first().and_then(|p| p.parse::<u8>().ok()) {
        Some(protocol) => copy.run(&mut reader, &mut writer, |bytes, _| {
            let wanted = bytes.get(12..14) == Some(&[8, 0]) && bytes.get(23) == Some(&protocol);
            if wanted { u32::MAX } else { 0 }
        }),
        None => copy.run(&mut reader, &mut writer, |_, _| u32::MAX),
    };
    writer.finish()?;
    copied.ended?;
    Ok(Copied { ended: Ok(()), ..copied })
}
