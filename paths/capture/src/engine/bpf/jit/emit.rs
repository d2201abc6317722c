//! Machine code, instruction by instruction.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use dynasmrt::x64::X64Relocation;
use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, VecAssembler, dynasm};

use super::super::instruction::{Alu, Meaning, Operand, Test, Width};
use super::Origin;
use super::flow::{self, Facts, Form};
use super::lengths::{Check, Checks, Copy};
use super::sets::{self, Table};

/// The code, and which part of it comes from where.
pub(super) struct Emitted {
    pub bytes: Vec<u8>,
    /// Where a new origin begins, in the order of the code.
    pub origins: Vec<(usize, Origin)>,
}

/// When a branch is taken, after the comparison that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Condition {
    Equal,
    NotEqual,
    Above,
    AboveOrEqual,
    Below,
    BelowOrEqual,
}

impl Condition {
    fn inverted(self) -> Self {
        match self {
            Condition::Equal => Condition::NotEqual,
            Condition::NotEqual => Condition::Equal,
            Condition::Above => Condition::BelowOrEqual,
            Condition::AboveOrEqual => Condition::Below,
            Condition::Below => Condition::AboveOrEqual,
            Condition::BelowOrEqual => Condition::Above,
        }
    }
}

/// What a test comes to.
enum Outcome {
    /// The processor's flags say it.
    Flags(Condition),
    /// It is known beforehand.
    Always(bool),
}

/// An instruction in one of the copies.
type Place = (Copy, usize);

struct Emitter<'a> {
    ops: VecAssembler<X64Relocation>,
    meanings: &'a [Meaning],
    facts: &'a [Facts],
    checks: &'a Checks,
    labels: HashMap<Place, DynamicLabel>,
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
        labels: HashMap::new(),
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

    /// A load whose value is needed by the next instruction's test with a constant and by nothing else: the processor
    /// compares with the packet itself.
    fn load_and_test(&mut self, copy: Copy, at: usize, width: Width, k: u32) -> Option<Option<usize>> {
        let next = at + 1;
        let &Meaning::Branch(test, Operand::K(constant), jt, jf) = self.meanings.get(next)? else {
            return None;
        };
        let (holds, fails) = (next + 1 + usize::from(jt), next + 1 + usize::from(jf));
        let needed_later = self.facts[holds].a_matters || self.facts[fails].a_matters;
        if needed_later || self.facts[next].ways_in > 1 {
            return None;
        }
        let k = k as i32;
        let outcome = match (test, width) {
            (Test::Equal, _) if width != Width::Word && constant >> (8 * width.bytes()) != 0 => {
                Outcome::Always(false)
            }
            (Test::Equal, Width::Word) => {
                asm!(self ; cmp DWORD [rdi + k], DWORD constant.swap_bytes() as i32);
                Outcome::Flags(Condition::Equal)
            }
            (Test::Equal, Width::Half) => {
                asm!(self ; cmp WORD [rdi + k], WORD (constant as u16).swap_bytes() as i16);
                Outcome::Flags(Condition::Equal)
            }
            (Test::Equal, Width::Byte) => {
                asm!(self ; cmp BYTE [rdi + k], BYTE constant as i8);
                Outcome::Flags(Condition::Equal)
            }
            (Test::AnyBit, Width::Word) => {
                asm!(self ; test DWORD [rdi + k], DWORD constant.swap_bytes() as i32);
                Outcome::Flags(Condition::NotEqual)
            }
            (Test::AnyBit, Width::Half) => {
                asm!(self ; test WORD [rdi + k], WORD (constant as u16).swap_bytes() as i16);
                Outcome::Flags(Condition::NotEqual)
            }
            (Test::AnyBit, Width::Byte) => {
                asm!(self ; test BYTE [rdi + k], BYTE constant as i8);
                Outcome::Flags(Condition::NotEqual)
            }
            (Test::Greater | Test::GreaterOrEqual, Width::Byte) if constant <= 0xff => {
                asm!(self ; cmp BYTE [rdi + k], BYTE constant as i8);
                Outcome::Flags(if test == Test::Greater { Condition::Above } else { Condition::AboveOrEqual })
            }
            _ => return None,
        };
        self.mark(Origin::Instruction(copy, next));
        let (holds, fails) = (self.goal(holds), self.goal(fails));
        Some(self.branch(copy, outcome, holds, fails))
    }

    /// Compares A, which stands in `form`.
    fn compare(&mut self, test: Test, operand: Operand, form: Form) -> Outcome {
        let k = match operand {
            Operand::X => {
                if test == Test::AnyBit {
                    asm!(self ; test eax, ecx);
                } else {
                    asm!(self ; cmp eax, ecx);
                }
                return Outcome::Flags(condition(test));
            }
            Operand::K(k) => k,
        };
        let k = match form {
            Form::Unswapped(Width::Half) if test == Test::Equal && k > 0xffff => {
                return Outcome::Always(false);
            }
            Form::Unswapped(Width::Half) => u32::from((k as u16).swap_bytes()),
            Form::Unswapped(_) => k.swap_bytes(),
            _ => k,
        };
        match (test, k) {
            (Test::AnyBit, _) => asm!(self ; test eax, DWORD k as i32),
            (Test::Equal, 0) => asm!(self ; test eax, eax),
            _ => match i8::try_from(k as i32) {
                // Likewise `cmp eax, imm8`.
                Ok(short) => asm!(self ; .u8 0x83, 0xf8 ; .i8 short),
                Err(_) => asm!(self ; cmp eax, DWORD k as i32),
            },
        }
        Outcome::Flags(condition(test))
    }

    /// Goes where the test says. Returns the place to go on with.
    fn branch(&mut self, copy: Copy, outcome: Outcome, holds: usize, fails: usize) -> Option<usize> {
        let condition = match outcome {
            Outcome::Always(true) => return Some(holds),
            Outcome::Always(false) => return Some(fails),
            Outcome::Flags(_) if holds == fails => return Some(holds),
            Outcome::Flags(condition) => condition,
        };
        if let (Meaning::ReturnConstant(wanted), Meaning::ReturnConstant(otherwise)) =
            (self.meanings[holds], self.meanings[fails])
        {
            self.choose(condition, wanted, otherwise);
            return None;
        }
        // What is nearer in the program and not written yet comes next.
        let (near, far, leave) =
            if holds < fails { (holds, fails, condition.inverted()) } else { (fails, holds, condition) };
        let (next, other, leave) =
            if self.written.contains(&(copy, near)) && !self.written.contains(&(copy, far)) {
                (far, near, leave.inverted())
            } else {
                (near, far, leave)
            };
        let label = self.label_of(copy, other);
        self.jump_if(leave, label);
        Some(next)
    }

    /// The label of an instruction; all `ret #0` are one.
    fn label_of(&mut self, copy: Copy, at: usize) -> DynamicLabel {
        match self.meanings[at] {
            Meaning::ReturnConstant(0) => self.unwanted(),
            _ => self.label((copy, at)),
        }
    }

    /// Both ways end the program: chosen without a branch, which no predictor can get wrong.
    fn choose(&mut self, condition: Condition, wanted: u32, otherwise: u32) {
        asm!(self ; mov eax, DWORD otherwise as i32 ; mov r9d, DWORD wanted as i32);
        match condition {
            Condition::Equal => asm!(self ; cmove eax, r9d),
            Condition::NotEqual => asm!(self ; cmovne eax, r9d),
            Condition::Above => asm!(self ; cmova eax, r9d),
            Condition::AboveOrEqual => asm!(self ; cmovae eax, r9d),
            Condition::Below => asm!(self ; cmovb eax, r9d),
            Condition::BelowOrEqual => asm!(self ; cmovbe eax, r9d),
        }
        asm!(self ; ret);
    }

    fn jump_if(&mut self, condition: Condition, label: DynamicLabel) {
        match condition {
            Condition::Equal => asm!(self ; je =>label),
            Condition::NotEqual => asm!(self ; jne =>label),
            Condition::Above => asm!(self ; ja =>label),
            Condition::AboveOrEqual => asm!(self ; jae =>label),
            Condition::Below => asm!(self ; jb =>label),
            Condition::BelowOrEqual => asm!(self ; jbe =>label),
        }
    }

    /// `jeq` with all that follow it if it fails and go to the same place if they hold.
    fn one_of(&mut self, copy: Copy, at: usize, goal: usize) -> Option<usize> {
        let form = self.facts[at].a_form;
        let mut constants: Vec<u32> = Vec::new();
        let mut next = at;
        while let Meaning::Branch(Test::Equal, Operand::K(k), jt, jf) = self.meanings[next] {
            if self.goal(next + 1 + usize::from(jt)) != goal || constants.len() == sets::LARGEST {
                break;
            }
            constants.push(k);
            next = self.goal(next + 1 + usize::from(jf));
        }
        constants.sort_unstable();
        constants.dedup();
        let width = match form {
            Form::Unswapped(Width::Half) => {
                constants.retain(|k| *k <= 0xffff);
                constants.iter_mut().for_each(|k| *k = u32::from((*k as u16).swap_bytes()));
                Width::Half
            }
            Form::Unswapped(_) => {
                constants.iter_mut().for_each(|k| *k = k.swap_bytes());
                Width::Word
            }
            _ => Width::Word,
        };
        if constants.len() >= sets::SMALLEST
            && let Some(table) = Table::new(&constants)
        {
            self.look_up(table, width);
            return self.branch(copy, Outcome::Flags(Condition::Equal), goal, next);
        }
        let Some((&last, rest)) = constants.split_last() else { return Some(next) };
        if !rest.is_empty() {
            let label = self.label_of(copy, goal);
            for &k in rest {
                self.compare(Test::Equal, Operand::K(k), Form::Number);
                asm!(self ; je =>label);
            }
        }
        let outcome = self.compare(Test::Equal, Operand::K(last), Form::Number);
        self.branch(copy, outcome, goal, next)
    }

    /// Looks A up: the flags say equal if it is in the table.
    fn look_up(&mut self, table: Table, width: Width) {
        let Table { multiplier, shift, places } = table;
        let Emitter { tables, ops, .. } = self;
        let label = *tables.entry((places, width)).or_insert_with(|| ops.new_dynamic_label());
        asm!(self
            ; imul r9d, eax, DWORD multiplier as i32
            ; lea r10, [=>label]
            ; shr r9d, BYTE shift as i8
        );
        if width == Width::Half {
            asm!(self ; cmp ax, [r10 + r9 * 2]);
        } else {
            asm!(self ; cmp eax, [r10 + r9 * 4]);
        }
    }

    fn with_k(&mut self, alu: Alu, k: u32) {
        match alu {
            Alu::Add => with_constant!(self, add, k),
            Alu::Sub => with_constant!(self, sub, k),
            Alu::Or => with_constant!(self, or, k),
            Alu::And => with_constant!(self, and, k),
            Alu::Xor => with_constant!(self, xor, k),
            Alu::Mul => asm!(self ; imul eax, eax, DWORD k as i32),
            Alu::ShiftLeft => asm!(self ; shl eax, BYTE k as i8),
            Alu::ShiftRight => asm!(self ; shr eax, BYTE k as i8),
            Alu::Div if k.is_power_of_two() => asm!(self ; shr eax, BYTE k.trailing_zeros() as i8),
            Alu::Mod if k.is_power_of_two() => with_constant!(self, and, k - 1),
            Alu::Div => asm!(self ; xor edx, edx ; mov r9d, DWORD k as i32 ; div r9d),
            Alu::Mod => asm!(self ; xor edx, edx ; mov r9d, DWORD k as i32 ; div r9d ; mov eax, edx),
        }
    }

    fn with_x(&mut self, alu: Alu) {
        match alu {
            Alu::Add => asm!(self ; add eax, ecx),
            Alu::Sub => asm!(self ; sub eax, ecx),
            Alu::Mul => asm!(self ; imul eax, ecx),
            Alu::Or => asm!(self ; or eax, ecx),
            Alu::And => asm!(self ; and eax, ecx),
            Alu::Xor => asm!(self ; xor eax, ecx),
            // An X of 32 or more makes 0: the mask is all ones only below that.
            Alu::ShiftLeft => {
                asm!(self ; cmp ecx, BYTE 32 ; sbb r9d, r9d ; shl eax, cl ; and eax, r9d);
            }
            Alu::ShiftRight => {
                asm!(self ; cmp ecx, BYTE 32 ; sbb r9d, r9d ; shr eax, cl ; and eax, r9d);
            }
            Alu::Div | Alu::Mod => {
                let unwanted = self.unwanted();
                asm!(self ; test ecx, ecx ; jz =>unwanted ; xor edx, edx ; div ecx);
                if alu == Alu::Mod {
                    asm!(self ; mov eax, edx);
                }
            }
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

fn condition(test: Test) -> Condition {
    match test {
        Test::Equal => Condition::Equal,
        Test::Greater => Condition::Above,
        Test::GreaterOrEqual => Condition::AboveOrEqual,
        Test::AnyBit => Condition::NotEqual,
    }
}

/// Where a word of scratch memory is, from the stack pointer: in the red zone.
fn scratch(word: u32) -> i32 {
    -64 + 4 * word as i32
}
