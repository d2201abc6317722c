//! A plain machine, which knows where libpcap and Linux differ.

use tollway_capture::engine::bpf::{Alu, Meaning, Operand, Program, Test, Width};

/// The rules by which the plain machine goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rules {
    /// libpcap's, and ours.
    Libpcap,
    /// Linux's: shifts by the low five bits of X; x + k wraps around, and may be negative.
    Linux,
}

/// The plain machine's verdict.
pub fn verdict(program: &Program, bytes: &[u8], wire_length: u32, rules: Rules) -> u32 {
    judge(program, bytes, wire_length, rules).unwrap_or(0)
}

/// The plain machine: one instruction after the other, every byte looked up by itself. `None` where a load beyond the
/// packet or a division by 0 ended the program, which is verdict 0.
pub fn judge(program: &Program, bytes: &[u8], wire_length: u32, rules: Rules) -> Option<u32> {
    let (mut a, mut x, mut scratch, mut at) = (0u32, 0u32, [0u32; 16], 0usize);
    // What jumps backward more often, on average, than the packet has bytes is ended.
    let mut rounds = bytes.len() as u64 * u64::from(program.backward_jumps());
    let load = |from: u64, width: Width| -> Option<u32> {
        (0..u64::from(width.bytes())).try_fold(0u32, |value, i| {
            let byte = bytes.get(usize::try_from(from + i).ok()?)?;
            Some(value << 8 | u32::from(*byte))
        })
    };
    loop {
        let Some(meaning) = program.instructions()[at].meaning() else { unreachable!("it was checked") };
        at += 1;
        let value = |operand| match operand {
            Operand::K(k) => k,
            Operand::X => x,
        };
        match meaning {
            Meaning::LoadAbsolute(width, k) => a = load(k.into(), width)?,
            Meaning::LoadIndirect(width, k) => {
                let from = match rules {
                    Rules::Libpcap => u64::from(x) + u64::from(k),
                    Rules::Linux => linux_offset(x.wrapping_add(k))?,
                };
                a = load(from, width)?;
            }
            Meaning::LoadXHeader(k) => x = 4 * (load(k.into(), Width::Byte)? % 16),
            Meaning::LoadLength => a = wire_length,
            Meaning::LoadXLength => x = wire_length,
            Meaning::LoadImmediate(k) => a = k,
            Meaning::LoadXImmediate(k) => x = k,
            Meaning::LoadScratch(k) => a = scratch[k as usize],
            Meaning::LoadXScratch(k) => x = scratch[k as usize],
            Meaning::Store(k) => scratch[k as usize] = a,
            Meaning::StoreX(k) => scratch[k as usize] = x,
            Meaning::Arithmetic(alu, operand) => {
                let by = value(operand);
                let shift = if rules == Rules::Linux { by & 31 } else { by };
                a = match alu {
                    Alu::Add => a.wrapping_add(by),
                    Alu::Sub => a.wrapping_sub(by),
                    Alu::Mul => a.wrapping_mul(by),
                    Alu::Div | Alu::Mod if by == 0 => return None,
                    Alu::Div => a / by,
                    Alu::Mod => a % by,
                    Alu::Or => a | by,
                    Alu::And => a & by,
                    Alu::Xor => a ^ by,
                    Alu::ShiftLeft => u64::from(a).checked_shl(shift).unwrap_or(0) as u32,
                    Alu::ShiftRight => u64::from(a).checked_shr(shift).unwrap_or(0) as u32,
                };
            }
            Meaning::Negate => a = 0u32.wrapping_sub(a),
            Meaning::Jump(skip) => {
                if (skip as i32) < 0 {
                    rounds = rounds.checked_sub(1)?;
                }
                at = at.checked_add_signed(skip as i32 as isize)?;
            }
            Meaning::Branch(test, operand, jt, jf) => {
                let other = value(operand);
                let holds = match test {
                    Test::Equal => a == other,
                    Test::Greater => a > other,
                    Test::GreaterOrEqual => a >= other,
                    Test::AnyBit => a & other != 0,
                };
                at += usize::from(if holds { jt } else { jf });
            }
            Meaning::ReturnConstant(k) => return Some(k),
            Meaning::ReturnA => return Some(a),
            Meaning::Tax => x = a,
            Meaning::Txa => a = x,
        }
    }
}

/// Where Linux looks for an offset. From 2³¹ on it is a negative number: SKF_NET_OFF (−0x100000) and more is the
/// network header, which a Unix socket's packets have at their first byte; below that is the link header, which they lack.
/// Source: `bpf_internal_load_pointer_neg_helper` in kernel/bpf/core.c.
fn linux_offset(offset: u32) -> Option<u64> {
    const NETWORK: i32 = -0x10_0000;
    match offset as i32 {
        offset @ 0.. => Some(offset as u64),
        offset @ NETWORK.. => Some((offset - NETWORK) as u64),
        _ => None,
    }
}
