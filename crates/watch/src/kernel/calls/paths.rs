//! Of how many names the path is by which a call looks for a file.

use tollway_bpf::assembler::Register::{R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, R10};
use tollway_bpf::assembler::{Assembler, Helper, Label, Operation, When, Width};

use super::super::Maps;
use super::super::layout::{call, name, thread};
use super::super::runs::{add, look_up, one_more, read};

/// Where the stack has what was read, the call's number, and the path.
const FOUND: i16 = -40;
const NUMBER: i16 = -20;
const PATH: i16 = -72 - name::LONGEST as i16;

const SLASH: i32 = b'/' as i32;

/// Notes with what is known of such calls, at `R9`, of how many names the path of the call is from which the thread in `R7` comes back.
/// The registers are the first of the program's arguments at `R6`, the call's result the second; `R8` is lost. What it takes
/// is in what calls by a path are measured to cost (`cost.rs`): at one call in sixteen 32 ns a call, of 415 (the lowest quarter of 40 measurements, in turns with
/// none; an AMD EPYC guest, Linux 6.18).
pub(super) fn walked(program: &mut Assembler, maps: &Maps, out: Label) {
    let failed = program.label();
    program.load(Width::Double, R1, R7, thread::CALL).store(Width::Word, R10, NUMBER, R1);
    look_up(program, &maps.paths, NUMBER, out);
    program.load(Width::Double, R8, R0, 0).jump_if(When::Equal, R8, 0, out);
    program.load(Width::Double, R3, R6, 0).register(Operation::Add, R3, R8);
    read(program, 8, FOUND, out);
    program.load(Width::Double, R3, R10, FOUND).constant(Operation::Move, R2, name::LONGEST as i32);
    program.register(Operation::Move, R1, R10).constant(Operation::Add, R1, PATH.into());
    // Without a path what is asked about is the descriptor itself.
    program.call(Helper::ReadUserString).jump_if(When::Less, R0, 2, out);
    names(program);
    program.load(Width::Double, R2, R6, 8).jump_if(When::Less, R2, 0, failed);
    let sums = [call::DONE_BY_PATH, call::FAILED_BY_PATH];
    for (place, [paths, names]) in [None, Some(failed)].into_iter().zip(sums) {
        if let Some(place) = place {
            program.jump(out).place(place);
        }
        one_more(program, R9, paths);
        add(program, R9, names, R5);
    }
}

/// `R5` = how many names the path has that the stack has at [`PATH`]: bytes that are no slash, and come after one or at the beginning.
fn names(program: &mut Assembler) {
    let (again, next, end) = (program.label(), program.label(), program.label());
    program.store_constant(Width::Byte, R10, PATH - 1, SLASH).constant(Operation::Move, R5, 0);
    program.register(Operation::Move, R1, R10).constant(Operation::Add, R1, PATH.into());
    program.constant(Operation::Move, R2, 0).place(again);
    program.load(Width::Byte, R3, R1, 0).jump_if(When::Equal, R3, 0, end);
    program.load(Width::Byte, R4, R1, -1).jump_if(When::Different, R4, SLASH, next);
    program.jump_if(When::Equal, R3, SLASH, next).constant(Operation::Add, R5, 1);
    program.place(next).constant(Operation::Add, R1, 1).constant(Operation::Add, R2, 1);
    program.jump_if(When::NotAbove, R2, name::LONGEST as i32 - 1, again).place(end);
}
