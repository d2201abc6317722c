//! The program that every frame meets first. Source: linux/bpf.h (`struct xdp_md`, `enum xdp_action`).

use std::os::fd::AsFd;

use tollway_bpf::Map;
use tollway_bpf::assembler::Register::{R0, R1, R2, R3, R6, R7, R10};
use tollway_bpf::assembler::{Assembler, Helper, Operation, When, Width};

/// `XDP_PASS`, `XDP_REDIRECT`.
const PASS: i32 = 2;
const REDIRECT: i32 = 4;
/// Offset of `rx_queue_index` in `struct xdp_md`.
const QUEUE: i16 = 16;

/// Sends a frame to the socket of its receive queue, if there is one, and counts it; else lets it pass.
pub fn redirect_and_count(sockets: &Map, counts: &Map) -> Vec<u64> {
    let mut program = Assembler::new();
    let out = program.label();
    // The queue, kept on the stack as well: as a key.
    program.load(Width::Word, R7, R1, QUEUE).store(Width::Word, R10, -4, R7);
    program.map(R1, sockets.as_fd()).register(Operation::Move, R2, R7).constant(Operation::Move, R3, PASS);
    program.call(Helper::RedirectMap).register(Operation::Move, R6, R0);
    program.jump_if(When::Different, R6, REDIRECT, out);
    // One more, on this processor's own.
    program.map(R1, counts.as_fd()).register(Operation::Move, R2, R10).constant(Operation::Add, R2, -4);
    program.call(Helper::MapLookUp).jump_if(When::Equal, R0, 0, out);
    program.load(Width::Double, R1, R0, 0).constant(Operation::Add, R1, 1).store(Width::Double, R0, 0, R1);
    program.place(out).register(Operation::Move, R0, R6).end_with_result();
    program.finish()
}
