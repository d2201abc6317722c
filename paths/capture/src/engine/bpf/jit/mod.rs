//! Programs as machine code of x86-64.
//!
//! ```text
//! Program → flow (what matters, in which form) → lengths (which checks) → emit (machine code) → pages that may run
//! ```
//!
//! The code is a leaf function of the System V ABI without a prologue: packet in rdi, its kept length in rsi, its wire
//! length in edx (r8d if the program divides); A is eax, X is ecx, r9 to r11 are free; scratch memory is in the red
//! zone below the stack pointer (System V AMD64 ABI, 3.2.2). Its pages are written, then made executable and no longer
//! writable; never both.

mod emit;
mod flow;
mod lengths;
mod listing;
mod sets;

use std::fmt;
use std::io;

use dynasmrt::mmap::{ExecutableBuffer, MutableBuffer};

use super::check::Program;
use emit::Emitted;

/// The translated program.
pub struct Machine {
    code: ExecutableBuffer,
    entry: extern "sysv64" fn(*const u8, usize, u32) -> u32,
    emitted: Emitted,
    program: Program,
}

/// Where a piece of machine code comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// What comes before the first instruction.
    Start,
    /// An instruction, in the copy that checks ahead or in the careful one.
    Instruction(lengths::Copy, usize),
    /// The verdict 0.
    Unwanted,
    /// Tables of constants: no code.
    Tables,
}

impl Machine {
    /// Translates a program.
    ///
    /// # Errors
    /// A program with a loop: what is known of a program here is found in one pass. What the system says
    /// where it gives no memory that may run.
    pub fn new(program: &Program) -> io::Result<Self> {
        if program.backward_jumps() > 0 {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the program has a loop"));
        }
        let meanings: Vec<_> = program.meanings().collect();
        let emitted = emit::emit(&meanings);
        let mut writable = MutableBuffer::new(emitted.bytes.len())?;
        writable.set_len(emitted.bytes.len());
        writable.copy_from_slice(&emitted.bytes);
        let code = writable.make_exec()?;
        // SAFETY: the pages hold a function with these arguments, which begins with their first byte; they stay as they
        // are as long as `code` lives, which is as long as this value and its copy of the address.
        let entry = unsafe {
            std::mem::transmute::<*const u8, extern "sysv64" fn(*const u8, usize, u32) -> u32>(code.as_ptr())
        };
        Ok(Machine { code, entry, emitted, program: program.clone() })
    }

    /// How many bytes of the packet to keep, 0 if it is not wanted. `bytes` is what was kept of it so far.
    #[inline]
    pub fn run(&self, bytes: &[u8], wire_length: u32) -> u32 {
        (self.entry)(bytes.as_ptr(), bytes.len(), wire_length)
    }

    /// The machine code, with its tables of constants.
    pub fn code(&self) -> &[u8] {
        &self.code
    }

    /// The machine code for readers: address, bytes, instruction in Intel's notation, below the BPF instruction that it
    /// comes from.
    pub fn listing(&self) -> String {
        listing::listing(&self.program, &self.emitted, self.code.as_ptr() as u64)
    }
}

impl fmt::Debug for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Machine").field("bytes", &self.code.len()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::bpf::Instruction;

    #[test]
    fn code_is_never_writable_and_executable() {
        let keep = Instruction { code: 6, jt: 0, jf: 0, k: 7 };
        let machine = Machine::new(&Program::new(vec![keep]).unwrap()).unwrap();
        assert_eq!(machine.run(&[], 0), 7);
        let address = machine.code().as_ptr() as usize;
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let mut found = None;
        for line in maps.lines() {
            let mut words = line.split_whitespace();
            let (range, rights) = (words.next().unwrap(), words.next().unwrap());
            assert!(!(rights.contains('w') && rights.contains('x')), "writable and executable: {line}");
            let (from, to) = range.split_once('-').unwrap();
            let number = |text| usize::from_str_radix(text, 16).unwrap();
            if (number(from)..number(to)).contains(&address) {
                found = Some(rights.to_owned());
            }
        }
        assert_eq!(found.as_deref(), Some("r-xp"));
    }
}
