//! The memory that programs and this process share.

use std::io;

use tollway_bpf::{Map, MapKind, Table, possible_cpus};

use super::Detail;
use super::files::register_of;
use super::layout::{self, call, key, name, numbered, of_number, processor, thread, whole, word};
use crate::numbers::{self, NUMBERS};

/// Slots: threads that can be watched at once, and one that is nobody's.
pub(crate) const SLOTS: u32 = 4096;
/// Calls by thread, number and file that can be told apart at once.
const CALLS: u32 = 1 << 16;
/// Where there is no room for another: calls by thread, number and kind of file.
const REST: u32 = 1 << 15;

/// Files whose names are kept: those that were opened last.
const NAMES: u32 = 1 << 14;

pub(crate) struct Maps {
    /// For each processor, whom it found last.
    pub processors: Map,
    /// The slot of each thread that is watched, by its number.
    pub slots: Map,
    /// What is known of each, by its slot.
    pub threads: Table,
    /// How often each began each call while these were counted by their numbers, by its slot.
    pub numbered: Table,
    /// What is known of its calls.
    pub calls: Map,
    /// The same, with no file's number.
    pub rest: Map,
    /// What calls do with files, by their numbers: [`ON_FILE`](of_number::ON_FILE) where the first argument is a descriptor, and from
    /// [`OPENS`](of_number::OPENS) on where among the registers the address of the path is that a call opens.
    pub on_files: Table,
    /// By their numbers, where among the registers the address of the path is by which a call looks for a file; 0 of other calls.
    pub paths: Table,
    /// The paths by which files were opened.
    pub names: Map,
    /// Slots that nobody has.
    pub free: Map,
    /// For each processor, by its number, whether it is idle, where that is known.
    pub idle: Table,
    /// What is known of all.
    pub whole: Table,
}

impl Maps {
    pub fn new(detail: Detail) -> io::Result<Maps> {
        let (calls, rest, names) = if detail == Detail::Files { (CALLS, REST, NAMES) } else { (1, 1, 1) };
        let maps = Maps {
            processors: Map::new(MapKind::ArrayOnEach, 4, processor::SIZE, 1)?,
            slots: Map::new(MapKind::Hash, 4, 4, SLOTS)?,
            threads: Table::new(thread::SIZE, SLOTS)?,
            numbered: Table::new(numbered::SIZE, if detail == Detail::Files { SLOTS } else { 1 })?,
            calls: Map::new(MapKind::Hash, key::SIZE, call::SIZE, calls)?,
            rest: Map::new(MapKind::Hash, key::SIZE, call::SIZE, rest)?,
            on_files: Table::new(8, NUMBERS)?,
            paths: Table::new(8, NUMBERS)?,
            names: Map::new(MapKind::RecentHash, name::SIZE, name::LONGEST, names)?,
            free: Map::new(MapKind::Queue, 0, 4, SLOTS)?,
            idle: Table::new(8, possible_cpus() as u32)?,
            whole: Table::new(whole::SIZE, 1)?,
        };
        for number in 0..NUMBERS {
            let on_file = if numbers::is_on_file(number) { of_number::ON_FILE } else { 0 };
            let path = numbers::opened(number).map_or(0, |argument| register_of(number, argument));
            maps.on_files.set(number, 0, on_file | path << of_number::OPENS);
            maps.paths.set(number, 0, numbers::path(number).map_or(0, |at| register_of(number, at)));
        }
        // The first slot is nobody's: it stands for none.
        (1..SLOTS).try_for_each(|slot| maps.free.set(&[], &slot.to_ne_bytes()))?;
        Ok(maps)
    }

    /// The number of the thread that has a slot and its process', as this process has them.
    pub fn number(&self, slot: u32) -> (u32, u32) {
        layout::numbers(
            self.threads.get(slot, word(thread::NUMBER)),
            self.threads.get(slot, word(thread::GLOBAL)),
        )
    }

    /// The same as the kernel's programs have them.
    pub fn global(&self, slot: u32) -> (u32, u32) {
        layout::halves(self.threads.get(slot, word(thread::GLOBAL)))
    }

    /// It is not known of any processor whether it is idle.
    pub fn forget_idle(&self) {
        (0..possible_cpus() as u32).for_each(|processor| self.idle.set(processor, 0, 0));
    }

    /// Has every processor forget whom it found last: somebody is watched from now on who was not, or no more.
    pub fn forget(&self) -> io::Result<()> {
        self.processors.set_on_each(&[0; 4], &[0; processor::SIZE])
    }
}
