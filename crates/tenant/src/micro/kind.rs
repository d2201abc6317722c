//! Which KVM this machine has, if any: asked, and then measured.

use std::arch::x86_64::{__cpuid, _rdtsc};
use std::sync::OnceLock;

use kvm_bindings::kvm_regs;
use kvm_ioctls::{Cap, Kvm, VcpuExit};
use tollway_core::{KvmKind, Missing};

use super::error::MicroError;
use super::machine::Machine;
use super::memory::Region;
use super::own::{PAGE, Slot};
use super::space::{OWN, Space, View};
use super::tables::Access;
use super::vcpu::Ring;

/// What [`check`] found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KvmCheck {
    /// Which KVM this is.
    pub kind: KvmKind,
    /// Cycles of one step of a counting loop in ring 0 (two instructions): about 1 on hardware, a thousand in software.
    pub ring0_step_cycles: f64,
}

/// Above this many cycles a step of the counting loop was not run by the processor.
const EMULATED: f64 = 100.0;
/// Steps of the counting loop; few, since each may take a thousand cycles.
const STEPS: u64 = 1000;

/// Opens `/dev/kvm` and asks for what micro-guests need.
pub(super) fn open() -> Result<Kvm, MicroError> {
    let missing = |reason: String, remedy: &str| {
        Err(MicroError::Unavailable(Missing::new("micro-guests", reason, remedy)))
    };
    let kvm = match Kvm::new() {
        Ok(kvm) => kvm,
        Err(error) => {
            let remedy = match error.errno() {
                libc::EACCES | libc::EPERM => "add the user to the group that owns /dev/kvm, or run as root",
                _ => {
                    "load kvm_intel or kvm_amd; inside a virtual machine, let its host enable nested virtualisation"
                }
            };
            return missing(format!("/dev/kvm cannot be opened: {error}"), remedy);
        }
    };
    let version = kvm.get_api_version();
    if version != 12 {
        return missing(format!("/dev/kvm has version {version}, not 12"), "use Linux 2.6.22 or newer");
    }
    for (cap, name) in [
        (Cap::UserMemory, "user memory"),
        (Cap::Ioeventfd, "ioeventfd"),
        (Cap::ImmediateExit, "immediate exit"),
        (Cap::ExtCpuid, "CPUID"),
    ] {
        if !kvm.check_extension(cap) {
            return missing(format!("/dev/kvm lacks the capability {name}"), "use Linux 4.13 or newer");
        }
    }
    Ok(kvm)
}

/// Whether micro-guests can run here, and on which kind of KVM. Takes some milliseconds the first time.
pub fn check() -> Result<KvmCheck, MicroError> {
    static FOUND: OnceLock<KvmCheck> = OnceLock::new();
    if let Some(found) = FOUND.get() {
        return Ok(*found);
    }
    let ring0_step_cycles = ring0_step(&open()?)?;
    let kind = if ring0_step_cycles > EMULATED {
        KvmKind::Software
    } else if __cpuid(0x8000_0000).eax >= 0x8000_0001 && __cpuid(0x8000_0001).ecx & (1 << 2) != 0 {
        KvmKind::Svm
    } else {
        KvmKind::Vmx
    };
    Ok(*FOUND.get_or_init(|| KvmCheck { kind, ring0_step_cycles }))
}

/// Cycles of one step of a counting loop in ring 0.
fn ring0_step(kvm: &Kvm) -> Result<f64, MicroError> {
    // 1: dec rcx; jnz 1b; hlt
    const CODE: [u8; 6] = [0x48, 0xff, 0xc9, 0x75, 0xfb, 0xf4];
    let page = Region::anonymous(PAGE)?;
    let range = page.range();
    // SAFETY: the page is mapped, writable and known to nobody else.
    unsafe { (range.start as *mut [u8; 6]).write(CODE) };
    let slots = vec![Slot { range: range.clone(), physical: OWN }];
    let access = Access { user: false, write: false, execute: true };
    let views = [View { range: range.clone(), physical: OWN, access }];
    let space = Space::new(slots, &views, 16, vec![page])?;
    let mut vcpu = Machine::bare(kvm, &space)?.processor(kvm, 0, Ring::Kernel)?;
    vcpu.prepare(0)?;
    let mut count = |steps: u64| -> Result<u64, MicroError> {
        let regs = kvm_regs { rip: range.start as u64, rcx: steps, rflags: 2, ..Default::default() };
        vcpu.start_at(&regs)?;
        // SAFETY: the instruction exists on every x86-64.
        let before = unsafe { _rdtsc() };
        loop {
            match vcpu.fd.run() {
                Ok(VcpuExit::Hlt) => break,
                Err(error) if matches!(error.errno(), libc::EINTR | libc::EAGAIN) => {}
                other => {
                    let exit = format!("{other:?}");
                    return Err(MicroError::Unexpected { exit, rip: vcpu.rip() });
                }
            }
        }
        // SAFETY: as above.
        Ok(unsafe { _rdtsc() }.wrapping_sub(before))
    };
    count(1)?;
    // The least of three of each, so that what entering and leaving takes drops out.
    let (mut few, mut many) = (u64::MAX, u64::MAX);
    for _ in 0..3 {
        few = few.min(count(1)?);
        many = many.min(count(1 + STEPS)?);
    }
    Ok(many.saturating_sub(few) as f64 / STEPS as f64)
}
