//! Which file a system call is made on, as long as it is open.

use std::os::fd::AsFd;

use tollway_bpf::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, When, Width};

use super::layout::{name, of_number, thread};
use super::runs::{add, keep, look_up, read};
use super::{Fields, Maps};
use crate::numbers::{I386, NUMBERS, X32, flags_of_asking, flags_of_opening};

/// Where `struct pt_regs` (arch/x86/include/asm/ptrace.h) has the first four arguments of a call: `di`, `si`, `dx` and `r10`, and of a call of 32 bits
/// `bx`, `cx`, `dx` and `si`.
const ARGUMENTS: [i32; 4] = [112, 104, 96, 56];
const ARGUMENTS_OF_32_BITS: [i32; 4] = [40, 88, 96, 104];

/// Where a call of that number has an argument among its registers.
pub(super) fn register_of(number: u32, argument: usize) -> u64 {
    let arguments = if (I386..X32).contains(&number) { ARGUMENTS_OF_32_BITS } else { ARGUMENTS };
    arguments[argument] as u64
}

/// Types of files (linux/stat.h, S_IFMT shifted by 12).
pub(super) const PIPE: i32 = 0x1;
pub(super) const CHARACTER: i32 = 0x2;
pub(super) const FOLDER: i32 = 0x4;
/// None of these: a folder of which nothing is named.
pub(super) const FOLDER_ITSELF: i32 = 0x5;
pub(super) const BLOCK: i32 = 0x6;
/// None of these: what the call made.
pub(super) const CREATED: i32 = 0x7;
pub(super) const REGULAR: i32 = 0x8;
pub(super) const SOCKET: i32 = 0xc;

/// Where the stack has what was read, 16 bytes.
const FOUND: i16 = -40;
const SECOND: i16 = FOUND + 8;
/// Where the stack has which file is named, when that began, and its path.
const NAMED: i16 = -64;
const SINCE: i16 = -72;
const PATH: i16 = SINCE - name::LONGEST as i16;
/// Where the stack has the call's number.
const NUMBER: i16 = -20;
/// Where it keeps a register, while nothing is named.
const KEPT: i16 = NAMED;

/// A file that was not there before it was opened (include/linux/fs.h, FMODE_CREATED).
const MADE: i32 = 1 << 20;

/// `R9` = the address of what the descriptor in `R9` leads to, a `struct file`; goes to `none` where there is no such descriptor.
/// A task's descriptors: include/linux/fdtable.h.
fn file_of(program: &mut Assembler, fields: &Fields, none: Label) {
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
    program.load(Width::Double, R9, R10, FOUND).jump_if(When::Equal, R9, 0, none);
}

/// `R9` = the address of the inode that the descriptor in `R9` leads to; goes to `none` where there is no such descriptor.
fn inode_of(program: &mut Assembler, fields: &Fields, none: Label) {
    file_of(program, fields, none);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.inode);
    read(program, 8, FOUND, none);
    program.load(Width::Double, R9, R10, FOUND);
}

/// Notes with the thread in `R7` that its call, which ends, has made the file that it opened. The registers are the first of the program's arguments
/// at `R6`, the call's result the second; `R8` and `R9` stay as they are.
pub(super) fn created(program: &mut Assembler, fields: &Fields) {
    let (has_flags, may_create, over, out) =
        (program.label(), program.label(), program.label(), program.label());
    program.load(Width::Double, R1, R7, thread::OPENS).jump_if(When::Equal, R1, 0, out);
    program.load(Width::Double, R1, R6, 8).jump_if(When::Less, R1, 0, out);
    program.store(Width::Double, R10, KEPT, R9).load(Width::Double, R1, R7, thread::CALL);
    for (number, flags) in (0..NUMBERS).filter_map(|number| Some((number, flags_of_opening(number)?))) {
        let other = program.label();
        program.jump_if(When::Different, R1, number as i32, other);
        program.constant(Operation::Move, R9, register_of(number, flags) as i32).jump(has_flags);
        program.place(other);
    }
    program.jump(may_create).place(has_flags);
    program.load(Width::Double, R3, R6, 0).register(Operation::Add, R3, R9);
    read(program, 8, FOUND, over);
    program.load(Width::Double, R1, R10, FOUND).constant(Operation::And, R1, libc::O_CREAT);
    program.jump_if(When::Equal, R1, 0, over).place(may_create).load(Width::Double, R9, R6, 8);
    file_of(program, fields, over);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.opened);
    read(program, 4, FOUND, over);
    program.load(Width::Word, R1, R10, FOUND).constant(Operation::And, R1, MADE);
    program.jump_if(When::Equal, R1, 0, over);
    program.store_constant(Width::Double, R7, thread::TYPE, CREATED);
    program.store_constant(Width::Double, R7, thread::INODE, 0);
    program.store_constant(Width::Double, R7, thread::WHAT, 0);
    program.place(over).load(Width::Double, R9, R10, KEPT).place(out);
}

/// Keeps the path by which the thread in `R7` has just opened a file, if its call did that and nothing is known of the file yet. The registers are the
/// first of the program's arguments at `R6`, the call's result the second. The path is in the memory of the program, which may do with it what it likes.
pub(super) fn opened(program: &mut Assembler, maps: &Maps, fields: &Fields, out: Label) {
    let over = program.label();
    program.load(Width::Double, R8, R7, thread::OPENS).jump_if(When::Equal, R8, 0, out);
    program.store_constant(Width::Double, R7, thread::OPENS, 0);
    program.load(Width::Double, R9, R6, 8).jump_if(When::Less, R9, 0, out);
    program.call(Helper::Nanoseconds).store(Width::Double, R10, SINCE, R0);
    inode_of(program, fields, over);
    // Only what has a path on a file system.
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.mode);
    read(program, 2, FOUND, over);
    let has_path = program.label();
    program.load(Width::Half, R1, R10, FOUND).constant(Operation::ShiftRight, R1, 12);
    program.jump_if(When::Equal, R1, REGULAR, has_path).jump_if(When::Different, R1, FOLDER, over);
    program.place(has_path).store_constant(Width::Double, R10, NAMED + name::DEVICE, 0);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.number_of_inode);
    read(program, 8, NAMED + name::INODE, over);
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.file_system);
    read(program, 8, FOUND, over);
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Add, R3, fields.number_of_file_system);
    read(program, 4, NAMED + name::DEVICE, over);
    let unknown = program.label();
    look_up(program, &maps.names, NAMED, unknown);
    program.jump(over).place(unknown).load(Width::Double, R3, R6, 0).register(Operation::Add, R3, R8);
    read(program, 8, FOUND, over);
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Move, R2, name::LONGEST as i32);
    program.register(Operation::Move, R1, R10).constant(Operation::Add, R1, PATH.into());
    program.call(Helper::ReadUserString).jump_if(When::Less, R0, 2, over);
    program.map(R1, maps.names.as_fd()).register(Operation::Move, R2, R10);
    program.constant(Operation::Add, R2, NAMED.into()).register(Operation::Move, R3, R10);
    program.constant(Operation::Add, R3, PATH.into()).constant(Operation::Move, R4, 0);
    program.call(Helper::MapUpdate);
    program.place(over).call(Helper::Nanoseconds).load(Width::Double, R2, R10, SINCE);
    program.register(Operation::Sub, R0, R2);
    add(program, R7, thread::NAMING, R0);
}

/// Notes a folder, which the thread in `R7` has for its file, as one of which nothing is named, if the call in `R8` says so by its flags: it is
/// not looked whether the path is empty then.
fn folder_itself(program: &mut Assembler, out: Label) {
    let has_flags = program.label();
    program.load(Width::Double, R1, R7, thread::TYPE).jump_if(When::Different, R1, FOLDER, out);
    for (number, flags) in (0..NUMBERS).filter_map(|number| Some((number, flags_of_asking(number)?))) {
        let other = program.label();
        program.jump_if(When::Different, R8, number as i32, other);
        program.constant(Operation::Move, R9, register_of(number, flags) as i32).jump(has_flags);
        program.place(other);
    }
    program.jump(out).place(has_flags);
    program.load(Width::Double, R3, R6, 0).register(Operation::Add, R3, R9);
    read(program, 8, FOUND, out);
    program.load(Width::Double, R1, R10, FOUND).constant(Operation::And, R1, libc::AT_EMPTY_PATH);
    program.jump_if(When::Equal, R1, 0, out);
    program.store_constant(Width::Double, R7, thread::TYPE, FOLDER_ITSELF);
}

/// Notes the file of the call whose number is in `R8` with the thread in `R7`; the program's arguments are at `R6`, the first of them the registers.
pub(super) fn note(program: &mut Assembler, maps: &Maps, fields: &Fields) {
    let (none, socket, device, out) = (program.label(), program.label(), program.label(), program.label());
    let (of_64_bits, on_file) = (program.label(), program.label());
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
    program.jump_if(When::NotAbove, R1, of_number::ON_FILE as i32, on_file).register(Operation::Move, R2, R1);
    program.constant(Operation::ShiftRight, R2, of_number::OPENS as i32).store(
        Width::Double,
        R7,
        thread::OPENS,
        R2,
    );
    program.constant(Operation::And, R1, of_number::ON_FILE as i32).jump_if(When::Equal, R1, 0, none);
    program.place(on_file);
    program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, ARGUMENTS[0]);
    program.jump_if(When::NotAbove, R8, I386 as i32 - 1, of_64_bits);
    program.jump_if(When::Above, R8, X32 as i32 - 1, of_64_bits);
    program.constant(Operation::Sub, R3, ARGUMENTS[0] - ARGUMENTS_OF_32_BITS[0]).place(of_64_bits);
    read(program, 8, FOUND, none);
    // A path has AT_FDCWD in its place mostly, which is less than 0.
    program.load(Width::Word, R9, R10, FOUND).jump_if(When::Above, R9, i32::MAX, none);
    inode_of(program, fields, none);
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
    folder_itself(program, out);
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
