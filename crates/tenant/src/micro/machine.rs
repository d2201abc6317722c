//! One virtual machine with one virtual processor: 64-bit mode at once, a descriptor table, and an exception table
//! whose 256 handlers each are one `hlt`, so that the address of the exit tells the exception.

use std::ops::Range;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::OnceLock;

use kvm_bindings::{
    CpuId, KVM_MAX_CPUID_ENTRIES, KVM_VCPU_TSC_CTRL, KVM_VCPU_TSC_OFFSET, Msrs, kvm_device_attr, kvm_fpu,
    kvm_msr_entry, kvm_regs, kvm_segment, kvm_sregs, kvm_userspace_memory_region, kvm_vcpu_events, kvm_xcrs,
};
use kvm_ioctls::{Kvm, VcpuFd, VmFd};

use rustix::ioctl::{Opcode, Setter, ioctl, opcode};

use super::error::{Fault, MicroError};
use super::memory::Region;
use super::own::{PAGE, Slot};
use super::tables::{Access, Full, Tables};

/// Guest-physical address of the system pages.
const SYSTEM: u64 = 0x10_0000;
/// Guest-physical address of the pages without memory behind them.
pub(super) const DEVICES: u64 = 0xd000_0000;
/// Guest-physical address from which on the program's own memory is laid out.
pub(super) const OWN: u64 = 1 << 32;

// System pages, in this order.
const DESCRIPTORS: usize = 0;
const EXCEPTIONS: usize = PAGE;
const HANDLERS: usize = 2 * PAGE;
const STACK_TOP: usize = 4 * PAGE;
/// One bit a port, all clear: allowed. A software KVM looks here even though IOPL is 3.
const PORTS: usize = STACK_TOP;
/// A byte of ones must follow the ports.
const PORTS_END: usize = PORTS + 65536 / 8;
/// System pages before the page tables.
const SYSTEM_PAGES: usize = 7;
const TASK_STATE: usize = 0x200;
/// The task state reaches to the end of the map of ports.
const TASK_LIMIT: usize = PORTS_END - TASK_STATE;
const HANDLER_BYTES: usize = 16;
const HLT: u8 = 0xf4;

/// Where a system call jumps to.
const MSR_LSTAR: u32 = 0xc000_0082;

const USER_CODE: u16 = 0x1b;
const USER_DATA: u16 = 0x23;
const KERNEL_CODE: u16 = 0x08;
const KERNEL_DATA: u16 = 0x10;
const TASK: u16 = 0x28;

/// Interrupts off, ports open to ring 3.
pub(super) const FLAGS: u64 = 0x3002;

/// One range of virtual addresses to map, where, and for whom.
pub(super) struct View {
    pub(super) range: Range<usize>,
    pub(super) physical: u64,
    pub(super) access: Access,
}

/// Which ring code starts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ring {
    Kernel,
    User,
}

/// The machine. Fields are dropped in this order: the processor first, its memory last.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) vcpu: VcpuFd,
    pub(super) vm: VmFd,
    system: Region,
    sregs: kvm_sregs,
    xcrs: Option<kvm_xcrs>,
    syscall_trap: u64,
}

impl Machine {
    /// A machine with `table_pages` pages of page table, the memory `slots` and the virtual addresses `views`.
    pub(super) fn new(
        kvm: &Kvm,
        table_pages: usize,
        slots: &[Slot],
        views: &[View],
        ring: Ring,
    ) -> Result<Machine, MicroError> {
        let vm = kvm.create_vm().map_err(MicroError::setup("create a virtual machine"))?;
        let system = Region::system(SYSTEM_PAGES + table_pages)?;
        let root = fill(&system, views).map_err(|Full| MicroError::Setup {
            step: "build page tables",
            source: std::io::ErrorKind::OutOfMemory.into(),
        })?;
        set_slot(&vm, 0, &Slot { range: system.range(), physical: SYSTEM })?;
        for (number, slot) in slots.iter().enumerate() {
            set_slot(&vm, number as u32 + 1, slot)?;
        }
        let vcpu = vm.create_vcpu(0).map_err(MicroError::setup("create a virtual processor"))?;
        let cpuid = supported(kvm)?;
        vcpu.set_cpuid2(cpuid).map_err(MicroError::setup("set what the virtual processor can"))?;
        let leaf = |function, index| {
            cpuid.as_slice().iter().find(move |e| e.function == function && e.index == index).copied()
        };
        let xsave = leaf(1, 0).is_some_and(|e| e.ecx & (1 << 26) != 0);
        let fsgsbase = leaf(7, 0).is_some_and(|e| e.ebx & 1 != 0);
        let no_execute = leaf(0x8000_0001, 0).is_some_and(|e| e.edx & (1 << 20) != 0);

        let mut sregs = vcpu.get_sregs().map_err(MicroError::setup("read the special registers"))?;
        let base = system.range().start as u64;
        long_mode(&mut sregs, base, root, ring);
        sregs.cr4 |= if xsave { 1 << 18 } else { 0 } | if fsgsbase { 1 << 16 } else { 0 };
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

        let machine = Machine { vcpu, vm, system, sregs, xcrs, syscall_trap: 0 };
        machine.share_clock()?;
        Ok(machine)
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
        unsafe { ioctl(borrow(&self.vcpu), Setter::<SET, _>::new(attribute)) }
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
        self.vcpu.set_msrs(&msrs).map_err(MicroError::setup("set where system calls go"))?;
        self.syscall_trap = address as u64;
        Ok(())
    }

    /// Brings the processor into its first state, with thread-local storage at `fs`.
    pub(super) fn reset(&mut self, fs: u64) -> Result<(), MicroError> {
        // What the last exit left unfinished is finished first, so that it cannot change the new registers.
        self.vcpu.set_kvm_immediate_exit(1);
        let _ = self.vcpu.run();
        self.vcpu.set_kvm_immediate_exit(0);
        let events = kvm_vcpu_events::default();
        self.vcpu.set_vcpu_events(&events).map_err(MicroError::setup("clear pending events"))?;
        self.set_fs(fs)?;
        if let Some(xcrs) = &self.xcrs {
            self.vcpu.set_xcrs(xcrs).map_err(MicroError::setup("switch the vector registers on"))?;
        }
        let fpu = kvm_fpu { fcw: 0x37f, mxcsr: 0x1f80, ..Default::default() };
        self.vcpu.set_fpu(&fpu).map_err(MicroError::setup("reset the floating-point unit"))
    }

    /// Sets the special registers, with thread-local storage at `fs`.
    pub(super) fn set_fs(&mut self, fs: u64) -> Result<(), MicroError> {
        self.sregs.fs.base = fs;
        self.vcpu.set_sregs(&self.sregs).map_err(MicroError::setup("set the special registers"))
    }

    /// Sets the general registers.
    pub(super) fn start_at(&self, regs: &kvm_regs) -> Result<(), MicroError> {
        self.vcpu.set_regs(regs).map_err(MicroError::setup("set the registers"))
    }

    /// Where the code is, for error messages: 0 if KVM does not tell.
    pub(super) fn rip(&self) -> u64 {
        self.vcpu.get_regs().map_or(0, |regs| regs.rip)
    }

    /// What happened, after an exit by `hlt` (a handler's) or by a shutdown.
    pub(super) fn fault(&self) -> Fault {
        let regs = self.vcpu.get_regs().unwrap_or_default();
        let cr2 = self.vcpu.get_sregs().map_or(0, |sregs| sregs.cr2);
        let start = self.system.range().start;
        let handlers = start + HANDLERS..start + HANDLERS + PAGE;
        if !handlers.contains(&(regs.rip as usize)) {
            let address = (cr2 != 0).then_some(cr2);
            return Fault::at(None, None, address, regs.rip, regs.rsp, culprit(regs.rip));
        }
        let vector = ((regs.rip as usize - handlers.start) / HANDLER_BYTES) as u8;
        let coded = matches!(vector, 8 | 10..=14 | 17 | 21 | 29 | 30);
        // The frame ends at the top of the handlers' stack: [code] rip cs flags rsp ss.
        let frame = (start + STACK_TOP - 48) as *const [u64; 6];
        // SAFETY: the last 48 bytes of a system page that is mapped as long as `self.system` lives; the guest does not
        // run now.
        let [code, rip, _, _, rsp, _] = unsafe { frame.read_volatile() };
        if vector == 14 && rip == self.syscall_trap && rip != 0 {
            // The processor has put the address after the instruction into RCX.
            return Fault::at(None, None, None, regs.rcx.wrapping_sub(2), rsp, Some("syscall"));
        }
        let address = (vector == 14).then_some(cr2);
        Fault::at(Some(vector), coded.then_some(code), address, rip, rsp, culprit(rip))
    }
}

/// The instruction at `rip`, if it is one that a guest in ring 3 cannot execute.
fn culprit(rip: u64) -> Option<&'static str> {
    let mut bytes = [0u8; 2];
    let local = libc::iovec { iov_base: bytes.as_mut_ptr().cast(), iov_len: 2 };
    let remote = libc::iovec { iov_base: rip as *mut _, iov_len: 2 };
    // SAFETY: writes at most two bytes into `bytes`; the kernel checks the other address.
    let got = unsafe { libc::process_vm_readv(std::process::id() as i32, &local, 1, &remote, 1, 0) };
    match (got, bytes) {
        (2, [0x0f, 0x05]) => Some("syscall"),
        (2, [0x0f, 0x34]) => Some("sysenter"),
        (2, [0xcd, _]) => Some("int"),
        (2, [0x0f, 0x0b]) => Some("ud2"),
        (1 | 2, [HLT, _]) => Some("hlt"),
        (1 | 2, [0xcc, _]) => Some("int3"),
        _ => None,
    }
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

/// Gives `slot` to the machine.
fn set_slot(vm: &VmFd, number: u32, slot: &Slot) -> Result<(), MicroError> {
    let region = kvm_userspace_memory_region {
        slot: number,
        flags: 0,
        guest_phys_addr: slot.physical,
        memory_size: slot.range.len() as u64,
        userspace_addr: slot.range.start as u64,
    };
    // SAFETY: the guest gets what the program itself may do with its memory; page tables of the guest keep it from
    // writing what the program may not write. What it does with writable memory is the contract of `MicroGuest::call`.
    unsafe { vm.set_user_memory_region(region) }.map_err(MicroError::setup("give memory to the machine"))
}

/// Fills the system pages; returns the guest-physical address of the root of the page tables.
fn fill(system: &Region, views: &[View]) -> Result<u64, Full> {
    let range = system.range();
    let (start, pages) = (range.start, range.len() / PAGE);
    // SAFETY: the region is mapped, writable, page-aligned, zero, and known to nobody else until this returns.
    let memory = unsafe { std::slice::from_raw_parts_mut(start as *mut [u64; 512], pages) };
    let (system_pages, table_pages) = memory.split_at_mut(SYSTEM_PAGES);

    let state = (start + DESCRIPTORS + TASK_STATE) as u64;
    let descriptors = &mut system_pages[DESCRIPTORS / PAGE];
    descriptors[1] = 0x00af_9b00_0000_ffff;
    descriptors[2] = 0x00cf_9300_0000_ffff;
    descriptors[3] = 0x00af_fb00_0000_ffff;
    descriptors[4] = 0x00cf_f300_0000_ffff;
    descriptors[5] =
        0x0000_8b00_0000_0000 | TASK_LIMIT as u64 | (state & 0x00ff_ffff) << 16 | (state >> 24 & 0xff) << 56;
    descriptors[6] = state >> 32;
    // The stack for ring 0 is the 64-bit value at offset 4 of the task state.
    let top = (start + STACK_TOP) as u64;
    descriptors[TASK_STATE / 8] = top << 32;
    descriptors[TASK_STATE / 8 + 1] = top >> 32;
    // The last two of its 104 bytes are the offset of the map of ports.
    descriptors[TASK_STATE / 8 + 12] = ((PORTS - TASK_STATE) as u64) << 48;

    for vector in 0..256 {
        let handler = (start + HANDLERS + vector * HANDLER_BYTES) as u64;
        // An interrupt gate that ring 3 may not call by itself.
        system_pages[EXCEPTIONS / PAGE][2 * vector] =
            handler & 0xffff | u64::from(KERNEL_CODE) << 16 | 0x8e00 << 32 | (handler >> 16 & 0xffff) << 48;
        system_pages[EXCEPTIONS / PAGE][2 * vector + 1] = handler >> 32;
    }
    system_pages[PORTS_END / PAGE][0] = u64::MAX;
    system_pages[HANDLERS / PAGE].fill(u64::from_ne_bytes([HLT; 8]));

    let mut tables = Tables::new(table_pages, SYSTEM + (SYSTEM_PAGES * PAGE) as u64);
    let kernel = Access { user: false, write: true, execute: false };
    tables.map(start..start + SYSTEM_PAGES * PAGE, SYSTEM, kernel)?;
    let handlers = start + HANDLERS..start + HANDLERS + PAGE;
    tables.map(handlers, SYSTEM + HANDLERS as u64, Access { execute: true, write: false, ..kernel })?;
    for view in views {
        tables.map(view.range.clone(), view.physical, view.access)?;
    }
    Ok(tables.root())
}

/// Special registers for 64-bit mode in `ring`, with the descriptors of the system pages at `base`.
fn long_mode(sregs: &mut kvm_sregs, base: u64, root: u64, ring: Ring) {
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
    sregs.tr = kvm_segment {
        base: base + (DESCRIPTORS + TASK_STATE) as u64,
        limit: TASK_LIMIT as u32,
        selector: TASK,
        type_: 11,
        present: 1,
        ..Default::default()
    };
    sregs.gdt.base = base + DESCRIPTORS as u64;
    sregs.gdt.limit = 7 * 8 - 1;
    sregs.idt.base = base + EXCEPTIONS as u64;
    sregs.idt.limit = (PAGE - 1) as u16;
    sregs.cr0 = 0x8005_0033;
    sregs.cr2 = 0;
    sregs.cr3 = root;
    sregs.cr4 = 0x620;
    sregs.efer = 0x500;
}

/// A descriptor of KVM as rustix wants it.
pub(super) fn borrow(owner: &impl AsRawFd) -> BorrowedFd<'_> {
    // SAFETY: the descriptor is open as long as its owner lives, and the result borrows the owner.
    unsafe { BorrowedFd::borrow_raw(owner.as_raw_fd()) }
}
