//! Interrupts that are delivered to ring 3: a vector, a function of the program that handles it, and the host's means to
//! raise it.
//!
//! ```text
//! raise: note the vector → signal the thread that runs the processor → it leaves the guest → KVM_INTERRUPT → it enters
//! gate (ring 3, interrupt stack) → stub of the vector → registers saved → handler → registers restored → IRETQ
//! ```
//! IRETQ in ring 3 is native on software KVM, where KVM does not see that interrupts are on again. There, which is tried
//! out once, handlers return by an output to a port instead, and the host does what IRETQ would have done.
//!
//! There is no interrupt controller: nothing is to be acknowledged, and a vector that is raised again before it is
//! delivered is delivered once. While a handler runs, others wait.

use std::arch::{is_x86_feature_detected, naked_asm};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use kvm_bindings::kvm_interrupt;
use rustix::event::{EventfdFlags, eventfd};
use rustix::ioctl::{Opcode, Setter, ioctl, opcode};
use tollway_core::Missing;

use super::devices::Devices;
use super::error::MicroError;
use super::guest;
use super::limit;
use super::machine::borrow;
use super::vcpu::{FLAGS, INTERRUPTS_ON, Vcpu};
use super::{Limits, Options};

/// The lowest vector that is not an exception (Intel SDM volume 3, section 6.2).
pub(super) const FIRST: u8 = 32;
/// Size of the stack that handlers run on.
pub(super) const STACK_BYTES: usize = 32 << 10;

/// A function that handles an interrupt, in the guest; its argument is the vector. What [`Processor::call`] says about
/// code in the guest holds for it too.
///
/// [`Processor::call`]: super::Processor::call
pub type InterruptHandler = unsafe extern "C" fn(usize);

/// Raises interrupts on one processor of a guest, from any thread.
#[derive(Debug, Clone)]
pub struct Interrupter(Arc<Line>);

/// What is between those who raise and the thread that delivers.
#[derive(Debug)]
pub(super) struct Line {
    /// One bit a vector.
    pending: [AtomicU64; 4],
    /// Ends the sleep of a processor that idles.
    event: OwnedFd,
    /// The thread that runs the processor now.
    runner: Mutex<Option<rustix::thread::Pid>>,
}

impl Interrupter {
    pub(super) fn new() -> Result<Interrupter, MicroError> {
        let event = eventfd(0, EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK)
            .map_err(MicroError::system("create an event"))?;
        Ok(Interrupter(Arc::new(Line { pending: Default::default(), event, runner: Mutex::new(None) })))
    }

    pub(super) fn line(&self) -> Arc<Line> {
        Arc::clone(&self.0)
    }

    /// Raises `vector`. If the processor runs, it is delivered at once; if it idles, that ends; if no call is under way,
    /// it is delivered when the next one begins. Vectors without a handler are an exception in the guest.
    pub fn raise(&self, vector: u8) {
        let bit = 1u64 << (vector % 64);
        if self.0.pending[usize::from(vector / 64)].fetch_or(bit, Ordering::SeqCst) & bit != 0 {
            // Whoever set the bit signals. (Signals of this kind queue: one for each raise would be a storm.)
            return;
        }
        let _ = rustix::io::write(&self.0.event, &1u64.to_ne_bytes());
        // The thread says under this lock when it ends: the signal reaches it or nobody.
        let runner = self.0.runner.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(thread) = *runner {
            let process = rustix::process::getpid().as_raw_nonzero().get();
            // SAFETY: sends a signal whose handler is installed before a runner is entered.
            unsafe {
                libc::syscall(libc::SYS_tgkill, process, thread.as_raw_nonzero().get(), limit::signal())
            };
        }
    }
}

impl Line {
    /// From here on this thread is signalled when something is raised.
    pub(super) fn enter(&self) {
        *self.runner.lock().unwrap_or_else(PoisonError::into_inner) = Some(rustix::thread::gettid());
    }

    /// From here on nobody is.
    pub(super) fn leave(&self) {
        *self.runner.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Whether something waits to be delivered.
    pub(super) fn waiting(&self) -> bool {
        self.pending.iter().any(|word| word.load(Ordering::SeqCst) != 0)
    }

    /// The highest vector that waits, as an interrupt controller would choose.
    fn take(&self) -> Option<u8> {
        for (word, bits) in self.pending.iter().enumerate().rev() {
            let waiting = bits.load(Ordering::SeqCst);
            if waiting != 0 {
                let bit = 63 - waiting.leading_zeros();
                bits.fetch_and(!(1 << bit), Ordering::SeqCst);
                return Some((word as u32 * 64 + bit) as u8);
            }
        }
        None
    }

    /// Readable after something was raised, until [`heard`](Self::heard).
    pub(super) fn event(&self) -> BorrowedFd<'_> {
        self.event.as_fd()
    }

    pub(super) fn heard(&self) {
        let _ = rustix::io::read(&self.event, &mut [0; 8]);
    }
}

impl Vcpu {
    /// Hands the next interrupt to the processor, if one waits and the processor would take it; otherwise asks KVM to
    /// come back when it would. Returns how many were handed over.
    pub(super) fn deliver(&mut self) -> Result<u64, MicroError> {
        const INTERRUPT: Opcode = opcode::write::<kvm_interrupt>(0xae, 0x86);
        let Some(line) = &self.line else { return Ok(0) };
        if !line.waiting() {
            self.fd.get_kvm_run().request_interrupt_window = 0;
            return Ok(0);
        }
        let line = Arc::clone(line);
        let run = self.fd.get_kvm_run();
        let ready = run.ready_for_interrupt_injection != 0 && run.if_flag != 0;
        run.ready_for_interrupt_injection = 0;
        let vector = if ready { line.take() } else { None };
        if let Some(vector) = vector {
            let interrupt = kvm_interrupt { irq: vector.into() };
            // SAFETY: KVM_INTERRUPT reads one `kvm_interrupt` and writes nothing.
            unsafe { ioctl(borrow(&self.fd), Setter::<INTERRUPT, _>::new(interrupt)) }
                .map_err(MicroError::system("deliver an interrupt"))?;
        }
        self.fd.get_kvm_run().request_interrupt_window = line.waiting().into();
        Ok(vector.is_some().into())
    }
}

/// Code bytes of the stub of `vector`, the number of its 16-byte slot: pushes the vector and calls what the first eight
/// bytes of the page point to. The return address tells the common part where the page is.
pub(super) fn stub(vector: u8) -> [u8; 16] {
    let mut code = [0xcc; 16];
    // push imm32; call [rip + to the start of the page]
    code[0] = 0x68;
    code[1..5].copy_from_slice(&u32::from(vector).to_le_bytes());
    code[5..7].copy_from_slice(&[0xff, 0x15]);
    let after = i32::from(vector) * 16 + 11;
    code[7..11].copy_from_slice(&(-after).to_le_bytes());
    code
}

/// The port by which handlers return where IRETQ does not do.
pub(super) const RETURN_PORT: u16 = 0xea;

/// Where every stub goes on: saves what a function may change, calls the handler of the vector, restores, returns. The
/// page after the stubs has the handlers' addresses; its first word says how to return (0: by IRETQ).
///
/// On the stack: an address in the stubs' page, the vector, and the frame of the interrupt.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn common() {
    naked_asm!(
        "push rax", "push rcx", "push rdx", "push rsi", "push rdi", "push r8", "push r9", "push r10", "push r11",
        "push rbp", "cld", "mov rbp, rsp",
        // An area of XSAVE for x87, SSE, AVX and AVX-512 (Intel SDM volume 1, section 13.4) with an empty header.
        "sub rsp, 2816", "and rsp, -64", "xor eax, eax",
        "mov [rsp + 512], rax", "mov [rsp + 520], rax", "mov [rsp + 528], rax", "mov [rsp + 536], rax",
        "mov [rsp + 544], rax", "mov [rsp + 552], rax", "mov [rsp + 560], rax", "mov [rsp + 568], rax",
        "mov eax, 0xe7", "xor edx, edx", "xsave64 [rsp]",
        "mov rdi, [rbp + 88]", "mov rax, [rbp + 80]", "and rax, -4096", "call [rax + 4096 + rdi * 8]",
        "mov eax, 0xe7", "xor edx, edx", "xrstor64 [rsp]",
        "mov rsp, rbp", "mov rax, [rbp + 80]", "and rax, -4096", "cmp qword ptr [rax + 4096], 0",
        // None of these changes the flags.
        "pop rbp", "pop r11", "pop r10", "pop r9", "pop r8", "pop rdi", "pop rsi", "pop rdx", "pop rcx", "pop rax",
        "lea rsp, [rsp + 16]", "jne 2f", "iretq", "2: out {port}, al", "ud2",
        port = const RETURN_PORT,
    )
}

impl Vcpu {
    /// What IRETQ would do, after an output to [`RETURN_PORT`]: false if the stack pointer is not that of a handler
    /// that returns.
    pub(super) fn return_from_interrupt(&mut self) -> Result<bool, MicroError> {
        let mut regs = self.fd.get_regs().map_err(MicroError::setup("read the registers"))?;
        // The only frame there can be, as the stack is switched to at every delivery.
        let frame = self.interrupt_stack.wrapping_sub(40);
        if self.line.is_none() || regs.rsp != frame as u64 {
            return Ok(false);
        }
        // SAFETY: 40 bytes at the end of the processor's interrupt stack, which is mapped as long as the machine lives;
        // the processor does not run now.
        let [rip, _, flags, rsp, _] = unsafe { (frame as *const [u64; 5]).read_volatile() };
        // Of the flags, what arithmetic leaves and the direction.
        (regs.rip, regs.rsp, regs.rflags) = (rip, rsp, flags & 0xcd5 | FLAGS | INTERRUPTS_ON);
        self.start_at(&regs)?;
        Ok(true)
    }
}

/// How handlers return.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Return {
    /// By IRETQ.
    Native,
    /// By an exit to the host.
    ByExit,
}

/// Whether the KVM here delivers interrupts to ring 3: tried once, for real, within half a second.
///
/// # Errors
/// [`MicroError::Unavailable`] with reason and remedy if it does not.
pub fn check_interrupts() -> Result<(), MicroError> {
    way_to_return().map(|_| ())
}

/// How handlers return here, found by trying.
pub(super) fn way_to_return() -> Result<Return, MicroError> {
    static FOUND: OnceLock<Result<Return, String>> = OnceLock::new();
    super::check()?;
    let found = FOUND.get_or_init(|| {
        if !is_x86_feature_detected!("xsave") {
            return Err("the processor has no XSAVE".to_owned());
        }
        for way in [Return::Native, Return::ByExit] {
            match deliver_some(way) {
                Ok(true) => return Ok(way),
                Ok(false) => {}
                Err(error) => return Err(format!("delivering some failed: {error}")),
            }
        }
        Err("KVM did not deliver what was raised".to_owned())
    });
    found.clone().map_err(|reason| {
        let remedy = "use a hardware KVM (VMX or SVM), or let the guest poll or idle instead";
        MicroError::Unavailable(Missing::new("interrupts in micro-guests", reason, remedy))
    })
}

/// Whether three interrupts that are raised during one call, each after the one before, are all taken.
fn deliver_some(way: Return) -> Result<bool, MicroError> {
    const VECTOR: u8 = 0x40;
    const TIMES: u64 = 3;
    static TAKEN: AtomicU64 = AtomicU64::new(0);
    unsafe extern "C" fn take(_: usize) {
        TAKEN.fetch_add(1, Ordering::SeqCst);
    }
    unsafe extern "C" fn await_all(_: usize) -> usize {
        while TAKEN.load(Ordering::SeqCst) < TIMES {
            std::hint::spin_loop();
        }
        0
    }
    TAKEN.store(0, Ordering::SeqCst);
    let options = Options { interrupts: vec![(VECTOR, take)], stack_bytes: 16 << 10, ..Options::default() };
    let mut guests = guest::make(&[Devices::new(0)?], &options, way)?;
    let processor = &mut guests[0].processors()[0];
    let interrupter = processor.interrupter();
    let limits = Limits { time: Duration::from_millis(150) };
    let over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let raiser = scope.spawn(|| {
            while !over.load(Ordering::SeqCst) {
                interrupter.iter().for_each(|interrupter| interrupter.raise(VECTOR));
                std::thread::sleep(Duration::from_micros(100));
            }
        });
        // SAFETY: looks at a static.
        let outcome = unsafe { processor.call(await_all, 0, limits) };
        over.store(true, Ordering::SeqCst);
        let _ = raiser.join();
        match outcome {
            Ok(_) => Ok(true),
            Err(MicroError::TimedOut { .. } | MicroError::Fault(_) | MicroError::WildPort { .. }) => {
                Ok(false)
            }
            Err(error) => Err(error),
        }
    })
}
