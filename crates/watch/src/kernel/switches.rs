//! A processor goes from one thread to another, and somebody is woken.

use std::os::fd::AsFd;

use tollway_bpf::assembler::Register::{R0, R1, R2, R3, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, Register, When, Width};

use super::calls::{add, one_more};
use super::layout::{processor, thread};
use super::{Fields, Maps};

/// What a task's state has when it leaves for ever (`TASK_DEAD`, include/linux/sched.h).
const DEAD: i32 = 0x80;

/// `R7`: where the thread of a task is known; its number is at −16 of the stack, its slot at −24. Leads to `none` where it is not watched.
pub(super) fn who_is(program: &mut Assembler, maps: &Maps, fields: &Fields, task: Register, none: Label) {
    program.register(Operation::Move, R3, task).constant(Operation::Add, R3, fields.number);
    program.register(Operation::Move, R1, R10).constant(Operation::Add, R1, -16);
    program.constant(Operation::Move, R2, 4).call(Helper::ReadKernel).jump_if(When::Different, R0, 0, none);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -16);
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, none);
    program.load(Width::Word, R1, R0, 0).store(Width::Word, R10, -24, R1);
    program.map(R1, maps.threads.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        -24,
    );
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, none).register(Operation::Move, R7, R0);
}

/// `sched_switch(preempted, from, to, state of from)`.
pub(super) fn switched(maps: &Maps, fields: &Fields) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    let (comes, stays_ready, left, lives, nobody, was_outside, first, not_woken, across) = (
        program.label(),
        program.label(),
        program.label(),
        program.label(),
        program.label(),
        program.label(),
        program.label(),
        program.label(),
        program.label(),
    );
    program.register(Operation::Move, R6, R1);
    program.store_constant(Width::Word, R10, -4, 0);
    program.map(R1, maps.processors.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        -4,
    );
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, out).register(Operation::Move, R8, R0);

    // Who leaves.
    program.load(Width::Word, R1, R8, processor::SLOT).jump_if(When::Equal, R1, 0, comes);
    program.store(Width::Word, R10, -8, R1);
    program.map(R1, maps.threads.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -8);
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, comes).register(Operation::Move, R7, R0);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::OUT, R0);
    program.load(Width::Double, R1, R7, thread::IN).register(Operation::Sub, R0, R1);
    program.register(Operation::Move, R9, R0);
    add(&mut program, R7, thread::RAN, R9);
    program.store_constant(Width::Double, R7, thread::WOKEN_BY, 0);
    program.load(Width::Double, R1, R6, 0).constant(Operation::And, R1, 0xff);
    program.jump_if(When::Different, R1, 0, stays_ready);
    program.load(Width::Double, R9, R6, 24).jump_if(When::Equal, R9, 0, stays_ready);
    one_more(&mut program, R7, thread::VOLUNTARY);
    one_more(&mut program, R7, thread::SLEPT);
    program.jump_if(When::AnyBit, R9, DEAD, lives);
    program.jump(left);
    program.place(lives).store_constant(Width::Double, R7, thread::GONE, 1).jump(left);
    program.place(stays_ready);
    one_more(&mut program, R7, thread::INVOLUNTARY);
    program.place(left);

    // Who comes.
    program.place(comes).store_constant(Width::Word, R8, processor::SLOT, 0);
    program.load(Width::Double, R9, R6, 16);
    who_is(&mut program, maps, fields, R9, nobody);
    program.load(Width::Word, R1, R10, -24).store(Width::Word, R8, processor::SLOT, R1);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::IN, R0).register(
        Operation::Move,
        R9,
        R0,
    );
    program.load(Width::Double, R1, R7, thread::OUT).jump_if(When::Equal, R1, 0, first);
    program.register(Operation::Sub, R9, R1);
    program.load(Width::Double, R1, R7, thread::ENTERED).jump_if(When::Equal, R1, 0, was_outside);
    add(&mut program, R7, thread::AWAY, R9);
    program.place(was_outside).store_constant(Width::Double, R7, thread::OUT, 0);
    program.place(first).load(Width::Double, R9, R7, thread::WOKEN_BY).jump_if(When::Equal, R9, 0, not_woken);
    program.store_constant(Width::Double, R7, thread::WOKEN_BY, 0);
    program.call(Helper::Processor).constant(Operation::Add, R0, 1);
    program.jump_if_both(When::Different, R0, R9, across);
    one_more(&mut program, R7, thread::WOKEN_HERE);
    program.jump(out);
    program.place(across);
    one_more(&mut program, R7, thread::WOKEN_ACROSS);
    program.place(not_woken).place(nobody).place(out).end(0);
    program.finish()
}

/// `sched_waking(task)`: by who runs on this processor, or by an interrupt there.
pub(super) fn woken(maps: &Maps, fields: &Fields) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    program.load(Width::Double, R9, R1, 0);
    who_is(&mut program, maps, fields, R9, out);
    program.call(Helper::Processor).constant(Operation::Add, R0, 1).store(
        Width::Double,
        R7,
        thread::WOKEN_BY,
        R0,
    );
    program.place(out).end(0);
    program.finish()
}
