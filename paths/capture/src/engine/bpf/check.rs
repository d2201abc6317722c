//! A program is checked once, before it runs; what runs it relies on that.
//!
//! What is refused, and who else refuses it:
//!
//! | a program | here | libpcap | Linux |
//! |---|---|---|---|
//! | that is empty, or longer than 4096 instructions | refused | empty: refused | refused |
//! | with an unknown code | refused | some are taken, and stop the process when they run | refused |
//! | that does not end with `ret` | refused | refused | refused |
//! | that jumps beyond its end | refused | refused | refused |
//! | that jumps backward (`ja` of a negative number; `protochain` is such a loop) | taken: it ends, see below | taken: it may run for ever | refused |
//! | with scratch memory beyond `M[15]` | refused | refused | refused |
//! | that reads scratch memory before it wrote there | refused | taken: reads whatever is there | refused |
//! | that divides by the constant 0 | refused | refused | refused |
//! | that shifts by a constant of 32 or more | refused | taken: depends on the processor | refused |
//! | with a load at a negative offset (2³¹ and up) | refused | taken: verdict 0 | taken: what Linux knows of the packet |
//!
//! So what is taken here is taken by both, but for loops; tests hold that against both. Linux refuses a few
//! more: its look for scratch memory that is read before it is written thinks that a program may go on behind
//! a `ret`.
//!
//! A loop that looks for the end of a chain of headers goes on in the packet each time. So each backward jump
//! is taken as often as the packet has bytes, on average over all of a program; a program that wants more
//! ends with verdict 0, where libpcap may never end.
//!
//! Verdicts are libpcap's: A and X begin as 0; a load beyond what was kept of the packet ends the program with
//! verdict 0, and so does a division by an X of 0; `#pktlen` is the length on the wire. Linux does the same but for two
//! things, which only show when X has a strange value. It shifts by the low five bits of X, where an X of 32 or more
//! makes 0 here. And its `[x + k]` wraps around at 2³² and is negative from 2³¹ on, where it means the network header
//! (SKF_NET_OFF) or the link header (SKF_LL_OFF): all that is beyond the packet here. [`Program::linux_may_differ`] says
//! whether a program has instructions of these kinds.

use std::fmt;

use super::instruction::{Alu, Instruction, MAX_LENGTH, Meaning, NEGATIVE, Operand, SCRATCH_WORDS};
use super::print::ancillary_name;

/// A program that was checked: it ends, and it touches nothing but the packet and its scratch memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Program {
    instructions: Box<[Instruction]>,
    backward_jumps: u32,
}

/// Why a program is not run.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// There is no instruction.
    #[error("the program is empty; the shortest is one `ret`: `6 0 0 262144` keeps every packet")]
    Empty,
    /// There are too many.
    #[error("the program has {0} instructions; shorten it to {MAX_LENGTH}, the most that Linux takes")]
    TooLong(usize),
    /// One of them cannot be.
    #[error("instruction {number}, `{text}`: {fault}; {}", fault.remedy())]
    At {
        /// Its number, the first is 0.
        number: usize,
        /// As tcpdump -d prints it.
        text: String,
        /// What is wrong with it.
        fault: Fault,
    },
}

/// What is wrong with an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// Classic BPF has no such code.
    UnknownCode(u16),
    /// It goes on behind the last instruction, or before the first.
    JumpBeyondEnd {
        /// The instruction it would go on with.
        target: i64,
        /// How many there are.
        length: usize,
    },
    /// The last instruction does not return.
    NoReturn,
    /// It divides by 0.
    DivisionByZero,
    /// It shifts by as many bits as there are, or more.
    ShiftTooFar(u32),
    /// There is no such word of scratch memory.
    NoSuchScratch(u32),
    /// It reads a word of scratch memory that need not have been written.
    ScratchUnwritten(u32),
    /// Its offset is negative.
    NegativeOffset(u32),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Fault::UnknownCode(code) => write!(f, "there is no code {code:#x} in classic BPF"),
            Fault::JumpBeyondEnd { target, length } => {
                write!(f, "it jumps to {target}, and the instructions are 0 to {}", length - 1)
            }
            Fault::NoReturn => f.write_str("the program goes on behind it"),
            Fault::DivisionByZero => f.write_str("it divides by 0"),
            Fault::ShiftTooFar(bits) => write!(f, "it shifts 32 bits by {bits}"),
            Fault::NoSuchScratch(word) => write!(f, "there is no word {word} of scratch memory"),
            Fault::ScratchUnwritten(word) => {
                write!(f, "M[{word}] was not written on every way that leads here")
            }
            Fault::NegativeOffset(offset) => match ancillary_name(offset) {
                Some(name) => write!(f, "only the Linux kernel knows what [{name}] of a packet is"),
                None => write!(f, "the offset {} is before the packet's first byte", offset as i32),
            },
        }
    }
}

impl Fault {
    /// What to do about it.
    fn remedy(&self) -> &'static str {
        match self {
            Fault::UnknownCode(_) => "compile the filter again, for classic BPF and not for eBPF",
            Fault::JumpBeyondEnd { .. } => "jumps skip so many instructions, counted from the next one",
            Fault::NoReturn => "end the program with `ret`",
            Fault::DivisionByZero => "divide by another number",
            Fault::ShiftTooFar(_) => "shift by 31 at most",
            Fault::NoSuchScratch(_) => "use M[0] to M[15]",
            Fault::ScratchUnwritten(_) => "write it first (st, stx)",
            Fault::NegativeOffset(_) => "filters here look at a packet's bytes alone",
        }
    }
}

impl Program {
    /// Checks a program.
    ///
    /// # Errors
    /// The first instruction that cannot be, with the remedy.
    pub fn new(instructions: Vec<Instruction>) -> Result<Self, Refused> {
        let length = instructions.len();
        if length == 0 {
            return Err(Refused::Empty);
        }
        if length > MAX_LENGTH {
            return Err(Refused::TooLong(length));
        }
        let mut written = Written::new(length);
        let backward_jumps = loop {
            let mut back = 0;
            for (number, &instruction) in instructions.iter().enumerate() {
                let meaning = check(number, length, instruction).and_then(|meaning| {
                    written.follow(number, meaning)?;
                    Ok(meaning)
                });
                let meaning = meaning.map_err(|fault| Refused::At {
                    number,
                    text: instruction.display(number).to_string(),
                    fault,
                })?;
                back += u32::from(matches!(meaning, Meaning::Jump(skip) if (skip as i32) < 0));
            }
            // What is written only ever becomes less, so this ends.
            if !std::mem::take(&mut written.is_less_before) {
                break back;
            }
        };
        Ok(Program { instructions: instructions.into_boxed_slice(), backward_jumps })
    }

    /// How many of its instructions jump backward: more than none only where it has a loop. Linux takes no
    /// such program.
    pub fn backward_jumps(&self) -> u32 {
        self.backward_jumps
    }

    /// Its instructions.
    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// What its instructions mean.
    pub(super) fn meanings(&self) -> impl ExactSizeIterator<Item = Meaning> {
        self.instructions.iter().map(|i| i.meaning().expect("a checked program has known codes only"))
    }

    /// Whether Linux may come to another verdict than libpcap and this machine: with an X of 32 or more shifted by, or
    /// with one so large that x + k reaches 2³¹. See the module's documentation.
    pub fn linux_may_differ(&self) -> bool {
        self.meanings().any(|meaning| {
            matches!(
                meaning,
                Meaning::LoadIndirect(..) | Meaning::Arithmetic(Alu::ShiftLeft | Alu::ShiftRight, Operand::X)
            )
        })
    }
}

/// What one instruction says, by itself.
fn check(number: usize, length: usize, instruction: Instruction) -> Result<Meaning, Fault> {
    let meaning = instruction.meaning().ok_or(Fault::UnknownCode(instruction.code))?;
    let reaches = |skip: i32| {
        let target = number as i64 + 1 + i64::from(skip);
        if (0..length as i64).contains(&target) {
            Ok(())
        } else {
            Err(Fault::JumpBeyondEnd { target, length })
        }
    };
    match meaning {
        Meaning::LoadAbsolute(_, k) | Meaning::LoadIndirect(_, k) | Meaning::LoadXHeader(k)
            if k >= NEGATIVE =>
        {
            return Err(Fault::NegativeOffset(k));
        }
        Meaning::LoadScratch(k) | Meaning::LoadXScratch(k) | Meaning::Store(k) | Meaning::StoreX(k)
            if k >= SCRATCH_WORDS =>
        {
            return Err(Fault::NoSuchScratch(k));
        }
        Meaning::Arithmetic(Alu::Div | Alu::Mod, Operand::K(0)) => return Err(Fault::DivisionByZero),
        Meaning::Arithmetic(Alu::ShiftLeft | Alu::ShiftRight, Operand::K(k)) if k >= 32 => {
            return Err(Fault::ShiftTooFar(k));
        }
        Meaning::Jump(skip) => reaches(skip as i32)?,
        Meaning::Branch(_, _, jt, jf) => {
            reaches(jt.into())?;
            reaches(jf.into())?;
        }
        _ => {}
    }
    let returns = matches!(meaning, Meaning::ReturnConstant(_) | Meaning::ReturnA);
    if number + 1 == length && !returns {
        return Err(Fault::NoReturn);
    }
    Ok(meaning)
}

/// Which words of scratch memory were written on every way that leads to an instruction. One pass in the
/// program's order sees every way to an instruction before it sees the instruction, but for those that lead
/// backward: then it takes another.
struct Written {
    /// A bit for each word; all ones where no way leads.
    before: Vec<u16>,
    /// Whether a backward jump found less written than was thought.
    is_less_before: bool,
}

impl Written {
    fn new(length: usize) -> Self {
        let mut before = vec![u16::MAX; length];
        before[0] = 0;
        Written { before, is_less_before: false }
    }

    fn follow(&mut self, number: usize, meaning: Meaning) -> Result<(), Fault> {
        let mut written = self.before[number];
        let mut flow = |skip: i32, written: u16| {
            let before = &mut self.before[(number + 1).wrapping_add_signed(skip as isize)];
            self.is_less_before |= skip < 0 && *before & !written != 0;
            *before &= written;
        };
        match meaning {
            Meaning::LoadScratch(k) | Meaning::LoadXScratch(k) if written >> k & 1 == 0 => {
                return Err(Fault::ScratchUnwritten(k));
            }
            Meaning::Store(k) | Meaning::StoreX(k) => {
                written |= 1 << k;
                flow(0, written);
            }
            Meaning::Jump(skip) => flow(skip as i32, written),
            Meaning::Branch(_, _, jt, jf) => {
                flow(jt.into(), written);
                flow(jf.into(), written);
            }
            Meaning::ReturnConstant(_) | Meaning::ReturnA => {}
            _ => flow(0, written),
        }
        Ok(())
    }
}

impl From<Refused> for tollway_core::Error {
    fn from(refused: Refused) -> Self {
        let (place, reason, remedy) = match refused {
            Refused::At { number, text, fault } => {
                (format!("instruction {number}, `{text}`"), fault.to_string(), fault.remedy().to_owned())
            }
            Refused::Empty => ("program".into(), "it is empty".into(), "the shortest is one `ret`".into()),
            Refused::TooLong(length) => (
                "program".into(),
                format!("it has {length} instructions"),
                format!("shorten it to {MAX_LENGTH}"),
            ),
        };
        tollway_core::Error::Input { place, reason, remedy }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(instructions: &[(u16, u8, u8, u32)]) -> String {
        let instructions = instructions.iter().map(|&(code, jt, jf, k)| Instruction { code, jt, jf, k });
        Program::new(instructions.collect()).map(|p| p.to_text()).unwrap_err().to_string()
    }

    const KEEP: (u16, u8, u8, u32) = (6, 0, 0, 1);

    #[test]
    fn what_cannot_be_is_refused_by_number_text_and_remedy() {
        for (program, says) in [
            (vec![], "the program is empty"),
            (vec![KEEP; 4097], "the program has 4097 instructions; shorten it to 4096"),
            (vec![KEEP, (0x18, 0, 0, 0), KEEP], "instruction 1, `unimp    0x18`: there is no code 0x18"),
            (vec![(0x105, 0, 0, 0), KEEP], "there is no code 0x105"),
            (
                vec![(0x15, 0, 1, 7), KEEP],
                "instruction 0, `jeq      #0x7             jt 1\tjf 2`: it jumps to 2, and",
            ),
            (
                vec![(5, 0, 0, -2i32 as u32), KEEP],
                "`ja       -1`: it jumps to -1, and the instructions are 0 to 1",
            ),
            (vec![(5, 0, 0, 1), KEEP], "it jumps to 2, and the instructions are 0 to 1; jumps skip"),
            (vec![KEEP, (7, 0, 0, 0)], "instruction 1, `tax      `: the program goes on behind it; end"),
            (vec![(0x34, 0, 0, 0), KEEP], "instruction 0, `div      #0`: it divides by 0; divide by another"),
            (vec![(0x94, 0, 0, 0), KEEP], "`mod      #0`: it divides by 0"),
            (vec![(0x64, 0, 0, 32), KEEP], "`lsh      #32`: it shifts 32 bits by 32; shift by 31 at most"),
            (vec![(2, 0, 0, 16), KEEP], "`st       M[16]`: there is no word 16"),
            (vec![(0x60, 0, 0, 3), KEEP], "`ld       M[3]`: M[3] was not written on every way"),
            (vec![(0x15, 0, 1, 0), (2, 0, 0, 3), (0x61, 0, 0, 3), KEEP], "instruction 2, `ldx      M[3]`"),
            (
                vec![(0x30, 0, 0, 0xffff_f030), KEEP],
                "`ldb      [vlanp]`: only the Linux kernel knows what [vlanp]",
            ),
            (vec![(0x40, 0, 0, u32::MAX), KEEP], "`ld       [x + -1]`: the offset -1 is before the packet's"),
        ] {
            let refusal = refusal(&program);
            assert!(refusal.contains(says), "{refusal}\nlacks\n{says}");
            assert!(refusal.contains("; "), "{refusal}: no remedy");
        }
    }

    #[test]
    fn scratch_memory_is_looked_for_on_ways_that_lead_backward_too() {
        let program = |list: &[(u16, u8, u8, u32)]| {
            let list = list.iter().map(|&(code, jt, jf, k)| Instruction { code, jt, jf, k });
            Program::new(list.collect())
        };
        // 0 goes to 4, 3 back to 1; on the second way M[3] was written.
        let back = (5, 0, 0, -3i32 as u32);
        let loops = [(0x15, 3, 0, 0), (2, 0, 0, 3), (0x60, 0, 0, 3), back, KEEP];
        assert_eq!(program(&loops).map(|p| p.backward_jumps()), Ok(1));
        // 4 goes back to 1, which reads what only the first way wrote.
        let again =
            [(2, 0, 0, 3), (0x60, 0, 0, 3), (0x15, 2, 0, 0), (5, 0, 0, 0), (5, 0, 0, -4i32 as u32), KEEP];
        assert_eq!(program(&again).map(|p| p.backward_jumps()), Ok(1));
        let skips = [(5, 0, 0, 2), (0x60, 0, 0, 3), KEEP, (5, 0, 0, -3i32 as u32), KEEP];
        let refused = program(&skips).unwrap_err().to_string();
        assert!(refused.starts_with("instruction 1, `ld       M[3]`: M[3] was not written"), "{refused}");
    }

    #[test]
    fn scratch_memory_that_every_way_wrote_may_be_read() {
        // jeq → st M[3] ; else stx M[3]; both go on with ld M[3].
        let program = [(0x15, 0, 2, 0), (2, 0, 0, 3), (5, 0, 0, 1), (3, 0, 0, 3), (0x60, 0, 0, 3), KEEP];
        let program = program.map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
        assert!(Program::new(program.to_vec()).is_ok());
        // Behind a return nothing is reached.
        let behind = [KEEP, (0x60, 0, 0, 3), KEEP].map(|(code, jt, jf, k)| Instruction { code, jt, jf, k });
        assert!(Program::new(behind.to_vec()).is_ok());
    }
}
