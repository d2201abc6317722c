//! What has no length here: it is counted for who runs.

use tollway_bpf::assembler::Assembler;
use tollway_bpf::assembler::Register::R7;

use super::Maps;
use super::calls::{one_more, who_runs};

/// Any tracepoint: one more at this place of the thread that runs.
pub(super) fn counted(maps: &Maps, place: i16) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    who_runs(&mut program, maps, out);
    one_more(&mut program, R7, place);
    program.place(out).end(0);
    program.finish()
}
