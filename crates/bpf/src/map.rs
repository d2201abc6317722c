//! Memory that programs in the kernel share with this one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::ptr::{self, NonNull};
use std::sync::OnceLock;

use rustix::mm::{MapFlags, MprotectFlags, ProtFlags, mmap_anonymous, mprotect, munmap};
use rustix::param::page_size;

use crate::call::{
    MAP_CREATE, MAP_DELETE, MAP_LOOK_UP, MAP_LOOK_UP_MANY, MAP_TAKE, MAP_UPDATE, call, number, own, pair,
};

/// What a map is (`enum bpf_map_type`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapKind {
    /// Values by keys; all memory is taken when it is made.
    Hash = 1,
    /// Values by numbers.
    Array = 2,
    /// Values by keys, on each processor its own.
    HashOnEach = 5,
    /// Values by numbers, on each processor its own.
    ArrayOnEach = 6,
    /// Values by keys; where there is no room the one goes that was not used for the longest time.
    RecentHash = 9,
    /// AF_XDP sockets by numbers.
    Sockets = 17,
    /// Values without keys: the first in is the first out.
    Queue = 22,
}

/// Entries of a hash that are read with one call, and the most where its buckets have more.
const MANY: usize = 1024;
const MOST: usize = 1 << 20;

/// A map.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key: usize,
    /// Bytes of the values that this program reads: those of all processors, where each has its own.
    read: usize,
    value: usize,
    is_on_each: bool,
}

impl Map {
    /// With room for so many entries.
    ///
    /// # Errors
    /// The kernel has no such map, not so much memory, or this process may not make one.
    pub fn new(kind: MapKind, key: usize, value: usize, entries: u32) -> io::Result<Map> {
        Map::with(kind, key, value, entries, 0)
    }

    pub(crate) fn with(kind: MapKind, key: usize, value: usize, entries: u32, flags: u32) -> io::Result<Map> {
        let descriptor = made(kind, key, value, entries, flags)?;
        let read = match kind {
            MapKind::HashOnEach | MapKind::ArrayOnEach => value.next_multiple_of(8) * values_of_each()?,
            MapKind::Hash | MapKind::RecentHash | MapKind::Array | MapKind::Sockets | MapKind::Queue => value,
        };
        let is_on_each = matches!(kind, MapKind::HashOnEach | MapKind::ArrayOnEach);
        Ok(Map { descriptor, key, read, value, is_on_each })
    }

    /// The value at a key; each processor's, one after the other and each in whole words of 64 bits, where these have their own. `None` where there is none.
    ///
    /// # Errors
    /// The kernel's.
    ///
    /// # Panics
    /// If the key is not as long as this map's.
    pub fn get(&self, key: &[u8]) -> io::Result<Option<Vec<u8>>> {
        assert_eq!(key.len(), self.key);
        let mut value = vec![0u8; self.read];
        let attributes = [pair(number(self.as_fd()), 0), key.as_ptr() as u64, value.as_mut_ptr() as u64, 0];
        // SAFETY: key and value are as long as the kernel takes them to be: `key` was compared, `read` is what map_lookup_elem in kernel/bpf/syscall.c
        // writes.
        match unsafe { call(MAP_LOOK_UP, &attributes) } {
            Ok(_) => Ok(Some(value)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Takes a value out of a queue; `None` where there is none.
    ///
    /// # Errors
    /// The kernel's.
    ///
    /// # Panics
    /// If this map has keys.
    pub fn take(&self) -> io::Result<Option<Vec<u8>>> {
        assert_eq!(self.key, 0, "only a queue has no keys");
        let mut value = vec![0u8; self.read];
        // SAFETY: the kernel writes a value of this map's size, and there is no key.
        match unsafe { call(MAP_TAKE, &[pair(number(self.as_fd()), 0), 0, value.as_mut_ptr() as u64, 0]) } {
            Ok(_) => Ok(Some(value)),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Sets the value at a key, or puts one into a queue, of a map in which all processors have the same.
    ///
    /// # Errors
    /// The kernel's: E2BIG where there is no room.
    ///
    /// # Panics
    /// If key and value are not as long as this map's, or each processor has a value of its own.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!((key.len(), value.len()), (self.key, self.value));
        assert!(!self.is_on_each, "all processors have the same value");
        let address = if key.is_empty() { 0 } else { key.as_ptr() as u64 };
        let attributes = [pair(number(self.as_fd()), 0), address, value.as_ptr() as u64, 0];
        // SAFETY: both were compared with what the kernel reads.
        unsafe { call(MAP_UPDATE, &attributes) }.map(drop)
    }

    /// Sets the value at a key of a map in which each processor has its own: the same for all.
    ///
    /// # Errors
    /// The kernel's.
    ///
    /// # Panics
    /// If key and value are not as long as this map's, or all processors have one value.
    pub fn set_on_each(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!((key.len(), value.len()), (self.key, self.value));
        assert!(self.is_on_each, "each processor has a value of its own");
        let mut one = value.to_vec();
        one.resize(value.len().next_multiple_of(8), 0);
        let all = one.repeat(self.read / one.len());
        // SAFETY: the kernel reads as many bytes as `get` gets.
        unsafe {
            call(MAP_UPDATE, &[pair(number(self.as_fd()), 0), key.as_ptr() as u64, all.as_ptr() as u64, 0])
        }
        .map(drop)
    }

    /// Takes the value at a key away; whether there was one.
    ///
    /// # Errors
    /// The kernel's.
    ///
    /// # Panics
    /// If the key is not as long as this map's.
    pub fn remove(&self, key: &[u8]) -> io::Result<bool> {
        assert_eq!(key.len(), self.key);
        // SAFETY: the key was compared with what the kernel reads.
        match unsafe { call(MAP_DELETE, &[pair(number(self.as_fd()), 0), key.as_ptr() as u64]) } {
            Ok(_) => Ok(true),
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Calls `each` with every key and value of a hash. What programs add or take away meanwhile may be missing.
    ///
    /// # Errors
    /// The kernel's.
    pub fn for_each(&self, mut each: impl FnMut(&[u8], &[u8])) -> io::Result<()> {
        let mut room = MANY;
        let mut place: Option<Vec<u8>> = None;
        loop {
            // Where a look goes on is as long as a key, or 4 bytes (kernel/bpf/hashtab.c): whichever is more.
            let mut next = vec![0u8; self.key.max(4)];
            let (mut keys, mut values) = (vec![0u8; room * self.key], vec![0u8; room * self.read]);
            let attributes = [
                place.as_ref().map_or(0, |place| place.as_ptr() as u64),
                next.as_mut_ptr() as u64,
                keys.as_mut_ptr() as u64,
                values.as_mut_ptr() as u64,
                pair(room as u32, number(self.as_fd())),
                0,
                0,
            ];
            // SAFETY: there is room for as many keys and values as is said; both places are as long as the kernel takes them to be.
            let (found, last) = match unsafe { counted(MAP_LOOK_UP_MANY, attributes) } {
                (Ok(()), found) => (found, false),
                (Err(error), found) if error.raw_os_error() == Some(libc::ENOENT) => (found, true),
                // One bucket of the hash has more than there is room for.
                (Err(error), _) if error.raw_os_error() == Some(libc::ENOSPC) && room < MOST => {
                    room *= 2;
                    continue;
                }
                (Err(error), _) => return Err(error),
            };
            let found = found.min(room);
            for (key, value) in keys.chunks_exact(self.key).zip(values.chunks_exact(self.read)).take(found) {
                each(key, value);
            }
            if last {
                return Ok(());
            }
            place = Some(next);
        }
    }

    /// Words of 64 bits of a value that [`get`](Map::get) brought: added up over the processors, where these have their own.
    pub fn summed(&self, value: &[u8]) -> Vec<u64> {
        let words = self.value.div_ceil(8);
        let mut sums = vec![0u64; words];
        for (at, word) in value.chunks_exact(8).enumerate() {
            let word = u64::from_le_bytes(word.try_into().unwrap_or_default());
            sums[at % words] = sums[at % words].wrapping_add(word);
        }
        sums
    }
}

/// A call that says in its fifth word how many it did, whether it fails or not.
///
/// # Safety
/// As of [`call`].
unsafe fn counted(command: i32, mut attributes: [u64; 7]) -> (io::Result<()>, usize) {
    let (address, size) = (attributes.as_mut_ptr(), size_of_val(&attributes) as u32);
    // SAFETY: the kernel reads and writes `size` bytes; the caller sees to the addresses among them.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command, address, size) };
    let result = if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) };
    (result, attributes[4] as u32 as usize)
}

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// A new map of the kernel's.
fn made(kind: MapKind, key: usize, value: usize, entries: u32, flags: u32) -> io::Result<OwnedFd> {
    let attributes = [pair(kind as u32, key as u32), pair(value as u32, entries), pair(flags, 0)];
    // SAFETY: there is no address among these.
    let made = unsafe { call(MAP_CREATE, &attributes) };
    // SAFETY: it was just made.
    Ok(unsafe { own(made?) })
}

/// One more than the highest number that a processor of this machine can ever have: what a table has rows for
/// that has one for each.
pub fn possible_cpus() -> usize {
    static COUNT: OnceLock<usize> = OnceLock::new();
    *COUNT.get_or_init(|| {
        let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
        let highest = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
        // NR_CPUS of kernels in use is not larger. A container may be shown fewer than there are.
        highest.map_or(8192, |highest| highest + 1).max(values_of_each().unwrap_or(1))
    })
}

/// How many values the kernel copies of a map in which each processor has its own (bpf_percpu_array_copy in
/// kernel/bpf/arraymap.c: one for each processor that is possible). What /sys says may be hidden or changed
/// in a container, and a buffer that is too short would be written beyond. So it is found out, once: a map
/// with zeros is read to where no zeros are, in front of a page that nobody may write to.
fn values_of_each() -> io::Result<usize> {
    static COUNT: OnceLock<usize> = OnceLock::new();
    if let Some(count) = COUNT.get() {
        return Ok(*count);
    }
    let map = made(MapKind::ArrayOnEach, 4, 8, 1, 0)?;
    let mut pages = 1;
    let count = loop {
        let mut room = Guarded::new(pages)?;
        room.words().fill(u64::MAX);
        let key = [0u8; 4];
        let attributes =
            [pair(number(map.as_fd()), 0), key.as_ptr() as u64, room.words().as_mut_ptr() as u64, 0];
        // SAFETY: the key is as long as the map's; what the kernel writes beyond the room is nobody's memory,
        // and an error.
        match unsafe { call(MAP_LOOK_UP, &attributes) } {
            Ok(_) => break room.words().iter().take_while(|word| **word == 0).count(),
            Err(error) if error.raw_os_error() == Some(libc::EFAULT) && pages < MOST_PAGES => pages *= 2,
            Err(error) => return Err(error),
        }
    };
    Ok(*COUNT.get_or_init(|| count))
}

/// Of values of 8 bytes: half a million processors.
const MOST_PAGES: usize = 1024;

/// Whole pages of words, and behind them a page that can be neither read nor written.
struct Guarded {
    start: NonNull<u64>,
    bytes: usize,
}

impl Guarded {
    fn new(pages: usize) -> io::Result<Guarded> {
        let bytes = pages * page_size();
        let whole = bytes + page_size();
        // SAFETY: a new mapping at an address of the kernel's choice.
        let start = unsafe { mmap_anonymous(ptr::null_mut(), whole, ProtFlags::empty(), MapFlags::PRIVATE)? };
        let room = Guarded { start: NonNull::new(start.cast()).ok_or(io::ErrorKind::InvalidData)?, bytes };
        // SAFETY: the beginning of what was mapped, to which there is no reference yet.
        unsafe { mprotect(start, bytes, MprotectFlags::READ | MprotectFlags::WRITE)? };
        Ok(room)
    }

    fn words(&mut self) -> &mut [u64] {
        // SAFETY: whole pages that can be read and written, zero at first, and borrowed with this.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.bytes / 8) }
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // SAFETY: it is what was mapped, and no reference to it outlives this.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.bytes + page_size()) };
    }
}
