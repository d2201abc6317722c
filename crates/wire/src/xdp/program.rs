//! The program that every frame meets first, assembled by hand: 20 words of eBPF.
//!
//! Source: Documentation/bpf/standardization/instruction-set.rst of the kernel (encodings), linux/bpf.h (helpers,
//! `struct xdp_md`).

/// One instruction: operation, registers, offset, constant.
fn instruction(code: u8, to: u8, from: u8, offset: i16, constant: i32) -> u64 {
    u64::from(code)
        | u64::from(to) << 8
        | u64::from(from) << 12
        | u64::from(offset as u16) << 16
        | u64::from(constant as u32) << 32
}

const MOVE: u8 = 0xbf;
const MOVE_CONSTANT: u8 = 0xb7;
const ADD_CONSTANT: u8 = 0x07;
const LOAD_WORD: u8 = 0x61;
const STORE_WORD: u8 = 0x63;
const LOAD_DOUBLE: u8 = 0x79;
const STORE_DOUBLE: u8 = 0x7b;
const LOAD_CONSTANT_64: u8 = 0x18;
const IF_EQUAL: u8 = 0x15;
const IF_NOT_EQUAL: u8 = 0x55;
const CALL: u8 = 0x85;
const EXIT: u8 = 0x95;

/// A 64-bit constant that is a map (`BPF_PSEUDO_MAP_FD`).
const A_MAP: u8 = 1;
/// `bpf_map_lookup_elem`, `bpf_redirect_map`.
const LOOK_UP: i32 = 1;
const REDIRECT_MAP: i32 = 51;
/// `XDP_PASS`, `XDP_REDIRECT`.
const PASS: i32 = 2;
const REDIRECT: i32 = 4;
/// Offset of `rx_queue_index` in `struct xdp_md`.
const QUEUE: i16 = 16;

/// Sends a frame to the socket of its receive queue, if there is one, and counts it; else lets it pass.
pub fn redirect_and_count(sockets: i32, counts: i32) -> [u64; 20] {
    [
        // r7 = the queue; kept on the stack as well, as a key.
        instruction(LOAD_WORD, 7, 1, QUEUE, 0),
        instruction(STORE_WORD, 10, 7, -4, 0),
        // r6 = redirect(sockets, queue, or pass)
        instruction(LOAD_CONSTANT_64, 1, A_MAP, 0, sockets),
        0,
        instruction(MOVE, 2, 7, 0, 0),
        instruction(MOVE_CONSTANT, 3, 0, 0, PASS),
        instruction(CALL, 0, 0, 0, REDIRECT_MAP),
        instruction(MOVE, 6, 0, 0, 0),
        instruction(IF_NOT_EQUAL, 6, 0, 9, REDIRECT),
        // counts[queue] += 1, on this processor's own
        instruction(LOAD_CONSTANT_64, 1, A_MAP, 0, counts),
        0,
        instruction(MOVE, 2, 10, 0, 0),
        instruction(ADD_CONSTANT, 2, 0, 0, -4),
        instruction(CALL, 0, 0, 0, LOOK_UP),
        instruction(IF_EQUAL, 0, 0, 3, 0),
        instruction(LOAD_DOUBLE, 1, 0, 0, 0),
        instruction(ADD_CONSTANT, 1, 0, 0, 1),
        instruction(STORE_DOUBLE, 0, 1, 0, 0),
        instruction(MOVE, 0, 6, 0, 0),
        instruction(EXIT, 0, 0, 0, 0),
    ]
}
