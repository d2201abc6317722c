//! The functions of the image that its host can call, in the order of its table.

use crate::crossing::{self, cpuids, hypercalls, mmio_store, mmio_stores, port_outs};
use crate::room::Room;
use crate::work;

/// An entry of the image: what the caller passed, and the guest's surroundings.
pub type Function = unsafe extern "C" fn(argument: usize, room: &Room) -> usize;

/// Begins every table: "tollway1" in the order of memory.
pub const MAGIC: u64 = u64::from_le_bytes(*b"tollway1");

/// The functions of an image, as they lie at its start.
#[derive(Debug)]
#[repr(C)]
pub struct Table {
    /// [`MAGIC`].
    pub magic: u64,
    /// How many functions follow.
    pub count: u64,
    /// Their addresses.
    pub functions: [Function; COUNT],
}

macro_rules! entries {
    ($($(#[$doc:meta])* $name:ident = $function:path;)*) => {
        /// An index into the [`TABLE`].
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[repr(usize)]
        pub enum Entry { $($(#[$doc])* $name,)* }

        /// How many entries there are.
        pub const COUNT: usize = [$(Entry::$name),*].len();

        /// The table of this image.
        pub const TABLE: Table = Table { magic: MAGIC, count: COUNT as u64, functions: [$($function),*] };
    };
}

entries! {
    /// Returns its argument plus one.
    Increment = increment;
    /// [`work::scramble`] of seed 1 and as many rounds as the argument says.
    Scramble = scramble;
    /// Times [`work::scramble`] of seed 1 and as many rounds as the argument says; returns cycles.
    ScrambleCycles = scramble_cycles;
    /// The sum of the window's 64-bit words, as many as the argument says, modulo 2⁶⁴.
    Sum = sum;
    /// Copies the first half of the window to its second half, by way of the guest's own memory, with AVX.
    CopyAvx = copy_avx;
    /// [`work::pong`] on the window's first word, as many rounds as the argument says.
    Pong = pong;
    /// [`work::ping`] on the window's first word, as many rounds as the argument says; returns cycles.
    Ping = ping;
    /// Rings the doorbell that the argument names; returns 1, or 0 if there is no such doorbell.
    Ring = ring;
    /// Sleeps until it is woken, as often as the argument says; adds up the rings in the window's first word.
    Idle = idle;
    /// The argument points to a [`Batch`](crate::crossing::Batch): [`port_outs`].
    PortOuts = port_outs_entry;
    /// The argument points to a [`Batch`](crate::crossing::Batch): [`mmio_stores`].
    MmioStores = mmio_stores_entry;
    /// The argument points to a [`Batch`](crate::crossing::Batch): [`cpuids`].
    Cpuids = cpuids_entry;
    /// The argument points to a [`Batch`](crate::crossing::Batch): [`hypercalls`].
    Hypercalls = hypercalls_entry;
    /// Panics: an index out of range.
    Panic = panic;
}

// Each of these is called by a host that made the room, inside the guest: what their names say is safe there, and what
// is not ends as a fault of the guest. That is the safety of the whole of this file.

unsafe extern "C" fn increment(argument: usize, _: &Room) -> usize {
    argument.wrapping_add(1)
}

unsafe extern "C" fn scramble(argument: usize, _: &Room) -> usize {
    work::scramble(1, argument as u64) as usize
}

unsafe extern "C" fn scramble_cycles(argument: usize, room: &Room) -> usize {
    let before = crate::crossing::clock();
    // SAFETY: stays in registers.
    core::hint::black_box(unsafe { scramble(core::hint::black_box(argument), room) });
    crate::crossing::clock().wrapping_sub(before) as usize
}

unsafe extern "C" fn sum(argument: usize, room: &Room) -> usize {
    // SAFETY: inside the guest. A load of each word: the host may write meanwhile.
    let words = unsafe { room.words() };
    let words = words.iter().take(argument).map(|word| word.load(core::sync::atomic::Ordering::Relaxed));
    words.fold(0, u64::wrapping_add) as usize
}

unsafe extern "C" fn copy_avx(_: usize, room: &Room) -> usize {
    let half = (room.window_bytes / 2).min(room.memory_bytes);
    // SAFETY: inside the guest, whose host lets it use AVX where the processor has it and does not touch the window in
    // this call; the three ranges are disjoint.
    unsafe {
        let own = core::slice::from_raw_parts_mut(room.memory as *mut u8, half);
        work::copy_avx(own, core::slice::from_raw_parts(room.window as *const u8, half));
        let second = (room.window + room.window_bytes / 2) as *mut u8;
        work::copy_avx(core::slice::from_raw_parts_mut(second, half), own);
    }
    half
}

unsafe extern "C" fn pong(argument: usize, room: &Room) -> usize {
    // SAFETY: inside the guest.
    work::pong(unsafe { &room.words()[0] }, argument as u64);
    0
}

unsafe extern "C" fn ping(argument: usize, room: &Room) -> usize {
    // SAFETY: inside the guest.
    work::ping(unsafe { &room.words()[0] }, argument as u64) as usize
}

unsafe extern "C" fn ring(argument: usize, room: &Room) -> usize {
    let Some(bell) = room.doorbell(argument) else { return 0 };
    // SAFETY: a doorbell that the host has told.
    unsafe { mmio_store(bell, 1) };
    1
}

unsafe extern "C" fn idle(argument: usize, room: &Room) -> usize {
    for _ in 0..argument {
        // SAFETY: inside the guest; the address is what the host has told.
        unsafe {
            let rings = crossing::idle(room.idle);
            room.words()[0].fetch_add(u64::from(rings), core::sync::atomic::Ordering::AcqRel);
        }
    }
    argument
}

unsafe extern "C" fn port_outs_entry(batch: usize, _: &Room) -> usize {
    // SAFETY: inside the guest.
    unsafe { port_outs(batch) }
}

unsafe extern "C" fn mmio_stores_entry(batch: usize, _: &Room) -> usize {
    // SAFETY: inside the guest.
    unsafe { mmio_stores(batch) }
}

unsafe extern "C" fn cpuids_entry(batch: usize, _: &Room) -> usize {
    // SAFETY: inside the guest.
    unsafe { cpuids(batch) }
}

unsafe extern "C" fn hypercalls_entry(batch: usize, _: &Room) -> usize {
    // SAFETY: inside the guest.
    unsafe { hypercalls(batch) }
}

unsafe extern "C" fn panic(argument: usize, room: &Room) -> usize {
    // SAFETY: inside the guest; beyond the end of the window, whatever the argument is.
    unsafe {
        room.words()[room.window_bytes / 8 + (argument & 1)].load(core::sync::atomic::Ordering::Relaxed)
            as usize
    }
}
