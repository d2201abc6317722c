//! What libpcap decides, takes and prints.

use std::ffi::{CStr, c_char};
use std::sync::Mutex;

use tollway_capture::engine::bpf::{Instruction, Program};

// pcap/bpf.h. The crate `pcap` links the library and does not show these.
unsafe extern "C" {
    safe fn bpf_validate(program: *const Instruction, length: i32) -> i32;
    fn bpf_filter(program: *const Instruction, packet: *const u8, wire: u32, kept: u32) -> u32;
    fn bpf_image(instruction: *const Instruction, number: i32) -> *const c_char;
}

/// libpcap's verdict.
pub fn verdict(program: &Program, bytes: &[u8], wire_length: u32) -> u32 {
    // SAFETY: the program was checked here, more strictly than `bpf_filter` relies on; the packet is as long as said.
    unsafe { bpf_filter(program.instructions().as_ptr(), bytes.as_ptr(), wire_length, bytes.len() as u32) }
}

/// Whether libpcap takes the program.
pub fn takes(instructions: &[Instruction]) -> bool {
    // It looks at the last instruction only after the length.
    !instructions.is_empty() && bpf_validate(instructions.as_ptr(), instructions.len() as i32) != 0
}

/// How libpcap prints an instruction.
pub fn text(instruction: Instruction, number: usize) -> String {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    // SAFETY: it returns a text of its own that lives until it is called again: not before the turn ends.
    let text = unsafe { CStr::from_ptr(bpf_image(&instruction, number as i32)) };
    text.to_str().expect("libpcap prints ASCII").to_owned()
}
