//! Names the instruction that a guest tripped over, if it is one of those that a guest is likely to trip over.

/// The most bytes that an instruction has (Intel SDM volume 2, section 2.3.11).
pub(super) const LONGEST: usize = 15;

/// The instruction at the start of `code`, if it is one that belongs to an operating system, or that is there to raise
/// an exception. Opcodes: Intel SDM volume 2, appendix A.
pub(super) fn name(code: &[u8]) -> Option<&'static str> {
    // Prefixes of size, repetition and segment, and REX.
    let prefix = |byte: &u8| {
        matches!(byte, 0x66 | 0x67 | 0xf2 | 0xf3 | 0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65)
            || (0x40..=0x4f).contains(byte)
    };
    let start = code.iter().position(|byte| !prefix(byte))?;
    let code = &code[start..];
    let register = |byte: u8| byte >> 3 & 7;
    Some(match code {
        [0x6c | 0x6d | 0xe4 | 0xe5 | 0xec | 0xed, ..] => "in",
        [0x6e | 0x6f | 0xe6 | 0xe7 | 0xee | 0xef, ..] => "out",
        [0xcc, ..] => "int3",
        [0xcd, ..] => "int",
        [0xcf, ..] => "iret",
        [0xf1, ..] => "int1",
        [0xf4, ..] => "hlt",
        [0xf6 | 0xf7, how, ..] if register(*how) == 6 => "div",
        [0xf6 | 0xf7, how, ..] if register(*how) == 7 => "idiv",
        [0xfa, ..] => "cli",
        [0xfb, ..] => "sti",
        [0x0f, 0x00, how, ..] if register(*how) == 2 => "lldt",
        [0x0f, 0x00, how, ..] if register(*how) == 3 => "ltr",
        [0x0f, 0x01, 0xd1, ..] => "xsetbv",
        [0x0f, 0x01, 0xf8, ..] => "swapgs",
        [0x0f, 0x01, 0xc1, ..] => "vmcall",
        [0x0f, 0x01, 0xd9, ..] => "vmmcall",
        [0x0f, 0x01, how, ..] if *how < 0xc0 && register(*how) == 2 => "lgdt",
        [0x0f, 0x01, how, ..] if *how < 0xc0 && register(*how) == 3 => "lidt",
        [0x0f, 0x01, how, ..] if *how < 0xc0 && register(*how) == 7 => "invlpg",
        [0x0f, 0x01, how, ..] if register(*how) == 6 => "lmsw",
        [0x0f, 0x05, ..] => "syscall",
        [0x0f, 0x06, ..] => "clts",
        [0x0f, 0x07, ..] => "sysret",
        [0x0f, 0x08, ..] => "invd",
        [0x0f, 0x09, ..] => "wbinvd",
        [0x0f, 0x0b, ..] => "ud2",
        [0x0f, 0x20..=0x23, ..] => "mov to or from a control register",
        [0x0f, 0x30, ..] => "wrmsr",
        [0x0f, 0x32, ..] => "rdmsr",
        [0x0f, 0x33, ..] => "rdpmc",
        [0x0f, 0x34, ..] => "sysenter",
        [0x0f, 0x35, ..] => "sysexit",
        [0x0f, 0x37, ..] => "getsec",
        _ => return None,
    })
}

/// The instruction at `rip` in this program.
pub(super) fn at(rip: u64) -> Option<&'static str> {
    const PAGE: u64 = 4096;
    let mut bytes = [0u8; LONGEST];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: LONGEST };
    // The kernel copies a piece whole or not at all, and the next page may be missing.
    let here = (PAGE - rip % PAGE).min(LONGEST as u64);
    let piece = |at: u64, len: u64| libc::iovec { iov_base: at as *mut _, iov_len: len as usize };
    let remote = [piece(rip, here), piece(rip.wrapping_add(here), LONGEST as u64 - here)];
    // SAFETY: writes at most 15 bytes into `bytes`; the kernel checks the other addresses.
    let got = unsafe { libc::process_vm_readv(std::process::id() as i32, &local, 1, remote.as_ptr(), 2, 0) };
    name(bytes.get(..usize::try_from(got).ok()?)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each by its bytes as an assembler writes them; ordinary instructions have no name.
    #[test]
    fn instructions_are_named() {
        let cases: [(&[u8], Option<&str>); 14] = [
            (&[0x0f, 0x05], Some("syscall")),
            (&[0xf4], Some("hlt")),
            (&[0x48, 0xf7, 0xf1], Some("div")),
            (&[0x41, 0xf7, 0xf9], Some("idiv")),
            (&[0x66, 0xef], Some("out")),
            (&[0xf3, 0x6c], Some("in")),
            (&[0x0f, 0x22, 0xd8], Some("mov to or from a control register")),
            (&[0x0f, 0x01, 0x15, 0, 0, 0, 0], Some("lgdt")),
            (&[0x0f, 0x01, 0xf8], Some("swapgs")),
            (&[0x48, 0xcf], Some("iret")),
            (&[0x48, 0x89, 0xc8], None),
            (&[0x48, 0xf7, 0xe1], None),
            (&[0x48], None),
            (&[], None),
        ];
        for (code, expected) in cases {
            assert_eq!(name(code), expected, "{code:02x?}");
        }
    }

    /// The bytes of this program are found; where nothing is mapped there is no name and no fault.
    #[test]
    fn this_program_can_be_read() {
        static CODE: [u8; 2] = [0x0f, 0x0b];
        assert_eq!(at(CODE.as_ptr() as u64), Some("ud2"));
        assert_eq!(at(16), None);
        assert_eq!(at(u64::MAX - 3), None);
    }
}
