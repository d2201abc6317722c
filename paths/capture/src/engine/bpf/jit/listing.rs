//! Machine code for readers.

use std::fmt::Write as _;

use iced_x86::{Decoder, DecoderOptions, Formatter, IntelFormatter};

use super::super::check::Program;
use super::Origin;
use super::emit::Emitted;
use super::lengths::Copy;

/// Address, bytes and instruction of each, below the BPF instruction that it comes from.
pub(super) fn listing(program: &Program, emitted: &Emitted, address: u64) -> String {
    let mut text = String::new();
    let ends = emitted.origins.iter().skip(1).map(|(from, _)| *from).chain([emitted.bytes.len()]);
    for (&(from, origin), to) in emitted.origins.iter().zip(ends) {
        if from == to {
            continue;
        }
        let heading = match origin {
            Origin::Start => "start".into(),
            Origin::Instruction(copy, at) => {
                let careful = if copy == Copy::Careful { ", every load checked" } else { "" };
                format!("({at:03}) {}{careful}", program.instructions()[at].display(at))
            }
            Origin::Unwanted => "not wanted".into(),
            Origin::Tables => format!("tables of constants, {} bytes", to - from),
        };
        // Writing to a String cannot fail.
        let _ = writeln!(text, "; {heading}");
        if origin != Origin::Tables {
            instructions(&mut text, &emitted.bytes[from..to], address + from as u64);
        }
    }
    text
}

fn instructions(text: &mut String, code: &[u8], address: u64) {
    let mut formatter = IntelFormatter::new();
    let mut name = String::new();
    for instruction in Decoder::with_ip(64, code, address, DecoderOptions::NONE).iter() {
        name.clear();
        formatter.format(&instruction, &mut name);
        let from = (instruction.ip() - address) as usize;
        let bytes = &code[from..from + instruction.len()];
        let bytes = bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        let _ = writeln!(text, "{:12x}  {bytes:<24} {name}", instruction.ip());
    }
}
