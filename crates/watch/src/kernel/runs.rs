//! Who runs on this processor: the beginning of nearly every program.

use std::os::fd::AsFd;

use tollway_bpf::assembler::Register::{self, R0, R1, R2, R3, R6, R7, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, When, Width};

use super::layout::{processor, thread, whole};
use super::{Fields, Maps};

/// Where the stack has the slot that was found, 32 bits.
pub(super) const SLOT: i16 = -8;
/// Where the stack has a thread's number, 32 bits.
pub(super) const NUMBER: i16 = -16;

/// Bits of a page fault's error code (arch/x86/include/asm/trap_pf.h): the page is there; it was written to.
const PRESENT: i32 = 1;
const WRITE: i32 = 2;

/// `to` = where a map has what the stack has the key of at `key`; leads to `none` where there is nothing.
pub(super) fn look_up(program: &mut Assembler, map: &impl AsFd, key: i16, none: Label) {
    program.map(R1, map.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, key.into());
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, none);
}

/// Leads to `not` where this is not what is counted at present; the first instructions of each program that counts. `R2` is lost.
pub(super) fn if_counting(program: &mut Assembler, maps: &Maps, what: u64, not: Label) {
    program.value(R2, maps.whole.as_fd(), whole::COUNTING as u32).load(Width::Double, R2, R2, 0);
    program.jump_if(When::Different, R2, what as i32, not);
}

/// Goes on where calls are counted by their numbers, leads to `everything` where that is, and to `not` where nothing is. `R2` is lost.
pub(super) fn if_not_all(program: &mut Assembler, maps: &Maps, everything: Label, not: Label) {
    program.value(R2, maps.whole.as_fd(), whole::COUNTING as u32).load(Width::Double, R2, R2, 0);
    program.jump_if(When::Equal, R2, whole::EVERYTHING as i32, everything);
    program.jump_if(When::Different, R2, whole::NUMBERS as i32, not);
}

/// `R7` = where the watched thread is known that runs on this processor; its slot is at [`SLOT`] of the stack. Leads to `none` where it is not watched.
/// `R6` keeps the program's arguments. Each processor remembers whom it found last, and is believed if that is who runs: one look-up in an array.
pub(super) fn who_runs(program: &mut Assembler, maps: &Maps, none: Label) {
    let (known, not_watched) = (program.label(), program.label());
    program.register(Operation::Move, R6, R1).store_constant(Width::Word, R10, -4, 0);
    program.call(Helper::ThreadAndProcess).store(Width::Word, R10, NUMBER, R0);
    look_up(program, &maps.processors, -4, none);
    program.load(Width::Double, R1, R0, processor::LAST).load(Width::Word, R2, R10, NUMBER);
    program.register(Operation::Move, R3, R1).constant(Operation::ShiftLeft, R3, 32).constant(
        Operation::ShiftRight,
        R3,
        32,
    );
    program.constant(Operation::ShiftRight, R1, 32).jump_if_both(When::Equal, R3, R2, known);
    program.register(Operation::Move, R9, R0);
    look_up(program, &maps.slots, NUMBER, not_watched);
    program.load(Width::Word, R1, R0, 0);
    remember(program, R9, R1);
    program.jump(known);
    program.place(not_watched).constant(Operation::Move, R1, 0);
    remember(program, R9, R1);
    program.place(known).jump_if(When::Equal, R1, 0, none).store(Width::Word, R10, SLOT, R1);
    look_up(program, &maps.threads, SLOT, none);
    program.register(Operation::Move, R7, R0);
}

/// Notes with a processor that the thread whose number is at [`NUMBER`] of the stack has this slot; in one step, so that one does not get another's. `R2` and `R3`
/// are lost.
pub(super) fn remember(program: &mut Assembler, processor: Register, slot: Register) {
    program.load(Width::Word, R2, R10, NUMBER).register(Operation::Move, R3, slot).constant(
        Operation::ShiftLeft,
        R3,
        32,
    );
    program.register(Operation::Or, R3, R2).store(Width::Double, processor, processor::LAST, R3);
}

/// The same by the thread's number alone, for what may happen while nobody keeps account of who runs where.
pub(super) fn who_am_i(program: &mut Assembler, maps: &Maps, none: Label) {
    program.register(Operation::Move, R6, R1);
    slot_of_current(program, maps, none);
    program.store(Width::Word, R10, SLOT, R1);
    look_up(program, &maps.threads, SLOT, none);
    program.register(Operation::Move, R7, R0);
}

/// `R1` = the slot of the running thread.
fn slot_of_current(program: &mut Assembler, maps: &Maps, none: Label) {
    program.call(Helper::ThreadAndProcess).store(Width::Word, R10, NUMBER, R0);
    look_up(program, &maps.slots, NUMBER, none);
    program.load(Width::Word, R1, R0, 0);
}

/// `R7` = where the thread of a task is known; its slot is at [`SLOT`] of the stack. Leads to `none` where it is not watched. The idle task never is.
pub(super) fn who_is(program: &mut Assembler, maps: &Maps, fields: &Fields, task: Register, none: Label) {
    program.register(Operation::Move, R3, task).constant(Operation::Add, R3, fields.number);
    read(program, 4, NUMBER, none);
    program.load(Width::Word, R1, R10, NUMBER).jump_if(When::Equal, R1, 0, none);
    look_up(program, &maps.slots, NUMBER, none);
    program.load(Width::Word, R1, R0, 0).store(Width::Word, R10, SLOT, R1);
    look_up(program, &maps.threads, SLOT, none);
    program.register(Operation::Move, R7, R0);
}

/// Reads so many bytes of the kernel, at the address in `R3`, to a place of the stack; leads to `none` where that cannot be read.
pub(super) fn read(program: &mut Assembler, bytes: i32, to: i16, none: Label) {
    program.register(Operation::Move, R1, R10).constant(Operation::Add, R1, to.into());
    program.constant(Operation::Move, R2, bytes).call(Helper::ReadKernel).jump_if(
        When::Different,
        R0,
        0,
        none,
    );
}

/// Reads so many bytes of the kernel, at the address in `R3`, to a place of what is known of `R7`.
pub(super) fn keep(program: &mut Assembler, bytes: i32, to: i16) {
    program.register(Operation::Move, R1, R7).constant(Operation::Add, R1, to.into());
    program.constant(Operation::Move, R2, bytes).call(Helper::ReadKernel);
}

/// `[at + offset] += register`, where nobody else writes there.
pub(super) fn add(program: &mut Assembler, at: Register, offset: i16, what: Register) {
    program.load(Width::Double, R1, at, offset).register(Operation::Add, R1, what).store(
        Width::Double,
        at,
        offset,
        R1,
    );
}

/// `[at + offset] += 1`, where nobody else writes there.
pub(super) fn one_more(program: &mut Assembler, at: Register, offset: i16) {
    program.load(Width::Double, R1, at, offset).constant(Operation::Add, R1, 1).store(
        Width::Double,
        at,
        offset,
        R1,
    );
}

/// Notes that the thread in `R7` runs: since this stretch of counting began, where nothing else is known of it. Where it has
/// left its processor meanwhile, and was not seen to come back, it is since now. `R0` to `R5` are lost.
pub(super) fn is_running(program: &mut Assembler, maps: &Maps) {
    let (known, since) = (program.label(), program.label());
    program.load(Width::Double, R1, R7, thread::RUNNING_SINCE).jump_if(When::Different, R1, 0, known);
    program.value(R0, maps.whole.as_fd(), whole::SINCE as u32).load(Width::Double, R0, R0, 0);
    program.load(Width::Double, R1, R7, thread::STOPPED).jump_if_both(When::NotAbove, R1, R0, since);
    program.call(Helper::Nanoseconds).place(since);
    program.store(Width::Double, R7, thread::RUNNING_SINCE, R0).place(known);
}

/// Adds the run that the thread in `R7` ends now to those of the present stretch's kind, at this place. `R0` = the time.
pub(super) fn stops_running(program: &mut Assembler, maps: &Maps, place: i16) {
    let within = program.label();
    is_running(program, maps);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::STOPPED, R0);
    program.load(Width::Double, R2, R7, thread::RUNNING_SINCE);
    // What was before is another stretch's.
    program.value(R1, maps.whole.as_fd(), whole::SINCE as u32).load(Width::Double, R1, R1, 0);
    program.jump_if_both(When::NotAbove, R1, R2, within).register(Operation::Move, R2, R1).place(within);
    program.register(Operation::Move, R3, R0).register(Operation::Sub, R3, R2);
    add(program, R7, place, R3);
    program.store_constant(Width::Double, R7, thread::RUNNING_SINCE, 0);
}

/// `page_fault_user(address, registers, error)`.
pub(super) fn faulted(maps: &Maps) -> Vec<u64> {
    let mut program = Assembler::new();
    let (out, writes, counted) = (program.label(), program.label(), program.label());
    if_counting(&mut program, maps, whole::EVERYTHING, out);
    who_runs(&mut program, maps, out);
    one_more(&mut program, R7, thread::FAULTS);
    program.load(Width::Double, R2, R6, 16).register(Operation::Move, R3, R2);
    program.constant(Operation::And, R3, WRITE).jump_if(When::Different, R3, 0, writes);
    one_more(&mut program, R7, thread::READING_FAULTS);
    program.jump(counted).place(writes);
    program.constant(Operation::And, R2, PRESENT).jump_if(When::Equal, R2, 0, counted);
    one_more(&mut program, R7, thread::COPYING_FAULTS);
    program.place(counted);
    is_running(&mut program, maps);
    program.place(out).end(0);
    program.finish()
}

/// Any tracepoint whose passages are counted for who runs: one more at this place.
pub(super) fn counted(maps: &Maps, place: i16) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    if_counting(&mut program, maps, whole::EVERYTHING, out);
    who_runs(&mut program, maps, out);
    debug_assert!(place > thread::NUMBER);
    one_more(&mut program, R7, place);
    is_running(&mut program, maps);
    program.place(out).end(0);
    program.finish()
}
