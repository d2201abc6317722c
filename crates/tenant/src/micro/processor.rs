//! One virtual processor of a guest over the program's own memory: functions of the program are called on it.

use std::arch::{asm, naked_asm};
use std::mem::{ManuallyDrop, MaybeUninit};
use std::ops::Range;

use kvm_bindings::kvm_regs;

use super::devices::Devices;
use super::error::{Fault, MicroError};
use super::interrupts::Interrupter;
use super::run::{End, Ways};
use super::vcpu::{FLAGS, INTERRUPTS_ON, Vcpu};
use super::{CallOutcome, Entry, Limits};

/// A virtual processor with a stack of its own. The processors of one guest see the same memory and run independently:
/// each can be called from a thread of its own, at the same time as the others; what ends a call on one (a fault, its
/// time limit) does nothing to the others.
#[derive(Debug)]
pub struct Processor {
    vcpu: Vcpu,
    stack: Range<usize>,
    devices: Devices,
    /// Guest-physical address of the devices.
    base: u64,
    number: usize,
    interrupter: Option<Interrupter>,
}

impl Processor {
    pub(super) fn new(
        vcpu: Vcpu,
        stack: Range<usize>,
        devices: Devices,
        base: u64,
        number: usize,
    ) -> Processor {
        Processor { vcpu, stack, devices, base, number, interrupter: None }
    }

    /// Its number among those of its guest, counted from 0.
    pub fn number(&self) -> usize {
        self.number
    }

    /// Lets it take interrupts, on the stack that ends at `stack`.
    pub(super) fn take_interrupts(&mut self, stack: usize) -> Result<(), MicroError> {
        let interrupter = Interrupter::new()?;
        self.vcpu.take_interrupts(interrupter.line(), stack);
        self.interrupter = Some(interrupter);
        Ok(())
    }

    /// What raises interrupts on it, if the guest was made with handlers.
    pub fn interrupter(&self) -> Option<Interrupter> {
        self.interrupter.clone()
    }

    /// Runs `entry(argument)` in the guest, on the processor's own stack, with the thread-local storage of the calling
    /// thread (which waits meanwhile). Continues it after each exit, until it returns.
    ///
    /// # Errors
    /// [`MicroError::Fault`], [`MicroError::TimedOut`], [`MicroError::WildPort`], [`MicroError::NoDevice`] or
    /// [`MicroError::MemoryGone`] if it does not return. Whatever it had done to memory until then stays done (a lock it
    /// held stays locked); the processor can be called again.
    ///
    /// # Safety
    /// The code works on the program's own memory: everything that `unsafe` demands of it outside holds inside. On top:
    /// - it makes no system call and does not ask for the time by way of the system (an error, but see above: what it
    ///   left half done stays so), which also means that it does not wait for a lock that another thread may hold;
    /// - it does not panic or unwind: printing the message takes a lock and then makes a system call;
    /// - it allocates or frees only what the allocator does without a system call: small sizes that were freed before.
    ///
    /// It may use floating point and vector registers, atomics, memory shared with other threads and processes, and the
    /// crossings of the payload crate; thread-local storage, if the calling thread existed when the guest was made.
    pub unsafe fn call(
        &mut self,
        entry: Entry,
        argument: usize,
        limits: Limits,
    ) -> Result<CallOutcome, MicroError> {
        // Some room above, as a caller's frame would be: variadic functions read from there.
        let top = self.stack.end - 256;
        // SAFETY: the caller's.
        unsafe { self.call_on(entry, argument, top, limits) }
    }

    /// Runs a closure in the guest, as [`call`](Self::call) does a function. The closure and its result are carried on
    /// the processor's stack; what it borrows must have been mapped when the guest was made.
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
        let stack = &self.stack;
        let bytes = size_of::<Parcel<F, R>>();
        let align = align_of::<Parcel<F, R>>().max(64);
        if bytes + align > stack.len() / 2 {
            return Err(MicroError::ClosureTooLarge { bytes, stack: stack.len() });
        }
        let place = (stack.end - bytes) / align * align;
        let parcel = place as *mut Parcel<F, R>;
        // SAFETY: the place is aligned and lies in the processor's stack, which is mapped, writable and not in use now.
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
        let regs = kvm_regs {
            rip: enter as *const () as u64,
            rsp: stack as u64,
            rdi: argument as u64,
            r12: entry as usize as u64,
            r13: self.devices.end() as u64,
            rflags: if self.interrupter.is_some() { FLAGS | INTERRUPTS_ON } else { FLAGS },
            ..Default::default()
        };
        let ways = Ways { base: self.base, wake: self.devices.wake_of(self.number) };
        match self.vcpu.run(&regs, thread_pointer(), limits, ways)? {
            (End::Returned(value), exits) => Ok(CallOutcome { value, exits }),
            (End::Stopped(exception), _) => {
                Err(MicroError::Fault(Box::new(Fault::in_this_program(exception))))
            }
        }
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
