//! The payload as a program of its own: what `build.rs` links at fixed addresses, without standard library, C library,
//! start-up code or relocations. It is the library's source; only what a program needs beyond that is here.
#![no_std]
#![no_main]
#![deny(warnings, unsafe_op_in_unsafe_fn)]
// The library's source is included as it is; the image does not export all of it.
#![allow(dead_code, missing_docs)]

#[path = "../src/crossing.rs"]
pub mod crossing;
#[path = "../src/entry.rs"]
pub mod entry;
mod memory;
#[path = "../src/room.rs"]
pub mod room;
#[path = "../src/work.rs"]
pub mod work;

/// The table at the start of the image; the ELF header's entry point tells its address.
#[used]
#[unsafe(no_mangle)]
#[unsafe(link_section = ".entries")]
pub static ENTRIES: entry::Table = entry::TABLE;

/// A panic ends the call as a fault by `ud2`.
#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    // SAFETY: an illegal instruction does not come back.
    unsafe { core::arch::asm!("ud2", options(noreturn, nomem, nostack)) }
}
