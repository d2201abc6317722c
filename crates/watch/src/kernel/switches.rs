//! A processor goes from one thread to another, and somebody is woken.

use tollway_bpf::assembler::Register::{R0, R1, R3, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, When, Width};

use super::layout::{idle, processor, thread, whole};
use super::lives::left;
use super::runs::{
    NUMBER, SLOT, add, if_counting, if_not_all, look_up, one_more, read, remember, stops_running, who_is,
    who_runs,
};
use super::{Fields, Maps};

/// What a task's state has when it leaves for ever (`TASK_DEAD`, include/linux/sched.h).
const DEAD: i32 = 0x80;

/// `sched_switch(preempted, from, to, state of from)`.
pub(super) fn switched(maps: &Maps, fields: &Fields) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    let (comes, stays_ready, dies, in_no_call, not_away) =
        (program.label(), program.label(), program.label(), program.label(), program.label());
    let (not_moved, across, nobody) = (program.label(), program.label(), program.label());
    let (everything, goes) = (program.label(), program.label());
    if_not_all(&mut program, maps, everything, out);
    // Calls are counted by their numbers: who runs how long, and nothing else.
    program.register(Operation::Move, R6, R1).load(Width::Double, R9, R6, 8);
    who_is(&mut program, maps, fields, R9, goes);
    stops_running(&mut program, maps, thread::RAN_NUMBERED);
    program.place(goes).load(Width::Double, R9, R6, 16);
    who_is(&mut program, maps, fields, R9, out);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::RUNNING_SINCE, R0);
    program.jump(out).place(everything).register(Operation::Move, R6, R1);

    // Who leaves.
    program.load(Width::Double, R9, R6, 8);
    who_is(&mut program, maps, fields, R9, comes);
    program.store_constant(Width::Double, R7, thread::WOKEN_BY, 0);
    stops_running(&mut program, maps, thread::RAN_COUNTED);
    program.load(Width::Double, R1, R7, thread::ENTERED).jump_if(When::Equal, R1, 0, in_no_call);
    program.store(Width::Double, R7, thread::OUT, R0);
    program.place(in_no_call).load(Width::Double, R1, R6, 0).constant(Operation::And, R1, 0xff);
    program.jump_if(When::Different, R1, 0, stays_ready);
    program.load(Width::Double, R8, R6, 24).jump_if(When::Equal, R8, 0, stays_ready);
    one_more(&mut program, R7, thread::VOLUNTARY);
    one_more(&mut program, R7, thread::SLEPT);
    program.jump_if(When::AnyBit, R8, DEAD, dies).jump(comes);
    // The first thread of a process in which another one calls exec may have that one's number by now.
    program.place(dies).load(Width::Double, R1, R7, thread::TASK);
    program.jump_if_both(When::Different, R1, R9, comes);
    left(&mut program, fields);
    program.jump(comes);
    program.place(stays_ready);
    one_more(&mut program, R7, thread::INVOLUNTARY);

    // Who comes.
    program.place(comes).store_constant(Width::Word, R10, -4, 0);
    look_up(&mut program, &maps.processors, -4, out);
    program.register(Operation::Move, R8, R0);
    // Until it is found it is one who is not watched: an exec may have made its number another's.
    program.store_constant(Width::Double, R8, processor::LAST, 0);
    program.load(Width::Double, R9, R6, 16);
    who_is(&mut program, maps, fields, R9, nobody);
    program.load(Width::Word, R1, R10, SLOT);
    remember(&mut program, R8, R1);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::RUNNING_SINCE, R0);
    program.load(Width::Double, R8, R7, thread::OUT).jump_if(When::Equal, R8, 0, not_away);
    program.register(Operation::Sub, R0, R8);
    add(&mut program, R7, thread::AWAY, R0);
    program.store_constant(Width::Double, R7, thread::OUT, 0);
    program.place(not_away).call(Helper::Processor).constant(Operation::Add, R0, 1);
    program.load(Width::Double, R1, R7, thread::LAST).store(Width::Double, R7, thread::LAST, R0);
    program.jump_if(When::Equal, R1, 0, not_moved).jump_if_both(When::Equal, R1, R0, not_moved);
    one_more(&mut program, R7, thread::MIGRATIONS);
    program.place(not_moved).load(Width::Double, R9, R7, thread::WOKEN_BY).jump_if(
        When::Equal,
        R9,
        0,
        nobody,
    );
    program.store_constant(Width::Double, R7, thread::WOKEN_BY, 0);
    program.jump_if_both(When::Different, R0, R9, across);
    one_more(&mut program, R7, thread::WOKEN_HERE);
    program.jump(nobody);
    program.place(across);
    one_more(&mut program, R7, thread::WOKEN_ACROSS);
    program.place(nobody);
    note_idle(&mut program, maps, out);
    program.place(out).end(0);
    program.finish()
}

/// Whether this processor is idle from now on: the idle task, whose number is 0, comes. The number of who comes is at [`NUMBER`] of the stack.
fn note_idle(program: &mut Assembler, maps: &Maps, out: Label) {
    const HERE: i16 = -28;
    let (is_idle, known) = (program.label(), program.label());
    program.call(Helper::Processor).store(Width::Word, R10, HERE, R0);
    look_up(program, &maps.idle, HERE, out);
    program.load(Width::Word, R1, R10, NUMBER).jump_if(When::Equal, R1, 0, is_idle);
    program.store_constant(Width::Double, R0, 0, idle::BUSY).jump(known);
    program.place(is_idle).store_constant(Width::Double, R0, 0, idle::IDLE);
    program.place(known);
}

/// `sched_waking(task)`: by who runs on this processor, or by an interrupt there.
pub(super) fn woken(maps: &Maps, fields: &Fields) -> Vec<u64> {
    const SLEPT_ON: i16 = -24;
    let mut program = Assembler::new();
    let (sleeper, across, was_idle, out) =
        (program.label(), program.label(), program.label(), program.label());
    if_counting(&mut program, maps, whole::EVERYTHING, out);
    // Who wakes, if that is in a call.
    who_runs(&mut program, maps, sleeper);
    program.load(Width::Double, R1, R7, thread::ENTERED).jump_if(When::Equal, R1, 0, sleeper);
    program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, fields.processor);
    read(&mut program, 4, SLEPT_ON, sleeper);
    program.call(Helper::Processor).load(Width::Word, R1, R10, SLEPT_ON);
    program.jump_if_both(When::Different, R1, R0, across);
    one_more(&mut program, R7, thread::WOKE_HERE);
    program.jump(sleeper);
    program.place(across);
    look_up(&mut program, &maps.idle, SLEPT_ON, was_idle);
    program.load(Width::Double, R1, R0, 0).jump_if(When::Different, R1, idle::BUSY, was_idle);
    one_more(&mut program, R7, thread::WOKE_BUSY);
    program.jump(sleeper);
    program.place(was_idle);
    one_more(&mut program, R7, thread::WOKE_ACROSS);
    // Who is woken.
    program.place(sleeper).load(Width::Double, R9, R6, 0);
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
