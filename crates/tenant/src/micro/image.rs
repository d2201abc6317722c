//! The code of an isolated guest, as data: a static ELF executable, or bare machine code. What it says is checked here,
//! once; nothing of it is believed later.

use std::ops::Range;

use object::LittleEndian;
use object::elf::{
    EM_X86_64, ET_EXEC, FileHeader64, PF_W, PF_X, PT_DYNAMIC, PT_INTERP, PT_LOAD, PT_TLS, SHT_REL, SHT_RELA,
};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use tollway_core::{Error, Result};

use super::layout::IMAGE;
use super::own::PAGE;
use super::tables::Access;

/// Begins the table of entry points: "tollway1" in the order of memory.
const MAGIC: [u8; 8] = *b"tollway1";
/// Most entry points of an image.
const MOST_ENTRIES: usize = 1024;
/// Most segments of an image.
const MOST_SEGMENTS: usize = 16;
/// Most bytes of an image in a guest's memory.
const MOST_BYTES: usize = 64 << 20;

/// Code and data for isolated guests, checked; any number of guests can be made of it.
#[derive(Debug, Clone)]
pub struct Image {
    segments: Vec<Segment>,
    entries: Vec<u64>,
}

/// A part of an image with one kind of access, on pages of its own.
#[derive(Debug, Clone)]
pub(super) struct Segment {
    /// Guest-virtual; whole pages.
    pub(super) range: Range<usize>,
    /// What it begins with; the rest is zero.
    pub(super) bytes: Vec<u8>,
    pub(super) write: bool,
    pub(super) execute: bool,
}

impl Segment {
    pub(super) fn access(&self, user: bool) -> Access {
        Access { user, write: self.write, execute: self.execute }
    }

    /// What the segment is called in an error.
    pub(super) fn name(&self) -> &'static str {
        match (self.execute, self.write) {
            (true, _) => "the text",
            (_, true) => "the data",
            _ => "the constants",
        }
    }
}

impl Image {
    /// An image from a static ELF executable for x86-64 without relocations, whose segments lie between 1 MiB and
    /// 256 MiB on pages of their own, none both writable and executable. Its entry point is the address of a table in
    /// constants: the eight bytes `tollway1`, how many functions there are as a 64-bit word, and their addresses.
    ///
    /// Structure of the file: System V ABI, chapters 4 and 5.
    ///
    /// # Errors
    /// [`Error::Input`], which says what is wrong.
    pub fn from_elf(file: &[u8]) -> Result<Image> {
        let le = LittleEndian;
        let broken = |error: object::Error| unusable(format!("{error}"));
        let header = FileHeader64::<LittleEndian>::parse(file).map_err(broken)?;
        if header.e_machine(le) != EM_X86_64 || header.e_type(le) != ET_EXEC {
            return Err(unusable("it is no static executable for x86-64"));
        }
        for section in header.sections(le, file).map_err(broken)?.iter() {
            if matches!(section.sh_type(le), SHT_REL | SHT_RELA) && section.sh_size(le) != 0 {
                return Err(unusable("it has relocations"));
            }
        }
        let mut segments: Vec<Segment> = Vec::new();
        for part in header.program_headers(le, file).map_err(broken)? {
            match part.p_type(le) {
                PT_INTERP | PT_DYNAMIC => return Err(unusable("it is not static")),
                PT_TLS => return Err(unusable("it has thread-local storage")),
                PT_LOAD if part.p_memsz(le) > 0 => {
                    let bytes =
                        part.data(le, file).map_err(|()| unusable("a segment ends beyond the file"))?;
                    let flags = part.p_flags(le);
                    let (write, execute) = (flags.contains(PF_W), flags.contains(PF_X));
                    let size = part.p_memsz(le);
                    segments.push(segment(part.p_vaddr(le), size, bytes, write, execute)?);
                }
                _ => {}
            }
        }
        let mut image = Image { segments, entries: Vec::new() };
        image.check()?;
        image.entries = image.table(header.e_entry(le))?;
        Ok(image)
    }

    /// An image of bare machine code that needs no address of its own, with one entry: its first byte.
    ///
    /// # Errors
    /// [`Error::Input`] if there is none or too much of it.
    pub fn from_code(code: &[u8]) -> Result<Image> {
        let segments = vec![segment(IMAGE.start as u64, code.len() as u64, code, false, true)?];
        let image = Image { segments, entries: vec![IMAGE.start as u64] };
        image.check()?;
        Ok(image)
    }

    /// How many entry points there are; they are numbered from 0.
    pub fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Guest-virtual address of entry point `number`.
    pub(super) fn entry(&self, number: usize) -> Option<u64> {
        self.entries.get(number).copied()
    }

    pub(super) fn segments(&self) -> &[Segment] {
        &self.segments
    }

    /// What the image has at the guest-virtual address `at`, to the end of its segment.
    pub(super) fn bytes_at(&self, at: u64) -> Option<(&Segment, &[u8])> {
        let at = usize::try_from(at).ok()?;
        let segment = self.segments.iter().find(|segment| segment.range.contains(&at))?;
        Some((segment, segment.bytes.get(at - segment.range.start..).unwrap_or_default()))
    }

    /// Puts the segments in order, and sees that they are few, small, and apart.
    fn check(&self) -> Result<()> {
        let mut ranges: Vec<_> = self.segments.iter().map(|segment| segment.range.clone()).collect();
        ranges.sort_by_key(|range| range.start);
        if ranges.is_empty() || ranges.len() > MOST_SEGMENTS {
            return Err(unusable(format!("it has {} segments, not 1 to {MOST_SEGMENTS}", ranges.len())));
        }
        if ranges.windows(2).any(|pair| pair[0].end > pair[1].start) {
            return Err(unusable("two segments share a page"));
        }
        let total: usize = ranges.iter().map(Range::len).sum();
        if total > MOST_BYTES {
            return Err(unusable(format!("it takes {total} bytes, more than {MOST_BYTES}")));
        }
        Ok(())
    }

    /// Reads the table of entry points at `address`.
    fn table(&self, address: u64) -> Result<Vec<u64>> {
        let missing = || unusable("its entry point is not a table of functions in its constants");
        let (segment, bytes) = self.bytes_at(address).ok_or_else(missing)?;
        let (magic, rest) = bytes.split_first_chunk().ok_or_else(missing)?;
        let (count, rest) = rest.split_first_chunk().ok_or_else(missing)?;
        if segment.write || *magic != MAGIC {
            return Err(missing());
        }
        let count = usize::try_from(u64::from_le_bytes(*count)).unwrap_or(usize::MAX);
        if !(1..=MOST_ENTRIES).contains(&count) || rest.len() < count * 8 {
            return Err(unusable(format!("its table has {count} functions, not 1 to {MOST_ENTRIES}")));
        }
        let entries: Vec<u64> =
            rest.as_chunks().0[..count].iter().map(|word| u64::from_le_bytes(*word)).collect();
        for (number, entry) in entries.iter().enumerate() {
            if !self.bytes_at(*entry).is_some_and(|(segment, _)| segment.execute) {
                return Err(unusable(format!(
                    "function {number} is at {entry:#x}, which is not in the text"
                )));
            }
        }
        Ok(entries)
    }
}

/// A segment of `size` bytes at `address`.
fn segment(address: u64, size: u64, bytes: &[u8], write: bool, execute: bool) -> Result<Segment> {
    let outside = || {
        let (start, end) = (IMAGE.start, IMAGE.end);
        unusable(format!("a segment of {size} bytes at {address:#x} is not on pages in {start:#x}..{end:#x}"))
    };
    let start =
        usize::try_from(address).ok().filter(|start| start.is_multiple_of(PAGE)).ok_or_else(outside)?;
    let size = usize::try_from(size).ok().filter(|size| *size > 0).ok_or_else(outside)?;
    let end = start.checked_add(size).filter(|end| *end <= IMAGE.end).ok_or_else(outside)?;
    if start < IMAGE.start {
        return Err(outside());
    }
    if write && execute {
        return Err(unusable(format!("the segment at {address:#x} is both writable and executable")));
    }
    if bytes.len() > size {
        return Err(unusable(format!("the segment at {address:#x} is larger in the file than in memory")));
    }
    Ok(Segment { range: start..end.next_multiple_of(PAGE), bytes: bytes.to_vec(), write, execute })
}

fn unusable(reason: impl Into<String>) -> Error {
    Error::Input {
        place: "the image of an isolated guest".into(),
        reason: reason.into(),
        remedy: "link it as crates/payload/build.rs does".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The payload's own image is accepted, with all of its entries.
    #[test]
    fn the_payload_is_an_image() {
        let image = Image::from_elf(tollway_payload::IMAGE).unwrap();
        assert_eq!(image.entries(), tollway_payload::entry::COUNT);
        assert!(image.segments().iter().all(|segment| !(segment.write && segment.execute)));
        let entry = image.entry(0).unwrap();
        assert_eq!(image.bytes_at(entry).unwrap().0.name(), "the text");
        assert!(image.entry(image.entries()).is_none() && image.bytes_at(0).is_none());
    }

    /// This test program is an executable as well, but one that needs a loader.
    #[test]
    fn other_programs_are_refused() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(Image::from_elf(&own).is_err());
        assert!(Image::from_elf(b"").is_err() && Image::from_code(b"").is_err());
        assert!(Image::from_code(&vec![0x90; MOST_BYTES + 1]).is_err());
    }

    /// Segments that overlap, that lie outside, or that could be changed and executed.
    #[test]
    fn bad_segments_are_refused() {
        let at = IMAGE.start as u64;
        for (address, size) in
            [(at + 1, 1), (at - 4096, 4096), (!4095, 8192), (IMAGE.end as u64, 1), (at, 0), (at, u64::MAX)]
        {
            assert!(segment(address, size, b"", false, true).is_err(), "{address:#x} {size}");
        }
        assert!(segment(at, 1, b"", true, true).is_err() && segment(at, 1, b"two", true, false).is_err());
        let one = segment(at, 5000, b"", true, false).unwrap();
        let two = segment(at + 4096, 1, b"", true, false).unwrap();
        assert!(Image { segments: vec![two, one], entries: Vec::new() }.check().is_err());
    }

    proptest! {
        /// A damaged file is refused or accepted, but what is accepted keeps every promise.
        #[test]
        fn damaged_files_do_no_harm(changes in prop::collection::vec((0usize..4096, any::<u8>()), 1..8), len in 0usize..5000) {
            let mut file = tollway_payload::IMAGE.to_vec();
            for (at, value) in changes {
                let at = if at % 3 == 0 { at } else { at % 300 };
                if let Some(byte) = file.get_mut(at) {
                    *byte = value;
                }
            }
            file.truncate(if len > 4500 { usize::MAX } else { file.len().max(len) });
            if let Ok(image) = Image::from_elf(&file) {
                for segment in image.segments() {
                    prop_assert!(segment.range.start >= IMAGE.start && segment.range.end <= IMAGE.end);
                    prop_assert!(segment.bytes.len() <= segment.range.len());
                    prop_assert!(!(segment.write && segment.execute));
                }
                for number in 0..image.entries() {
                    prop_assert!(image.bytes_at(image.entry(number).unwrap()).unwrap().0.execute);
                }
            }
        }
    }
}
