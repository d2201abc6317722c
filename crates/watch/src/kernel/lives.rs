//! Threads begin, become another program, and end.

use std::os::fd::AsFd;

use tollway_bpf::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R10};
use tollway_bpf::assembler::{Assembler, Helper, Operation, When, Width};

use super::calls::who_runs;
use super::layout::{thread, whole};
use super::{Fields, Maps};

/// `sched_process_fork(parent, child)`: the child of one who is watched is watched too, if there is a slot; where there is none that is counted.
pub(super) fn begins(maps: &Maps, fields: &Fields, processes_too: bool) -> Vec<u64> {
    let mut program = Assembler::new();
    let (out, lost) = (program.label(), program.label());
    who_runs(&mut program, maps, out);
    // Its number, and its process': they stand side by side (`Fields` has checked that).
    program.load(Width::Double, R3, R6, 8).constant(Operation::Add, R3, fields.number);
    program.register(Operation::Move, R1, R10).constant(Operation::Add, R1, -32);
    program.constant(Operation::Move, R2, 8).call(Helper::ReadKernel).jump_if(When::Different, R0, 0, out);
    if !processes_too {
        program.load(Width::Word, R1, R7, thread::PROCESS).load(Width::Word, R2, R10, -28);
        program.jump_if_both(When::Different, R1, R2, out);
    }
    program.store_constant(Width::Word, R10, -40, 0);
    program.map(R1, maps.free.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -40);
    program.call(Helper::Pop).jump_if(When::Different, R0, 0, lost);
    program.map(R1, maps.threads.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        -40,
    );
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, lost).register(Operation::Move, R8, R0);
    program.load(Width::Double, R1, R10, -32).store(Width::Double, R8, thread::NUMBER, R1);
    program.call(Helper::Nanoseconds).store(Width::Double, R8, thread::BORN, R0);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -32);
    program.register(Operation::Move, R3, R10).constant(Operation::Add, R3, -40).constant(
        Operation::Move,
        R4,
        0,
    );
    program.call(Helper::MapUpdate).jump_if(When::Equal, R0, 0, out);
    program.place(lost).store_constant(Width::Word, R10, -4, 0);
    program.map(R1, maps.whole.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -4);
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, out);
    program.constant(Operation::Move, R1, 1).add_atomically(Width::Double, R0, whole::LOST, R1);
    program.place(out).end(0);
    program.finish()
}

/// `sched_process_exec(task, number before, program)`: a thread that is not its process' first takes that one's number.
pub(super) fn becomes(maps: &Maps) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    who_runs(&mut program, maps, out);
    program.load(Width::Double, R1, R6, 8).store(Width::Word, R10, -16, R1);
    program.load(Width::Word, R2, R7, thread::PROCESS).store(Width::Word, R10, -24, R2);
    program.load(Width::Word, R1, R10, -16).jump_if_both(When::Equal, R1, R2, out);
    program.store(Width::Word, R7, thread::NUMBER, R2);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -16);
    program.call(Helper::MapDelete);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -24);
    program.register(Operation::Move, R3, R10).constant(Operation::Add, R3, -8).constant(
        Operation::Move,
        R4,
        0,
    );
    program.call(Helper::MapUpdate);
    program.place(out).end(0);
    program.finish()
}

/// `sched_process_exit(task)`: by the task itself, which still has to leave its processor.
pub(super) fn ends(maps: &Maps, fields: &Fields) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    who_runs(&mut program, maps, out);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::DIED, R0);
    for (field, to) in [(fields.minor, thread::MINOR), (fields.major, thread::MAJOR)] {
        program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, field);
        program.register(Operation::Move, R1, R7).constant(Operation::Add, R1, to.into());
        program.constant(Operation::Move, R2, 8).call(Helper::ReadKernel);
    }
    program.load(Width::Word, R1, R7, thread::NUMBER).store(Width::Word, R10, -16, R1);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -16);
    program.call(Helper::MapDelete);
    program.place(out).end(0);
    program.finish()
}
