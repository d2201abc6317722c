//! Instructions of classic BPF: their 64 bits, and what they mean.
//!
//! Sources: McCanne and Jacobson (1993), The BSD Packet Filter, USENIX Winter 1993, section 3.4 (the machine and its
//! instructions); the Linux kernel's Documentation/networking/filter.rst (`mod` and `xor`, the table of codes, the
//! offsets of ancillary data); libpcap's header pcap/bpf.h (numbers of classes, sizes, modes).

/// Words of scratch memory, `M[0]` to `M[15]` (BPF_MEMWORDS).
pub const SCRATCH_WORDS: u32 = 16;
/// The longest program that Linux takes (BPF_MAXINSNS).
pub const MAX_LENGTH: usize = 4096;
/// Offsets from here on are negative numbers: not bytes of the packet, but what the Linux kernel knows about it
/// (SKF_AD_OFF, SKF_NET_OFF and SKF_LL_OFF of linux/filter.h are among them).
pub const NEGATIVE: u32 = 1 << 31;

/// One instruction, laid out as `struct sock_filter` of linux/filter.h and `struct bpf_insn` of pcap/bpf.h.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Instruction {
    /// Class, size and mode, or operation and operand.
    pub code: u16,
    /// Instructions to skip where a test holds.
    pub jt: u8,
    /// Instructions to skip where it does not.
    pub jf: u8,
    /// The constant: an offset, a number, a word of scratch memory, instructions to skip.
    pub k: u32,
}

/// How much a load takes from the packet, in network order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Width {
    /// Four bytes.
    Word,
    /// Two.
    Half,
    /// One.
    Byte,
}

impl Width {
    /// Its length in bytes.
    pub const fn bytes(self) -> u32 {
        match self {
            Width::Word => 4,
            Width::Half => 2,
            Width::Byte => 1,
        }
    }
}

/// The second operand of arithmetic and tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operand {
    /// The instruction's constant.
    K(u32),
    /// The index register.
    X,
}

/// Arithmetic on the accumulator, in 32 bits without sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Or,
    And,
    ShiftLeft,
    ShiftRight,
    Mod,
    Xor,
}

/// A comparison of the accumulator, without sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// A = operand.
    Equal,
    /// A > operand.
    Greater,
    /// A ≥ operand.
    GreaterOrEqual,
    /// A and operand have a bit in common.
    AnyBit,
}

/// What an instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Meaning {
    /// `ld [k]`, `ldh [k]`, `ldb [k]`: A from the packet.
    LoadAbsolute(Width, u32),
    /// `ld [x + k]` and so on: A from the packet.
    LoadIndirect(Width, u32),
    /// `ld #pktlen`: A is the length on the wire.
    LoadLength,
    /// `ld #k`.
    LoadImmediate(u32),
    /// `ld M[k]`.
    LoadScratch(u32),
    /// `ldx #pktlen`.
    LoadXLength,
    /// `ldx #k`.
    LoadXImmediate(u32),
    /// `ldx M[k]`.
    LoadXScratch(u32),
    /// `ldxb 4*([k]&0xf)`: the length of an IPv4 header.
    LoadXHeader(u32),
    /// `st M[k]`.
    Store(u32),
    /// `stx M[k]`.
    StoreX(u32),
    /// `add`, `sub`, …
    Arithmetic(Alu, Operand),
    /// `neg`: A = −A.
    Negate,
    /// `ja`: skips k instructions, a number with a sign: negative ones lead backward.
    Jump(u32),
    /// `jeq`, `jgt`, `jge`, `jset`: skips the first number of instructions where it holds, else the second.
    Branch(Test, Operand, u8, u8),
    /// `ret #k`: keep so many bytes.
    ReturnConstant(u32),
    /// `ret`, in other assemblers `ret a`.
    ReturnA,
    /// `tax`: X = A.
    Tax,
    /// `txa`: A = X.
    Txa,
}

/// Classes (the low three bits).
mod class {
    pub const LD: u16 = 0x00;
    pub const LDX: u16 = 0x01;
    pub const ST: u16 = 0x02;
    pub const STX: u16 = 0x03;
    pub const ALU: u16 = 0x04;
    pub const JMP: u16 = 0x05;
    pub const RET: u16 = 0x06;
    pub const MISC: u16 = 0x07;
}
/// Modes of loads (the high three bits of a byte).
mod mode {
    pub const IMM: u16 = 0x00;
    pub const ABS: u16 = 0x20;
    pub const IND: u16 = 0x40;
    pub const MEM: u16 = 0x60;
    pub const LEN: u16 = 0x80;
    pub const MSH: u16 = 0xa0;
}
/// Sizes of loads (bits 3 and 4).
mod size {
    pub const H: u16 = 0x08;
    pub const B: u16 = 0x10;
}
/// The bit that says X instead of k.
const SOURCE_X: u16 = 0x08;
const RETURN_A: u16 = 0x10;
const NEG: u16 = 0x80;
const TXA: u16 = 0x80;

const ALU_CODES: [(u16, Alu); 10] = [
    (0x00, Alu::Add),
    (0x10, Alu::Sub),
    (0x20, Alu::Mul),
    (0x30, Alu::Div),
    (0x40, Alu::Or),
    (0x50, Alu::And),
    (0x60, Alu::ShiftLeft),
    (0x70, Alu::ShiftRight),
    (0x90, Alu::Mod),
    (0xa0, Alu::Xor),
];
const TEST_CODES: [(u16, Test); 4] =
    [(0x10, Test::Equal), (0x20, Test::Greater), (0x30, Test::GreaterOrEqual), (0x40, Test::AnyBit)];

impl Instruction {
    /// What it means; `None` where its code is none that both libpcap and Linux know.
    pub fn meaning(self) -> Option<Meaning> {
        let Instruction { code, jt, jf, k } = self;
        if code > 0xff {
            return None;
        }
        let width = match code & 0x18 {
            size::H => Width::Half,
            size::B => Width::Byte,
            _ => Width::Word,
        };
        let operand = if code & SOURCE_X == 0 { Operand::K(k) } else { Operand::X };
        let high = code & 0xf0;
        // The bits of a load that are neither class nor mode are its size: 0x18 is none.
        Some(match code & 7 {
            class::LD if code & 0x18 != 0x18 => match (code & 0xe0, width) {
                (mode::ABS, _) => Meaning::LoadAbsolute(width, k),
                (mode::IND, _) => Meaning::LoadIndirect(width, k),
                (mode::IMM, Width::Word) => Meaning::LoadImmediate(k),
                (mode::MEM, Width::Word) => Meaning::LoadScratch(k),
                (mode::LEN, Width::Word) => Meaning::LoadLength,
                _ => return None,
            },
            class::LDX if code & 0x18 != 0x18 => match (code & 0xe0, width) {
                (mode::IMM, Width::Word) => Meaning::LoadXImmediate(k),
                (mode::MEM, Width::Word) => Meaning::LoadXScratch(k),
                (mode::LEN, Width::Word) => Meaning::LoadXLength,
                (mode::MSH, Width::Byte) => Meaning::LoadXHeader(k),
                _ => return None,
            },
            class::ST if code == class::ST => Meaning::Store(k),
            class::STX if code == class::STX => Meaning::StoreX(k),
            class::ALU if code == class::ALU | NEG => Meaning::Negate,
            class::ALU => {
                let (_, alu) = ALU_CODES.into_iter().find(|(bits, _)| *bits == high)?;
                Meaning::Arithmetic(alu, operand)
            }
            class::JMP if code == class::JMP => Meaning::Jump(k),
            class::JMP => {
                let (_, test) = TEST_CODES.into_iter().find(|(bits, _)| *bits == high)?;
                Meaning::Branch(test, operand, jt, jf)
            }
            class::RET if code == class::RET => Meaning::ReturnConstant(k),
            class::RET if code == class::RET | RETURN_A => Meaning::ReturnA,
            class::MISC if code == class::MISC => Meaning::Tax,
            class::MISC if code == class::MISC | TXA => Meaning::Txa,
            _ => return None,
        })
    }
}

impl From<Meaning> for Instruction {
    fn from(meaning: Meaning) -> Self {
        let plain = |code, k| Instruction { code, jt: 0, jf: 0, k };
        let sized = |code, width, k| {
            let size = match width {
                Width::Word => 0,
                Width::Half => size::H,
                Width::Byte => size::B,
            };
            plain(code | size, k)
        };
        let with = |code, operand| match operand {
            Operand::K(k) => plain(code, k),
            Operand::X => plain(code | SOURCE_X, 0),
        };
        let bits = |high: Option<u16>| high.expect("every operation is in the table");
        match meaning {
            Meaning::LoadAbsolute(width, k) => sized(class::LD | mode::ABS, width, k),
            Meaning::LoadIndirect(width, k) => sized(class::LD | mode::IND, width, k),
            Meaning::LoadLength => plain(class::LD | mode::LEN, 0),
            Meaning::LoadImmediate(k) => plain(class::LD | mode::IMM, k),
            Meaning::LoadScratch(k) => plain(class::LD | mode::MEM, k),
            Meaning::LoadXLength => plain(class::LDX | mode::LEN, 0),
            Meaning::LoadXImmediate(k) => plain(class::LDX | mode::IMM, k),
            Meaning::LoadXScratch(k) => plain(class::LDX | mode::MEM, k),
            Meaning::LoadXHeader(k) => plain(class::LDX | size::B | mode::MSH, k),
            Meaning::Store(k) => plain(class::ST, k),
            Meaning::StoreX(k) => plain(class::STX, k),
            Meaning::Arithmetic(alu, operand) => {
                let high = ALU_CODES.into_iter().find(|(_, a)| *a == alu).map(|(bits, _)| bits);
                with(class::ALU | bits(high), operand)
            }
            Meaning::Negate => plain(class::ALU | NEG, 0),
            Meaning::Jump(k) => plain(class::JMP, k),
            Meaning::Branch(test, operand, jt, jf) => {
                let high = TEST_CODES.into_iter().find(|(_, t)| *t == test).map(|(bits, _)| bits);
                Instruction { jt, jf, ..with(class::JMP | bits(high), operand) }
            }
            Meaning::ReturnConstant(k) => plain(class::RET, k),
            Meaning::ReturnA => plain(class::RET | RETURN_A, 0),
            Meaning::Tax => plain(class::MISC, 0),
            Meaning::Txa => plain(class::MISC | TXA, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// filter.rst and `chk_code_allowed` of Linux: so many codes there are, among all 65,536.
    #[test]
    fn there_are_49_codes() {
        let known: Vec<Instruction> = (0..=u16::MAX)
            .map(|code| Instruction { code, jt: 0, jf: 0, k: 0 })
            .filter(|instruction| instruction.meaning().is_some())
            .collect();
        // ld: 6 from the packet, #k, M[k], #pktlen; ldx: #k, M[k], #pktlen, 4*([k]&0xf); st, stx; 20 and neg; ja and 8;
        // ret #k and ret; tax and txa.
        assert_eq!(known.len(), 9 + 4 + 2 + 21 + 9 + 2 + 2);
        for instruction in known {
            assert_eq!(instruction.meaning().map(Instruction::from), Some(instruction));
        }
    }

    #[test]
    fn it_is_laid_out_as_the_kernel_has_it() {
        assert_eq!(size_of::<Instruction>(), size_of::<libc::sock_filter>());
        assert_eq!(align_of::<Instruction>(), align_of::<libc::sock_filter>());
        assert_eq!(std::mem::offset_of!(Instruction, k), 4);
    }
}
