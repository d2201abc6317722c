//! One virtual processor: 64-bit mode at once, brought into a first state, started, and asked what stopped it.

use std::sync::{Arc, OnceLock};

use kvm_bindings::{
    CpuId, KVM_MAX_CPUID_ENTRIES, KVM_VCPU_TSC_CTRL, KVM_VCPU_TSC_OFFSET, Msrs, kvm_device_attr,
    kvm_msr_entry, kvm_regs, kvm_segment, kvm_sregs, kvm_vcpu_events, kvm_xcrs, kvm_xsave,
};
use kvm_ioctls::{Kvm, VcpuFd};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use super::error::MicroError;
use super::interrupts::Line;
use super::machine::{Machine, borrow};
use super::own::PAGE;
use super::space::{KERNEL_CODE, KERNEL_DATA, Space, TASK_LIMIT, USER_CODE, USER_DATA};

/// Where a system call jumps to.
const MSR_LSTAR: u32 = 0xc000_0082;

/// More exits than one instruction needs to finish: it stores at most 4 KiB (a tile's state, XSAVE), 8 bytes a piece.
const MOST_PIECES: usize = 4096;

/// Interrupts off, ports open to ring 3.
pub(super) const FLAGS: u64 = 0x3002;

/// Added to them: interrupts on.
pub(super) const INTERRUPTS_ON: u64 = 0x200;

/// Which ring code runs in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ring {
    /// Ring 0, as an operating system's: natively on hardware KVM only.
    Kernel,
    /// Ring 3, as a program's.
    User,
}

/// What stopped the code, as far as KVM tells; addresses are the guest's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Exception {
    /// `None` if KVM shut the machine down instead of delivering an exception, or if it was a system call.
    pub(super) vector: Option<u8>,
    pub(super) error_code: Option<u64>,
    /// The address of a page fault.
    pub(super) address: Option<u64>,
    pub(super) rip: u64,
    pub(super) rsp: u64,
    pub(super) system_call: bool,
}

/// The processor. It may be used by any one thread at a time; the processors of one machine run independently.
/// Fields are dropped in this order: the processor before its machine.
#[derive(Debug)]
pub(super) struct Vcpu {
    pub(super) fd: VcpuFd,
    sregs: kvm_sregs,
    xcrs: Option<kvm_xcrs>,
    syscall_trap: u64,
    /// It is in a state in which code can start.
    pub(super) clean: bool,
    /// Where interrupts for it come from.
    pub(super) line: Option<Arc<Line>>,
    /// Where the stack ends that they are handled on.
    pub(super) interrupt_stack: usize,
    number: usize,
    machine: Arc<Machine>,
}

impl Vcpu {
    /// Processor `number` of `machine`.
    pub(super) fn new(
        kvm: &Kvm,
        machine: Arc<Machine>,
        number: usize,
        ring: Ring,
    ) -> Result<Vcpu, MicroError> {
        fill(machine.own_page(number), machine.space.task(number).0);
        let fd =
            machine.vm.create_vcpu(number as u64).map_err(MicroError::setup("create a virtual processor"))?;
        let cpuid = supported(kvm)?;
        fd.set_cpuid2(cpuid).map_err(MicroError::setup("set what the virtual processor can"))?;
        let leaf = |function, index| {
            cpuid.as_slice().iter().find(move |e| e.function == function && e.index == index).copied()
        };
        let xsave = leaf(1, 0).is_some_and(|e| e.ecx & (1 << 26) != 0);
        let fsgsbase = leaf(7, 0).is_some_and(|e| e.ebx & 1 != 0);
        // Keeps sgdt and its like, which tell addresses of this program, from ring 3.
        let umip = leaf(7, 0).is_some_and(|e| e.ecx & (1 << 2) != 0);
        let no_execute = leaf(0x8000_0001, 0).is_some_and(|e| e.edx & (1 << 20) != 0);

        let mut sregs = fd.get_sregs().map_err(MicroError::setup("read the special registers"))?;
        long_mode(&mut sregs, &machine.space, number, ring);
        sregs.cr4 |= if xsave { 1 << 18 } else { 0 }
            | if fsgsbase { 1 << 16 } else { 0 }
            | if umip { 1 << 11 } else { 0 };
        sregs.efer |= if no_execute { 1 << 11 } else { 0 };

        // A software KVM may not offer XSAVE at all: then the guest runs with the host's vector registers switched on as
        // they are, and there is nothing to set.
        let xcrs = xsave.then(|| {
            // x87, SSE, AVX and the three parts of AVX-512, as far as this machine has them. Not the tiles: the
            // kernel wants to be asked for those.
            let has = leaf(0xd, 0).map_or(3, |e| u64::from(e.eax));
            let mut xcrs = kvm_xcrs { nr_xcrs: 1, ..Default::default() };
            xcrs.xcrs[0].value = has & 0xe7;
            xcrs
        });

        let vcpu = Vcpu {
            fd,
            sregs,
            xcrs,
            syscall_trap: 0,
            clean: false,
            line: None,
            interrupt_stack: 0,
            number,
            machine,
        };
        vcpu.share_clock()?;
        Ok(vcpu)
    }

    /// One time-stamp counter for the program and the guest.
    fn share_clock(&self) -> Result<(), MicroError> {
        let offset = 0u64;
        let attribute = kvm_device_attr {
            group: KVM_VCPU_TSC_CTRL,
            attr: u64::from(KVM_VCPU_TSC_OFFSET),
            addr: &raw const offset as u64,
            flags: 0,
        };
        const SET: Opcode = opcode::write::<kvm_device_attr>(0xae, 0xe1);
        // SAFETY: reads one `kvm_device_attr` and the `offset` it points to, which lives until the end of this.
        unsafe { ioctl(borrow(&self.fd), Setter::<SET, _>::new(attribute)) }
            .map_err(MicroError::system("share the time-stamp counter (Linux 5.16 or newer can)"))
    }

    /// Lets a system call, where this KVM does not refuse it, jump to `address`, which nobody can reach: the page fault
    /// there tells what it was.
    pub(super) fn trap_system_calls(&mut self, address: usize) -> Result<(), MicroError> {
        let entry = kvm_msr_entry { index: MSR_LSTAR, data: address as u64, ..Default::default() };
        let msrs = Msrs::from_entries(&[entry]).map_err(|_| MicroError::Setup {
            step: "make a list of one register",
            source: std::io::ErrorKind::OutOfMemory.into(),
        })?;
        self.fd.set_msrs(&msrs).map_err(MicroError::setup("set where system calls go"))?;
        self.syscall_trap = address as u64;
        Ok(())
    }

    /// Lets interrupts come from `line` and be handled on the stack that ends at `stack`. Code takes them if it starts
    /// with the flag [`INTERRUPTS_ON`].
    pub(super) fn take_interrupts(&mut self, line: Arc<Line>, stack: usize) {
        // SAFETY: a system page that is mapped as long as the machine lives; this processor does not run now.
        let state = unsafe { &mut *(self.machine.own_page(self.number) as *mut [u64; 512]) };
        // The second of the interrupt stacks is at offset 44.
        state[5] = state[5] & 0xffff_ffff | (stack as u64) << 32;
        state[6] = stack as u64 >> 32;
        (self.line, self.interrupt_stack) = (Some(line), stack);
    }

    /// Makes the processor ready for new code, with `fs` as the base of FS (thread-local storage).
    pub(super) fn prepare(&mut self, fs: u64) -> Result<(), MicroError> {
        let new = self.sregs.fs.base != fs;
        self.sregs.fs.base = fs;
        if !self.clean {
            return self.reset();
        }
        if new { self.set_sregs() } else { Ok(()) }
    }

    /// Brings the processor into its first state.
    fn reset(&mut self) -> Result<(), MicroError> {
        // What the last exit left unfinished is finished first, so that it cannot change the new registers: an access
        // to devices may have many pieces, each an exit. Nothing new is begun, and then KVM says so.
        self.fd.set_kvm_immediate_exit(1);
        let unfinished = (0..MOST_PIECES).take_while(|_| self.fd.run().is_ok()).count();
        self.fd.set_kvm_immediate_exit(0);
        if unfinished == MOST_PIECES {
            return Err(MicroError::Unexpected { exit: "exits without end".into(), rip: self.rip() });
        }
        let events = kvm_vcpu_events::default();
        self.fd.set_vcpu_events(&events).map_err(MicroError::setup("clear pending events"))?;
        self.set_sregs()?;
        if let Some(xcrs) = &self.xcrs {
            self.fd.set_xcrs(xcrs).map_err(MicroError::setup("switch the vector registers on"))?;
        }
        // Every part of the vector state as after a reset, by a header that claims none of it, and the control word of
        // SSE, which KVM_SET_FPU leaves as the last code set it. (Intel SDM volume 1, sections 10.5.1 and 13.4.)
        let mut state = kvm_xsave::default();
        state.region[0] = 0x37f;
        state.region[6] = 0x1f80;
        // SAFETY: KVM reads 4 KiB; it would want more only if this process had asked for tile registers.
        unsafe { self.fd.set_xsave(&state) }.map_err(MicroError::setup("reset the vector registers"))
    }

    fn set_sregs(&self) -> Result<(), MicroError> {
        self.fd.set_sregs(&self.sregs).map_err(MicroError::setup("set the special registers"))
    }

    /// Sets the general registers.
    pub(super) fn start_at(&self, regs: &kvm_regs) -> Result<(), MicroError> {
        self.fd.set_regs(regs).map_err(MicroError::setup("set the registers"))
    }

    /// Where the code is, for error messages: 0 if KVM does not tell.
    pub(super) fn rip(&self) -> u64 {
        self.fd.get_regs().map_or(0, |regs| regs.rip)
    }

    /// What happened, after an exit by `hlt` (a handler's) or by a shutdown.
    pub(super) fn exception(&self) -> Exception {
        let regs = self.fd.get_regs().unwrap_or_default();
        let cr2 = self.fd.get_sregs().map_or(0, |sregs| sregs.cr2);
        let told = Exception {
            vector: None,
            error_code: None,
            address: None,
            rip: regs.rip,
            rsp: regs.rsp,
            system_call: false,
        };
        let Some(vector) = self.machine.space.exception_at(regs.rip) else {
            return Exception { address: (cr2 != 0).then_some(cr2), ..told };
        };
        // The frame ends at the top of the handlers' stack: [code] rip cs flags rsp ss.
        let frame = (self.machine.own_page(self.number) + PAGE - 48) as *const [u64; 6];
        // SAFETY: the last 48 bytes of a system page that is mapped as long as the machine lives; this processor does
        // not run now.
        let [code, rip, _, _, rsp, _] = unsafe { frame.read_volatile() };
        if vector == 14 && rip == self.syscall_trap && rip != 0 {
            // The processor has put the address after the instruction into RCX.
            return Exception { rip: regs.rcx.wrapping_sub(2), rsp, system_call: true, ..told };
        }
        let coded = matches!(vector, 8 | 10..=14 | 17 | 21 | 29 | 30);
        Exception {
            vector: Some(vector),
            error_code: coded.then_some(code),
            address: (vector == 14).then_some(cr2),
            rip,
            rsp,
            system_call: false,
        }
    }
}

/// The task state in a processor's own page, which the program sees at `page` and the guest at `address`: where the
/// stack for ring 0 is (the end of the same page), and where the map of ports (the page after it).
fn fill(page: usize, address: u64) {
    // SAFETY: a system page that is mapped as long as the machine lives, and that no processor uses yet.
    let state = unsafe { &mut *(page as *mut [u64; 512]) };
    let top = address + PAGE as u64;
    // Intel SDM volume 3, section 7.7: the stack for ring 0 is the 64-bit value at offset 4; the last two of the 104
    // bytes are the offset of the map of ports.
    state[0] = top << 32;
    state[1] = top >> 32;
    // The first of the interrupt stacks, at offset 36, is the same: handlers find a stack even where ring 0 has lost its.
    state[4] = top << 32;
    state[5] = top >> 32;
    state[12] = (PAGE as u64) << 48;
}

/// What a virtual processor can. Asking takes longer than most of the rest: once per process.
fn supported(kvm: &Kvm) -> Result<&'static CpuId, MicroError> {
    static ANSWER: OnceLock<CpuId> = OnceLock::new();
    if let Some(answer) = ANSWER.get() {
        return Ok(answer);
    }
    let answer = kvm
        .get_supported_cpuid(KVM_MAX_CPUID_ENTRIES)
        .map_err(MicroError::setup("read what the virtual processor can"))?;
    Ok(ANSWER.get_or_init(|| answer))
}

/// Special registers for 64-bit mode in `ring`, with the system pages of `space`.
fn long_mode(sregs: &mut kvm_sregs, space: &Space, number: usize, ring: Ring) {
    let (code, data, level) = match ring {
        Ring::Kernel => (KERNEL_CODE, KERNEL_DATA, 0),
        Ring::User => (USER_CODE, USER_DATA, 3),
    };
    let segment = |selector, type_| kvm_segment {
        base: 0,
        limit: 0xffff_ffff,
        selector,
        type_,
        present: 1,
        dpl: level,
        s: 1,
        g: 1,
        ..Default::default()
    };
    sregs.cs = kvm_segment { l: 1, ..segment(code, 11) };
    let flat = kvm_segment { db: 1, ..segment(data, 3) };
    (sregs.ds, sregs.es, sregs.fs, sregs.gs, sregs.ss) = (flat, flat, flat, flat, flat);
    let (task, selector) = space.task(number);
    sregs.tr = kvm_segment {
        base: task,
        limit: TASK_LIMIT as u32,
        selector,
        type_: 11,
        present: 1,
        ..Default::default()
    };
    (sregs.gdt.base, sregs.gdt.limit) = space.descriptors();
    (sregs.idt.base, sregs.idt.limit) = space.exceptions();
    sregs.cr0 = 0x8005_0033;
    sregs.cr2 = 0;
    sregs.cr3 = space.root;
    sregs.cr4 = 0x620;
    sregs.efer = 0x500;
}
