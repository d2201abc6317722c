//! An exit of the virtual machine that this program itself runs in.

use std::arch::x86_64::__cpuid;

use tollway_core::{Error, Missing, Params, Place, Result};

use super::Operation;

/// CPUID, which VT-x always takes to the hypervisor and which AMD-V hypervisors intercept.
pub struct ExitInside {
    /// The highest leaf and the maker's name, which do not change while a program runs.
    expected: [u32; 4],
    wrong: u64,
}

fn leaf_zero() -> [u32; 4] {
    let answer = __cpuid(0);
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

impl Operation for ExitInside {
    fn prepare(_: &Params, _: &Place) -> Result<Self> {
        // CPUID 1, ECX bit 31: reserved by Intel and AMD for hypervisors to announce themselves.
        if __cpuid(1).ecx >> 31 == 0 {
            return Err(Error::Missing(Missing::new(
                "a virtual machine around this program",
                "CPUID announces no hypervisor",
                "run it inside a guest",
            )));
        }
        Ok(ExitInside { expected: leaf_zero(), wrong: 0 })
    }

    #[inline]
    fn once(&mut self) {
        self.wrong += u64::from(leaf_zero() != self.expected);
    }

    fn verify(&mut self, done: u64) -> Result<()> {
        match self.wrong {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {done} answers named another processor"))),
        }
    }
}
