//! What the programs have counted, read out of their memory.

use std::collections::BTreeMap;
use std::io;

use tollway_core::{Error, Result};

use super::Kernel;
use super::kind::device_of;
use super::layout::{self, call, key, name, thread, word};
use crate::living::is_kernel_worker;
use crate::{File, FileKind};

/// Words of what is known of calls.
const WORDS: usize = call::SIZE / 8;

/// A thread, as the kernel's programs saw it.
#[derive(Clone, Debug, PartialEq)]
pub struct Seen {
    slot: u32,
    thread: Vec<u64>,
    /// Its calls so far.
    pub calls: Vec<Call>,
    /// How often it began each call while these were counted by their numbers: those of [`numbered`](super::layout::numbered).
    pub(super) numbered: BTreeMap<u32, u64>,
}

/// Runs of a program that were timed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Timed {
    pub(super) seconds: f64,
    pub(super) count: f64,
}

impl Timed {
    fn of(nanoseconds: u64, count: u64) -> Timed {
        Timed { seconds: nanoseconds as f64 / 1e9, count: count as f64 }
    }

    /// Seconds of one; `None` where none was timed.
    pub(super) fn mean(self) -> Option<f64> {
        (self.count > 0.0).then(|| self.seconds / self.count)
    }

    pub(super) fn since(self, earlier: Timed) -> Timed {
        Timed { seconds: self.seconds - earlier.seconds, count: self.count - earlier.count }
    }
}

/// What is known of the calls of one number on one file.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Call {
    /// The call's number.
    pub number: u32,
    /// The topmost bits of the file's mode (S_IFMT of stat.h, shifted by 12); 0 is no file.
    pub kind: u16,
    /// The number of the file's inode; 0 where there was no room to tell files apart.
    pub inode: u64,
    /// Of a socket its family and, from bit 16 on, its protocol; of a device its number; else the number of its file system.
    pub what: u64,
    /// The words of [`layout::call`](super::layout::call).
    words: [u64; WORDS],
}

impl Seen {
    /// A word of [`layout::thread`](super::layout::thread).
    pub fn word(&self, at: i16) -> u64 {
        self.thread[word(at)]
    }

    /// Its number, and its process', as this process has them.
    pub fn numbers(&self) -> (u32, u32) {
        layout::numbers(self.word(thread::NUMBER), self.word(thread::GLOBAL))
    }

    /// The number that it was first watched under: another than it has where it was not its process' first
    /// thread, and has become that by an exec.
    pub fn first_number(&self) -> u32 {
        layout::halves(self.word(thread::NUMBER)).0
    }

    /// Its slot, which is its own until it [`is_gone`](Seen::is_gone).
    pub(super) fn slot(&self) -> u32 {
        self.slot
    }

    /// How long the program at the beginnings of its calls took while these were counted by their numbers.
    pub(super) fn numbers_times(&self) -> Timed {
        Timed::of(self.word(thread::NUMBERS_TIME), self.word(thread::NUMBERS_TIMED))
    }

    /// How long the program at the ends of its calls took, of those that were the first of their number on their file.
    pub(super) fn first_program_times(&self) -> Timed {
        Timed::of(self.word(thread::FIRST_TIME), self.word(thread::FIRST_TIMED))
    }

    /// Whether it has ended; then this is the last that is heard of it.
    pub fn is_gone(&self) -> bool {
        self.word(thread::GONE) != 0
    }

    /// Whether it was a thread of the kernel in the process of a program, once it has ended.
    pub fn is_kernel_worker(&self) -> bool {
        let (number, process) = self.numbers();
        is_kernel_worker(self.word(thread::FLAGS) as u32, number == process)
    }

    /// The name that it had when it ended.
    pub fn name(&self) -> String {
        let bytes = [self.word(thread::NAME), self.word(thread::NAME + 8)].map(u64::to_ne_bytes).concat();
        String::from_utf8_lossy(bytes.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned()
    }
}

impl Call {
    /// A word of [`layout::call`](super::layout::call).
    pub fn word(&self, at: i16) -> u64 {
        self.words[word(at)]
    }

    /// How long the program at their ends took, of those that had been counted before.
    pub(super) fn program_times(&self) -> Timed {
        Timed::of(self.word(call::PROGRAM_TIME), self.word(call::PROGRAM_TIMED))
    }
}

impl Kernel {
    /// The paths by which files were opened, as their programs gave them, with the file's device and the number of its inode.
    ///
    /// # Errors
    /// The kernel's.
    pub fn names(&self) -> Result<Vec<(File, String)>> {
        let mut names = Vec::new();
        let each = |key: &[u8], path: &[u8]| {
            let word = |at: i16| key.get(at as usize..).and_then(|bytes| bytes.first_chunk().copied());
            let (Some(inode), Some(device)) = (word(name::INODE), word(name::DEVICE)) else { return };
            let device = device_of(u64::from_ne_bytes(device));
            let file = File::of(FileKind::Regular, u64::from_ne_bytes(inode), device);
            let end = path.iter().position(|byte| *byte == 0).unwrap_or(path.len());
            let mut path = String::from_utf8_lossy(&path[..end]).into_owned();
            if end == name::LONGEST - 1 {
                path.push('…');
            }
            names.push((file, path));
        };
        let all = self.maps.names.for_each(each);
        all.map_err(|e| Error::system("reading the names that the kernel's programs kept", e))?;
        Ok(names)
    }

    /// What is known of each thread that is watched, and of those that have ended since this was asked last: their slots are free from then on.
    ///
    /// # Errors
    /// The kernel's.
    pub fn harvest(&self) -> Result<Vec<Seen>> {
        let failed = |e: io::Error| Error::system("reading what the kernel's programs counted", e);
        self.bury()?;
        let row = |slot| {
            let (thread, numbered) = (self.maps.threads.row(slot), self.numbered(slot));
            (slot, Seen { slot, thread, calls: Vec::new(), numbered })
        };
        let mut seen: BTreeMap<u32, Seen> = self.taken().map(row).collect();
        for map in [&self.maps.calls, &self.maps.rest] {
            let mut over: Vec<Vec<u8>> = Vec::new();
            let each = |known: &[u8], value: &[u8]| {
                let (Some(slot), Some(call)) = (read_slot(known), read_call(known, value)) else { return };
                if let Some(one) = seen.get_mut(&slot) {
                    one.calls.push(call);
                    if one.is_gone() {
                        over.push(known.to_vec());
                    }
                }
            };
            map.for_each(each).map_err(failed)?;
            for known in over {
                map.remove(&known).map_err(failed)?;
            }
        }
        for (slot, one) in seen.iter().filter(|(_, one)| one.is_gone()) {
            for place in 0..one.thread.len() {
                self.maps.threads.set(*slot, place, 0);
            }
            for number in one.numbered.keys() {
                self.maps.numbered.set(*slot, *number as usize, 0);
            }
            self.carried().retain(|(of, _), _| of != slot);
            self.maps.free.set(&[], &slot.to_ne_bytes()).map_err(failed)?;
        }
        Ok(seen.into_values().collect())
    }
}

impl Kernel {
    /// How often the thread of a slot began each call while these were counted by their numbers.
    fn numbered(&self, slot: u32) -> BTreeMap<u32, u64> {
        let mut all = BTreeMap::new();
        if self.maps.threads.get(slot, word(thread::NUMBERED)) > 0 {
            let row = self.maps.numbered.row(slot).into_iter();
            all.extend((0..).zip(row).filter(|(_, count)| *count > 0));
        }
        for ((_, number), count) in self.carried().range((slot, 0)..=(slot, u32::MAX)) {
            *all.entry(*number).or_default() += count;
        }
        all
    }
}

fn read_slot(known: &[u8]) -> Option<u32> {
    Some(u32::from_ne_bytes(*known.get(key::SLOT as usize..)?.first_chunk()?))
}

fn read_call(known: &[u8], value: &[u8]) -> Option<Call> {
    let half = |at: i16| Some(u16::from_ne_bytes(*known.get(at as usize..)?.first_chunk()?));
    let double = |at: i16| Some(u64::from_ne_bytes(*known.get(at as usize..)?.first_chunk()?));
    let mut words = [0; WORDS];
    for (word, bytes) in words.iter_mut().zip(value.chunks_exact(8)) {
        *word = u64::from_ne_bytes(bytes.try_into().ok()?);
    }
    Some(Call {
        number: half(key::NUMBER)?.into(),
        kind: half(key::TYPE)?,
        inode: double(key::INODE)?,
        what: double(key::WHAT)?,
        words,
    })
}

#[cfg(test)]
mod tests {
    use rustix::fs::{MemfdFlags, fstat, memfd_create};
    use tollway_core::Error;
    use tollway_host::requirement::skip_test;

    use super::*;

    /// What counting took was priced by the speed of new entries where a thread makes many of them, or not at all: of processes that end
    /// after thirty calls most are.
    #[test]
    fn first_calls_on_a_file_are_timed_apart_from_those_that_follow() {
        const FILES: usize = 320;
        let files: Vec<_> =
            (0..FILES).map(|_| memfd_create(c"tollway", MemfdFlags::CLOEXEC).unwrap()).collect();
        let mut kernel = match Kernel::new(false) {
            Ok(kernel) => kernel,
            Err(Error::Missing(missing)) => return skip_test(&["bpf"], &missing),
            Err(error) => panic!("{error}"),
        };
        let me = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        kernel.add(me, std::process::id()).unwrap();
        kernel.begin().unwrap();
        for _ in 0..3 {
            assert!(files.iter().all(|file| fstat(file).is_ok()));
        }
        kernel.pause();
        let seen = kernel.harvest().unwrap().into_iter().find(|seen| seen.numbers().0 == me).unwrap();
        let again = seen.calls.iter().map(Call::program_times);
        let again = again.fold(Timed::default(), |all, one| Timed {
            seconds: all.seconds + one.seconds,
            count: all.count + one.count,
        });
        let first = seen.first_program_times();
        // Of sixteen calls one is timed, whichever it is.
        let is_near = |timed: Timed, calls: usize| (timed.count - calls as f64 / 16.0).abs() <= 2.0;
        assert!(is_near(first, FILES) && is_near(again, 2 * FILES), "{first:?} {again:?}");
        let means = [first, again].map(|timed| timed.mean().unwrap());
        assert!(means.iter().all(|mean| *mean > 1e-8 && *mean < 1e-4), "{means:?}");
    }
}
