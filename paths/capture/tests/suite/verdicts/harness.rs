//! Bytes as a program and a packet: checked, then decided on by everybody in this process.
//!
//! ```text
//! count of instructions (1 byte) | instructions (8 bytes each, as in memory) | wire length beyond the packet's (2) | packet
//! ```

use super::libpcap;
use super::plain::{self, Rules};
use tollway_capture::engine::bpf::{Filter, Instruction, Program};

/// Runs it; whether it was a program.
///
/// # Panics
/// If verdicts differ, or an error does not say what to do.
pub fn run(input: &[u8]) -> bool {
    let Some((&count, rest)) = input.split_first() else { return false };
    let Some((code, rest)) = rest.split_at_checked(8 * usize::from(count)) else { return false };
    let Some((&[low, high], packet)) = rest.split_first_chunk() else { return false };
    let instructions = code.chunks_exact(8).map(|b| Instruction {
        code: u16::from_le_bytes([b[0], b[1]]),
        jt: b[2],
        jf: b[3],
        k: u32::from_le_bytes([b[4], b[5], b[6], b[7]]),
    });
    let instructions: Vec<Instruction> = instructions.collect();
    let program = match Program::new(instructions) {
        Ok(program) => program,
        Err(refused) => {
            assert!(refused.to_string().contains("; "), "{refused}: no remedy");
            return false;
        }
    };
    assert_eq!(Program::read(&program.to_numbers()).as_ref(), Ok(&program), "written and read it is another");
    assert_eq!(Program::read(&program.to_c()).as_ref(), Ok(&program), "written and read it is another");
    let wire_length = packet.len() as u32 + u32::from(u16::from_le_bytes([low, high]));
    let (machine, interpreter) = (Filter::new(&program), Filter::interpreted(&program));
    // Cut short as well: near its end, and where headers end.
    let lengths = [packet.len(), packet.len().saturating_sub(1), packet.len() / 2, 60, 34, 14, 0];
    for bytes in lengths.into_iter().filter_map(|length| packet.get(..length)) {
        let expected = plain::verdict(&program, bytes, wire_length, Rules::Libpcap);
        let verdicts = [
            machine.run(bytes, wire_length),
            interpreter.run(bytes, wire_length),
            match program.backward_jumps() {
                0 => libpcap::verdict(&program, bytes, wire_length),
                // It may never end.
                _ => expected,
            },
        ];
        let agree = verdicts.iter().all(|v| *v == expected);
        assert!(agree, "{expected}, {verdicts:?} for {bytes:02x?}\n{}", program.to_text());
    }
    true
}
