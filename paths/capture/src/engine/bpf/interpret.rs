//! The interpreter: a checked program, decoded once, run on packet after packet.
//!
//! What libpcap's `bpf_filter` looks up for each instruction is settled before: where jumps go, where a load ends. Two
//! common pairs are one operation: a load from the packet with the test of what it loaded, and a run of `jeq` that all
//! go to the same place. A pair stands where its first instruction stood, and its second stays in its place for
//! those that jump to it.

use std::hint::cold_path;
use std::mem::MaybeUninit;

use super::check::Program;
use super::instruction::{Alu, Meaning, Operand, SCRATCH_WORDS, Test, Width};

/// What a decoded instruction does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    LoadWord,
    LoadHalf,
    LoadByte,
    LoadWordAtX,
    LoadHalfAtX,
    LoadByteAtX,
    LoadLength,
    LoadConstant,
    LoadScratch,
    LoadXLength,
    LoadXConstant,
    LoadXScratch,
    LoadXHeader,
    Store,
    StoreX,
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
    AddX,
    SubX,
    MulX,
    DivX,
    OrX,
    AndX,
    ShiftLeftX,
    ShiftRightX,
    ModX,
    XorX,
    Negate,
    Jump,
    /// Where a program with a loop begins: counts what it may jump backward.
    BeginLoops,
    JumpBackward,
    Equal,
    Greater,
    GreaterOrEqual,
    AnyBit,
    EqualX,
    GreaterX,
    GreaterOrEqualX,
    AnyBitX,
    /// A is one of a run of constants.
    OneOf,
    // A load and the test of what it loaded.
    WordEqual,
    HalfEqual,
    ByteEqual,
    WordAnyBit,
    HalfAnyBit,
    ByteAnyBit,
    HalfAtXEqual,
    ReturnConstant,
    ReturnA,
    Tax,
    Txa,
}

/// A decoded instruction.
#[derive(Clone, Copy, Debug)]
struct Step {
    kind: Kind,
    /// Where it goes on if its test holds; or how many constants a run has.
    holds: u16,
    /// Where it goes on if not.
    fails: u16,
    /// The constant, offset or word of scratch memory.
    k: u32,
    /// For loads from the packet: how long it must be. For pairs: what is tested against.
    second: u32,
}

/// The word behind scratch memory: how often a program with a loop may still jump backward. Only such a
/// program writes and reads it.
const ROUNDS: usize = SCRATCH_WORDS as usize;

/// Scratch memory, and what is behind it.
type Scratch = [MaybeUninit<u32>; SCRATCH_WORDS as usize + 1];

/// A program ready to be interpreted.
#[derive(Clone, Debug)]
pub struct Interpreter {
    /// One for each instruction, behind the step that a program with a loop begins with.
    steps: Box<[Step]>,
    /// The constant of each instruction: a run of them is what `OneOf` looks through.
    constants: Box<[u32]>,
}

impl Interpreter {
    /// Decodes a program.
    pub fn new(program: &Program) -> Self {
        let meanings: Vec<Meaning> = program.meanings().collect();
        let mut steps: Vec<Step> = (0..meanings.len()).map(|at| decode(&meanings, at)).collect();
        let loops = program.backward_jumps();
        if loops > 0 {
            steps.insert(0, Step { kind: Kind::BeginLoops, holds: 0, fails: 0, k: loops, second: 0 });
            for step in &mut steps {
                step.holds += 1;
                step.fails += 1;
            }
        }
        let steps = steps.into_boxed_slice();
        Interpreter { steps, constants: program.instructions().iter().map(|i| i.k).collect() }
    }

    /// How many bytes of the packet to keep, 0 if it is not wanted. `bytes` is what was kept of it so far.
    pub fn run(&self, bytes: &[u8], wire_length: u32) -> u32 {
        let length = bytes.len() as u64;
        let packet = bytes.as_ptr();
        let mut scratch: Scratch = [const { MaybeUninit::uninit() }; SCRATCH_WORDS as usize + 1];
        let (mut a, mut x) = (0u32, 0u32);
        let mut at = 0usize;

        // Each of these is called when the end of the load was compared with the packet's length.
        let word = |k: usize| {
            // SAFETY: the four bytes from k on are the packet's.
            unsafe { u32::from_be(packet.add(k).cast::<u32>().read_unaligned()) }
        };
        let half = |k: usize| {
            // SAFETY: the two bytes from k on are the packet's.
            u32::from(unsafe { u16::from_be(packet.add(k).cast::<u16>().read_unaligned()) })
        };
        let byte = |k: usize| {
            // SAFETY: the byte at k is the packet's.
            u32::from(unsafe { *packet.add(k) })
        };
        let word_of = |scratch: &Scratch, step: &Step| {
            // SAFETY: a checked program writes a word on every way that leads to where it reads it.
            unsafe { scratch[step.k as usize & 15].assume_init() }
        };
        // A load at x + k. Offsets are below 2³¹ and X below 2³²: the sum fits 64 bits.
        let beyond = |x: u32, step: &Step| u64::from(x) + u64::from(step.second) > length;

        macro_rules! load {
            ($read:ident, $step:ident) => {{
                if u64::from($step.second) > length {
                    return 0;
                }
                a = $read($step.k as usize);
                at += 1;
            }};
            ($read:ident, $step:ident, x) => {{
                if beyond(x, $step) {
                    return 0;
                }
                a = $read(x as usize + $step.k as usize);
                at += 1;
            }};
        }
        // A branch and not a choice of two numbers: a guess of where it goes on need not wait for the packet's bytes.
        macro_rules! test {
            ($step:ident, $holds:expr) => {
                if $holds {
                    cold_path();
                    at = usize::from($step.holds);
                } else {
                    at = usize::from($step.fails);
                }
            };
        }
        // A pair has no room for the load's end: it is computed.
        macro_rules! pair {
            ($read:ident, $size:literal, $step:ident, |$a:ident, $c:ident| $holds:expr) => {{
                if u64::from($step.k) + $size > length {
                    return 0;
                }
                a = $read($step.k as usize);
                let ($a, $c) = (a, $step.second);
                test!($step, $holds)
            }};
        }
        macro_rules! arithmetic {
            ($value:expr) => {{
                a = $value;
                at += 1;
            }};
        }

        loop {
            // SAFETY: a checked program goes on within itself until it returns, and every step is decoded from the
            // instruction with its number; where a step was put before them, targets were moved with them.
            let step = unsafe { self.steps.get_unchecked(at) };
            match step.kind {
                Kind::LoadWord => load!(word, step),
                Kind::LoadHalf => load!(half, step),
                Kind::LoadByte => load!(byte, step),
                Kind::LoadWordAtX => load!(word, step, x),
                Kind::LoadHalfAtX => load!(half, step, x),
                Kind::LoadByteAtX => load!(byte, step, x),
                Kind::LoadLength => arithmetic!(wire_length),
                Kind::LoadConstant => arithmetic!(step.k),
                Kind::LoadScratch => arithmetic!(word_of(&scratch, step)),
                Kind::LoadXLength => {
                    x = wire_length;
                    at += 1;
                }
                Kind::LoadXConstant => {
                    x = step.k;
                    at += 1;
                }
                Kind::LoadXScratch => {
                    x = word_of(&scratch, step);
                    at += 1;
                }
                Kind::LoadXHeader => {
                    if u64::from(step.second) > length {
                        return 0;
                    }
                    x = (byte(step.k as usize) & 0xf) << 2;
                    at += 1;
                }
                Kind::Store => {
                    scratch[step.k as usize & 15].write(a);
                    at += 1;
                }
                Kind::StoreX => {
                    scratch[step.k as usize & 15].write(x);
                    at += 1;
                }
                Kind::Add => arithmetic!(a.wrapping_add(step.k)),
                Kind::Sub => arithmetic!(a.wrapping_sub(step.k)),
                Kind::Mul => arithmetic!(a.wrapping_mul(step.k)),
                // `max` costs nothing beside the division, and spares the compiler's check for 0.
                Kind::Div => arithmetic!(a / step.k.max(1)),
                Kind::Mod => arithmetic!(a % step.k.max(1)),
                Kind::Or => arithmetic!(a | step.k),
                Kind::And => arithmetic!(a & step.k),
                Kind::Xor => arithmetic!(a ^ step.k),
                Kind::ShiftLeft => arithmetic!(a.wrapping_shl(step.k)),
                Kind::ShiftRight => arithmetic!(a.wrapping_shr(step.k)),
                Kind::AddX => arithmetic!(a.wrapping_add(x)),
                Kind::SubX => arithmetic!(a.wrapping_sub(x)),
                Kind::MulX => arithmetic!(a.wrapping_mul(x)),
                Kind::DivX => match a.checked_div(x) {
                    Some(quotient) => arithmetic!(quotient),
                    None => return 0,
                },
                Kind::ModX => match a.checked_rem(x) {
                    Some(rest) => arithmetic!(rest),
                    None => return 0,
                },
                Kind::OrX => arithmetic!(a | x),
                Kind::AndX => arithmetic!(a & x),
                Kind::XorX => arithmetic!(a ^ x),
                Kind::ShiftLeftX => arithmetic!(a.checked_shl(x).unwrap_or(0)),
                Kind::ShiftRightX => arithmetic!(a.checked_shr(x).unwrap_or(0)),
                Kind::Negate => arithmetic!(a.wrapping_neg()),
                Kind::Jump => at = usize::from(step.holds),
                Kind::BeginLoops => {
                    cold_path();
                    let rounds = length.saturating_mul(step.k.into());
                    scratch[ROUNDS].write(u32::try_from(rounds).unwrap_or(u32::MAX));
                    at = 1;
                }
                Kind::JumpBackward => {
                    cold_path();
                    // SAFETY: a program with such a jump begins with the step that writes it.
                    let rounds = unsafe { scratch[ROUNDS].assume_init() };
                    if rounds == 0 {
                        return 0;
                    }
                    scratch[ROUNDS].write(rounds - 1);
                    at = usize::from(step.holds);
                }
                Kind::Equal => test!(step, a == step.k),
                Kind::Greater => test!(step, a > step.k),
                Kind::GreaterOrEqual => test!(step, a >= step.k),
                Kind::AnyBit => test!(step, a & step.k != 0),
                Kind::EqualX => test!(step, a == x),
                Kind::GreaterX => test!(step, a > x),
                Kind::GreaterOrEqualX => test!(step, a >= x),
                Kind::AnyBitX => test!(step, a & x != 0),
                Kind::OneOf => {
                    let run = step.k as usize..step.k as usize + step.second as usize;
                    // SAFETY: the run is of instructions of this program, and each has its constant.
                    let run = unsafe { self.constants.get_unchecked(run) };
                    test!(step, run.contains(&a))
                }
                Kind::WordEqual => pair!(word, 4, step, |a, c| a == c),
                Kind::HalfEqual => pair!(half, 2, step, |a, c| a == c),
                Kind::ByteEqual => pair!(byte, 1, step, |a, c| a == c),
                Kind::WordAnyBit => pair!(word, 4, step, |a, c| a & c != 0),
                Kind::HalfAnyBit => pair!(half, 2, step, |a, c| a & c != 0),
                Kind::ByteAnyBit => pair!(byte, 1, step, |a, c| a & c != 0),
                Kind::HalfAtXEqual => {
                    if u64::from(x) + u64::from(step.k) + 2 > length {
                        return 0;
                    }
                    a = half(x as usize + step.k as usize);
                    test!(step, a == step.second)
                }
                Kind::ReturnConstant => return step.k,
                Kind::ReturnA => return a,
                Kind::Tax => {
                    x = a;
                    at += 1;
                }
                Kind::Txa => arithmetic!(x),
            }
        }
    }
}

/// The step that stands for the instruction `at`, and for the next one where they make a pair.
fn decode(meanings: &[Meaning], at: usize) -> Step {
    let plain = |kind, k| Step { kind, holds: 0, fails: 0, k, second: 0 };
    let target = |at: usize, skip: u32| (at + 1 + skip as usize) as u16;
    let load = |kind, width: Width, k: u32| Step { second: k + width.bytes(), ..plain(kind, k) };
    match meanings[at] {
        Meaning::LoadAbsolute(width, k) => {
            if let Some(step) = pair(meanings, at) {
                return step;
            }
            let kind = match width {
                Width::Word => Kind::LoadWord,
                Width::Half => Kind::LoadHalf,
                Width::Byte => Kind::LoadByte,
            };
            load(kind, width, k)
        }
        Meaning::LoadIndirect(width, k) => {
            if let Some(step) = pair(meanings, at) {
                return step;
            }
            let kind = match width {
                Width::Word => Kind::LoadWordAtX,
                Width::Half => Kind::LoadHalfAtX,
                Width::Byte => Kind::LoadByteAtX,
            };
            load(kind, width, k)
        }
        Meaning::LoadLength => plain(Kind::LoadLength, 0),
        Meaning::LoadImmediate(k) => plain(Kind::LoadConstant, k),
        Meaning::LoadScratch(k) => plain(Kind::LoadScratch, k),
        Meaning::LoadXLength => plain(Kind::LoadXLength, 0),
        Meaning::LoadXImmediate(k) => plain(Kind::LoadXConstant, k),
        Meaning::LoadXScratch(k) => plain(Kind::LoadXScratch, k),
        Meaning::LoadXHeader(k) => load(Kind::LoadXHeader, Width::Byte, k),
        Meaning::Store(k) => plain(Kind::Store, k),
        Meaning::StoreX(k) => plain(Kind::StoreX, k),
        Meaning::Arithmetic(alu, operand) => {
            let (with_k, with_x) = match alu {
                Alu::Add => (Kind::Add, Kind::AddX),
                Alu::Sub => (Kind::Sub, Kind::SubX),
                Alu::Mul => (Kind::Mul, Kind::MulX),
                Alu::Div => (Kind::Div, Kind::DivX),
                Alu::Or => (Kind::Or, Kind::OrX),
                Alu::And => (Kind::And, Kind::AndX),
                Alu::ShiftLeft => (Kind::ShiftLeft, Kind::ShiftLeftX),
                Alu::ShiftRight => (Kind::ShiftRight, Kind::ShiftRightX),
                Alu::Mod => (Kind::Mod, Kind::ModX),
                Alu::Xor => (Kind::Xor, Kind::XorX),
            };
            match operand {
                Operand::K(k) => plain(with_k, k),
                Operand::X => plain(with_x, 0),
            }
        }
        Meaning::Negate => plain(Kind::Negate, 0),
        Meaning::Jump(skip) => jump(at, skip as i32),
        Meaning::Branch(test, operand, jt, jf) => {
            if let Some(step) = run_of_equals(meanings, at) {
                return step;
            }
            let (with_k, with_x) = match test {
                Test::Equal => (Kind::Equal, Kind::EqualX),
                Test::Greater => (Kind::Greater, Kind::GreaterX),
                Test::GreaterOrEqual => (Kind::GreaterOrEqual, Kind::GreaterOrEqualX),
                Test::AnyBit => (Kind::AnyBit, Kind::AnyBitX),
            };
            let step = match operand {
                Operand::K(k) => plain(with_k, k),
                Operand::X => plain(with_x, 0),
            };
            Step { holds: target(at, jt.into()), fails: target(at, jf.into()), ..step }
        }
        Meaning::ReturnConstant(k) => plain(Kind::ReturnConstant, k),
        Meaning::ReturnA => plain(Kind::ReturnA, 0),
        Meaning::Tax => plain(Kind::Tax, 0),
        Meaning::Txa => plain(Kind::Txa, 0),
    }
}

fn jump(at: usize, skip: i32) -> Step {
    let kind = if skip < 0 { Kind::JumpBackward } else { Kind::Jump };
    let holds = (at + 1).wrapping_add_signed(skip as isize) as u16;
    Step { kind, holds, fails: 0, k: 0, second: 0 }
}

/// A load and the test behind it, unless that test begins a run.
fn pair(meanings: &[Meaning], at: usize) -> Option<Step> {
    let Some(&Meaning::Branch(test, Operand::K(second), jt, jf)) = meanings.get(at + 1) else {
        return None;
    };
    if equals(meanings, at + 1) > 1 {
        return None;
    }
    let (kind, k) = match (meanings[at], test) {
        (Meaning::LoadAbsolute(Width::Word, k), Test::Equal) => (Kind::WordEqual, k),
        (Meaning::LoadAbsolute(Width::Half, k), Test::Equal) => (Kind::HalfEqual, k),
        (Meaning::LoadAbsolute(Width::Byte, k), Test::Equal) => (Kind::ByteEqual, k),
        (Meaning::LoadAbsolute(Width::Word, k), Test::AnyBit) => (Kind::WordAnyBit, k),
        (Meaning::LoadAbsolute(Width::Half, k), Test::AnyBit) => (Kind::HalfAnyBit, k),
        (Meaning::LoadAbsolute(Width::Byte, k), Test::AnyBit) => (Kind::ByteAnyBit, k),
        (Meaning::LoadIndirect(Width::Half, k), Test::Equal) => (Kind::HalfAtXEqual, k),
        _ => return None,
    };
    let target = |skip: u8| (at + 2 + usize::from(skip)) as u16;
    Some(Step { kind, holds: target(jt), fails: target(jf), k, second })
}

/// How many `jeq` from `at` on all go to the same place if they hold, and to the next of them if not.
fn equals(meanings: &[Meaning], at: usize) -> usize {
    let mut goal = None;
    for (number, meaning) in meanings.iter().enumerate().skip(at) {
        let &Meaning::Branch(Test::Equal, Operand::K(_), jt, jf) = meaning else { return number - at };
        let target = number + 1 + usize::from(jt);
        if *goal.get_or_insert(target) != target {
            return number - at;
        }
        if jf != 0 {
            return number + 1 - at;
        }
    }
    meanings.len() - at
}

/// Those of them as one step, where there are at least two.
fn run_of_equals(meanings: &[Meaning], at: usize) -> Option<Step> {
    let count = equals(meanings, at);
    let last = at + count.checked_sub(1)?;
    let (&Meaning::Branch(_, _, jt, _), &Meaning::Branch(_, _, _, jf)) =
        (meanings.get(at)?, meanings.get(last)?)
    else {
        return None;
    };
    let holds = (at + 1 + usize::from(jt)) as u16;
    let fails = (last + 1 + usize::from(jf)) as u16;
    (count > 1).then_some(Step { kind: Kind::OneOf, holds, fails, k: at as u32, second: count as u32 })
}
