//! Instructions of eBPF, put one after the other.
//!
//! Source: Documentation/bpf/standardization/instruction-set.rst of the kernel (encodings), linux/bpf.h (helpers).

use std::collections::BTreeMap;
use std::os::fd::{AsRawFd, BorrowedFd};

/// A register. `R0` has results; `R1` to `R5` arguments, which a call leaves undefined; `R6` to `R9` outlive calls; `R10` is the end of the stack of 512 bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are their names")]
pub enum Register {
    R0,
    R1,
    R2,
    R3,
    R4,
    R5,
    R6,
    R7,
    R8,
    R9,
    R10,
}

/// What is read or written at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 8 bits.
    Byte = 0x10,
    /// 16 bits.
    Half = 0x08,
    /// 32 bits.
    Word = 0x00,
    /// 64 bits.
    Double = 0x18,
}

/// What is done to a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "they are their names")]
pub enum Operation {
    Add = 0x00,
    Sub = 0x10,
    Multiply = 0x20,
    Or = 0x40,
    And = 0x50,
    ShiftLeft = 0x60,
    ShiftRight = 0x70,
    Move = 0xb0,
}

/// When a jump is taken; numbers are without a sign where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Equal.
    Equal = 0x10,
    /// Greater.
    Above = 0x20,
    /// Not less.
    NotBelow = 0x30,
    /// Some bits in common.
    AnyBit = 0x40,
    /// Not equal.
    Different = 0x50,
    /// Not greater.
    NotAbove = 0xb0,
    /// Not less, of numbers with a sign.
    NotLess = 0x70,
    /// Less, of numbers with a sign.
    Less = 0xc0,
}

/// A function of the kernel (`___BPF_FUNC_MAPPER` in linux/bpf.h).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// `bpf_map_lookup_elem(map, key)`: the value's address, or 0.
    MapLookUp = 1,
    /// `bpf_map_update_elem(map, key, value, flags)`.
    MapUpdate = 2,
    /// `bpf_map_delete_elem(map, key)`.
    MapDelete = 3,
    /// `bpf_ktime_get_ns()`: CLOCK_MONOTONIC.
    Nanoseconds = 5,
    /// `bpf_get_smp_processor_id()`.
    Processor = 8,
    /// `bpf_get_current_pid_tgid()`: the thread's number in the low half, the process' in the high one.
    ThreadAndProcess = 14,
    /// `bpf_get_current_task()`: the address of the running thread's `task_struct`.
    Task = 35,
    /// `bpf_redirect_map(map, key, otherwise)`.
    RedirectMap = 51,
    /// `bpf_map_push_elem(map, value, flags)`.
    Push = 87,
    /// `bpf_map_pop_elem(map, value)`: 0, or less where there is none.
    Pop = 88,
    /// `bpf_probe_read_kernel(to, bytes, from)`.
    ReadKernel = 113,
    /// `bpf_probe_read_user_str(to, bytes, from)`: how many were read with the 0 at the end, or less than 0. What has no room is cut.
    ReadUserString = 114,
    /// `bpf_seq_write(file, from, bytes)`: what an iterator's reader reads.
    Write = 127,
}

/// A place in a program that jumps lead to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label(usize);

const LOAD: u8 = 0x61;
const STORE: u8 = 0x63;
const STORE_CONSTANT: u8 = 0x62;
const ATOMIC: u8 = 0xc3;
const ALU_CONSTANT: u8 = 0x07;
const ALU_REGISTER: u8 = 0x0f;
const JUMP_CONSTANT: u8 = 0x05;
const JUMP_REGISTER: u8 = 0x0d;
const JUMP: u8 = 0x05;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;
const LOAD_CONSTANT: u8 = 0x18;
/// The source of a 64-bit constant that is a map (`BPF_PSEUDO_MAP_FD`).
const A_MAP: u8 = 1;
/// The same, an address in a map's value (`BPF_PSEUDO_MAP_VALUE`, since Linux 5.2).
const A_VALUE: u8 = 2;

/// A program that grows.
#[derive(Debug, Default)]
pub struct Assembler {
    words: Vec<u64>,
    places: BTreeMap<Label, usize>,
    jumps: Vec<(usize, Label)>,
    labels: usize,
}

impl Assembler {
    /// Without an instruction.
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// A label that has no place yet.
    pub fn label(&mut self) -> Label {
        self.labels += 1;
        Label(self.labels)
    }

    /// Its place: what comes next. A label has one.
    pub fn place(&mut self, label: Label) -> &mut Assembler {
        let before = self.places.insert(label, self.words.len());
        assert!(before.is_none(), "a label has one place");
        self
    }

    /// `to = [from + offset]`
    pub fn load(&mut self, width: Width, to: Register, from: Register, offset: i16) -> &mut Assembler {
        self.push(LOAD | width as u8, to, from as u8, offset, 0)
    }

    /// `[to + offset] = from`
    pub fn store(&mut self, width: Width, to: Register, offset: i16, from: Register) -> &mut Assembler {
        self.push(STORE | width as u8, to, from as u8, offset, 0)
    }

    /// `[to + offset] = constant`
    pub fn store_constant(
        &mut self,
        width: Width,
        to: Register,
        offset: i16,
        constant: i32,
    ) -> &mut Assembler {
        self.push(STORE_CONSTANT | width as u8, to, 0, offset, constant)
    }

    /// `[to + offset] += from`, in one step; of words and doubles.
    pub fn add_atomically(
        &mut self,
        width: Width,
        to: Register,
        offset: i16,
        from: Register,
    ) -> &mut Assembler {
        assert!(matches!(width, Width::Word | Width::Double), "there is no other");
        self.push(ATOMIC | width as u8, to, from as u8, offset, 0)
    }

    /// `to = to operation constant`
    pub fn constant(&mut self, operation: Operation, to: Register, constant: i32) -> &mut Assembler {
        self.push(ALU_CONSTANT | operation as u8, to, 0, 0, constant)
    }

    /// `to = to operation from`
    pub fn register(&mut self, operation: Operation, to: Register, from: Register) -> &mut Assembler {
        self.push(ALU_REGISTER | operation as u8, to, from as u8, 0, 0)
    }

    /// `to` = a map, as an argument of a helper.
    pub fn map(&mut self, to: Register, map: BorrowedFd<'_>) -> &mut Assembler {
        self.push(LOAD_CONSTANT, to, A_MAP, 0, map.as_raw_fd());
        self.words.push(0);
        self
    }

    /// `to` = the address in the only value of an array: at so many bytes.
    pub fn value(&mut self, to: Register, map: BorrowedFd<'_>, offset: u32) -> &mut Assembler {
        self.push(LOAD_CONSTANT, to, A_VALUE, 0, map.as_raw_fd());
        self.words.push(u64::from(offset) << 32);
        self
    }

    /// Goes to a label where `register` and a constant are so.
    pub fn jump_if(&mut self, when: When, register: Register, constant: i32, label: Label) -> &mut Assembler {
        self.jumps.push((self.words.len(), label));
        self.push(JUMP_CONSTANT | when as u8, register, 0, 0, constant)
    }

    /// Goes to a label where two registers are so.
    pub fn jump_if_both(&mut self, when: When, a: Register, b: Register, label: Label) -> &mut Assembler {
        self.jumps.push((self.words.len(), label));
        self.push(JUMP_REGISTER | when as u8, a, b as u8, 0, 0)
    }

    /// Goes to a label.
    pub fn jump(&mut self, label: Label) -> &mut Assembler {
        self.jumps.push((self.words.len(), label));
        self.push(JUMP, Register::R0, 0, 0, 0)
    }

    /// Calls a function of the kernel.
    pub fn call(&mut self, helper: Helper) -> &mut Assembler {
        self.push(CALL, Register::R0, 0, 0, helper as i32)
    }

    /// Ends with a constant.
    pub fn end(&mut self, with: i32) -> &mut Assembler {
        self.constant(Operation::Move, Register::R0, with);
        self.push(EXIT, Register::R0, 0, 0, 0)
    }

    /// Ends with what `R0` has.
    pub fn end_with_result(&mut self) -> &mut Assembler {
        self.push(EXIT, Register::R0, 0, 0, 0)
    }

    /// The words of the program. Each label that a jump leads to must have its place.
    pub fn finish(mut self) -> Vec<u64> {
        for (at, label) in &self.jumps {
            let place = self.places.get(label).expect("a label that a jump leads to has a place");
            let distance = *place as i64 - *at as i64 - 1;
            let distance = i16::try_from(distance).expect("programs here are shorter than 32 K instructions");
            self.words[*at] |= u64::from(distance as u16) << 16;
        }
        self.words
    }

    fn push(&mut self, code: u8, to: Register, from: u8, offset: i16, constant: i32) -> &mut Assembler {
        self.words.push(
            u64::from(code)
                | u64::from(to as u8) << 8
                | u64::from(from) << 12
                | u64::from(offset as u16) << 16
                | u64::from(constant as u32) << 32,
        );
        self
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::Register::*;
    use super::*;

    /// As llvm-mc encodes them (`-triple bpfel -show-encoding`), byte by byte.
    #[test]
    fn encodings_are_those_of_the_standard() {
        let mut program = Assembler::new();
        program
            .load(Width::Double, R6, R1, 8)
            .store(Width::Word, R10, -4, R6)
            .constant(Operation::Move, R2, 7)
            .register(Operation::Add, R2, R10)
            .add_atomically(Width::Double, R0, 16, R1)
            .call(Helper::MapLookUp)
            .store_constant(Width::Byte, R10, -8, 3)
            .end(0)
            .value(R2, std::io::stdin().as_fd(), 16);
        let words = program.finish();
        let bytes = |word: u64| word.to_le_bytes();
        assert_eq!(bytes(words[0]), [0x79, 0x16, 0x08, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(words[1]), [0x63, 0x6a, 0xfc, 0xff, 0, 0, 0, 0]);
        assert_eq!(bytes(words[2]), [0xb7, 0x02, 0, 0, 7, 0, 0, 0]);
        assert_eq!(bytes(words[3]), [0x0f, 0xa2, 0, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(words[4]), [0xdb, 0x10, 0x10, 0, 0, 0, 0, 0]);
        assert_eq!(bytes(words[5]), [0x85, 0, 0, 0, 1, 0, 0, 0]);
        assert_eq!(bytes(words[6]), [0x72, 0x0a, 0xf8, 0xff, 3, 0, 0, 0]);
        assert_eq!(bytes(words[8]), [0x95, 0, 0, 0, 0, 0, 0, 0]);
        // The descriptor is 0, and where in the value it is stands in the second word.
        assert_eq!(
            [words[9], words[10]].map(bytes),
            [[0x18, 0x22, 0, 0, 0, 0, 0, 0], [0, 0, 0, 0, 16, 0, 0, 0]]
        );
    }

    #[test]
    fn labels_are_distances_from_the_next_instruction() {
        let mut program = Assembler::new();
        let (again, out) = (program.label(), program.label());
        program.place(again);
        program.jump_if(When::Equal, R1, 5, out).constant(Operation::Add, R1, 1).jump(again);
        program.place(out).end(0);
        let words = program.finish();
        assert_eq!(words[0].to_le_bytes(), [0x15, 0x01, 2, 0, 5, 0, 0, 0]);
        assert_eq!(words[2].to_le_bytes(), [0x05, 0, 0xfd, 0xff, 0, 0, 0, 0]);
    }
}
