//! Which file a system call is made on, as long as it is open.

use tollway_bpf::assembler::Register::{R0, R1, R3, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Operation, When, Width};

use super::layout::thread;
use super::runs::{keep, look_up, read};
use super::{Fields, Maps};
use crate::numbers::{I386, NUMBERS, X32};

/// `di` in `struct pt_regs` (arch/x86/include/asm/ptrace.h): a call's first argument; and `bx`, that of a call of 32 bits.
const FIRST_ARGUMENT: i32 = 112;
const FIRST_OF_32_BITS: i32 = 40;

/// Types of files (linux/stat.h, S_IFMT shifted by 12).
pub(super) const PIPE: i32 = 0x1;
pub(super) const CHARACTER: i32 = 0x2;
pub(super) const FOLDER: i32 = 0x4;
pub(super) const BLOCK: i32 = 0x6;
pub(super) const SOCKET: i32 = 0xc;

/// Where the stack has what was read, 16 bytes.
const FOUND: i16 = -40;
const SECOND: i16 = FOUND + 8;
/// Where the stack has the call's number.
const NUMBER: i16 = -20;

/// Notes the file of the call whose number is in `R8` with the thread in `R7`; the program's arguments are at `R6`, the first of them the registers.
/// A task's descriptors: include/linux/fdtable.h.
pub(super) fn note(program: &mut Assembler, maps: &Maps, fields: &Fields) {
    let (none, socket, device, out) = (program.label(), program.label(), program.label(), program.label());
    let of_64_bits = program.label();
    program.store_constant(Width::Double, R7, thread::TYPE, 0).store_constant(
        Width::Double,
        R7,
        thread::INODE,
        0,
    );
    program.store_constant(Width::Double, R7, thread::WHAT, 0);
    program.jump_if(When::Above, R8, NUMBERS as i32 - 1, none).store(Width::Word, R10, NUMBER, R8);
    look_up(program, &maps.on_files, NUMBER, none);
    program.load(Width::Double, R1, R0, 0).jump_if(When::Equal, R1, 0, none);
    program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, FIRST_ARGUMENT);
    program.jump_if(When::NotAbove, R8, I386 as i32 - 1, of_64_bits);
    program.jump_if(When::Above, R8, X32 as i32 - 1, of_64_bits);
    program.constant(Operation::Sub, R3, FIRST_ARGUMENT - FIRST_OF_32_BITS).place(of_64_bits);
    read(program, 8, FOUND, none);
    program.load(Width::Word, R9, R10, FOUND);
    program.call(Helper::Task).register(Operation::Move, R3, R0).constant(Operation::Add, R3, fields.files);
    read(program, 8, FOUND, none);
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Add, R3, fields.descriptors);
    read(program, 8, FOUND, none);
    // How many there are, and their table: side by side (`Fields` has checked that).
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Add, R3, fields.most);
    read(program, 16, FOUND, none);
    program.load(Width::Word, R1, R10, FOUND).jump_if_both(When::NotAbove, R1, R9, none);
    program.load(Width::Double, R3, R10, SECOND).constant(Operation::ShiftLeft, R9, 3).register(
        Operation::Add,
        R3,
        R9,
    );
    read(program, 8, FOUND, none);
    program.load(Width::Double, R3, R10, FOUND).jump_if(When::Equal, R3, 0, none);
    program.constant(Operation::Add, R3, fields.inode);
    read(program, 8, FOUND, none);
    program.load(Width::Double, R9, R10, FOUND);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.number_of_inode);
    keep(program, 8, thread::INODE);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.mode);
    read(program, 2, FOUND, none);
    program.load(Width::Half, R1, R10, FOUND).constant(Operation::ShiftRight, R1, 12).store(
        Width::Double,
        R7,
        thread::TYPE,
        R1,
    );
    program.jump_if(When::Equal, R1, SOCKET, socket);
    program.jump_if(When::Equal, R1, CHARACTER, device).jump_if(When::Equal, R1, BLOCK, device);
    program.jump_if(When::Equal, R1, PIPE, out);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.file_system);
    read(program, 8, FOUND, out);
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Add, R3, fields.number_of_file_system);
    keep(program, 4, thread::WHAT);
    program.jump(out);
    program.place(device).register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.device);
    keep(program, 4, thread::WHAT);
    program.jump(out);
    // A socket's inode is part of a structure that leads to the socket: include/net/sock.h, SOCKET_I.
    program.place(socket).register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.socket);
    read(program, 8, FOUND, out);
    program.load(Width::Double, R9, R10, FOUND);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.family);
    keep(program, 2, thread::WHAT);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.protocol);
    keep(program, 2, thread::WHAT + 2);
    program.place(none).place(out);
}
