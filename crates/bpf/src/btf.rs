//! Where the running kernel has the fields of its structures: its own description of its types.
//!
//! Source: Documentation/bpf/btf.rst of the kernel.

use std::fs;
use std::io;

/// Where a kernel that was built with CONFIG_DEBUG_INFO_BTF describes itself.
const FILE: &str = "/sys/kernel/btf/vmlinux";

const MAGIC: u16 = 0xeb9f;

/// Bytes of `struct btf_type`, without what follows it.
const TYPE: usize = 12;

const INT: u32 = 1;
const ARRAY: u32 = 3;
const STRUCT: u32 = 4;
const UNION: u32 = 5;
const ENUM: u32 = 6;
const TYPEDEF: u32 = 8;
const VOLATILE: u32 = 9;
const CONST: u32 = 10;
const FUNCTION: u32 = 12;
const FUNCTION_PROTOTYPE: u32 = 13;
const VARIABLE: u32 = 14;
const SECTION: u32 = 15;
const DECLARATION_TAG: u32 = 17;
const ENUM_64: u32 = 19;

/// Members of members of members: no structure of the kernel nests anonymous ones deeper.
const DEEPEST: usize = 8;

/// A description of types.
#[derive(Debug)]
pub struct Btf {
    bytes: Vec<u8>,
    /// Where each type begins; the first is `void`, which has no bytes.
    types: Vec<usize>,
    strings: usize,
}

impl Btf {
    /// The running kernel's.
    ///
    /// # Errors
    /// It has none, or one that cannot be read.
    pub fn of_the_kernel() -> io::Result<Btf> {
        Btf::parse(fs::read(FILE)?)
            .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "it is not as btf.rst says"))
    }

    /// Of these bytes; `None` where they are no such description.
    pub fn parse(bytes: Vec<u8>) -> Option<Btf> {
        let word = |at: usize| word(&bytes, at);
        if half(&bytes, 0)? != MAGIC {
            return None;
        }
        let header = word(4)? as usize;
        let (first, length) = (header.checked_add(word(8)? as usize)?, word(12)? as usize);
        let (strings, end) = (header.checked_add(word(16)? as usize)?, first.checked_add(length)?);
        let mut types = vec![0];
        let mut at = first;
        while at < end {
            types.push(at);
            at = at.checked_add(TYPE)?.checked_add(following(word(at + 4)?)?)?;
        }
        (at == end && end <= bytes.len() && strings <= bytes.len()).then_some(Btf { bytes, types, strings })
    }

    /// Where a structure of that name has a field, in bytes; one of its anonymous structures' as well. `None` where there is none, or where it is not
    /// whole bytes.
    pub fn offset(&self, structure: &str, field: &str) -> Option<usize> {
        let at = self.types[self.number(STRUCT, structure)?];
        let bits = self.bits(at, field.as_bytes(), DEEPEST)?;
        bits.is_multiple_of(8).then_some(bits / 8)
    }

    /// How many bytes a structure of that name has.
    pub fn size(&self, structure: &str) -> Option<usize> {
        let at = self.types[self.number(STRUCT, structure)?];
        Some(word(&self.bytes, at + 8)? as usize)
    }

    /// The number of a function of that name, by which bpf(2) is asked for it.
    pub fn function(&self, name: &str) -> Option<u32> {
        u32::try_from(self.number(FUNCTION, name)?).ok()
    }

    /// The number of the first type of that kind and name.
    fn number(&self, kind: u32, name: &str) -> Option<usize> {
        let fits = |at: &usize| self.kind(*at) == Some(kind) && self.name(*at) == Some(name.as_bytes());
        // The first is `void`.
        Some(self.types.iter().skip(1).position(fits)? + 1)
    }

    fn bits(&self, structure: usize, field: &[u8], depth: usize) -> Option<usize> {
        let info = word(&self.bytes, structure + 4)?;
        // Where fields may have sizes of their own in bits, these share a word with the offset.
        let are_bit_fields = info >> 31 == 1;
        (0..(info & 0xffff) as usize).find_map(|number| {
            let member = structure + TYPE + 12 * number;
            let offset = word(&self.bytes, member + 8)?;
            let offset = if are_bit_fields { offset & 0xff_ffff } else { offset } as usize;
            let name = self.text(word(&self.bytes, member)?)?;
            if name == field {
                return Some(offset);
            }
            let inner = self.plain(word(&self.bytes, member + 4)?)?;
            let is_anonymous = name.is_empty() && matches!(self.kind(inner)?, STRUCT | UNION);
            (is_anonymous && depth > 0)
                .then(|| self.bits(inner, field, depth - 1))
                .flatten()
                .map(|bits| offset + bits)
        })
    }

    /// A type by its number, without what only names or qualifies it.
    fn plain(&self, mut number: u32) -> Option<usize> {
        for _ in 0..DEEPEST {
            let at = *self.types.get(number as usize)?;
            match self.kind(at)? {
                TYPEDEF | VOLATILE | CONST => number = word(&self.bytes, at + 8)?,
                _ => return Some(at),
            }
        }
        None
    }

    fn kind(&self, at: usize) -> Option<u32> {
        Some(word(&self.bytes, at + 4)? >> 24 & 0x1f)
    }

    fn name(&self, at: usize) -> Option<&[u8]> {
        self.text(word(&self.bytes, at)?)
    }

    fn text(&self, offset: u32) -> Option<&[u8]> {
        self.bytes.get(self.strings.checked_add(offset as usize)?..)?.split(|byte| *byte == 0).next()
    }
}

/// How many bytes follow a type of this `info`.
fn following(info: u32) -> Option<usize> {
    let (kind, members) = (info >> 24 & 0x1f, (info & 0xffff) as usize);
    Some(match kind {
        INT | VARIABLE | DECLARATION_TAG => 4,
        ARRAY => 12,
        STRUCT | UNION | SECTION | ENUM_64 => 12 * members,
        ENUM | FUNCTION_PROTOTYPE => 8 * members,
        // Pointers, declarations, qualifiers, functions, floating point, tags of types.
        2 | 7..=12 | 16 | 18 => 0,
        _ => return None,
    })
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_tells_where_a_task_has_its_number() {
        let Ok(btf) = Btf::of_the_kernel() else { return println!("this kernel does not describe itself") };
        let (pid, group) =
            (btf.offset("task_struct", "pid").unwrap(), btf.offset("task_struct", "tgid").unwrap());
        // One follows the other: include/linux/sched.h.
        assert_eq!(group, pid + 4);
        assert_eq!(btf.offset("list_head", "prev"), Some(8));
        assert_eq!(btf.offset("task_struct", "no such field"), None);
        assert_eq!(btf.offset("no such structure", "pid"), None);
        assert_eq!((btf.size("list_head"), btf.size("no such structure")), (Some(16), None));
        assert!(btf.function("bpf_iter_task").is_some() && btf.function("list_head").is_none());
    }

    #[test]
    fn what_is_cut_off_or_something_else_is_none() {
        assert!(Btf::parse(Vec::new()).is_none() && Btf::parse(vec![0; 100]).is_none());
        let Ok(whole) = fs::read(FILE) else { return };
        for length in [3, 7, 23, 24, 40, 1000] {
            assert!(Btf::parse(whole[..length].to_vec()).is_none(), "{length}");
        }
    }
}
