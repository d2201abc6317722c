//! The first code of an isolated guest: it wipes the registers that the host's code may have left something in, calls
//! the entry, and ends the call with what that returned. The host puts it on a page that the guest cannot write.

use std::arch::{global_asm, is_x86_feature_detected};

/// R14: the guest has AVX, and AVX-512.
pub(super) const AVX: u64 = 1;
pub(super) const AVX512: u64 = 2;

// In: RDI and RSI are the entry's arguments, R12 is the entry, R13 the address that ends the call, R14 says which vector
// registers there are. It needs no address of its own. KVM resets x87 and SSE registers only, and a software KVM may not
// even know the others.
global_asm!(
    ".pushsection .rodata.tollway_isolated_start, \"a\", @progbits",
    ".globl tollway_isolated_start",
    ".globl tollway_isolated_start_end",
    "tollway_isolated_start:",
    "test r14d, 2",
    "jz 2f",
    ".irp number, 16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vpxord zmm\\number, zmm\\number, zmm\\number",
    ".endr",
    ".irp number, 0,1,2,3,4,5,6,7",
    "kxorw k\\number, k\\number, k\\number",
    ".endr",
    "2: test r14d, 1",
    "jz 3f",
    "vzeroall",
    "3: xor r14d, r14d",
    "call r12",
    "mov [r13], rax",
    "ud2",
    "tollway_isolated_start_end:",
    ".popsection",
);

unsafe extern "C" {
    static tollway_isolated_start: u8;
    static tollway_isolated_start_end: u8;
}

/// The code, to be copied.
pub(super) fn code() -> &'static [u8] {
    let (start, end) = (&raw const tollway_isolated_start, &raw const tollway_isolated_start_end);
    // SAFETY: both labels are in one piece of constants, one after the other.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// Which vector registers there are, for R14.
pub(super) fn vectors() -> u64 {
    let avx = if is_x86_feature_detected!("avx") { AVX } else { 0 };
    avx | if is_x86_feature_detected!("avx512f") { AVX512 } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It fits a page and ends as it should.
    #[test]
    fn it_is_whole() {
        assert!((20..4096).contains(&code().len()), "{}", code().len());
        assert_eq!(code()[code().len() - 2..], [0x0f, 0x0b]);
    }
}
