//! The instructions that leave a guest, one function each, and a loop over each for measuring.

use core::arch::asm;
use core::arch::x86_64::{__cpuid, __cpuid_count, _mm_lfence, _rdtsc};
use core::sync::atomic::{AtomicU64, Ordering};

/// Which instruction calls the hypervisor on this processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Hypercall {
    /// `vmcall`
    Intel,
    /// `vmmcall`
    Amd,
}

impl Hypercall {
    /// The instruction of this processor, by its vendor. Asks once what a loop should then reuse: `cpuid` itself leaves
    /// the guest.
    pub fn of_this_processor() -> Hypercall {
        let vendor = __cpuid(0);
        // "AuthenticAMD" and "HygonGenuine" have the second instruction, everybody else the first.
        if matches!(vendor.ebx, 0x6874_7541 | 0x6f67_7948) { Hypercall::Amd } else { Hypercall::Intel }
    }
}

/// Writes `value` to `port`: leaves for the program that runs the guest.
///
/// # Safety
/// Only inside a guest whose code may use ports, and whose host continues after the exit.
#[inline(always)]
pub unsafe fn port_out(port: u16, value: u8) {
    // SAFETY: touches no memory; the caller says that it may be executed.
    unsafe { asm!("out dx, al", in("dx") port, in("al") value, options(nomem, nostack, preserves_flags)) }
}

/// Stores the 32-bit `value` to `address`. What that crosses depends on the address: an exit to the program, or an event raised
/// in the kernel.
///
/// # Safety
/// `address` is one that the guest's host has given for this purpose.
#[inline(always)]
pub unsafe fn mmio_store(address: usize, value: u32) {
    // One plain move and nothing else: it is what a software hypervisor has to decode.
    // SAFETY: the caller's.
    unsafe { asm!("mov [{}], {:e}", in(reg) address, in(reg) value, options(nostack, preserves_flags)) }
}

/// Loads 32 bits from `address`: an exit to the program, which answers.
///
/// # Safety
/// `address` is one that the guest's host has given for this purpose.
#[inline(always)]
pub unsafe fn mmio_load(address: usize) -> u32 {
    let value: u32;
    // SAFETY: the caller's.
    unsafe { asm!("mov {:e}, [{}]", out(reg) value, in(reg) address, options(nostack, preserves_flags)) };
    value
}

/// Idles: leaves for the program that runs the guest, whose thread sleeps until this processor is rung. Returns how
/// often it was rung since it last idled, at least once: a ring that came before ends the sleep at once.
///
/// # Safety
/// `address` is the one that the guest's host has given for this purpose.
#[inline(always)]
pub unsafe fn idle(address: usize) -> u32 {
    // SAFETY: the caller's.
    unsafe { mmio_load(address) }
}

/// Asks what processor time this processor's thread has had, in nanoseconds: leaves for the program that runs the guest, which
/// answers.
///
/// # Safety
/// `address` is the one that the guest's host has given for this purpose.
#[inline(always)]
pub unsafe fn processor_time(address: usize) -> u64 {
    let value: u64;
    // SAFETY: the caller's.
    unsafe { asm!("mov {}, [{}]", out(reg) value, in(reg) address, options(nostack, preserves_flags)) };
    value
}

/// Waits without leaving the guest until `word` is no longer `seen`; returns what it is then. Whoever writes the word
/// needs to ring nobody.
#[inline(always)]
pub fn poll(word: &AtomicU64, seen: u64) -> u64 {
    loop {
        let now = word.load(Ordering::Acquire);
        if now != seen {
            return now;
        }
        core::hint::spin_loop();
    }
}

/// Waits until `word` is no longer `seen`: looks at it `polls` times without leaving the guest, then [`idle`]s at
/// `address`, and so on. Whoever writes the word rings this processor afterwards; then no wake-up is lost, because a
/// ring between the last look and the sleep ends the sleep at once.
///
/// # Safety
/// As [`idle`].
#[inline(always)]
pub unsafe fn wait(word: &AtomicU64, seen: u64, polls: u64, address: usize) -> u64 {
    loop {
        for _ in 0..polls.max(1) {
            let now = word.load(Ordering::Acquire);
            if now != seen {
                return now;
            }
            core::hint::spin_loop();
        }
        // SAFETY: the caller's.
        unsafe { idle(address) };
    }
}

/// Asks what the processor can: in a guest the hypervisor answers.
#[inline(always)]
pub fn cpuid(leaf: u32, subleaf: u32) -> [u32; 4] {
    let answer = __cpuid_count(leaf, subleaf);
    [answer.eax, answer.ebx, answer.ecx, answer.edx]
}

/// Calls the hypervisor with `number` and returns its answer. From ring 3 KVM answers "not permitted", which crosses
/// the boundary all the same.
///
/// # Safety
/// Only inside a guest.
#[inline(always)]
pub unsafe fn hypercall(which: Hypercall, number: u64) -> u64 {
    let answer: u64;
    // Arguments are zero; nothing but RAX is written.
    match which {
        // SAFETY: the caller's.
        Hypercall::Intel => unsafe {
            asm!("push rbx", "xor ebx, ebx", "vmcall", "pop rbx", inlateout("rax") number => answer,
                in("rcx") 0, in("rdx") 0, in("rsi") 0)
        },
        // SAFETY: the caller's.
        Hypercall::Amd => unsafe {
            asm!("push rbx", "xor ebx, ebx", "vmmcall", "pop rbx", inlateout("rax") number => answer,
                in("rcx") 0, in("rdx") 0, in("rsi") 0)
        },
    }
    answer
}

/// The time-stamp counter, after everything before it.
#[inline(always)]
pub fn clock() -> u64 {
    // SAFETY: both instructions exist on every x86-64.
    unsafe {
        _mm_lfence();
        _rdtsc()
    }
}

/// What a loop over one crossing shall do, and what it cost.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Batch {
    /// How many crossings.
    pub count: u64,
    /// Port or address.
    pub place: usize,
    /// Cycles of the whole loop, written by it.
    pub cycles: u64,
}

impl Batch {
    /// Times `count` calls of `crossing`.
    #[inline(always)]
    fn time(&mut self, mut crossing: impl FnMut()) {
        let before = clock();
        for _ in 0..self.count {
            crossing();
        }
        self.cycles = clock().wrapping_sub(before);
    }
}

/// `count` outputs to the port `place`. The argument is the address of a [`Batch`].
///
/// # Safety
/// As [`port_out`]; `batch` is the address of a [`Batch`] that nobody else uses.
pub unsafe extern "C" fn port_outs(batch: usize) -> usize {
    // SAFETY: the caller's.
    let batch = unsafe { &mut *(batch as *mut Batch) };
    let port = batch.place as u16;
    // SAFETY: the caller's.
    batch.time(|| unsafe { port_out(port, 1) });
    0
}

/// `count` stores to the address `place`. The argument is the address of a [`Batch`].
///
/// # Safety
/// As [`mmio_store`]; `batch` is the address of a [`Batch`] that nobody else uses.
pub unsafe extern "C" fn mmio_stores(batch: usize) -> usize {
    // SAFETY: the caller's.
    let batch = unsafe { &mut *(batch as *mut Batch) };
    let address = batch.place;
    // SAFETY: the caller's.
    batch.time(|| unsafe { mmio_store(address, 1) });
    0
}

/// `count` times [`cpuid`]. The argument is the address of a [`Batch`].
///
/// # Safety
/// `batch` is the address of a [`Batch`] that nobody else uses.
pub unsafe extern "C" fn cpuids(batch: usize) -> usize {
    // SAFETY: the caller's.
    let batch = unsafe { &mut *(batch as *mut Batch) };
    let mut seen = 0;
    batch.time(|| seen ^= cpuid(0, 0)[1]);
    seen as usize
}

/// `count` hypercalls, by the instruction of this processor. The argument is the address of a [`Batch`].
///
/// # Safety
/// As [`hypercall`]; `batch` is the address of a [`Batch`] that nobody else uses.
pub unsafe extern "C" fn hypercalls(batch: usize) -> usize {
    // SAFETY: the caller's.
    let batch = unsafe { &mut *(batch as *mut Batch) };
    let which = Hypercall::of_this_processor();
    let mut answer = 0;
    // SAFETY: the caller's. Number 1 is KVM_HC_VAPIC_POLL_IRQ, which does nothing.
    batch.time(|| answer = unsafe { hypercall(which, 1) });
    answer as usize
}
