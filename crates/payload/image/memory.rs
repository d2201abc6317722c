//! The four functions of the C library that compilers call by themselves. By string instructions and single bytes in
//! assembler, because a loop in Rust would be compiled into a call of the very function. (In a test they have no global names, so that the test does not run on them.)

use core::arch::asm;

/// As in C.
///
/// # Safety
/// As in C.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    // SAFETY: the caller's; the direction flag is clear by convention.
    unsafe {
        asm!("rep movsb", inout("rdi") to => _, inout("rsi") from => _, inout("rcx") len => _,
            options(nostack, preserves_flags));
    }
    to
}

/// As in C.
///
/// # Safety
/// As in C.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memmove(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    if (to as usize).wrapping_sub(from as usize) >= len {
        // SAFETY: the caller's: a copy forwards does not overtake itself.
        return unsafe { memcpy(to, from, len) };
    }
    // SAFETY: the caller's; backwards from the last byte, and the direction flag is cleared again.
    unsafe {
        asm!("std", "rep movsb", "cld", inout("rdi") to.wrapping_add(len).wrapping_sub(1) => _,
            inout("rsi") from.wrapping_add(len).wrapping_sub(1) => _, inout("rcx") len => _, options(nostack));
    }
    to
}

/// As in C.
///
/// # Safety
/// As in C.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memset(to: *mut u8, value: i32, len: usize) -> *mut u8 {
    // SAFETY: the caller's; the direction flag is clear by convention.
    unsafe {
        asm!("rep stosb", inout("rdi") to => _, inout("rcx") len => _, in("al") value as u8,
            options(nostack, preserves_flags));
    }
    to
}

/// As in C.
///
/// # Safety
/// As in C.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn memcmp(left: *const u8, right: *const u8, len: usize) -> i32 {
    let difference: i32;
    // SAFETY: the caller's. Compared from the first byte; the last two bytes read decide. With no bytes the flags are
    // those of `xor`: equal.
    unsafe {
        asm!("xor eax, eax", "repe cmpsb", "seta al", "setb cl", "movzx ecx, cl", "sub eax, ecx",
            inout("rsi") left => _, inout("rdi") right => _, inout("rcx") len => _, out("eax") difference,
            options(nostack, readonly));
    }
    difference
}
