//! Memory that programs in the kernel share with this one.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use crate::call::{
    MAP_CREATE, MAP_DELETE, MAP_LOOK_UP, MAP_NEXT_KEY, MAP_TAKE, MAP_UPDATE, call, number, own, pair,
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
    /// AF_XDP sockets by numbers.
    Sockets = 17,
    /// Values without keys: the first in is the first out.
    Queue = 22,
}

/// A map.
#[derive(Debug)]
pub struct Map {
    descriptor: OwnedFd,
    key: usize,
    /// Bytes of the values that this program reads: those of all processors, where each has its own.
    read: usize,
    value: usize,
}

impl Map {
    /// With room for so many entries.
    ///
    /// # Errors
    /// The kernel has no such map, not so much memory, or this process may not make one.
    pub fn new(kind: MapKind, key: usize, value: usize, entries: u32) -> io::Result<Map> {
        // SAFETY: there is no address among these.
        let made =
            unsafe { call(MAP_CREATE, &[pair(kind as u32, key as u32), pair(value as u32, entries), 0]) };
        // SAFETY: it was just made.
        let descriptor = unsafe { own(made?) };
        let read = match kind {
            MapKind::HashOnEach | MapKind::ArrayOnEach => value.next_multiple_of(8) * possible_cpus(),
            MapKind::Hash | MapKind::Array | MapKind::Sockets | MapKind::Queue => value,
        };
        Ok(Map { descriptor, key, read, value })
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
    /// If key and value are not as long as this map's.
    pub fn set(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        assert_eq!((key.len(), value.len(), self.value), (self.key, self.value, self.read));
        let address = if key.is_empty() { 0 } else { key.as_ptr() as u64 };
        let attributes = [pair(number(self.as_fd()), 0), address, value.as_ptr() as u64, 0];
        // SAFETY: both were compared with what the kernel reads.
        unsafe { call(MAP_UPDATE, &attributes) }.map(drop)
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

    /// The keys that are there. Where programs add some or take some away meanwhile, one may be missing or be there twice.
    ///
    /// # Errors
    /// The kernel's.
    pub fn keys(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut keys: Vec<Vec<u8>> = Vec::new();
        loop {
            let before = keys.last().map_or(0, |key| key.as_ptr() as u64);
            let mut next = vec![0u8; self.key];
            // SAFETY: the key before, if any, and the next are of this map's length.
            match unsafe {
                call(MAP_NEXT_KEY, &[pair(number(self.as_fd()), 0), before, next.as_mut_ptr() as u64])
            } {
                Ok(_) => keys.push(next),
                Err(error) if error.raw_os_error() == Some(libc::ENOENT) => return Ok(keys),
                Err(error) => return Err(error),
            }
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

impl AsFd for Map {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

/// How many processors this machine can ever have; what a map with values for each has.
pub fn possible_cpus() -> usize {
    let text = std::fs::read_to_string("/sys/devices/system/cpu/possible").unwrap_or_default();
    let highest = text.trim().rsplit([',', '-']).next().and_then(|last| last.parse::<usize>().ok());
    // NR_CPUS of kernels in use is not larger.
    highest.map_or(8192, |highest| highest + 1)
}
