//! A system call begins, and ends.

use std::os::fd::AsFd;

use tollway_bpf::assembler::Register::{R0, R1, R2, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, When, Width};

use super::Maps;
use super::layout::{NUMBERS, call, processor, thread};

/// The greatest error number (linux/err.h, MAX_ERRNO): results from there to -1 are failures.
const MOST_ERRORS: i32 = -4095;

/// `R7`: where the thread is known that runs on this processor; its slot is at −8 of the stack. Leads to `none` where it is not watched.
/// `R6` keeps the arguments.
pub(super) fn who_runs(program: &mut Assembler, maps: &Maps, none: Label) {
    program.register(Operation::Move, R6, R1);
    program.store_constant(Width::Word, R10, -4, 0);
    program.map(R1, maps.processors.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        -4,
    );
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, none);
    program.load(Width::Word, R1, R0, processor::SLOT).jump_if(When::Equal, R1, 0, none);
    program.store(Width::Word, R10, -8, R1);
    program.map(R1, maps.threads.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -8);
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, none);
    program.register(Operation::Move, R7, R0);
}

/// `[at + offset] += register`, where nobody else writes there.
pub(super) fn add(
    program: &mut Assembler,
    at: tollway_bpf::assembler::Register,
    offset: i16,
    what: tollway_bpf::assembler::Register,
) {
    program.load(Width::Double, R1, at, offset).register(Operation::Add, R1, what).store(
        Width::Double,
        at,
        offset,
        R1,
    );
}

/// `[at + offset] += 1`, where nobody else writes there.
pub(super) fn one_more(program: &mut Assembler, at: tollway_bpf::assembler::Register, offset: i16) {
    program.load(Width::Double, R1, at, offset).constant(Operation::Add, R1, 1).store(
        Width::Double,
        at,
        offset,
        R1,
    );
}

/// `sys_enter(registers, number)`.
pub(super) fn begins(maps: &Maps) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    who_runs(&mut program, maps, out);
    program.load(Width::Double, R8, R6, 8);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::ENTERED, R0);
    program.store(Width::Double, R7, thread::CALL, R8);
    program.store_constant(Width::Double, R7, thread::AWAY, 0).store_constant(
        Width::Double,
        R7,
        thread::SLEPT,
        0,
    );
    program.place(out).end(0);
    program.finish()
}

/// `sys_exit(registers, result)`. A call whose beginning nobody saw is not counted.
pub(super) fn ends(maps: &Maps) -> Vec<u64> {
    let mut program = Assembler::new();
    let (out, known, no_failure, no_result) =
        (program.label(), program.label(), program.label(), program.label());
    who_runs(&mut program, maps, out);
    program.load(Width::Double, R8, R7, thread::ENTERED).jump_if(When::Equal, R8, 0, out);
    // Where it is counted: slot × NUMBERS + number.
    program.load(Width::Double, R1, R7, thread::CALL).jump_if(When::NotAbove, R1, NUMBERS as i32 - 1, known);
    program.constant(Operation::Move, R1, NUMBERS as i32 - 1);
    program.place(known).load(Width::Word, R2, R10, -8).constant(Operation::Multiply, R2, NUMBERS as i32);
    program.register(Operation::Add, R2, R1).store(Width::Word, R10, -12, R2);
    program.map(R1, maps.calls.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -12);
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, out).register(Operation::Move, R9, R0);
    program.call(Helper::Nanoseconds).register(Operation::Sub, R0, R8);
    program.load(Width::Double, R8, R7, thread::AWAY).register(Operation::Sub, R0, R8);
    add(&mut program, R9, call::INSIDE, R0);
    add(&mut program, R9, call::AWAY, R8);
    one_more(&mut program, R9, call::RETURNED);
    program.load(Width::Double, R8, R7, thread::SLEPT);
    add(&mut program, R9, call::SLEPT, R8);
    program.store_constant(Width::Double, R7, thread::ENTERED, 0);
    program.load(Width::Double, R8, R6, 8).jump_if(When::NotLess, R8, 1, no_failure);
    program.jump_if(When::Equal, R8, 0, out).jump_if(When::Less, R8, MOST_ERRORS, no_result);
    one_more(&mut program, R9, call::FAILED);
    program.jump(out);
    program.place(no_failure);
    add(&mut program, R9, call::RESULTS, R8);
    program.place(no_result);
    program.place(out).end(0);
    program.finish()
}
