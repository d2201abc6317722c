//! Memory that somebody else sees and changes, too: checked places in it, reached by volatile and atomic accesses alone.

use std::any::Any;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};

use tollway_host::shared::SharedPages;
use vm_memory::{Bytes, VolatileMemory, VolatileSlice};

use crate::descriptor::Descriptor;

/// A run of bytes in an [`Area`], which may be none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first, counted from the area's beginning.
    pub at: usize,
    /// How many.
    pub bytes: u32,
}

/// Memory that others may change at any time. A clone is the same memory.
#[derive(Clone, Debug)]
pub struct Area {
    start: NonNull<u8>,
    len: usize,
    /// What keeps the memory where it is.
    _owner: Option<Arc<dyn Any + Send + Sync>>,
}

// SAFETY: the memory belongs to no thread, and is only ever reached by volatile or atomic accesses.
unsafe impl Send for Area {}
// SAFETY: as above.
unsafe impl Sync for Area {}

impl From<Arc<SharedPages>> for Area {
    fn from(pages: Arc<SharedPages>) -> Area {
        let start = NonNull::new(pages.as_ptr()).expect("they are not mapped at 0");
        Area { start, len: pages.len(), _owner: Some(pages) }
    }
}

impl Area {
    /// Memory that the caller keeps: that of a micro-guest, for instance, or within one.
    ///
    /// # Safety
    /// `len` bytes from `start` on must stay mapped, readable and writable, for as long as the area or a clone of it lives, and
    /// this program must reach them by volatile or atomic accesses alone.
    pub unsafe fn over(start: NonNull<u8>, len: usize) -> Area {
        Area { start, len, _owner: None }
    }

    /// Memory that `owner` keeps.
    ///
    /// # Safety
    /// As [`Area::over`], for as long as `owner` lives.
    pub(crate) unsafe fn of(start: NonNull<u8>, len: usize, owner: Arc<dyn Any + Send + Sync>) -> Area {
        Area { start, len, _owner: Some(owner) }
    }

    /// How many bytes there are.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The first byte.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// All of it, as something that changes at any time.
    #[inline]
    pub fn bytes(&self) -> VolatileSlice<'_> {
        // SAFETY: the memory is there as long as `self`: `over` has its caller promise it, else the owner keeps it; and nobody
        // in this program reaches it otherwise.
        unsafe { VolatileSlice::new(self.start.as_ptr(), self.len) }
    }

    /// Whether it has these bytes.
    #[inline]
    pub fn holds(&self, span: Span) -> bool {
        span.at.checked_add(span.bytes as usize).is_some_and(|end| end <= self.len)
    }

    /// These bytes.
    ///
    /// # Panics
    /// If the area does not have them.
    #[inline]
    pub fn slice(&self, span: Span) -> VolatileSlice<'_> {
        self.bytes().subslice(span.at, span.bytes as usize).expect("the area has these bytes")
    }

    /// Copies bytes there.
    ///
    /// # Panics
    /// If the area does not have as many.
    #[inline]
    pub fn write(&self, at: usize, bytes: &[u8]) {
        self.bytes().write_slice(bytes, at).expect("the area has these bytes");
    }

    /// Copies bytes from there.
    ///
    /// # Panics
    /// If the area does not have as many.
    #[inline]
    pub fn read(&self, at: usize, into: &mut [u8]) {
        self.bytes().read_slice(into, at).expect("the area has these bytes");
    }

    /// Copies bytes there, unless they are there: a cache line that the other side has read, and that stays as it is, need not be
    /// fetched to be written.
    ///
    /// # Panics
    /// If the area does not have as many.
    #[inline]
    pub fn update<const BYTES: usize>(&self, at: usize, bytes: &[u8; BYTES]) {
        let mut there = [0; BYTES];
        self.read(at, &mut there);
        if there != *bytes {
            self.write(at, bytes);
        }
    }

    #[inline]
    pub(crate) fn put(&self, at: usize, word: u64) {
        self.bytes().get_ref(at).expect("it was checked that this is in the area").store(word.to_le());
    }

    #[inline]
    pub(crate) fn get(&self, at: usize) -> u64 {
        u64::from_le(self.bytes().get_ref(at).expect("it was checked that this is in the area").load())
    }

    /// Writes a descriptor, unless it is there (see [`update`](Area::update)).
    #[inline]
    pub(crate) fn put_descriptor(&self, at: usize, descriptor: Descriptor) {
        let bytes = self.bytes();
        let place = bytes.get_ref(at).expect("it was checked that this is in the area");
        if place.load() != descriptor.words() {
            place.store(descriptor.words());
        }
    }

    /// A descriptor, read once.
    #[inline]
    pub(crate) fn descriptor(&self, at: usize) -> Descriptor {
        let bytes = self.bytes();
        let place = bytes.get_ref(at).expect("it was checked that this is in the area");
        Descriptor::from_words(place.load())
    }

    /// A field of a ring, which is little-endian; what its writer wrote before it is seen.
    #[inline]
    pub(crate) fn load(&self, at: usize) -> u16 {
        u16::from_le(field(&self.bytes(), at).load(Ordering::Acquire))
    }

    /// Sets a field of a ring; who sees it sees what was written before it.
    #[inline]
    pub(crate) fn store(&self, at: usize, value: u16) {
        field(&self.bytes(), at).store(value.to_le(), Ordering::Release);
    }
}

// Of the standard library, as vm-memory's own `load` and `store` are calls that cannot be inlined.
#[inline]
fn field<'a>(bytes: &'a VolatileSlice<'_>, at: usize) -> &'a AtomicU16 {
    bytes.get_atomic_ref(at).expect("it was checked that this is in the area")
}
