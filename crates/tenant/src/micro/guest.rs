//! The guest itself: made over the program's memory, called, and stopped.

use std::arch::x86_64::__cpuid;
use std::arch::{asm, naked_asm};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::time::Instant;

use kvm_bindings::kvm_regs;
use kvm_ioctls::VcpuExit;

use super::devices::Devices;
use super::error::MicroError;
use super::limit::Timer;
use super::machine::{DEVICES, FLAGS, Machine, OWN, Ring, View};
use super::memory::Region;
use super::own;
use super::tables::Access;
use super::{CallOutcome, Entry, ExitCounts, Limits, Options, kind};

/// A virtual machine over the calling program's own memory. Dropping it gives everything back.
#[derive(Debug)]
pub struct MicroGuest {
    machine: Machine,
    stack: Region,
    devices: Devices,
    fs: u64,
    /// The processor is in a state in which a call can start.
    clean: bool,
}

impl MicroGuest {
    /// Makes a guest that sees the memory of this program as it is now: what is mapped later, or grows later (the heap,
    /// the stack of the first thread), it does not see. Make what it works on first.
    ///
    /// # Errors
    /// [`MicroError::Unavailable`] without a usable KVM; [`MicroError::TooMuchMapped`]; [`MicroError::Setup`] with the
    /// step that was refused.
    pub fn over_own_memory(devices: &Devices, options: &Options) -> Result<MicroGuest, MicroError> {
        let kvm = kind::open()?;
        let stack = Region::stack(options.stack_bytes)?;
        let maps = own::read()?;
        let mappings = own::visible(&maps, &options.leave_out);
        // Half of what the processor can address leaves room for what lies between mappings.
        let half = 1 << ((__cpuid(0x8000_0008).eax & 0xff).clamp(36, 52) - 1);
        let slots = own::lay_out(&mappings, OWN, options.mapped_bytes.min(half))?;
        let mut views = Vec::with_capacity(mappings.len() + 1);
        views.push(devices.view());
        let mut slot = 0;
        for mapping in &mappings {
            while !slots[slot].range.contains(&mapping.range.start) {
                slot += 1;
            }
            let physical = slots[slot].physical + (mapping.range.start - slots[slot].range.start) as u64;
            let access = Access { user: true, write: mapping.write, execute: mapping.execute };
            views.push(View { range: mapping.range.clone(), physical, access });
        }
        let mut machine = Machine::new(&kvm, own::table_pages(&mappings), &slots, &views, Ring::User)?;
        machine.trap_system_calls(devices.trap())?;
        devices.register(&machine)?;
        Ok(MicroGuest { machine, stack, devices: devices.clone(), fs: 0, clean: false })
    }

    /// Runs `entry(argument)` in the guest, in ring 3, on the guest's own stack, with the thread-local storage of the
    /// calling thread (which waits meanwhile). Continues it after each exit, until it returns.
    ///
    /// # Errors
    /// [`MicroError::Fault`], [`MicroError::TimedOut`] or [`MicroError::MemoryGone`] if it does not return. Whatever it
    /// had done to memory until then stays done (a lock it held stays locked); the guest can be called again.
    ///
    /// # Safety
    /// The code works on the program's own memory: everything that `unsafe` demands of it outside holds inside. On top:
    /// - it makes no system call and does not ask for the time by way of the system (an error, but see above: what it
    ///   left half done stays so), which also means that it does not wait for a lock that another thread may hold;
    /// - it does not panic or unwind: printing the message takes a lock and then makes a system call;
    /// - it allocates or frees only what the allocator does without a system call: small sizes that were freed before.
    ///
    /// It may use floating point and vector registers, thread-local storage, atomics, memory shared with other threads
    /// and processes, and the crossings of the payload crate.
    pub unsafe fn call(
        &mut self,
        entry: Entry,
        argument: usize,
        limits: Limits,
    ) -> Result<CallOutcome, MicroError> {
        // Some room above, as a caller's frame would be: variadic functions read from there.
        let top = self.stack.range().end - 256;
        // SAFETY: the caller's.
        unsafe { self.call_on(entry, argument, top, limits) }
    }

    /// Runs a closure in the guest, as [`call`](Self::call) does a function. The closure and its result are carried on
    /// the guest's stack; what it borrows must have been mapped when the guest was made.
    ///
    /// # Errors
    /// As [`call`](Self::call); [`MicroError::ClosureTooLarge`] if it takes more than half of the stack. If the call
    /// does not come back, what the closure owns is leaked.
    ///
    /// # Safety
    /// As [`call`](Self::call). A panic in the closure cannot unwind out of the guest.
    pub unsafe fn run<F, R>(&mut self, limits: Limits, f: F) -> Result<CallOutcome<R>, MicroError>
    where
        F: FnOnce() -> R,
    {
        struct Parcel<F, R> {
            f: ManuallyDrop<F>,
            result: MaybeUninit<R>,
        }
        unsafe extern "C" fn unpack<F: FnOnce() -> R, R>(parcel: usize) -> usize {
            let parcel = parcel as *mut Parcel<F, R>;
            // SAFETY: `run` passes a valid parcel that nobody else uses; the closure is taken out once.
            unsafe {
                let f = ManuallyDrop::take(&mut (*parcel).f);
                (&raw mut (*parcel).result).write(MaybeUninit::new(f()));
            }
            0
        }
        // The parcel lies on the guest's own stack: the calling thread's may have grown since the guest was made.
        let stack = self.stack.range();
        let bytes = size_of::<Parcel<F, R>>();
        let align = align_of::<Parcel<F, R>>().max(64);
        if bytes + align > stack.len() / 2 {
            return Err(MicroError::ClosureTooLarge { bytes, stack: stack.len() });
        }
        let place = (stack.end - bytes) / align * align;
        let parcel = place as *mut Parcel<F, R>;
        // SAFETY: the place is aligned and lies in the guest's stack, which is mapped, writable and not in use now.
        unsafe { parcel.write(Parcel { f: ManuallyDrop::new(f), result: MaybeUninit::uninit() }) };
        // SAFETY: the caller's.
        let outcome = unsafe { self.call_on(unpack::<F, R>, place, place / 64 * 64, limits)? };
        // SAFETY: the call came back, so the result was written.
        let value = unsafe { (&raw const (*parcel).result).read().assume_init() };
        Ok(CallOutcome { value, exits: outcome.exits })
    }

    /// [`call`](Self::call) with the stack pointer at `stack`, which is a multiple of 16.
    ///
    /// # Safety
    /// As there.
    unsafe fn call_on(
        &mut self,
        entry: Entry,
        argument: usize,
        stack: usize,
        limits: Limits,
    ) -> Result<CallOutcome, MicroError> {
        let fs = thread_pointer();
        if !self.clean {
            self.machine.reset(fs)?;
        } else if fs != self.fs {
            self.machine.set_fs(fs)?;
        }
        (self.fs, self.clean) = (fs, false);
        self.machine.start_at(&kvm_regs {
            rip: enter as *const () as u64,
            rsp: stack as u64,
            rdi: argument as u64,
            r12: entry as usize as u64,
            r13: self.devices.end() as u64,
            rflags: FLAGS,
            ..Default::default()
        })?;
        let started = Instant::now();
        let flag = &raw mut self.machine.vcpu.get_kvm_run().immediate_exit;
        // SAFETY: the flag lies in memory that lives as long as the processor, which outlives this call.
        let timer = unsafe { Timer::start(limits.time, flag)? };
        let outcome = self.until_it_ends(started, limits);
        drop(timer);
        self.machine.vcpu.set_kvm_immediate_exit(0);
        self.clean = outcome.is_ok();
        outcome
    }

    /// The loop that continues the guest after each exit.
    fn until_it_ends(&mut self, started: Instant, limits: Limits) -> Result<CallOutcome, MicroError> {
        /// The first of the devices' pages.
        const END: u64 = DEVICES;
        let mut exits = ExitCounts::default();
        loop {
            match self.machine.vcpu.run() {
                Ok(VcpuExit::IoOut(..)) => exits.port += 1,
                Ok(VcpuExit::MmioWrite(END, data)) => {
                    let mut value = [0; 8];
                    let len = data.len().min(8);
                    value[..len].copy_from_slice(&data[..len]);
                    return Ok(CallOutcome { value: usize::from_le_bytes(value), exits });
                }
                Ok(VcpuExit::MmioWrite(..)) => exits.mmio += 1,
                Ok(VcpuExit::Hypercall(call)) => {
                    *call.ret = 0;
                    exits.hypercall += 1;
                }
                Ok(VcpuExit::IoIn(_, data) | VcpuExit::MmioRead(_, data)) => {
                    data.fill(0);
                    exits.other += 1;
                }
                Ok(VcpuExit::Hlt | VcpuExit::Shutdown) => {
                    return Err(MicroError::Fault(Box::new(self.machine.fault())));
                }
                Ok(VcpuExit::Intr) => self.check(started, limits)?,
                Ok(exit) => {
                    let exit = format!("{exit:?}");
                    return Err(MicroError::Unexpected { exit, rip: self.machine.rip() });
                }
                Err(error) if matches!(error.errno(), libc::EINTR | libc::EAGAIN) => {
                    self.check(started, limits)?
                }
                Err(error) if error.errno() == libc::EFAULT => {
                    return Err(MicroError::MemoryGone { rip: self.machine.rip() });
                }
                Err(error) => {
                    return Err(MicroError::Unexpected { exit: error.to_string(), rip: self.machine.rip() });
                }
            }
        }
    }

    /// After an interruption: has the time run out?
    fn check(&mut self, started: Instant, limits: Limits) -> Result<(), MicroError> {
        self.machine.vcpu.set_kvm_immediate_exit(0);
        let after = started.elapsed();
        if after >= limits.time {
            return Err(MicroError::TimedOut { limit: limits.time, after, rip: self.machine.rip() });
        }
        Ok(())
    }
}

/// The calling thread's FS base.
fn thread_pointer() -> u64 {
    let pointer: u64;
    // SAFETY: on this platform the word at FS:0 holds the FS base itself; reading it changes nothing.
    unsafe { asm!("mov {}, fs:[0]", out(reg) pointer, options(nostack, readonly, preserves_flags)) };
    pointer
}

/// The first code in the guest: calls R12, then stores what it returned to the page R13, which ends the call.
#[unsafe(naked)]
unsafe extern "C" fn enter() {
    naked_asm!("call r12", "mov [r13], rax", "ud2")
}
