//! Tests and branches as machine code.

use dynasmrt::{DynamicLabel, DynasmApi, DynasmLabelApi, dynasm};

use super::super::super::instruction::{Meaning, Operand, Test, Width};
use super::super::Origin;
use super::super::flow::Form;
use super::super::lengths::Copy;
use super::super::sets::{self, Table};
use super::Emitter;

/// When a branch is taken, after the comparison that belongs to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Condition {
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
pub(super) enum Outcome {
    /// The processor's flags say it.
    Flags(Condition),
    /// It is known beforehand.
    Always(bool),
}

impl Emitter<'_> {
    /// A load whose value is needed by the next instruction's test with a constant and by nothing else: the processor
    /// compares with the packet itself.
    pub(super) fn load_and_test(
        &mut self,
        copy: Copy,
        at: usize,
        width: Width,
        k: u32,
    ) -> Option<Option<usize>> {
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
    pub(super) fn compare(&mut self, test: Test, operand: Operand, form: Form) -> Outcome {
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
    pub(super) fn branch(
        &mut self,
        copy: Copy,
        outcome: Outcome,
        holds: usize,
        fails: usize,
    ) -> Option<usize> {
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

    /// Both ways end the program: chosen without a branch, which no predictor can get wrong.
    pub(super) fn choose(&mut self, condition: Condition, wanted: u32, otherwise: u32) {
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

    pub(super) fn jump_if(&mut self, condition: Condition, label: DynamicLabel) {
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
    pub(super) fn one_of(&mut self, copy: Copy, at: usize, goal: usize) -> Option<usize> {
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
    pub(super) fn look_up(&mut self, table: Table, width: Width) {
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
}

fn condition(test: Test) -> Condition {
    match test {
        Test::Equal => Condition::Equal,
        Test::Greater => Condition::Above,
        Test::GreaterOrEqual => Condition::AboveOrEqual,
        Test::AnyBit => Condition::NotEqual,
    }
}
