//! What the translator knows of a program before it writes machine code: which registers matter where, in which form a
//! value is best kept, how far loads reach.
//!
//! All jumps of a program that is translated are forward. So one pass in the program's order sees every way
//! to an instruction before the instruction, and one pass against it sees all that may follow.

use super::super::instruction::{Alu, Meaning, Operand, Test, Width};

/// How a value stands in its register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the number that it is.
    Number,
    /// A word or half word as it stands in the packet, its bytes not swapped: it is only compared with constants,
    /// and these can be swapped beforehand.
    Unswapped(Width),
    /// A quarter of it: an IPv4 header's length that only ever is part of an address, which the processor scales.
    Quarter,
}

/// A machine register of the virtual machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Register {
    A,
    X,
}

/// What is known of one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Facts {
    /// Whether A's value matters before it.
    pub a_matters: bool,
    /// Whether X's value matters before it.
    pub x_matters: bool,
    /// The form of the A that it reads.
    pub a_form: Form,
    /// The form of the X that it reads.
    pub x_form: Form,
    /// The form in which it leaves the register that it sets.
    pub result: Form,
    /// How many ways lead here.
    pub ways_in: u32,
    /// The farthest end of a load at [x + k] from here on while X is the same; 0 if there is none.
    pub reach_from_x: u32,
}

/// The instructions that may come after one.
pub(super) fn successors(at: usize, meaning: Meaning) -> impl Iterator<Item = usize> {
    let (first, second) = match meaning {
        Meaning::ReturnConstant(_) | Meaning::ReturnA => (None, None),
        Meaning::Jump(skip) => (Some(at + 1 + skip as usize), None),
        Meaning::Branch(_, _, jt, jf) => (Some(at + 1 + usize::from(jt)), Some(at + 1 + usize::from(jf))),
        _ => (Some(at + 1), None),
    };
    first.into_iter().chain(second)
}

/// Which register it sets.
pub(super) fn sets(meaning: Meaning) -> Option<Register> {
    match meaning {
        Meaning::LoadAbsolute(..)
        | Meaning::LoadIndirect(..)
        | Meaning::LoadLength
        | Meaning::LoadImmediate(_)
        | Meaning::LoadScratch(_)
        | Meaning::Arithmetic(..)
        | Meaning::Negate
        | Meaning::Txa => Some(Register::A),
        Meaning::LoadXLength
        | Meaning::LoadXImmediate(_)
        | Meaning::LoadXScratch(_)
        | Meaning::LoadXHeader(_)
        | Meaning::Tax => Some(Register::X),
        _ => None,
    }
}

/// Whether it reads A, and whether X.
fn reads(meaning: Meaning) -> (bool, bool) {
    match meaning {
        Meaning::Store(_) | Meaning::Negate | Meaning::ReturnA | Meaning::Tax => (true, false),
        Meaning::Arithmetic(_, Operand::K(_)) | Meaning::Branch(_, Operand::K(_), ..) => (true, false),
        Meaning::Arithmetic(_, Operand::X) | Meaning::Branch(_, Operand::X, ..) => (true, true),
        Meaning::LoadIndirect(..) | Meaning::StoreX(_) | Meaning::Txa => (false, true),
        _ => (false, false),
    }
}

/// All facts of a program, an entry for each instruction.
pub(super) fn facts(meanings: &[Meaning]) -> Vec<Facts> {
    let nothing = Facts {
        a_matters: false,
        x_matters: false,
        a_form: Form::Number,
        x_form: Form::Number,
        result: Form::Number,
        ways_in: 0,
        reach_from_x: 0,
    };
    let mut facts = vec![nothing; meanings.len()];
    backward(meanings, &mut facts);
    forms(meanings, &mut facts, Register::A);
    forms(meanings, &mut facts, Register::X);
    facts
}

/// What matters, and how far loads reach.
fn backward(meanings: &[Meaning], facts: &mut [Facts]) {
    for (at, &meaning) in meanings.iter().enumerate().rev() {
        let mut here = Facts { ways_in: 0, ..facts[at] };
        for next in successors(at, meaning) {
            here.a_matters |= facts[next].a_matters;
            here.x_matters |= facts[next].x_matters;
            here.reach_from_x = here.reach_from_x.max(facts[next].reach_from_x);
        }
        match sets(meaning) {
            Some(Register::A) => here.a_matters = false,
            Some(Register::X) => (here.x_matters, here.reach_from_x) = (false, 0),
            None => {}
        }
        let (a, x) = reads(meaning);
        here.a_matters |= a;
        here.x_matters |= x;
        if let Meaning::LoadIndirect(width, k) = meaning {
            here.reach_from_x = here.reach_from_x.max(k + width.bytes());
        }
        facts[at] = here;
    }
    let mut reached = vec![false; meanings.len()];
    reached[0] = true;
    for (at, &meaning) in meanings.iter().enumerate() {
        if reached[at] {
            for next in successors(at, meaning) {
                reached[next] = true;
                facts[next].ways_in += 1;
            }
        }
    }
}

/// Chooses the form of every value of a register. Values that may meet in one instruction must have one form: they are
/// one set, and the set has another form than `Number` only if all that make its values and all that read them agree.
fn forms(meanings: &[Meaning], facts: &mut [Facts], register: Register) {
    // Sets by union and find. Set 0 is the 0 that the register begins with; set 1 + n the value that instruction n makes.
    let mut sets_of = Sets::new(meanings.len() + 1);
    let mut before: Vec<Option<usize>> = vec![None; meanings.len()];
    let mut reached = vec![false; meanings.len()];
    let matters = |at: usize| match register {
        Register::A => facts[at].a_matters,
        Register::X => facts[at].x_matters,
    };
    reached[0] = true;
    before[0] = matters(0).then_some(0);
    for (at, &meaning) in meanings.iter().enumerate() {
        if !reached[at] {
            continue;
        }
        let after = if sets(meaning) == Some(register) { Some(at + 1) } else { before[at] };
        for next in successors(at, meaning) {
            reached[next] = true;
            if !matters(next) {
                continue;
            }
            before[next] = match (before[next], after) {
                (Some(one), Some(other)) => Some(sets_of.join(one, other)),
                (one, other) => one.or(other),
            };
        }
    }

    // The form that all of a set's makers and readers agree on; `None` while none has spoken.
    let mut agreed: Vec<Option<Form>> = vec![None; meanings.len() + 1];
    let start = sets_of.find(0);
    agreed[start] = Some(Form::Number);
    for (at, &meaning) in meanings.iter().enumerate().filter(|(at, _)| reached[*at]) {
        if sets(meaning) == Some(register) {
            let wished = match meaning {
                Meaning::LoadAbsolute(width, _) | Meaning::LoadIndirect(width, _) if width != Width::Byte => {
                    Form::Unswapped(width)
                }
                Meaning::LoadXHeader(_) => Form::Quarter,
                _ => Form::Number,
            };
            let set = &mut agreed[sets_of.find(at + 1)];
            *set = Some(if set.is_none_or(|s| s == wished) { wished } else { Form::Number });
        }
        let (reads_a, reads_x) = reads(meaning);
        let content = match (register, meaning) {
            (Register::A, Meaning::Branch(Test::Equal | Test::AnyBit, Operand::K(_), ..)) => true,
            (Register::A, _) => !reads_a,
            (Register::X, Meaning::LoadIndirect(..)) => true,
            (Register::X, _) => !reads_x,
        };
        if let (false, Some(set)) = (content, before[at]) {
            agreed[sets_of.find(set)] = Some(Form::Number);
        }
    }
    // A reader that insisted on the number before a maker spoke has set `Number`, and makers keep that.
    for (at, &meaning) in meanings.iter().enumerate().filter(|(at, _)| reached[*at]) {
        let form_of = |set: usize, sets_of: &mut Sets| agreed[sets_of.find(set)].unwrap_or(Form::Number);
        if sets(meaning) == Some(register) {
            facts[at].result = form_of(at + 1, &mut sets_of);
        }
        if let Some(set) = before[at] {
            let form = form_of(set, &mut sets_of);
            match register {
                Register::A => facts[at].a_form = form,
                Register::X => facts[at].x_form = form,
            }
        }
    }
}

/// Disjoint sets.
struct Sets(Vec<usize>);

impl Sets {
    fn new(count: usize) -> Self {
        Sets((0..count).collect())
    }

    fn find(&mut self, mut one: usize) -> usize {
        while self.0[one] != one {
            self.0[one] = self.0[self.0[one]];
            one = self.0[one];
        }
        one
    }

    fn join(&mut self, one: usize, other: usize) -> usize {
        let (one, other) = (self.find(one), self.find(other));
        self.0[other] = one;
        one
    }
}

/// Whether a program divides in a way that needs the processor's division.
pub(super) fn divides(meanings: &[Meaning]) -> bool {
    meanings.iter().any(|meaning| match meaning {
        Meaning::Arithmetic(Alu::Div | Alu::Mod, Operand::K(k)) => !k.is_power_of_two(),
        Meaning::Arithmetic(Alu::Div | Alu::Mod, Operand::X) => true,
        _ => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_that_is_only_compared_stays_as_the_packet_has_it() {
        let load = |at| Meaning::LoadAbsolute(Width::Half, at);
        let equal = |k, jt, jf| Meaning::Branch(Test::Equal, Operand::K(k), jt, jf);
        let greater = Meaning::Branch(Test::Greater, Operand::K(5), 0, 0);
        let end = Meaning::ReturnConstant(1);
        let form = |meanings: &[Meaning]| facts(meanings)[0].result;
        assert_eq!(form(&[load(12), equal(7, 0, 0), end]), Form::Unswapped(Width::Half));
        assert_eq!(form(&[load(12), equal(7, 0, 0), greater, end]), Form::Number);
        assert_eq!(form(&[load(12), equal(7, 0, 1), greater, end]), Form::Number);
        // Two loads of the same width may meet, those of different widths not.
        let meet = |width| [load(12), equal(7, 0, 1), Meaning::LoadAbsolute(width, 20), equal(9, 0, 0), end];
        assert_eq!(form(&meet(Width::Half)), Form::Unswapped(Width::Half));
        assert_eq!(form(&meet(Width::Word)), Form::Number);
        assert_eq!(form(&meet(Width::Byte)), Form::Number);
    }

    #[test]
    fn a_header_length_that_is_part_of_addresses_is_kept_as_a_quarter() {
        let end = Meaning::ReturnA;
        let header = Meaning::LoadXHeader(14);
        let at_x = |k| Meaning::LoadIndirect(Width::Half, k);
        let alone = facts(&[header, at_x(14), at_x(16), end]);
        assert_eq!((alone[0].result, alone[1].x_form), (Form::Quarter, Form::Quarter));
        assert_eq!(alone[1].reach_from_x, 18);
        assert_eq!(facts(&[header, Meaning::Txa, end])[0].result, Form::Number);
    }
}
