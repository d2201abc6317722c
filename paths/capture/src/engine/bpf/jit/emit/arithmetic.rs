//! Arithmetic as machine code.

use dynasmrt::{DynasmApi, DynasmLabelApi, dynasm};

use super::super::super::instruction::Alu;
use super::Emitter;

impl Emitter<'_> {
    pub(super) fn with_k(&mut self, alu: Alu, k: u32) {
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

    pub(super) fn with_x(&mut self, alu: Alu) {
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
}
