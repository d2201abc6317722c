//! Nothing in the registers comes from somewhere else: neither from the host's code, which ran just before on the same
//! processor, nor from the last call. Memory is another matter: the guest's own stays as it left it.
//!
//! Without `/dev/kvm` each test says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

use std::arch::{asm, global_asm};

use crate::probe;
use crate::turn::kvm;
use tollway_tenant::micro::{Devices, Image, IsolatedGuest, IsolatedOptions, Limits, Window};

// With 1: changes everything that can be changed, and returns. With 2: the same, and then fails.
global_asm!(
    ".pushsection .rodata.clean_state, \"a\", @progbits",
    "clean_state_start:",
    "vpternlogd zmm0, zmm0, zmm0, 0xff",
    ".irp number, 1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31",
    "vmovdqa64 zmm\\number, zmm0",
    ".endr",
    ".irp number, 0,1,2,3,4,5,6,7",
    "kxnorq k\\number, k\\number, k\\number",
    ".endr",
    "push 0x0c7f",
    "fldcw [rsp]",
    "push 0x5fc0",
    "ldmxcsr [rsp]",
    "pop rax",
    "pop rax",
    ".rept 5",
    "fldpi",
    ".endr",
    "mov rax, 0x123456789000",
    "wrfsbase rax",
    "wrgsbase rax",
    "xor eax, eax",
    "mov es, ax",
    "mov ds, ax",
    "mov rax, -1",
    "mov rbx, rax",
    "mov rcx, rax",
    "mov rdx, rax",
    "mov rbp, rax",
    "mov r8, rax",
    "mov r9, rax",
    "mov r10, rax",
    "mov r14, rax",
    "mov r15, rax",
    "pushfq",
    // Alignment checks, direction, processor identification.
    "or dword ptr [rsp], 0x240400",
    "popfq",
    "cmp rdi, 2",
    "je 6f",
    "ret",
    "6: ud2",
    "clean_state_end:",
    ".popsection",
);

fn code() -> &'static [u8] {
    unsafe extern "C" {
        static clean_state_start: u8;
        static clean_state_end: u8;
    }
    let (start, end) = (&raw const clean_state_start, &raw const clean_state_end);
    // SAFETY: both labels are in one piece of constants, one after the other.
    unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) }
}

/// However busy the machine is.
const LIMITS: Limits = Limits { time: std::time::Duration::from_secs(10) };

/// A guest that tells its state, if the processor has the registers that the probe wants.
fn guest() -> Option<(IsolatedGuest, Window)> {
    if !probe::possible() {
        return None;
    }
    let window = Window::new(probe::STATE).unwrap();
    let image = Image::from_code(&probe::before(code())).unwrap();
    let devices = Devices::new(0).unwrap();
    let guest = IsolatedGuest::new(&image, &window, &devices, &IsolatedOptions::default()).unwrap();
    Some((guest, window))
}

fn state(guest: &mut IsolatedGuest, window: &Window) -> Vec<u8> {
    window.write(0, &[0xee; probe::STATE]).unwrap();
    guest.call(0, probe::TELL, LIMITS).unwrap();
    let mut state = vec![0; probe::STATE];
    window.read(0, &mut state).unwrap();
    state
}

/// What the host's code has in its vector registers does not reach the guest.
#[test]
fn the_host_leaves_no_trace() {
    let Some(_one) = kvm() else { return };
    let Some((mut guest, window)) = guest() else { return };
    for _ in 0..100 {
        // SAFETY: changes vector and mask registers only, and says so.
        unsafe {
            asm!(
                "vpternlogd zmm0, zmm0, zmm0, 0xff", "vmovdqa64 zmm9, zmm0", "vmovdqa64 zmm15, zmm0",
                "vmovdqa64 zmm16, zmm0", "vmovdqa64 zmm30, zmm0", "vmovdqa64 zmm31, zmm0", "kxnorq k1, k1, k1",
                "kxnorq k7, k7, k7", out("zmm0") _, out("zmm9") _, out("zmm15") _, out("zmm16") _, out("zmm30") _,
                out("zmm31") _, out("k1") _, out("k7") _,
            );
        }
        guest.call(0, probe::TELL, LIMITS).unwrap();
        let mut state = [1; probe::STATE];
        window.read(0, &mut state).unwrap();
        let vectors = &state[1024..][..32 * 64];
        assert!(vectors.iter().all(|byte| *byte == 0), "{vectors:02x?}");
        assert_eq!(state[144..208], [0; 64], "masks");
    }
}

/// What one call leaves in registers, whether it returns or fails, does not reach the next.
#[test]
fn calls_leave_no_trace() {
    let Some(_one) = kvm() else { return };
    let Some((mut guest, window)) = guest() else { return };
    let fresh = state(&mut guest, &window);
    assert_eq!(fresh[32..38], [0x80, 0x1f, 0, 0, 0x7f, 0x03], "control words at a start");
    for argument in [1, 2] {
        let result = guest.call(0, argument, LIMITS);
        assert_eq!(result.is_ok(), argument == 1, "{result:?}");
        let next = state(&mut guest, &window);
        let differ: Vec<usize> = (0..probe::STATE).filter(|at| next[*at] != fresh[*at]).collect();
        assert!(differ.is_empty(), "after {argument}: {differ:?}");
    }
}

/// The host's own registers survive: what it computes across a call is right, and its control words are its own.
#[test]
fn the_guest_leaves_no_trace_in_the_host() {
    let Some(_one) = kvm() else { return };
    let Some((mut guest, _window)) = guest() else { return };
    let words = || {
        let (mut vectors, mut x87) = (0u32, 0u16);
        // SAFETY: stores two control words.
        unsafe { asm!("stmxcsr [{}]", "fnstcw [{}]", in(reg) &raw mut vectors, in(reg) &raw mut x87) };
        (vectors & !0x3f, x87)
    };
    let before = words();
    for argument in [1, 2] {
        let _ = guest.call(0, argument, LIMITS);
        assert_eq!(words(), before);
        let flags: u64;
        // SAFETY: reads the flags.
        unsafe { asm!("pushfq", "pop {}", out(reg) flags) };
        assert_eq!(flags & 0x24_0400, 0, "{flags:#x}");
        assert!((1.0f64 / 3.0 * 3.0 - 1.0).abs() < 1e-15);
    }
}
