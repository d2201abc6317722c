//! The calling program's own mappings, as a guest will see them: what `/proc/self/maps` says, less what a guest must
//! not or cannot see, laid out compactly in guest-physical memory.

use std::ops::Range;

use super::error::MicroError;

/// Name of the shared memory that holds page tables: never mapped into a guest as the program's own.
pub(super) const SYSTEM_NAME: &str = "tollway-micro-system";

/// A small page.
pub(super) const PAGE: usize = 4096;
/// A large page.
pub(super) const LARGE: usize = 2 << 20;

/// One mapping of the program that a guest will see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) range: Range<usize>,
    pub(super) write: bool,
    pub(super) execute: bool,
    pub(super) name: String,
}

/// Mappings closer than this share a memory slot: a slot costs more (some 40 µs each) than the addresses between.
const NEAR: usize = 64 << 20;

/// A run of neighbouring mappings: one memory slot. What may be written or executed in it, and that nothing between the
/// mappings can be reached, is the page tables' affair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Slot {
    pub(super) range: Range<usize>,
    pub(super) physical: u64,
}

/// Reads the list of mappings of this process.
pub(super) fn read() -> Result<String, MicroError> {
    std::fs::read_to_string("/proc/self/maps")
        .map_err(|source| MicroError::Setup { step: "read /proc/self/maps", source })
}

/// The mappings in `maps` that a guest may see, without the addresses in `leave_out`.
pub(super) fn visible(maps: &str, leave_out: &[Range<usize>]) -> Vec<Mapping> {
    let mut found = Vec::with_capacity(64);
    for line in maps.lines() {
        let Some(mapping) = parse(line) else { continue };
        let mut pieces = vec![mapping.range.clone()];
        let overlaps =
            |hole: &&Range<usize>| hole.start < mapping.range.end && hole.end > mapping.range.start;
        for hole in leave_out.iter().filter(overlaps) {
            pieces = pieces.into_iter().flat_map(|piece| without(piece, hole)).collect();
        }
        found.extend(pieces.into_iter().map(|range| Mapping { range, ..mapping.clone() }));
    }
    // The kernel tells its list page by page: what another thread changes meanwhile may be in it twice, and begin before what was told already.
    found.sort_by_key(|mapping| mapping.range.start);
    found
}

/// Name of the mapping of this process that `address` lies in, for error messages.
pub(super) fn name_at(address: u64) -> Option<String> {
    read().ok()?.lines().find_map(|line| {
        let (range, _, name) = fields(line)?;
        range.contains(&(address as usize)).then(|| named(name))
    })
}

fn named(name: &str) -> String {
    if name.is_empty() { "(anonymous)".to_owned() } else { name.to_owned() }
}

/// Addresses, access and name in one line of the list.
fn fields(line: &str) -> Option<(Range<usize>, &[u8], &str)> {
    let mut fields = line.split_ascii_whitespace();
    let (start, end) = fields.next()?.split_once('-')?;
    let access = fields.next()?.as_bytes();
    let range = usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?;
    (access.len() >= 3).then(|| (range, access, fields.nth(3).unwrap_or("")))
}

/// One line of the list, or nothing if the mapping has no access or belongs to the kernel.
fn parse(line: &str) -> Option<Mapping> {
    let (range, access, name) = fields(line)?;
    let kernels = name.starts_with("[v") || name == "[uprobes]" || name.starts_with("anon_inode:kvm");
    let systems = name.contains(SYSTEM_NAME);
    let none = access[..3] == *b"---";
    // Above the lower half there is only the kernel.
    if kernels || systems || none || range.end > 1 << 47 || range.is_empty() {
        return None;
    }
    Some(Mapping { range, write: access[1] == b'w', execute: access[2] == b'x', name: name.to_owned() })
}

/// `piece` less `hole`: none, one or two ranges.
fn without(piece: Range<usize>, hole: &Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let before = piece.start..piece.end.min(hole.start).max(piece.start);
    let after = piece.start.max(hole.end).min(piece.end)..piece.end;
    let both = if hole.is_empty() || hole.end <= piece.start || hole.start >= piece.end {
        [piece, 0..0]
    } else {
        [before, after]
    };
    both.into_iter().filter(|range| !range.is_empty())
}

/// Lays `mappings` out in guest-physical memory from `first` on, each run congruent to its virtual address modulo a
/// large page so that large pages can be used; at most `limit` bytes of mappings. They must be sorted, as the list is.
pub(super) fn lay_out(mappings: &[Mapping], first: u64, limit: u64) -> Result<Vec<Slot>, MicroError> {
    let mut slots: Vec<Slot> = Vec::with_capacity(mappings.len());
    for mapping in mappings {
        match slots.last_mut() {
            // What was told twice.
            Some(last) if mapping.range.start.saturating_sub(last.range.end) < NEAR => {
                last.range.end = last.range.end.max(mapping.range.end);
            }
            _ => slots.push(Slot { range: mapping.range.clone(), physical: 0 }),
        }
    }
    let mut next = first;
    for slot in &mut slots {
        let mask = LARGE as u64 - 1;
        let wanted = slot.range.start as u64 & mask;
        // The smallest address from `next` on that is congruent.
        slot.physical = next + (wanted.wrapping_sub(next) & mask);
        next = slot.physical + slot.range.len() as u64;
    }
    let total = mappings.iter().map(|m| m.range.len() as u64).sum();
    if total > limit {
        let largest = mappings.iter().max_by_key(|m| m.range.len());
        return Err(MicroError::TooMuchMapped {
            total,
            limit,
            name: largest.map_or_else(String::new, |m| named(&m.name)),
            start: largest.map_or(0, |m| m.range.start),
            bytes: largest.map_or(0, |m| m.range.len() as u64),
        });
    }
    Ok(slots)
}

/// More pages of page table than `mappings` can need.
pub(super) fn table_pages(mappings: &[Mapping]) -> usize {
    // Per mapping two tables for its ragged ends, plus a directory and its parent for each GiB and 512 GiB it
    // touches; four more levels for what the machine adds of its own (system pages, doorbells).
    mappings.iter().map(|m| 2 + (m.range.len() >> 30) + 2 + (m.range.len() >> 39) + 2).sum::<usize>() + 16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_changed_while_it_was_told_has_a_place_for_all() {
        let maps = "\
7f0000200000-7f0000300000 rw-p 00000000 00:00 0
7f0000100000-7f0000380000 rw-p 00000000 00:00 0
7f0000400000-7f0000500000 rw-p 00000000 00:00 0
";
        let mappings = visible(maps, &[]);
        let slots = lay_out(&mappings, 0, u64::MAX).unwrap();
        let mut places = slots.iter().peekable();
        for mapping in &mappings {
            while !places.peek().expect("it has a place").range.contains(&mapping.range.start) {
                places.next();
            }
        }
        assert_eq!(mappings.len(), 3);
    }

    /// Lines of every kind, one of each that must be left out.
    const MAPS: &str = "\
5641b0265000-5641b0267000 r--p 00000000 fe:00 247026                     /usr/bin/cat
5641b0267000-5641b026c000 r-xp 00002000 fe:00 247026                     /usr/bin/cat
5641b026c000-5641b0270000 rw-p 0000a000 fe:00 247026                     /usr/bin/cat
7f38f2338000-7f38f2400000 ---p 00000000 00:00 0 
7f38f2400000-7f38f2500000 rw-s 00000000 00:01 12                         /memfd:tollway-micro-system (deleted)
7f38f25aa000-7f38f25ae000 r--p 00000000 00:00 0                          [vvar]
7f38f25b0000-7f38f25b2000 r-xp 00000000 00:00 0                          [vdso]
7ffdd4191000-7ffdd41b2000 rw-p 00000000 00:00 0                          [stack]
ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]
";

    /// Kernel pages, reserved ranges and page tables are not visible; neighbours share a slot.
    #[test]
    fn what_a_guest_sees() {
        let mappings = visible(MAPS, &[]);
        assert_eq!(mappings.len(), 4);
        assert!(mappings[1].execute && !mappings[1].write && mappings[2].write);
        let slots = lay_out(&mappings, 1 << 32, 1 << 30).unwrap();
        assert_eq!(slots.len(), 2);
        assert_eq!(slots[0].range, 0x5641b0265000..0x5641b0270000);
        for slot in &slots {
            assert_eq!(slot.physical as usize % LARGE, slot.range.start % LARGE);
        }
        assert!(slots.windows(2).all(|w| w[0].physical + w[0].range.len() as u64 <= w[1].physical));
    }

    /// A list that changed while it was read has a range twice, the second time longer.
    #[test]
    fn a_mapping_told_twice_is_one() {
        let maps = "1000-3000 rw-p 00000000 00:00 0 \n2000-5000 rw-p 00000000 00:00 0 \n2000-4000 rw-p 00000000 00:00 0 \n";
        let slots = lay_out(&visible(maps, &[]), 1 << 32, 1 << 30).unwrap();
        assert_eq!(slots.len(), 1);
        assert_eq!(slots[0].range, 0x1000..0x5000);
    }

    /// A hole in the middle of a mapping leaves both ends.
    #[test]
    fn a_hole_leaves_both_ends() {
        let mappings = visible(MAPS, &[0x7ffdd4192000..0x7ffdd4193000, 0..0]);
        let ends: Vec<_> = mappings.iter().filter(|m| m.name == "[stack]").map(|m| m.range.clone()).collect();
        assert_eq!(ends, [0x7ffdd4191000..0x7ffdd4192000, 0x7ffdd4193000..0x7ffdd41b2000]);
    }

    /// Too much is an error that names the largest mapping.
    #[test]
    fn too_much_names_the_largest() {
        let maps =
            "1000-2000 rw-p 00000000 00:00 0 [heap]\n100000000000-180000000000 rw-p 00000000 00:00 0 \n";
        let error = lay_out(&visible(maps, &[]), 0, 1 << 34).unwrap_err();
        assert!(matches!(&error, MicroError::TooMuchMapped { start: 0x100000000000, .. }), "{error}");
    }
}
