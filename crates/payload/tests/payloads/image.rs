//! The image is what a loader for guests may rely on: at fixed addresses, complete, and protected part by part.

use object::elf::{ET_EXEC, FileHeader64, PF_W, PF_X, PT_LOAD};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionKind};
use tollway_payload::entry::{COUNT, MAGIC};
use tollway_payload::{Entry, IMAGE};

fn image() -> ElfFile64<'static> {
    ElfFile64::parse(IMAGE).expect("an ELF file")
}

/// Nothing is left for a loader to do: no relocations, no missing symbols, no interpreter, no thread-local storage.
#[test]
fn it_is_complete() {
    let file = image();
    let header = FileHeader64::<Endianness>::parse(IMAGE).unwrap();
    assert_eq!(header.e_type(Endianness::Little), ET_EXEC);
    for section in file.sections() {
        let name = section.name().unwrap();
        assert_eq!(section.relocations().count(), 0, "{name}");
        assert!(!name.starts_with(".rel") && !name.starts_with(".dyn"), "{name}");
        assert!(!matches!(section.kind(), SectionKind::Tls | SectionKind::UninitializedTls), "{name}");
    }
    for symbol in file.symbols().filter(|symbol| symbol.index().0 != 0) {
        assert!(!symbol.is_undefined(), "{:?}", symbol.name());
    }
    for segment in file.elf_program_headers() {
        assert_eq!(segment.p_type(Endianness::Little), PT_LOAD);
    }
    assert!(IMAGE.len() < 64 << 10, "{} bytes: is something in it that does not belong there?", IMAGE.len());
}

/// What may be written cannot be executed, and no page has parts of two segments.
#[test]
fn its_parts_are_protected() {
    let mut end = 0;
    for segment in image().elf_program_headers() {
        let flags = segment.p_flags(Endianness::Little);
        assert!(!(flags.contains(PF_W) && flags.contains(PF_X)));
        let start = segment.p_vaddr(Endianness::Little);
        assert!(start % 4096 == 0 && start >= end, "{start:#x}");
        end = (start + segment.p_memsz(Endianness::Little)).next_multiple_of(4096);
    }
    assert!((0x40_1000..0x100_0000).contains(&end), "{end:#x}");
}

/// The table is at the entry point, has the documented form, and leads to functions in the text.
#[test]
fn its_table_leads_to_functions() {
    let file = image();
    let (rodata, text) = (file.section_by_name(".rodata").unwrap(), file.section_by_name(".text").unwrap());
    assert_eq!(file.entry(), rodata.address());
    let words: Vec<u64> =
        rodata.data().unwrap().as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
    assert_eq!(words[..2], [MAGIC, COUNT as u64]);
    assert_eq!(Entry::Panic as usize, COUNT - 1);
    let range = text.address()..text.address() + text.size();
    for address in &words[2..2 + COUNT] {
        assert!(range.contains(address), "{address:#x}");
    }
}
