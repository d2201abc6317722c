//! What libpcap decides, takes and prints.

use std::ffi::{CStr, c_char};
use std::sync::{LazyLock, Mutex};

use super::loaded::function;
use tollway_capture::engine::bpf::{Instruction, Program};

/// As pcap/bpf.h declares them.
struct Machine {
    validate: unsafe extern "C" fn(*const Instruction, i32) -> i32,
    filter: unsafe extern "C" fn(*const Instruction, *const u8, u32, u32) -> u32,
    image: unsafe extern "C" fn(*const Instruction, i32) -> *const c_char,
}

// SAFETY: the types are those that pcap/bpf.h declares.
static MACHINE: LazyLock<Machine> = LazyLock::new(|| unsafe {
    Machine {
        validate: function(c"bpf_validate"),
        filter: function(c"bpf_filter"),
        image: function(c"bpf_image"),
    }
});

/// libpcap's verdict.
pub fn verdict(program: &Program, bytes: &[u8], wire_length: u32) -> u32 {
    let first = program.instructions().as_ptr();
    // SAFETY: the program was checked here, more strictly than `bpf_filter` relies on; the packet is as long
    // as said.
    unsafe { (MACHINE.filter)(first, bytes.as_ptr(), wire_length, bytes.len() as u32) }
}

/// Whether libpcap takes the program.
pub fn takes(instructions: &[Instruction]) -> bool {
    // SAFETY: the program is as long as said, and not empty: `bpf_validate` reads its last instruction.
    !instructions.is_empty()
        && unsafe { (MACHINE.validate)(instructions.as_ptr(), instructions.len() as i32) } != 0
}

/// How libpcap prints an instruction.
pub fn text(instruction: Instruction, number: usize) -> String {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(|e| e.into_inner());
    // SAFETY: it returns a text of its own that lives until it is called again: not before the turn ends.
    let text = unsafe { CStr::from_ptr((MACHINE.image)(&instruction, number as i32)) };
    text.to_str().expect("libpcap prints ASCII").to_owned()
}
