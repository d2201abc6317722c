//! A system call begins, and ends.

mod paths;

use tollway_bpf::assembler::Register::{self, R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, When, Width};

use std::os::fd::AsFd;

use super::fields::COMPAT;
use super::files;
use super::layout::numbered::OTHERS;
use super::layout::{call, key, thread, whole};
use super::runs::{SLOT, add, if_counting, if_not_all, is_running, look_up, one_more, read, who_runs};
use super::{Detail, Fields, Maps};
use crate::numbers::{I386, NUMBERS, TABLE, X32, X32_BIT, is_last};

/// The greatest error number (linux/err.h, MAX_ERRNO): results from there to -1 are failures.
const MOST_ERRORS: i32 = -4095;
/// `orig_ax` in `struct pt_regs` (arch/x86/include/asm/ptrace.h): the number of the call.
const NUMBER: i32 = 120;
/// `BPF_NOEXIST` (linux/bpf.h).
const NEW: i32 = 1;

/// Results of calls that a signal broke off: EINTR, and those from ERESTART_RESTARTBLOCK to ERESTARTSYS (linux/errno.h), after which the kernel begins them again.
const INTERRUPTED: i32 = -libc::EINTR;
const RESTARTED: (i32, i32) = (-516, -512);
/// What is 0 when a call begins.
const NEW_CALL: [i16; 8] = [
    thread::COUNTED,
    thread::AWAY,
    thread::SLEPT,
    thread::WOKE_HERE,
    thread::WOKE_ACROSS,
    thread::WOKE_BUSY,
    thread::OUT,
    thread::BROKEN_OFF,
];

/// Where the stack has a key, and what a new one's value is.
const KEY: i16 = -64;
const VALUE: i16 = KEY - call::SIZE as i16;
/// Where it has what was read.
const FOUND: i16 = -40;
/// Where it has when the program at a call's end began.
const BEGUN: i16 = VALUE - 8;
/// Not 0 where it made room for a call on another file than all before.
const MADE: i16 = BEGUN - 8;
/// Programs time themselves at one of this many calls of a thread, once in each row of as many; at which, chance decides, so that a loop is not
/// timed at the same of its calls again and again. A power of two.
pub(super) const TIMED_CALLS: i32 = 1 << TIMED_BITS;
const TIMED_BITS: i32 = 4;
/// The odd number of 32 bits next to these times the golden ratio: products by it differ in their topmost bits (Knuth, The Art of Computer Programming 3, 6.4).
const GOLDEN: i32 = 0x9e37_79b1_u32 as i32;
/// Nanoseconds beyond which something else had the processor meanwhile: an interrupt, or the host.
const INTERRUPTED_FOR: i32 = 10_000;

/// `sys_enter(registers, number)`.
pub(super) fn begins(maps: &Maps, fields: &Fields, detail: Detail) -> Vec<u64> {
    let mut program = Assembler::new();
    let (everything, out) = (program.label(), program.label());
    if_not_all(&mut program, maps, everything, out);
    by_number(&mut program, maps, out);
    program.jump(out).place(everything);
    who_runs(&mut program, maps, out);
    program.load(Width::Double, R8, R6, 8);
    note(&mut program, maps, fields, detail, out);
    for place in NEW_CALL {
        program.store_constant(Width::Double, R7, place, 0);
    }
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::ENTERED, R0);
    is_running(&mut program, maps);
    program.place(out).end(0);
    program.finish()
}

/// Notes the call that has the number in `R8` in its table, and its file, with the thread in `R7`.
fn note(program: &mut Assembler, maps: &Maps, fields: &Fields, detail: Detail, out: Label) {
    if detail == Detail::Totals {
        return;
    }
    program.call(Helper::Task).register(Operation::Move, R3, R0).constant(Operation::Add, R3, fields.status);
    read(program, 4, FOUND, out);
    number_of(program);
    program.store(Width::Double, R7, thread::CALL, R8);
    files::note(program, maps, fields);
}

/// `R8` = the number among [`numbers`](crate::numbers) of the call that has it in its table, of the thread in `R7`; what its task's status is, which tells
/// the table, the stack has at [`FOUND`].
fn number_of(program: &mut Assembler) {
    let (of_64_bits, of_x32, within, known) =
        (program.label(), program.label(), program.label(), program.label());
    let last = TABLE as i32 - 1;
    program.load(Width::Word, R1, R10, FOUND).constant(Operation::And, R1, COMPAT);
    program.jump_if(When::Equal, R1, 0, of_64_bits);
    program.store_constant(Width::Word, R7, thread::OTHER_TABLE, 1);
    program.jump_if(When::NotAbove, R8, last, within).constant(Operation::Move, R8, last);
    program.place(within).constant(Operation::Add, R8, I386 as i32).jump(known);
    program.place(of_64_bits).jump_if(When::NotAbove, R8, last, known);
    program.store_constant(Width::Word, R7, thread::OTHER_TABLE, 1);
    program.register(Operation::Move, R1, R8).constant(Operation::Sub, R1, X32_BIT as i32);
    program.jump_if(When::NotAbove, R1, last, of_x32).constant(Operation::Move, R8, last).jump(known);
    program.place(of_x32).register(Operation::Move, R8, R1).constant(Operation::Add, R8, X32 as i32);
    program.place(known);
}

/// `sys_exit(registers, result)`. Where nobody saw the call begin it is counted, but not timed.
pub(super) fn ends(maps: &Maps, fields: &Fields, detail: Detail) -> Vec<u64> {
    let mut program = Assembler::new();
    let (out, seen, returned) = (program.label(), program.label(), program.label());
    if_counting(&mut program, maps, whole::EVERYTHING, out);
    who_runs(&mut program, maps, out);
    program.load(Width::Double, R8, R7, thread::ENTERED).jump_if(When::Different, R8, 0, seen);
    program.load(Width::Double, R1, R7, thread::COUNTED).jump_if(When::Equal, R1, 0, returned);
    program.store_constant(Width::Double, R7, thread::COUNTED, 0).jump(out);
    program.place(returned).load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, NUMBER);
    read(&mut program, 8, FOUND, out);
    // A handler's return leaves no number (arch/x86/kernel/signal_64.c).
    program.load(Width::Double, R8, R10, FOUND).jump_if(When::Equal, R8, -1, out);
    note(&mut program, maps, fields, detail, out);
    program.constant(Operation::Move, R8, 0);
    program.place(seen).store_constant(Width::Double, R7, thread::ENTERED, 0);
    in_all(&mut program);
    if detail == Detail::Files {
        files::created(&mut program, fields);
        let counted = program.label();
        by_file(&mut program, maps, counted);
        program.place(counted);
        files::opened(&mut program, maps, fields, out);
    }
    program.place(out).end(0);
    program.finish()
}

/// What is done where calls are counted by their numbers alone: with the kernel's own way to the tracepoint, which is most of it, a third
/// of what counting everything takes.
fn by_number(program: &mut Assembler, maps: &Maps, out: Label) {
    let (other, known, not_timed) = (program.label(), program.label(), program.label());
    who_runs(program, maps, out);
    program.store_constant(Width::Double, R10, BEGUN, 0);
    if_timed(program, thread::NUMBERED, not_timed);
    program.call(Helper::Nanoseconds).store(Width::Double, R10, BEGUN, R0).place(not_timed);
    program.store_constant(Width::Double, R7, thread::COUNTED, 1);
    program.store_constant(Width::Double, R7, thread::BROKEN_OFF, 0);
    program.load(Width::Double, R8, R6, 8).load(Width::Word, R1, R7, thread::OTHER_TABLE);
    program.jump_if(When::Different, R1, 0, other);
    program.jump_if(When::NotAbove, R8, OTHERS as i32, known);
    program.place(other).constant(Operation::Move, R8, OTHERS as i32).place(known);
    look_up(program, &maps.numbered, SLOT, out);
    program.constant(Operation::ShiftLeft, R8, 3).register(Operation::Add, R0, R8);
    one_more(program, R0, 0);
    one_more(program, R7, thread::NUMBERED);
    is_running(program, maps);
    program.load(Width::Double, R1, R10, BEGUN).jump_if(When::Equal, R1, 0, out);
    took(program, out);
    add(program, R7, thread::NUMBERS_TIME, R0);
    one_more(program, R7, thread::NUMBERS_TIMED);
}

/// One more call of the thread in `R7`, which began at `R8`: 0 where nobody saw that. `R9` = how long it was in the kernel and on a processor.
fn in_all(program: &mut Assembler) {
    let (not_timed, broken_off, over, came_back) =
        (program.label(), program.label(), program.label(), program.label());
    program.constant(Operation::Move, R9, 0).jump_if(When::Equal, R8, 0, not_timed);
    program.call(Helper::Nanoseconds).store(Width::Double, R10, BEGUN, R0);
    program.register(Operation::Move, R9, R0).register(Operation::Sub, R9, R8);
    // It left its processor, and was not seen to come back.
    program.load(Width::Double, R2, R7, thread::OUT).jump_if(When::Equal, R2, 0, came_back);
    program.register(Operation::Sub, R0, R2).store_constant(Width::Double, R7, thread::OUT, 0);
    add(program, R7, thread::AWAY, R0);
    program.place(came_back).load(Width::Double, R2, R7, thread::AWAY).register(Operation::Sub, R9, R2);
    add(program, R7, thread::AWAY_IN_CALLS, R2);
    add(program, R7, thread::IN_CALLS, R9);
    for (from, to) in [
        (thread::WOKE_HERE, thread::WAKES_HERE),
        (thread::WOKE_ACROSS, thread::WAKES_ACROSS),
        (thread::WOKE_BUSY, thread::WAKES_ACROSS),
    ] {
        program.load(Width::Double, R2, R7, from);
        add(program, R7, to, R2);
    }
    program.place(not_timed);
    one_more(program, R7, thread::CALLS);
    program.load(Width::Double, R2, R6, 8).jump_if(When::NotLess, R2, 0, over);
    program.jump_if(When::Less, R2, MOST_ERRORS, over);
    one_more(program, R7, thread::FAILED);
    program.jump_if(When::Equal, R2, INTERRUPTED, broken_off);
    program.jump_if(When::NotLess, R2, RESTARTED.1 + 1, over).jump_if(When::Less, R2, RESTARTED.0, over);
    program.place(broken_off).store_constant(Width::Double, R7, thread::BROKEN_OFF, 1);
    program.place(over);
}

/// Now and then, notes with what is known of such calls, at `R9`, how long this program took, if the call of the thread in `R7` that began
/// at `R8` was seen to begin: what counting costs, where and when it costs that. Leads to `out` at other calls.
fn time_itself(program: &mut Assembler, out: Label) {
    program.jump_if(When::Equal, R8, 0, out);
    if_timed(program, thread::CALLS, out);
    took(program, out);
    let (first, over) = (program.label(), program.label());
    program.load(Width::Double, R1, R10, MADE).jump_if(When::Different, R1, 0, first);
    add(program, R9, call::PROGRAM_TIME, R0);
    one_more(program, R9, call::PROGRAM_TIMED);
    program.jump(over).place(first);
    add(program, R7, thread::FIRST_TIME, R0);
    one_more(program, R7, thread::FIRST_TIMED);
    program.place(over);
}

/// Leads to `out` at most calls of the thread in `R7`, of which there were as many as that word says.
fn if_timed(program: &mut Assembler, calls: i16, out: Label) {
    program.load(Width::Double, R1, R7, calls).register(Operation::Move, R2, R1);
    program.load(Width::Word, R3, R7, thread::NUMBER);
    program.constant(Operation::ShiftRight, R2, TIMED_BITS).register(Operation::Add, R2, R3);
    program.constant(Operation::Multiply, R2, GOLDEN).constant(Operation::ShiftRight, R2, 32 - TIMED_BITS);
    program.constant(Operation::And, R2, TIMED_CALLS - 1).constant(Operation::And, R1, TIMED_CALLS - 1);
    program.jump_if_both(When::Different, R1, R2, out);
}

/// `R0` = nanoseconds since what the stack has at [`BEGUN`]; leads to `out` where something else had the processor.
fn took(program: &mut Assembler, out: Label) {
    program.call(Helper::Nanoseconds).load(Width::Double, R1, R10, BEGUN).register(Operation::Sub, R0, R1);
    program.jump_if(When::Above, R0, INTERRUPTED_FOR, out);
}

/// The same by number and file.
fn by_file(program: &mut Assembler, maps: &Maps, out: Label) {
    let (not_timed, no_failure, noted) = (program.label(), program.label(), program.label());
    count(program, maps, out);
    program.jump_if(When::Equal, R8, 0, not_timed);
    one_more(program, R0, call::TIMED);
    add(program, R0, call::INSIDE, R9);
    for (from, to) in [
        (thread::AWAY, call::AWAY),
        (thread::SLEPT, call::SLEPT),
        (thread::WOKE_HERE, call::WOKE_HERE),
        (thread::WOKE_ACROSS, call::WOKE_ACROSS),
        (thread::WOKE_BUSY, call::WOKE_BUSY),
    ] {
        program.load(Width::Double, R2, R7, from);
        add(program, R0, to, R2);
    }
    program.place(not_timed).load(Width::Double, R2, R6, 8).jump_if(When::NotLess, R2, 0, no_failure);
    program.jump_if(When::Less, R2, MOST_ERRORS, noted);
    one_more(program, R0, call::FAILED);
    program.jump(noted).place(no_failure);
    add(program, R0, call::RESULTS, R2);
    program.place(noted).register(Operation::Move, R9, R0);
    time_itself(program, out);
    // What follows runs at these calls too, after their time was taken.
    paths::walked(program, maps, out);
}

/// One more of the call in which the thread in `R7` is, or was last, by number and file: at `R0`.
fn count(program: &mut Assembler, maps: &Maps, out: Label) {
    let found = program.label();
    key_of_call(program);
    program.store_constant(Width::Double, R10, MADE, 0);
    for word in 0..call::SIZE as i16 / 8 {
        program.store_constant(Width::Double, R10, VALUE + 8 * word, 0);
    }
    found_or_made(program, &maps.calls, found);
    // No room for another file: all of this kind together.
    program.store_constant(Width::Double, R10, KEY + key::INODE, 0);
    found_or_made(program, &maps.rest, found);
    lost(program, maps, whole::CALLS_LOST, out);
    program.jump(out).place(found);
    one_more(program, R0, call::COUNT);
}

/// Counts the call by which the thread in `R7` ends itself, if it is in one: that never comes back. How long it takes is not known.
pub(super) fn never_comes_back(program: &mut Assembler, maps: &Maps) {
    let (is_last_call, out) = (program.label(), program.label());
    program.load(Width::Double, R1, R7, thread::ENTERED).jump_if(When::Equal, R1, 0, out);
    program.load(Width::Double, R1, R7, thread::CALL);
    for number in (0..NUMBERS).filter(|number| is_last(*number)) {
        program.jump_if(When::Equal, R1, number as i32, is_last_call);
    }
    program.jump(out).place(is_last_call).store_constant(Width::Double, R7, thread::ENTERED, 0);
    one_more(program, R7, thread::CALLS);
    count(program, maps, out);
    program.place(out);
}

/// Puts the key of the call in which the thread in `R7` is, or was last, to its place of the stack.
fn key_of_call(program: &mut Assembler) {
    program.load(Width::Word, R1, R10, SLOT).store(Width::Word, R10, KEY + key::SLOT, R1);
    program.load(Width::Double, R1, R7, thread::CALL).store(Width::Half, R10, KEY + key::NUMBER, R1);
    program.load(Width::Double, R1, R7, thread::TYPE).store(Width::Half, R10, KEY + key::TYPE, R1);
    program.load(Width::Double, R1, R7, thread::INODE).store(Width::Double, R10, KEY + key::INODE, R1);
    program.load(Width::Double, R1, R7, thread::WHAT).store(Width::Double, R10, KEY + key::WHAT, R1);
}

/// Takes back the last call of the thread in `R7`, if a signal broke it off: the thread ends, so it never came back to its program. Its time stays.
pub(super) fn never_came_back(program: &mut Assembler, maps: &Maps) {
    let (came_back, told_apart) = (program.label(), program.label());
    program.load(Width::Double, R1, R7, thread::BROKEN_OFF).jump_if(When::Equal, R1, 0, came_back);
    let (apart, found) = (program.label(), program.label());
    less(program, R7, &[thread::CALLS, thread::FAILED]);
    key_of_call(program);
    look_up(program, &maps.calls, KEY, apart);
    program.jump(found).place(apart).store_constant(Width::Double, R10, KEY + key::INODE, 0);
    look_up(program, &maps.rest, KEY, told_apart);
    program.place(found);
    less(program, R0, &[call::COUNT, call::TIMED, call::FAILED]);
    program.place(told_apart).place(came_back);
}

/// `[at + place] -= 1`, where nobody else writes there.
fn less(program: &mut Assembler, at: Register, places: &[i16]) {
    for place in places {
        program.load(Width::Double, R1, at, *place).constant(Operation::Sub, R1, 1);
        program.store(Width::Double, at, *place, R1);
    }
}

/// `R0` = where a map has what the stack has the key of, made if need be; leads to `found` then, and goes on where there is no room.
fn found_or_made(program: &mut Assembler, map: &impl AsFd, found: Label) {
    let (missing, full) = (program.label(), program.label());
    look_up(program, map, KEY, missing);
    program.jump(found);
    program.place(missing).store_constant(Width::Double, R10, MADE, 1).map(R1, map.as_fd());
    program.register(Operation::Move, R2, R10).constant(Operation::Add, R2, KEY.into());
    program.register(Operation::Move, R3, R10).constant(Operation::Add, R3, VALUE.into());
    program.constant(Operation::Move, R4, NEW).call(Helper::MapUpdate);
    look_up(program, map, KEY, full);
    program.jump(found);
    program.place(full);
}

/// One more of what there was no room for.
pub(super) fn lost(program: &mut Assembler, maps: &Maps, what: i16, out: Label) {
    program.store_constant(Width::Word, R10, -4, 0);
    look_up(program, &maps.whole, -4, out);
    program.constant(Operation::Move, R1, 1).add_atomically(Width::Double, R0, what, R1);
}
