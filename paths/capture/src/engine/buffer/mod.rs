//! The study's kernel buffer: a ring of packets between the tap, which appends one at a time, and the application, which
//! reads many with one system call.
//!
//! Its memory is a memfd. The producer has it mapped, twice in a row so that no packet is broken at the end; the consumer
//! has no mapping and gets at it by pread(2) alone. So a read is a real crossing into the kernel, which copies; that is
//! the second copy of the path.
//!
//! One producer, one consumer, which may be threads or take turns in one. Both count bytes from the beginning of time in
//! 64 bits (`head` appended, `tail` read), so full and empty are never confused and nothing wraps.

/// Those of the standard library; `tests/buffer_orderings.rs` compiles `indices.rs` with loom's.
use std::sync::atomic;

mod consumer;
mod header;
mod indices;
mod mapping;
mod producer;

pub use consumer::{Batch, Consumer, Records};
pub use header::{HEADER, Header, room_for};
pub use producer::{Place, Producer};

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{MemfdFlags, SealFlags, fcntl_add_seals, ftruncate, memfd_create};
use rustix::param::page_size;
use tollway_core::{Error, Result};

use indices::Indices;
use mapping::TwiceMapped;

/// The largest buffer, in bytes: its pages are all there from the start.
pub const MOST: usize = 1 << 30;

/// Makes a buffer of `bytes` bytes (rounded up to a power of two, a page at least) and returns its two ends.
///
/// # Errors
/// [`Error::Input`] for more than [`MOST`] bytes; [`Error::System`] if the kernel refuses the memory.
pub fn buffer(bytes: usize) -> Result<(Producer, Consumer)> {
    if bytes > MOST {
        return Err(Error::Input {
            place: format!("a buffer of {bytes} bytes"),
            reason: format!("it is larger than {MOST} bytes, and all of it is kept in memory"),
            remedy: "ask for less".into(),
        });
    }
    let len = bytes.max(page_size()).next_power_of_two();
    let memory = memory(len)?;
    let indices = Arc::new(Indices::default());
    let mapped = TwiceMapped::new(&memory, len)?;
    Ok((Producer::new(mapped, indices.clone()), Consumer::new(memory, len, indices)))
}

/// A memfd of that size which nobody can resize.
fn memory(len: usize) -> Result<OwnedFd> {
    let refused = |e| Error::system(format!("making a buffer of {len} bytes"), e);
    let memory = memfd_create("tollway capture buffer", MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING)
        .map_err(refused)?;
    ftruncate(&memory, len as u64).map_err(refused)?;
    fcntl_add_seals(&memory, SealFlags::SHRINK | SealFlags::GROW | SealFlags::SEAL).map_err(refused)?;
    Ok(memory)
}
