//! A kernel's image, unpacked here.
//!
//! A kernel as distributions ship it (bzImage) unpacks itself, which under TCG takes longer than the rest of the boot.
//! So it is taken out here and started at the entry that the PVH boot protocol names; the image as it is serves where
//! that does not work.
//!
//! Sources: the kernel's Documentation/arch/x86/boot.rst (header of a bzImage), Xen's docs/misc/pvh.pandoc and
//! xen/include/public/elfnote.h (the note that names the entry).

use object::LittleEndian;
use object::elf::{FileHeader64, NoteType};
use object::read::elf::{FileHeader, ProgramHeader};

use super::packed;

/// Where a bzImage says that it is one, and what follows it (boot.rst, "The Real-Mode Kernel Header").
const SETUP_SECTORS: usize = 0x1f1;
const MAGIC: usize = 0x202;
const VERSION: usize = 0x206;
const PAYLOAD_OFFSET: usize = 0x248;
const PAYLOAD_LENGTH: usize = 0x24c;
/// The version of the header that first had the last two.
const WITH_PAYLOAD: u16 = 0x208;

/// XEN_ELFNOTE_PHYS32_ENTRY.
const PHYS32_ENTRY: NoteType = NoteType(18);

/// The kernel in a bzImage, unpacked, if it is one that can be started so.
pub(super) fn unpacked(image: &[u8]) -> Option<Vec<u8>> {
    let kernel = packed::unpacked(payload(image)?)?;
    has_pvh_entry(&kernel).then_some(kernel)
}

/// The packed kernel in a bzImage.
fn payload(image: &[u8]) -> Option<&[u8]> {
    if image.get(MAGIC..MAGIC + 4)? != b"HdrS" || u16_at(image, VERSION)? < WITH_PAYLOAD {
        return None;
    }
    let sectors = match image[SETUP_SECTORS] {
        0 => 4,
        some => usize::from(some),
    };
    let begin = ((sectors + 1) * 512).checked_add(u32_at(image, PAYLOAD_OFFSET)? as usize)?;
    image.get(begin..begin.checked_add(u32_at(image, PAYLOAD_LENGTH)? as usize)?)
}

/// Whether a 64-bit ELF file has the note that names its entry for PVH.
fn has_pvh_entry(elf: &[u8]) -> bool {
    let search = || -> Result<bool, object::Error> {
        let header = FileHeader64::<LittleEndian>::parse(elf)?;
        for segment in header.program_headers(LittleEndian, elf)? {
            let Some(mut notes) = segment.notes(LittleEndian, elf)? else { continue };
            while let Some(note) = notes.next()? {
                if note.name() == b"Xen" && note.n_type(LittleEndian) == PHYS32_ENTRY {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    };
    search().unwrap_or(false)
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The smallest ELF file with such a note, or with one of another kind.
    fn elf(kind: NoteType) -> Vec<u8> {
        let mut elf = vec![0_u8; 64 + 56];
        // 64 bits, little-endian, version 1.
        elf[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        elf[32..40].copy_from_slice(&64_u64.to_le_bytes());
        elf[20] = 1;
        elf[54..56].copy_from_slice(&56_u16.to_le_bytes());
        elf[56..58].copy_from_slice(&1_u16.to_le_bytes());
        let mut notes = Vec::new();
        for (name, kind) in [(&b"GNU\0"[..], 3), (&b"Xen\0"[..], kind.0)] {
            for word in [name.len() as u32, 4, kind] {
                notes.extend(word.to_le_bytes());
            }
            notes.extend(name);
            notes.extend([1, 2, 3, 4]);
        }
        elf[64..68].copy_from_slice(&4_u32.to_le_bytes());
        elf[72..80].copy_from_slice(&120_u64.to_le_bytes());
        elf[96..104].copy_from_slice(&(notes.len() as u64).to_le_bytes());
        elf.extend(notes);
        elf
    }

    fn image(packed: &[u8]) -> Vec<u8> {
        let mut image = vec![0_u8; 1024];
        image[SETUP_SECTORS] = 1;
        image[MAGIC..MAGIC + 4].copy_from_slice(b"HdrS");
        image[VERSION..VERSION + 2].copy_from_slice(&0x20f_u16.to_le_bytes());
        image[PAYLOAD_OFFSET..PAYLOAD_OFFSET + 4].copy_from_slice(&16_u32.to_le_bytes());
        image[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&(packed.len() as u32).to_le_bytes());
        image.extend([0; 16]);
        image.extend(packed);
        image
    }

    fn xz(bytes: &[u8]) -> Vec<u8> {
        let mut writer = lzma_rust2::XzWriter::new(Vec::new(), lzma_rust2::XzOptions::default()).unwrap();
        writer.write_all(bytes).unwrap();
        writer.finish().unwrap()
    }

    /// A legacy frame: its magic number, then the size of a packed block and the block.
    fn lz4(bytes: &[u8]) -> Vec<u8> {
        let block = lz4_flex::block::compress(bytes);
        let mut packed = vec![0x02, 0x21, 0x4c, 0x18];
        packed.extend((block.len() as u32).to_le_bytes());
        packed.extend(block);
        packed.extend((bytes.len() as u32).to_le_bytes());
        packed
    }

    #[test]
    fn a_packed_kernel_is_taken_out() {
        let kernel = elf(PHYS32_ENTRY);
        assert_eq!(unpacked(&image(&xz(&kernel))).unwrap(), kernel);
        assert_eq!(unpacked(&image(&lz4(&kernel))).unwrap(), kernel);
    }

    #[test]
    fn what_cannot_be_started_so_is_left_as_it_is() {
        assert_eq!(unpacked(&image(&xz(&elf(NoteType(17))))), None, "no such entry");
        assert_eq!(unpacked(&image(b"\x28\xb5\x2f\xfd")), None, "packed in another way");
        assert_eq!(unpacked(&image(&xz(&elf(PHYS32_ENTRY))[..40])), None, "cut");
        assert_eq!(unpacked(b"no kernel"), None);
        let mut wild = image(b"x");
        wild[PAYLOAD_LENGTH..PAYLOAD_LENGTH + 4].copy_from_slice(&u32::MAX.to_le_bytes());
        assert_eq!(unpacked(&wild), None);
    }

    #[test]
    fn no_bytes_make_the_note_reader_panic() {
        let whole = elf(PHYS32_ENTRY);
        for end in 0..whole.len() {
            has_pvh_entry(&whole[..end]);
        }
        for at in 0..whole.len() {
            let mut wild = whole.clone();
            wild[at] = 0xff;
            has_pvh_entry(&wild);
        }
    }
}
