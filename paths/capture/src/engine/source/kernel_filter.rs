//! The program that is attached to a socket: so that it decides as the same program would here.
//!
//! Two things differ between a filter in the kernel and one here. The kernel takes the outer VLAN tag out of a frame
//! before its filter looks; so a frame that had one is let through, and decided upon here, where the tag is back. And a
//! filter here looks at the whole frame before it is cut; so the kernel cuts only what it decides upon itself.

use crate::engine::bpf::{Instruction, Program};

use super::SourceError;

/// What to keep of a frame that is decided upon here: all of it.
const WHOLE: u32 = super::Settings::WHOLE;
/// `BPF_RET | BPF_K`.
const RETURN: u16 = 0x06;
/// `BPF_LD | BPF_W | BPF_ABS`.
const LOAD_WORD: u16 = 0x20;
/// `BPF_JMP | BPF_JEQ | BPF_K`.
const JUMP_IF_EQUAL: u16 = 0x15;
/// `SKF_AD_OFF + SKF_AD_VLAN_TAG_PRESENT`: whether the kernel took a tag out of the frame (linux/filter.h).
const TAG_PRESENT: u32 = (-0x1000i32) as u32 + 48;
/// `BPF_MAXINSNS` (linux/bpf_common.h).
const MOST: usize = 4096;

/// The kernel's form of `program`, if there is one, for packets of which at most `snapshot` bytes are kept.
///
/// # Errors
/// A program with a loop, or one that leaves no room for what is put before it.
pub fn for_kernel(program: Option<&Program>, snapshot: u32) -> Result<Vec<libc::sock_filter>, SourceError> {
    let Some(program) = program else {
        return Ok(vec![instruction(RETURN, 0, 0, snapshot)]);
    };
    if program.backward_jumps() > 0 {
        return Err(SourceError::settings(
            "the filter",
            "it has a loop (protochain makes one), and the kernel's classic BPF takes no backward jumps",
            "have it run in user space (--filter-in user), or capture without it and filter the file",
        ));
    }
    let before = [
        instruction(LOAD_WORD, 0, 0, TAG_PRESENT),
        instruction(JUMP_IF_EQUAL, 1, 0, 0),
        instruction(RETURN, 0, 0, WHOLE),
    ];
    // A is 0 behind them, as a program may rely on; X was not touched. Jumps are relative.
    let cut = |Instruction { code, jt, jf, k }: &Instruction| {
        instruction(*code, *jt, *jf, if *code == RETURN { (*k).min(snapshot) } else { *k })
    };
    let whole: Vec<_> = before.into_iter().chain(program.instructions().iter().map(cut)).collect();
    if whole.len() > MOST {
        return Err(SourceError::settings(
            "the filter",
            format!(
                "with what is put before it, it has {} instructions, and the kernel takes {MOST}",
                whole.len()
            ),
            "shorten it, or have it run in user space",
        ));
    }
    Ok(whole)
}

fn instruction(code: u16, jt: u8, jf: u8, k: u32) -> libc::sock_filter {
    libc::sock_filter { code, jt, jf, k }
}
