//! Memory that the kernel may be writing while this process does other things: mapped for itself, and never given back before the kernel is done.

use std::cell::RefCell;
use std::ops::{Deref, DerefMut, Range};
use std::pin::Pin;
use std::ptr::{self, NonNull};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU64};
use std::task::{Context, Poll, Waker};

use rustix::mm::{MapFlags, ProtFlags, mmap_anonymous, munmap};
use rustix::param::page_size;
use tollway_core::{Error, Result};

use crate::coroutine::line::{Line, Stands};

/// Whole pages of this process's own, all zero at first; unmapped when dropped.
pub(super) struct Mapping {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: the mapping belongs to the process, not to a thread.
unsafe impl Send for Mapping {}
// SAFETY: it gives out no more than its address; who uses that says why it may.
unsafe impl Sync for Mapping {}

impl Mapping {
    /// At least that many bytes.
    pub fn new(bytes: usize) -> Result<Mapping> {
        let len = bytes
            .checked_next_multiple_of(page_size())
            .filter(|len| (1..1 << 46).contains(len))
            .ok_or_else(|| Error::Input {
                place: format!("{bytes} bytes of memory"),
                reason: "no so many can be mapped".into(),
                remedy: "ask for at least one byte, and fewer than 2^46".into(),
            })?;
        // SAFETY: a new mapping at an address of the kernel's choice overlaps no memory that Rust knows of.
        let start = unsafe {
            mmap_anonymous(ptr::null_mut(), len, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)
        }
        .map_err(|e| Error::system(format!("mapping {len} bytes"), e))?;
        let start =
            NonNull::new(start.cast()).ok_or_else(|| Error::system("mapping", "it is at address 0"))?;
        Ok(Mapping { start, len })
    }

    pub fn start(&self) -> NonNull<u8> {
        self.start
    }

    pub fn len(&self) -> usize {
        self.len
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: exactly the mapping made in `new`; who has used its address keeps this.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.len) };
        debug_assert!(unmapped.is_ok(), "{unmapped:?}");
    }
}

/// Pages to give to the kernel and to take back ([`Kernel::madvise`](super::Kernel::madvise)); mapped for as long as any copy of this lives, and until the
/// kernel is done with them. Any part of them may become zero at any time, so they are read and written by atomics.
#[derive(Clone)]
pub struct Pages(Arc<Mapping>);

impl core::fmt::Debug for Pages {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Pages").field("len", &self.0.len).finish_non_exhaustive()
    }
}

impl Pages {
    /// So many bytes, rounded up to whole pages, all zero and none of them in memory yet.
    ///
    /// # Errors
    /// [`Error::Input`] for no bytes or too many; [`Error::System`] if the kernel refuses.
    pub fn new(bytes: usize) -> Result<Pages> {
        Ok(Pages(Arc::new(Mapping::new(bytes)?)))
    }

    /// How many bytes there are: whole pages.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The first byte; page-aligned.
    pub fn as_ptr(&self) -> *mut u8 {
        self.0.start().as_ptr()
    }

    /// As bytes.
    pub fn bytes(&self) -> &[AtomicU8] {
        // SAFETY: mapped, readable and writable, for as long as `self` lives; atomics allow changes from elsewhere.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.len()) }
    }

    /// As words of 64 bits.
    pub fn words(&self) -> &[AtomicU64] {
        // SAFETY: as in `bytes`; it begins at a page and is whole pages.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.len() / 8) }
    }

    /// There has to be such a part.
    pub(super) fn must_have(&self, part: &Range<usize>) {
        assert!(part.start <= part.end && part.end <= self.len(), "{part:?} is not in {} bytes", self.len());
    }
}

/// The buffers of a ring.
pub(super) struct Arena {
    mapping: Mapping,
    /// Bytes of each.
    bytes: usize,
    /// Whether the kernel knows the mapping as registered buffer 0.
    pub is_registered: std::cell::Cell<bool>,
    free: RefCell<Free>,
}

struct Free {
    /// The one used last is used next: its lines are still near.
    buffers: Vec<u32>,
    waiting: Line,
}

impl Arena {
    pub fn new(count: usize, bytes: usize) -> Result<Arena> {
        let free = Free { buffers: (0..count as u32).rev().collect(), waiting: Line::default() };
        let mapping = Mapping::new((count * bytes).max(1))?;
        Ok(Arena { mapping, bytes, is_registered: false.into(), free: RefCell::new(free) })
    }

    /// What is to be registered.
    pub fn whole(&self) -> libc::iovec {
        libc::iovec { iov_base: self.mapping.start().as_ptr().cast(), iov_len: self.mapping.len() }
    }

    /// A free one, if there is.
    pub fn take(self: &Rc<Arena>) -> Option<Buffer> {
        let mut free = self.free.borrow_mut();
        let index = free.waiting.leaves_one_of(free.buffers.len()).then(|| free.buffers.pop())??;
        drop(free);
        Some(Buffer { arena: self.clone(), index, len: self.bytes })
    }
}

/// A piece of the ring's memory, leased until it is dropped. While the kernel reads or writes it, it belongs to the operation, and comes back with
/// the operation's result; of a dropped operation it goes back to the ring when the kernel is done with it. What stands in it at first is what its
/// last user left.
pub struct Buffer {
    arena: Rc<Arena>,
    index: u32,
    len: usize,
}

impl core::fmt::Debug for Buffer {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Buffer").field("index", &self.index).field("len", &self.len).finish_non_exhaustive()
    }
}

impl Buffer {
    /// How many bytes it could have.
    pub fn capacity(&self) -> usize {
        self.arena.bytes
    }

    /// How many of its bytes are meant from now on: an operation reads or writes as many. Not more than its capacity.
    pub fn set_len(&mut self, len: usize) {
        self.len = len.min(self.arena.bytes);
    }

    /// With these bytes, as many as there is room for.
    pub fn with(mut self, bytes: &[u8]) -> Buffer {
        self.set_len(bytes.len());
        let len = self.len;
        self.copy_from_slice(&bytes[..len]);
        self
    }

    /// Whether it is one of those of that ring, and these are registered there.
    pub(super) fn is_registered(&self, arena: &Rc<Arena>) -> bool {
        Rc::ptr_eq(&self.arena, arena) && arena.is_registered.get()
    }

    pub(super) fn start(&self) -> *mut u8 {
        self.arena.mapping.start().as_ptr().wrapping_add(self.index as usize * self.arena.bytes)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: within the arena's mapping, which `self` keeps; of a leased buffer there is no other owner, and the kernel has it only while an
        // operation does.
        unsafe { std::slice::from_raw_parts(self.start(), self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as in `deref`, and `self` is borrowed alone.
        unsafe { std::slice::from_raw_parts_mut(self.start(), self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        let waker = {
            let mut free = self.arena.free.borrow_mut();
            free.buffers.push(self.index);
            free.waiting.call()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

/// A buffer, as soon as one is free.
pub struct Lease {
    pub(super) arena: Rc<Arena>,
    pub(super) ticket: Option<u64>,
}

impl core::fmt::Debug for Lease {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Lease").field("ticket", &self.ticket).finish_non_exhaustive()
    }
}

impl Future for Lease {
    type Output = Buffer;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Buffer> {
        let mut spare: Option<Waker> = None;
        loop {
            let mut free = self.arena.free.borrow_mut();
            if let Some(ticket) = self.ticket {
                match (free.waiting.stands(ticket, context.waker()), spare.take()) {
                    (Stands::Waits, waker) => {
                        drop(free);
                        drop(waker);
                        return Poll::Pending;
                    }
                    (Stands::Otherwise, Some(waker)) => {
                        let old = free.waiting.renew(ticket, waker);
                        drop(free);
                        drop(old);
                        return Poll::Pending;
                    }
                    (Stands::Otherwise, None) => {}
                    (Stands::Called, waker) => {
                        free.waiting.serves();
                        let index = free.buffers.pop();
                        drop(free);
                        drop(waker);
                        self.ticket = None;
                        // It was kept; and nothing is ever taken but with a call or what calls leave.
                        let Some(index) = index else { continue };
                        return Poll::Ready(Buffer {
                            arena: self.arena.clone(),
                            index,
                            len: self.arena.bytes,
                        });
                    }
                }
            } else if free.waiting.leaves_one_of(free.buffers.len())
                && let Some(index) = free.buffers.pop()
            {
                drop(free);
                return Poll::Ready(Buffer { arena: self.arena.clone(), index, len: self.arena.bytes });
            } else if let Some(waker) = spare.take() {
                let ticket = free.waiting.join(waker);
                drop(free);
                self.ticket = Some(ticket);
                return Poll::Pending;
            }
            drop(free);
            spare = Some(context.waker().clone());
        }
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let Some(ticket) = self.ticket else { return };
        let left = self.arena.free.borrow_mut().waiting.leave(ticket);
        left.settle();
    }
}
