//! Machine code, instruction by instruction.

use std::collections::{BTreeMap, BTreeSet};

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};

use super::super::instruction::{Meaning, Operand, Test, Width};
use super::Origin;
use super::flow::{self, Facts, Form};
use super::lengths::{Check, Checks, Copy};

/// The code, and which part of it comes from where.
pub(super) struct Emitted {
    pub bytes: Vec<u8>,
    /// Where a new origin begins, in the order of the code.
    pub origins: Vec<(usize, Origin)>,
}

/// An instruction in one of the copies.
type Place = (Copy, usize);

struct Emitter<'a> {
    ops: VecAssembler<X64Relocation>,
    meanings: &'a [Meaning],
    facts: &'a [Facts],
    checks: &'a Checks,
    labels: BTreeMap<Place, DynamicLabel>,
    /// Places that something jumps to and that are not written yet.
    wanted: BTreeSet<Place>,
    written: BTreeSet<Place>,
    /// The code of verdict 0.
    unwanted: Option<DynamicLabel>,
    /// Tables to write behind the code, by their contents.
    tables: BTreeMap<(Vec<u32>, Width), DynamicLabel>,
    /// Whether the program divides, which takes edx: then the wire length is in r8d.
    divides: bool,
    origins: Vec<(usize, Origin)>,
}

/// Translates a checked program.
pub(super) fn emit(meanings: &[Meaning]) -> Emitted {
    let facts = flow::facts(meanings);
    let checks = Checks::new(meanings, &facts);
    let mut emitter = Emitter {
        ops: VecAssembler::new(0),
        meanings,
        facts: &facts,
        checks: &checks,
        labels: BTreeMap::new(),
        wanted: BTreeSet::new(),
        written: BTreeSet::new(),
        unwanted: None,
        tables: BTreeMap::new(),
        divides: flow::divides(meanings),
        origins: Vec::new(),
    };
    emitter.start();
    emitter.trace((Copy::Fast, 0));
    while let Some(place) = emitter.wanted.pop_first() {
        emitter.trace(place);
    }
    emitter.finish()
}

macro_rules! asm {
    ($self:ident ; $($code:tt)*) => { dynasm!($self.ops ; .arch x64 ; $($code)*) };
}

/// A binary operation on eax with a constant, in the shorter form where the constant fits a signed byte.
macro_rules! with_constant {
    ($self:ident, $name:ident, $k:expr) => {{
        let k = $k as i32;
        match i8::try_from(k) {
            Ok(short) => asm!($self ; $name eax, BYTE short),
            Err(_) => asm!($self ; $name eax, DWORD k),
        }
    }};
}

// Below the macros, which they use.
mod arithmetic;
mod branch;

impl Emitter<'_> {
    fn mark(&mut self, origin: Origin) {
        let offset = self.ops.offset().0;
        self.origins.push((offset, origin));
    }

    fn label(&mut self, place: Place) -> DynamicLabel {
        if !self.written.contains(&place) {
            self.wanted.insert(place);
        }
        let Emitter { labels, ops, .. } = self;
        *labels.entry(place).or_insert_with(|| ops.new_dynamic_label())
    }

    fn unwanted(&mut self) -> DynamicLabel {
        let ops = &mut self.ops;
        *self.unwanted.get_or_insert_with(|| ops.new_dynamic_label())
    }

    /// Follows jumps that are nothing else; they cost nothing.
    fn goal(&self, mut at: usize) -> usize {
        while let Meaning::Jump(skip) = self.meanings[at] {
            at += 1 + skip as usize;
        }
        at
    }

    fn start(&mut self) {
        self.mark(Origin::Start);
        if self.divides {
            asm!(self ; mov r8d, edx);
        }
        if self.facts[0].a_matters {
            asm!(self ; xor eax, eax);
        }
        if self.facts[0].x_matters {
            asm!(self ; xor ecx, ecx);
        }
        if self.checks.at_start > 0 {
            let careful = self.if_hopeless_unwanted((Copy::Careful, self.goal(0)));
            self.compare_length(self.checks.at_start);
            asm!(self ; jb =>careful);
        }
    }

    /// The label of a place, or that of verdict 0 where the place has nothing better to say.
    fn if_hopeless_unwanted(&mut self, place: Place) -> DynamicLabel {
        match self.checks.of(place.0, place.1) {
            Check::Hopeless => self.unwanted(),
            _ => self.label(place),
        }
    }

    fn compare_length(&mut self, length: u32) {
        match (i8::try_from(length), i32::try_from(length)) {
            // dynasm has no name for this form of `cmp`: `cmp rsi, imm8`.
            (Ok(short), _) => asm!(self ; .u8 0x48, 0x83, 0xfe ; .i8 short),
            (_, Ok(long)) => asm!(self ; cmp rsi, DWORD long),
            _ => asm!(self ; mov r9d, DWORD length as i32 ; cmp rsi, r9),
        }
    }

    /// Writes a place and what follows it, until the program returns or goes on with what is written already.
    fn trace(&mut self, place: Place) {
        let copy = place.0;
        let mut next = Some(place.1);
        while let Some(at) = next {
            let at = self.goal(at);
            if self.written.contains(&(copy, at)) {
                // Two bytes and an end are better than a jump to them.
                if let Meaning::ReturnConstant(k) = self.meanings[at] {
                    self.mark(Origin::Instruction(copy, at));
                    self.keep(k);
                } else {
                    let label = self.label((copy, at));
                    asm!(self ; jmp =>label);
                }
                return;
            }
            self.mark(Origin::Instruction(copy, at));
            let label = self.label((copy, at));
            self.written.insert((copy, at));
            self.wanted.remove(&(copy, at));
            asm!(self ; =>label);
            next = self.instruction(copy, at);
        }
    }

    /// Verdict 0, or a number of bytes.
    fn keep(&mut self, k: u32) {
        if k == 0 {
            asm!(self ; xor eax, eax ; ret);
        } else {
            asm!(self ; mov eax, DWORD k as i32 ; ret);
        }
    }

    /// Writes one instruction, or several that are one; returns the one to go on with.
    fn instruction(&mut self, copy: Copy, at: usize) -> Option<usize> {
        let facts = self.facts[at];
        match self.meanings[at] {
            Meaning::LoadAbsolute(width, k) => {
                if !self.check(copy, at) {
                    return None;
                }
                if let Some(next) = self.load_and_test(copy, at, width, k) {
                    return next;
                }
                let k = k as i32;
                match (facts.result, width) {
                    (_, Width::Byte) => asm!(self ; movzx eax, BYTE [rdi + k]),
                    (Form::Number, Width::Half) => {
                        asm!(self ; movzx eax, WORD [rdi + k] ; rol ax, 8);
                    }
                    (_, Width::Half) => asm!(self ; movzx eax, WORD [rdi + k]),
                    (Form::Number, Width::Word) => asm!(self ; mov eax, [rdi + k] ; bswap eax),
                    (_, Width::Word) => asm!(self ; mov eax, [rdi + k]),
                }
            }
            Meaning::LoadIndirect(width, k) => {
                if !self.check(copy, at) {
                    return None;
                }
                let k = k as i32;
                match (facts.x_form, width) {
                    (Form::Quarter, Width::Byte) => asm!(self ; movzx eax, BYTE [rdi + rcx * 4 + k]),
                    (Form::Quarter, Width::Half) => asm!(self ; movzx eax, WORD [rdi + rcx * 4 + k]),
                    (Form::Quarter, Width::Word) => asm!(self ; mov eax, [rdi + rcx * 4 + k]),
                    (_, Width::Byte) => asm!(self ; movzx eax, BYTE [rdi + rcx + k]),
                    (_, Width::Half) => asm!(self ; movzx eax, WORD [rdi + rcx + k]),
                    (_, Width::Word) => asm!(self ; mov eax, [rdi + rcx + k]),
                }
                match (facts.result, width) {
                    (Form::Number, Width::Half) => asm!(self ; rol ax, 8),
                    (Form::Number, Width::Word) => asm!(self ; bswap eax),
                    _ => {}
                }
            }
            Meaning::LoadXHeader(k) => {
                if !self.check(copy, at) {
                    return None;
                }
                asm!(self ; movzx ecx, BYTE [rdi + k as i32] ; and ecx, BYTE 0xf);
                if facts.result == Form::Number {
                    asm!(self ; shl ecx, 2);
                }
            }
            Meaning::LoadLength if self.divides => asm!(self ; mov eax, r8d),
            Meaning::LoadLength => asm!(self ; mov eax, edx),
            Meaning::LoadXLength if self.divides => asm!(self ; mov ecx, r8d),
            Meaning::LoadXLength => asm!(self ; mov ecx, edx),
            Meaning::LoadImmediate(0) => asm!(self ; xor eax, eax),
            Meaning::LoadImmediate(k) => asm!(self ; mov eax, DWORD k as i32),
            Meaning::LoadXImmediate(0) => asm!(self ; xor ecx, ecx),
            Meaning::LoadXImmediate(k) => asm!(self ; mov ecx, DWORD k as i32),
            Meaning::LoadScratch(k) => asm!(self ; mov eax, [rsp + scratch(k)]),
            Meaning::LoadXScratch(k) => asm!(self ; mov ecx, [rsp + scratch(k)]),
            Meaning::Store(k) => asm!(self ; mov [rsp + scratch(k)], eax),
            Meaning::StoreX(k) => asm!(self ; mov [rsp + scratch(k)], ecx),
            Meaning::Arithmetic(alu, Operand::K(k)) => self.with_k(alu, k),
            Meaning::Arithmetic(alu, Operand::X) => self.with_x(alu),
            Meaning::Negate => asm!(self ; neg eax),
            Meaning::Tax => asm!(self ; mov ecx, eax),
            Meaning::Txa => asm!(self ; mov eax, ecx),
            Meaning::Jump(_) => return Some(self.goal(at)),
            Meaning::Branch(test, operand, jt, jf) => {
                let holds = self.goal(at + 1 + usize::from(jt));
                if let (Test::Equal, Operand::K(_)) = (test, operand) {
                    return self.one_of(copy, at, holds);
                }
                let fails = self.goal(at + 1 + usize::from(jf));
                let outcome = self.compare(test, operand, facts.a_form);
                return self.branch(copy, outcome, holds, fails);
            }
            Meaning::ReturnConstant(k) => {
                self.keep(k);
                return None;
            }
            Meaning::ReturnA => {
                asm!(self ; ret);
                return None;
            }
        }
        Some(at + 1)
    }

    /// The length check of a load. False where the load cannot succeed: then the program has ended.
    fn check(&mut self, copy: Copy, at: usize) -> bool {
        let check = self.checks.of(copy, at);
        let (length, otherwise) = match check {
            Check::None => return true,
            Check::Hopeless => {
                self.keep(0);
                return false;
            }
            Check::Exact(length) => (length, self.unwanted()),
            Check::Ahead(length) => (length, self.label((Copy::Careful, at))),
        };
        if !matches!(self.meanings[at], Meaning::LoadIndirect(..)) {
            self.compare_length(length);
            asm!(self ; jb =>otherwise);
            return true;
        }
        // X + length in 64 bits: X is below 2^32, and the upper half of rcx is always 0.
        match (i32::try_from(length), self.facts[at].x_form) {
            (Ok(length), Form::Quarter) => asm!(self ; lea r9, [rcx * 4 + length]),
            (Ok(length), _) => asm!(self ; lea r9, [rcx + length]),
            (Err(_), Form::Quarter) => asm!(self ; mov r9d, DWORD length as i32 ; lea r9, [r9 + rcx * 4]),
            (Err(_), _) => asm!(self ; mov r9d, DWORD length as i32 ; add r9, rcx),
        }
        asm!(self ; cmp r9, rsi ; ja =>otherwise);
        true
    }

    /// The label of an instruction; all `ret #0` are one.
    fn label_of(&mut self, copy: Copy, at: usize) -> DynamicLabel {
        match self.meanings[at] {
            Meaning::ReturnConstant(0) => self.unwanted(),
            _ => self.label((copy, at)),
        }
    }

    /// What comes behind the code: verdict 0 and the tables.
    fn finish(mut self) -> Emitted {
        if let Some(label) = self.unwanted {
            self.mark(Origin::Unwanted);
            asm!(self ; =>label ; xor eax, eax ; ret);
        }
        if !self.tables.is_empty() {
            self.mark(Origin::Tables);
        }
        for ((places, width), label) in std::mem::take(&mut self.tables) {
            asm!(self ; .align 64, 0xcc ; =>label);
            for place in places {
                match width {
                    Width::Half => asm!(self ; .u16 place as u16),
                    _ => asm!(self ; .u32 place),
                }
            }
        }
        let bytes = self.ops.finalize().expect("every label that is used was written");
        Emitted { bytes, origins: self.origins }
    }
}

/// Where a word of scratch memory is, from the stack pointer: in the red zone.
fn scratch(word: u32) -> i32 {
    -64 + 4 * word as i32
}
