//! Threads begin, become another program, and end. These programs are attached as long as anybody is watched, whether it is counted or not.

use std::os::fd::AsFd;

use tollway_bpf::assembler::Register::{R0, R1, R2, R3, R4, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Operation, When, Width};

use super::calls::{lost, never_came_back, never_comes_back};
use super::layout::{processor, thread, whole};
use super::runs::{SLOT, keep, look_up, read, who_am_i, who_is};
use super::{Fields, Maps, Namespace};

/// Where the stack has a child's number and its process' number, and its slot.
const CHILD: i16 = -32;
const CHILDS_SLOT: i16 = -40;
/// The same two numbers in this process' PID namespace.
const CHILD_HERE: i16 = -48;

/// `task_newtask(child, flags)`, by its parent: the child of one who is watched is watched too, if there is a slot; where there is none that is counted.
/// `sched_process_fork` would not tell of the threads that the kernel makes in a process for io_uring and vhost (kernel/fork.c, `create_io_thread`).
pub(super) fn begins(maps: &Maps, fields: &Fields, namespace: &Namespace, processes_too: bool) -> Vec<u64> {
    let mut program = Assembler::new();
    let (out, none) = (program.label(), program.label());
    who_am_i(&mut program, maps, out);
    // Its number, and its process': they stand side by side (`Fields` has checked that).
    program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, fields.number);
    read(&mut program, 8, CHILD, out);
    if !processes_too {
        program.load(Width::Word, R1, R7, thread::GLOBAL + 4).load(Width::Word, R2, R10, CHILD + 4);
        program.jump_if_both(When::Different, R1, R2, out);
    }
    program.load(Width::Double, R8, R6, 0);
    namespace.note(&mut program, fields, (CHILD_HERE, CHILD), out);
    program.store_constant(Width::Word, R10, CHILDS_SLOT, 0);
    program.map(R1, maps.free.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        CHILDS_SLOT.into(),
    );
    program.call(Helper::Pop).jump_if(When::Different, R0, 0, none);
    look_up(&mut program, &maps.threads, CHILDS_SLOT, none);
    program.register(Operation::Move, R8, R0);
    program.load(Width::Double, R1, R10, CHILD).store(Width::Double, R8, thread::GLOBAL, R1);
    program.load(Width::Double, R1, R10, CHILD_HERE).store(Width::Double, R8, thread::NUMBER, R1);
    program.store_constant(Width::Double, R8, thread::COUNTED, 1);
    program.call(Helper::Nanoseconds).store(Width::Double, R8, thread::STOPPED, R0);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        CHILD.into(),
    );
    program.register(Operation::Move, R3, R10).constant(Operation::Add, R3, CHILDS_SLOT.into());
    program.constant(Operation::Move, R4, 0).call(Helper::MapUpdate).jump_if(When::Equal, R0, 0, out);
    program.place(none);
    lost(&mut program, maps, whole::THREADS_LOST, out);
    program.place(out).end(0);
    program.finish()
}

/// `sched_process_exec(task, number before, program)`: a thread that is not its process' first takes that one's number.
pub(super) fn becomes(maps: &Maps, fields: &Fields) -> Vec<u64> {
    const BEFORE: i16 = -24;
    const NOW: i16 = -28;
    const FIRSTS_SLOT: i16 = -36;
    let mut program = Assembler::new();
    let (out, no_first) = (program.label(), program.label());
    // It has its new number already, and the slot is still under the one before.
    program.register(Operation::Move, R6, R1);
    program.load(Width::Double, R1, R6, 8).store(Width::Word, R10, BEFORE, R1);
    look_up(&mut program, &maps.slots, BEFORE, out);
    program.load(Width::Word, R1, R0, 0).store(Width::Word, R10, SLOT, R1);
    look_up(&mut program, &maps.threads, SLOT, out);
    program.register(Operation::Move, R7, R0);
    program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, fields.number);
    read(&mut program, 4, NOW, out);
    program.load(Width::Word, R1, R10, BEFORE).load(Width::Word, R2, R10, NOW).jump_if_both(
        When::Equal,
        R1,
        R2,
        out,
    );
    program.store(Width::Word, R7, thread::GLOBAL, R2);
    // The first thread has ended, and is found under its number no more: if it is not known by now that it
    // has left its processor, nobody will see that.
    look_up(&mut program, &maps.slots, NOW, no_first);
    program.load(Width::Word, R1, R0, 0).store(Width::Word, R10, FIRSTS_SLOT, R1);
    look_up(&mut program, &maps.threads, FIRSTS_SLOT, no_first);
    program.register(Operation::Move, R8, R0);
    program.load(Width::Double, R1, R8, thread::LEFT).jump_if(When::Different, R1, 0, no_first);
    program.call(Helper::Nanoseconds).store(Width::Double, R8, thread::LEFT, R0);
    program.place(no_first);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        BEFORE.into(),
    );
    program.call(Helper::MapDelete);
    program.map(R1, maps.slots.as_fd()).register(Operation::Move, R2, R10).constant(
        Operation::Add,
        R2,
        NOW.into(),
    );
    program.register(Operation::Move, R3, R10).constant(Operation::Add, R3, SLOT.into()).constant(
        Operation::Move,
        R4,
        0,
    );
    program.call(Helper::MapUpdate);
    // This processor may remember the number as that of the thread which had it before.
    program.store_constant(Width::Word, R10, -4, 0);
    look_up(&mut program, &maps.processors, -4, out);
    program.store_constant(Width::Double, R0, processor::LAST, 0);
    program.place(out).end(0);
    program.finish()
}

/// `sched_process_exit(task)`: by the task itself, which still has to leave its processor.
pub(super) fn ends(maps: &Maps, fields: &Fields) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    who_am_i(&mut program, maps, out);
    for (field, bytes, to) in [
        (fields.minor, 8, thread::MINOR),
        (fields.major, 8, thread::MAJOR),
        (fields.voluntary, 8, thread::VOLUNTARY_IN_ALL),
        (fields.involuntary, 8, thread::INVOLUNTARY_IN_ALL),
        (fields.user, 8, thread::USER),
        (fields.system, 8, thread::SYSTEM),
        (fields.ran, 8, thread::RAN),
        (fields.name, 16, thread::NAME),
        (fields.flags, 4, thread::FLAGS),
    ] {
        program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, field);
        keep(&mut program, bytes, to);
    }
    for (field, to) in [(fields.reads, thread::READS), (fields.writes, thread::WRITES)] {
        let Some(field) = field else { continue };
        program.load(Width::Double, R3, R6, 0).constant(Operation::Add, R3, field);
        keep(&mut program, 8, to);
    }
    never_came_back(&mut program, maps);
    never_comes_back(&mut program, maps);
    program.load(Width::Double, R1, R6, 0).store(Width::Double, R7, thread::TASK, R1);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::DIED, R0);
    program.place(out).end(0);
    program.finish()
}

/// `sched_process_free(task)`: by whoever runs, some milliseconds after the task has left its processor for ever and its parent has waited for it. Where its last
/// switch was counted that is known already. A program at each switch of everybody would know it at once, at 0.1 µs a switch.
pub(super) fn freed(maps: &Maps, fields: &Fields) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    program.register(Operation::Move, R6, R1).load(Width::Double, R9, R6, 0);
    who_is(&mut program, maps, fields, R9, out);
    // Another may have its number by now.
    program.load(Width::Double, R1, R7, thread::TASK).jump_if_both(When::Different, R1, R9, out);
    program.load(Width::Double, R1, R7, thread::LEFT).jump_if(When::Different, R1, 0, out);
    left(&mut program, fields);
    program.place(out).end(0);
    program.finish()
}

/// The task in `R9`, which is the thread in `R7`, has left its processor for ever.
pub(super) fn left(program: &mut Assembler, fields: &Fields) {
    program.register(Operation::Move, R3, R9).constant(Operation::Add, R3, fields.ran);
    keep(program, 8, thread::RAN);
    program.call(Helper::Nanoseconds).store(Width::Double, R7, thread::LEFT, R0);
}
