//! Programs as text, as tcpdump prints them: for readers (-d), as a fragment of C (-dd), as numbers (-ddd).
//!
//! The forms are those of tcpdump(8) and of libpcap's `bpf_image`, to the letter.

use std::fmt::{self, Display, Formatter};

use super::check::Program;
use super::instruction::{Alu, Instruction, Meaning, Operand, Test, Width};

/// What Linux knows of a packet beside its bytes, by the offset from SKF_AD_OFF (linux/filter.h), as libpcap names it.
const ANCILLARY: [&str; 16] = [
    "proto",
    "type",
    "ifidx",
    "nla",
    "nlan",
    "mark",
    "queue",
    "hatype",
    "rxhash",
    "cpu",
    "xor_x",
    "vlan_tci",
    "vlanp",
    "poff",
    "random",
    "vlan_tpid",
];
/// SKF_AD_OFF of linux/filter.h.
const ANCILLARY_OFFSET: u32 = -0x1000_i32 as u32;

/// How Linux calls what lies at a negative offset, where that has a name.
pub(super) fn ancillary_name(offset: u32) -> Option<&'static str> {
    let beyond = offset.checked_sub(ANCILLARY_OFFSET)?;
    (beyond % 4 == 0).then(|| ANCILLARY.get(beyond as usize / 4)).flatten().copied()
}

/// An instruction with its number, on which the targets of jumps depend.
struct Numbered(usize, Instruction);

impl Display for Numbered {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Numbered(number, instruction) = *self;
        let target = |skip: u8| number as u64 + 1 + u64::from(skip);
        let k = instruction.k as i32;
        let Some(meaning) = instruction.meaning() else {
            return write!(f, "{:<8} {:#x}", "unimp", instruction.code);
        };
        let load = |width| match width {
            Width::Word => "ld",
            Width::Half => "ldh",
            Width::Byte => "ldb",
        };
        let (name, operand) = match meaning {
            Meaning::LoadAbsolute(width, at) => match ancillary_name(at) {
                Some(name) => (load(width), format!("[{name}]")),
                None => (load(width), format!("[{k}]")),
            },
            Meaning::LoadIndirect(width, _) => (load(width), format!("[x + {k}]")),
            Meaning::LoadLength => ("ld", "#pktlen".into()),
            Meaning::LoadImmediate(k) => ("ld", format!("#{k:#x}")),
            Meaning::LoadScratch(_) => ("ld", format!("M[{k}]")),
            Meaning::LoadXLength => ("ldx", "#pktlen".into()),
            Meaning::LoadXImmediate(k) => ("ldx", format!("#{k:#x}")),
            Meaning::LoadXScratch(_) => ("ldx", format!("M[{k}]")),
            Meaning::LoadXHeader(_) => ("ldxb", format!("4*([{k}]&0xf)")),
            Meaning::Store(_) => ("st", format!("M[{k}]")),
            Meaning::StoreX(_) => ("stx", format!("M[{k}]")),
            Meaning::Arithmetic(alu, operand) => {
                let (name, in_hexadecimal) = match alu {
                    Alu::Add => ("add", false),
                    Alu::Sub => ("sub", false),
                    Alu::Mul => ("mul", false),
                    Alu::Div => ("div", false),
                    Alu::Mod => ("mod", false),
                    Alu::ShiftLeft => ("lsh", false),
                    Alu::ShiftRight => ("rsh", false),
                    Alu::Or => ("or", true),
                    Alu::And => ("and", true),
                    Alu::Xor => ("xor", true),
                };
                let operand = match operand {
                    Operand::X => "x".into(),
                    Operand::K(k) if in_hexadecimal => format!("#{k:#x}"),
                    Operand::K(_) => format!("#{k}"),
                };
                (name, operand)
            }
            Meaning::Negate => ("neg", String::new()),
            Meaning::Jump(skip) => {
                ("ja", (number as i32).wrapping_add(1).wrapping_add(skip as i32).to_string())
            }
            Meaning::Branch(test, operand, jt, jf) => {
                let name = match test {
                    Test::Equal => "jeq",
                    Test::Greater => "jgt",
                    Test::GreaterOrEqual => "jge",
                    Test::AnyBit => "jset",
                };
                let operand = match operand {
                    Operand::X => "x".into(),
                    Operand::K(k) => format!("#{k:#x}"),
                };
                let (jt, jf) = (target(jt), target(jf));
                return write!(f, "{name:<8} {operand:<16} jt {jt}\tjf {jf}");
            }
            Meaning::ReturnConstant(_) => ("ret", format!("#{k}")),
            Meaning::ReturnA => ("ret", String::new()),
            Meaning::Tax => ("tax", String::new()),
            Meaning::Txa => ("txa", String::new()),
        };
        write!(f, "{name:<8} {operand}")
    }
}

impl Instruction {
    /// For readers, as tcpdump -d has it but without the number; `number` is where it stands in its program.
    pub fn display(self, number: usize) -> impl Display {
        Numbered(number, self)
    }
}

impl Program {
    /// For readers: what tcpdump -d prints.
    pub fn to_text(&self) -> String {
        let lines = self.instructions().iter().enumerate();
        lines
            .map(|(number, instruction)| format!("({number:03}) {}\n", instruction.display(number)))
            .collect()
    }

    /// A fragment of C, the lines of an array of `struct bpf_insn`: what tcpdump -dd prints.
    pub fn to_c(&self) -> String {
        let lines = self.instructions().iter();
        lines.map(|i| format!("{{ {:#x}, {}, {}, 0x{:08x} }},\n", i.code, i.jt, i.jf, i.k)).collect()
    }

    /// Numbers, the count before them: what tcpdump -ddd prints.
    pub fn to_numbers(&self) -> String {
        let count = format!("{}\n", self.instructions().len());
        let lines = self.instructions().iter();
        lines.fold(count, |text, i| text + &format!("{} {} {} {}\n", i.code, i.jt, i.jf, i.k))
    }
}
