//! Programs that no compiler makes: any instruction anywhere, but mostly such that a packet gets through some of them.

use super::packets::PORTS;
use super::random::Random;
use tollway_capture::engine::bpf::{Alu, Instruction, Meaning, Operand, Program, Test, Width};

const WIDTHS: [Width; 3] = [Width::Word, Width::Half, Width::Byte];
const ALUS: [Alu; 10] = [
    Alu::Add,
    Alu::Sub,
    Alu::Mul,
    Alu::Div,
    Alu::Or,
    Alu::And,
    Alu::ShiftLeft,
    Alu::ShiftRight,
    Alu::Mod,
    Alu::Xor,
];
const TESTS: [Test; 4] = [Test::Equal, Test::Greater, Test::GreaterOrEqual, Test::AnyBit];

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len() as u64) as usize]
}

/// An offset: where headers have fields, anywhere near, at the end of what there can be.
fn offset(random: &mut Random) -> u32 {
    match random.below(16) {
        0..=7 => pick(random, &[0, 6, 12, 14, 16, 18, 20, 23, 24, 26, 30, 34, 36, 38, 54, 56]),
        8..=13 => random.below(72) as u32,
        14 => random.below(300) as u32,
        _ => pick(random, &[65535, 65536, 0x7fff_fffc, 0x7fff_ffff, i32::MAX as u32 - 1]),
    }
}

fn constant(random: &mut Random) -> u32 {
    match random.below(12) {
        0 | 1 => pick(random, &[0x800, 0x86dd, 0x806, 0x8100]),
        2 => pick(random, &[6, 17, 1, 58, 2]),
        3 => u32::from(pick(random, &PORTS)),
        4 => 0x0a00_0000 | random.below(16) as u32,
        5 => pick(random, &[0, 1, 2, 4, 0x7f, 0x80, 0xff, 0x100, 0xffff, 0x1_0000, 0x8000_0000, u32::MAX]),
        6 => 1 << random.below(32),
        7..=9 => random.below(256) as u32,
        10 => random.below(65536) as u32,
        _ => random.bits() as u32,
    }
}

/// A program that is taken: what the checks refuse is drawn again.
pub fn program(random: &mut Random) -> Program {
    loop {
        if random.below(8) == 0 {
            return membership(random);
        }
        let length = match random.below(8) {
            0 => 1 + random.below(4),
            1 => 60 + random.below(100),
            _ => 3 + random.below(30),
        };
        if let Ok(program) = Program::new(instructions(random, length as usize)) {
            return program;
        }
    }
}

/// Is a field one of a set of constants? Most of these sets have values that packets have.
fn membership(random: &mut Random) -> Program {
    let mut list: Vec<Instruction> = Vec::new();
    let (width, at, field): (_, _, fn(&mut Random) -> u32) = match random.below(4) {
        0 => (Width::Word, pick(random, &[26, 30]), |r| 0x0a00_0000 | r.below(16) as u32),
        1 => (Width::Byte, pick(random, &[15, 20, 23, 47, 53]), |r| r.below(256) as u32),
        _ => (Width::Half, pick(random, &[34, 36, 54, 56]), |r| u32::from(pick(r, &PORTS))),
    };
    if width == Width::Half && random.below(2) == 0 {
        list.push(Meaning::LoadXHeader(14).into());
        list.push(Meaning::LoadIndirect(width, at - 20).into());
    } else {
        list.push(Meaning::LoadAbsolute(width, at).into());
    }
    if random.below(4) == 0 {
        // The value is needed as a number.
        list.push(Meaning::Arithmetic(Alu::And, Operand::K(u32::MAX)).into());
    }
    let most = pick(random, &[12, 12, 12, 12, 150]);
    let count = 2 + random.below(most);
    for left in (0..count).rev() {
        let k = if random.below(8) == 0 { constant(random) } else { field(random) };
        list.push(Meaning::Branch(Test::Equal, Operand::K(k), left as u8 + 1, 0).into());
    }
    list.push(Meaning::ReturnConstant(random.below(2) as u32).into());
    list.push(Meaning::ReturnConstant(20).into());
    Program::new(list).expect("every jump is to the end")
}

/// Instructions, most of which are possible where they stand.
pub fn instructions(random: &mut Random, length: usize) -> Vec<Instruction> {
    let mut list: Vec<Instruction> = Vec::with_capacity(length + 64);
    // Words of scratch memory are written first where a program uses them.
    let words = if random.below(3) == 0 { 1 + random.below(4) as u32 } else { 0 };
    for word in 0..words {
        list.push(Meaning::LoadImmediate(constant(random)).into());
        list.push(Meaning::Store(word).into());
    }
    let body = list.len() + length;
    while list.len() < body {
        let left = body - list.len();
        if random.below(12) == 0 && left > 4 {
            run(random, &mut list, left);
        } else if random.below(12) == 0 && left > 8 {
            ports(random, &mut list, left);
        } else {
            list.push(meaning(random, words, left).into());
        }
    }
    list.push(match random.below(3) {
        0 => Meaning::ReturnA.into(),
        1 => Meaning::ReturnConstant(random.below(100) as u32).into(),
        _ => Meaning::ReturnConstant(262_144).into(),
    });
    list
}

/// Comparisons one after the other, that go to one place or to several.
fn run(random: &mut Random, list: &mut Vec<Instruction>, left: usize) {
    let count = 2 + random.below(left.min(40) as u64 - 2) as usize;
    let several = random.below(4) == 0;
    for i in 0..count {
        let to_end = (count - 1 - i) as u8;
        let jt =
            if several && random.below(3) == 0 { random.below(u64::from(to_end) + 1) as u8 } else { to_end };
        let k = if random.below(4) == 0 { constant(random) } else { u32::from(pick(random, &PORTS)) };
        list.push(Meaning::Branch(Test::Equal, Operand::K(k), jt, 0).into());
    }
}

/// What compilers make of ports: the header's length in X, then fields behind it, each compared with several constants.
fn ports(random: &mut Random, list: &mut Vec<Instruction>, left: usize) {
    let end = list.len() + left;
    list.push(Meaning::LoadXHeader(if random.below(4) == 0 { offset(random) } else { 14 }).into());
    for _ in 0..=random.below(3) {
        if list.len() + 4 > end {
            return;
        }
        let from = [14, 14, 16, 16, 18, 20, 27, 34, 60][random.below(9) as usize];
        list.push(Meaning::LoadIndirect(pick(random, &WIDTHS), from).into());
        run(random, list, end - list.len());
    }
}

fn meaning(random: &mut Random, words: u32, left: usize) -> Meaning {
    let skip = |random: &mut Random| {
        // To the next instruction, somewhere, or to the end.
        let most = left.min(200) as u64;
        match random.below(4) {
            0 | 1 => 0,
            2 => random.below(most.min(6)) as u8,
            _ => random.below(most) as u8,
        }
    };
    match random.below(32) {
        0..=7 => Meaning::LoadAbsolute(pick(random, &WIDTHS), offset(random)),
        8..=11 => Meaning::LoadIndirect(pick(random, &WIDTHS), offset(random)),
        12..=14 => Meaning::LoadXHeader(offset(random)),
        15 => pick(random, &[Meaning::LoadLength, Meaning::LoadXLength]),
        16 => {
            let k = constant(random);
            if random.below(2) == 0 { Meaning::LoadImmediate(k) } else { Meaning::LoadXImmediate(k & 0xff) }
        }
        17 if words > 0 => {
            let word = random.below(u64::from(words)) as u32;
            pick(random, &[Meaning::LoadScratch(word), Meaning::LoadXScratch(word)])
        }
        17 | 18 => {
            let word = random.below(16) as u32;
            pick(random, &[Meaning::Store(word), Meaning::StoreX(word)])
        }
        19 => pick(random, &[Meaning::Tax, Meaning::Txa, Meaning::Negate]),
        20..=22 => {
            let alu = pick(random, &ALUS);
            let k = match alu {
                Alu::ShiftLeft | Alu::ShiftRight => random.below(32) as u32,
                Alu::Div | Alu::Mod => constant(random).max(1),
                _ => constant(random),
            };
            Meaning::Arithmetic(alu, if random.below(3) == 0 { Operand::X } else { Operand::K(k) })
        }
        23..=29 => {
            let test = if random.below(2) == 0 { Test::Equal } else { pick(random, &TESTS) };
            let operand = if random.below(8) == 0 { Operand::X } else { Operand::K(constant(random)) };
            Meaning::Branch(test, operand, skip(random), skip(random))
        }
        30 => Meaning::Jump(u32::from(skip(random))),
        _ => pick(random, &[Meaning::ReturnA, Meaning::ReturnConstant(0), Meaning::ReturnConstant(96)]),
    }
}
