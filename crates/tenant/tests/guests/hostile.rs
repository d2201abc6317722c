//! Code that means harm, in a guest of its own: each piece is caught, named and bounded in time, and the guest is good
//! for another call afterwards.
//!
//! Without `/dev/kvm` each test says why it does nothing, unless `TOLLWAY_REQUIRE` names `micro-guest` or `kvm`.

use std::time::{Duration, Instant};

use crate::turn::kvm;
use tollway_payload::crossing::Hypercall;
use tollway_tenant::micro::{
    CallOutcome, Devices, Fault, Image, IsolatedGuest, IsolatedOptions, Limits, MicroError, Window,
};

type Result = std::result::Result<CallOutcome, MicroError>;

/// How a call of hostile code may end.
enum Ends {
    /// By an exception with one of these vectors.
    By(&'static [u8]),
    /// By a page fault whose address lies in this.
    At(&'static str),
    /// By a page fault whose code lies in this.
    Executing(&'static str),
    /// By a port that is none of the guest's.
    Port,
    /// By the time limit.
    Late,
    /// By a return: it did no harm.
    Back,
    /// By a return, or any error: which one depends on the KVM and the processor.
    Anyhow,
    /// As that where it is this processor's own hypercall; anyhow where it is another vendor's.
    Calling(Hypercall, &'static Ends),
}
use Ends::*;
use Hypercall::{Amd, Intel};

/// Pieces of machine code, each called with 0, with its room in RSI; another argument is returned plus one.
macro_rules! hostile {
    ($($name:ident $ends:expr, $($line:literal)+;)*) => {
        std::arch::global_asm!(
            ".pushsection .rodata.hostile, \"a\", @progbits",
            $(
                concat!(".globl hostile_", stringify!($name), "\nhostile_", stringify!($name), ":"),
                "test rdi, rdi\njz 9f\nlea rax, [rdi + 1]\nret\n9:",
                $($line,)+
                "xor eax, eax\nret",
                concat!(".globl hostile_end_", stringify!($name), "\nhostile_end_", stringify!($name), ":"),
            )*
            ".popsection",
        );
        /// Name, code, and how it may end.
        fn pieces() -> Vec<(&'static str, &'static [u8], Ends)> {
            vec![$({
                unsafe extern "C" {
                    #[link_name = concat!("hostile_", stringify!($name))]
                    static START: u8;
                    #[link_name = concat!("hostile_end_", stringify!($name))]
                    static END: u8;
                }
                let (start, end) = (&raw const START, &raw const END);
                // SAFETY: both labels are in one piece of constants, one after the other.
                let code = unsafe { std::slice::from_raw_parts(start, end.offset_from_unsigned(start)) };
                (stringify!($name), code, $ends)
            }),*]
        }
    };
}

hostile! {
    // Pointers.
    null_write At("the null page"), "mov dword ptr [0], 1";
    unmapped_read At("no memory of the guest"), "mov eax, [0x12345678]";
    not_canonical By(&[13]), "mov rax, 0x8000000000000000" "mov [rax], al";
    upper_half At("no memory of the guest"), "mov rax, 0xffffffff81000000" "mov eax, [rax]";
    text_write At("the text"), "lea rax, [rip]" "mov [rax], al";
    own_code_changed At("the text"), "lea rax, [rip + 4f]" "mov byte ptr [rax], 0x90" "4: ud2";
    first_code_write At("the first code"), "mov byte ptr [0x10000], 0x90";
    room_write At("the room"), "mov [rsi], rax";
    window_end At("no memory of the guest"), "mov rax, [rsi]" "add rax, [rsi + 8]" "mov [rax], al";
    window_end_across At("no memory of the guest"), "mov rax, [rsi]" "add rax, [rsi + 8]" "mov [rax - 4], rax";
    memory_overrun At("no memory of the guest"), "mov rdi, [rsi + 16]" "mov rcx, -1" "rep stosb";
    stack_overflow At("the guard page below the stack"), "4: push rax" "jmp 4b";
    stack_pointer_null By(&[14, 12]), "xor esp, esp" "push rax";
    stack_pointer_wild By(&[12, 13, 14]), "mov rsp, 0x8000000000000000" "push rax";
    everything_touched At("no memory of the guest"), "mov rax, 0x100000" "4: mov cl, [rax]" "add rax, 4096" "jmp 4b";
    backwards_over_the_end At("no memory of the guest"), "std" "mov rdi, [rsi + 16]" "mov rcx, -1" "rep stosb";
    // Jumps.
    jump_to_window Executing("the window"), "mov rax, [rsi]" "mov byte ptr [rax], 0xc3" "jmp rax";
    jump_to_memory Executing("the guest's memory"), "mov rax, [rsi + 16]" "mov byte ptr [rax], 0xc3" "jmp rax";
    jump_to_stack Executing("the stack"), "mov byte ptr [rsp - 64], 0xc3" "lea rax, [rsp - 64]" "jmp rax";
    jump_to_room Executing("the room"), "jmp rsi";
    jump_to_device Executing("the devices"), "mov rax, [rsi + 32]" "jmp rax";
    jump_to_null Executing("the null page"), "xor eax, eax" "jmp rax";
    jump_not_canonical By(&[13]), "mov rax, 0x8000000000000000" "jmp rax";
    call_again_without_end At("the guard page below the stack"), "4: call 4b";
    far_return_to_ring_0 By(&[13]), "push 0x08" "lea rax, [rip]" "push rax" "retfq";
    interrupt_return_to_ring_0 By(&[13]), "push 0x10" "push rsp" "push 0x3002" "push 0x08" "lea rax, [rip]" "push rax" "iretq";
    compatibility_mode By(&[13, 6, 11, 14]), "push 0x33" "lea rax, [rip]" "push rax" "retfq";
    // Time.
    endless_loop Late, "4: pause" "jmp 4b";
    endless_port Late, "mov dx, 0xe9" "4: out dx, al" "jmp 4b";
    endless_store Late, "mov rax, [rsi + 32]" "4: mov [rax], eax" "jmp 4b";
    endless_bell Late, "mov rax, [rsi + 48]" "4: mov [rax], eax" "jmp 4b";
    endless_cpuid Late, "4: xor eax, eax" "xor ecx, ecx" "cpuid" "jmp 4b";
    endless_string_port Late, "mov dx, 0xe9" "4: mov ecx, 0x1000" "push rsi" "mov rsi, [rsi + 16]" "rep outsb" "pop rsi" "jmp 4b";
    endless_sleep Late, "mov rax, [rsi + 72]" "mov rax, [rax]";
    endless_vmcalls Calling(Intel, &Late), "4: mov eax, 9" "xor ebx, ebx" "vmcall" "jmp 4b";
    endless_vmmcalls Calling(Amd, &Late), "4: mov eax, 9" "xor ebx, ebx" "vmmcall" "jmp 4b";
    endless_locks Late, "mov rax, [rsi]" "4: lock inc qword ptr [rax + 61]" "jmp 4b";
    // Instructions of an operating system.
    halt By(&[13]), "hlt";
    interrupts_off Anyhow, "cli";
    interrupts_on Anyhow, "sti" "nop";
    write_model_register By(&[13]), "mov ecx, 0xc0000080" "xor eax, eax" "xor edx, edx" "wrmsr";
    read_model_register By(&[13]), "mov ecx, 0xc0000080" "rdmsr";
    new_page_tables By(&[13]), "xor eax, eax" "mov cr3, rax";
    read_page_tables By(&[13]), "mov rax, cr3";
    paging_off By(&[13]), "xor eax, eax" "mov cr0, rax";
    task_priority By(&[13]), "mov rax, cr8";
    breakpoint_registers By(&[13]), "mov dr7, rax";
    new_descriptors By(&[13]), "lgdt [rsp]";
    new_exceptions By(&[13]), "lidt [rsp]";
    no_exceptions By(&[13]), "sub rsp, 16" "mov qword ptr [rsp], 0" "lidt [rsp]" "ud2";
    new_task By(&[13]), "mov eax, 0x28" "ltr ax";
    local_descriptors By(&[13]), "lldt ax";
    forget_page By(&[13]), "invlpg [rsp]";
    caches_off By(&[13]), "wbinvd";
    clear_task_switched By(&[13]), "clts";
    machine_word By(&[13]), "lmsw ax";
    swap_base By(&[13, 6]), "swapgs";
    system_return By(&[13, 6]), "sysretq";
    extended_control By(&[13, 6]), "xor ecx, ecx" "xor edx, edx" "mov eax, 1" "xsetbv";
    counter_read Anyhow, "mov ecx, 0x40000000" "rdpmc";
    monitor Anyhow, "mov rax, rsp" "xor ecx, ecx" "xor edx, edx" "monitor" "mwait";
    run_a_guest By(&[6, 13]), "mov rax, rsp" "vmrun";
    global_interrupts By(&[6, 13]), "stgi";
    vmx_on By(&[6, 13]), "vmxon [rsp]";
    system_management By(&[6, 13]), "rsm";
    kernel_data_segment By(&[13]), "mov eax, 0x10" "mov ds, ax";
    kernel_stack_segment By(&[13]), "mov eax, 0x10" "mov ss, ax";
    no_stack_segment By(&[13]), "xor eax, eax" "mov ss, ax" "push rax";
    // Calls and exceptions.
    system_call_wild Anyhow, "mov eax, 60" "syscall";
    system_call_compat Anyhow, "sysenter";
    interrupt_3 By(&[13, 3]), "int3";
    interrupt_80 By(&[6, 13]), "int 0x80";
    interrupt_page_fault By(&[6, 13]), "int 14";
    interrupt_double_fault By(&[6, 13]), "int 8";
    interrupt_1 By(&[1, 13]), ".byte 0xf1";
    illegal By(&[6]), "ud2";
    illegal_in_long_mode By(&[6]), ".byte 0x06";
    too_many_prefixes By(&[13, 6]), ".fill 15, 1, 0x66" "nop";
    division_by_zero By(&[0]), "xor ecx, ecx" "mov eax, 1" "xor edx, edx" "div ecx";
    division_overflow By(&[0]), "mov eax, 0x80000000" "cdq" "mov ecx, -1" "idiv ecx";
    x87_exception By(&[16]), "push 0x0340" "fldcw [rsp]" "fld1" "fldz" "fdivp" "fwait";
    sse_exception By(&[19]), "push 0" "ldmxcsr [rsp]" "xorps xmm0, xmm0" "divps xmm0, xmm0";
    alignment By(&[17, 14]), "pushfq" "or dword ptr [rsp], 0x40000" "popfq" "mov eax, [rsp + 1]";
    single_step By(&[1]), "pushfq" "or dword ptr [rsp], 0x100" "popfq" "nop" "nop";
    all_flags Anyhow, "push -1" "popfq" "nop" "nop";
    // Ports.
    delay_port Port, "out 0x80, al";
    keyboard_port Port, "in al, 0x60";
    interrupt_controller Port, "mov al, 0x20" "out 0x20, al";
    timer_port Port, "out 0x43, al";
    pci_port Port, "mov dx, 0xcf8" "out dx, eax";
    pci_data Port, "mov dx, 0xcfc" "in eax, dx";
    reset_port Port, "mov dx, 0xcf9" "mov al, 6" "out dx, al";
    acpi_port Port, "mov dx, 0x604" "mov ax, 0x2000" "out dx, ax";
    last_port Port, "mov dx, 0xffff" "in al, dx";
    last_port_wide Anyhow, "mov dx, 0xffff" "out dx, eax";
    counted_port_wide Back, "mov dx, 0xe9" "out dx, eax" "in eax, dx";
    string_out Back, "mov dx, 0xe9" "mov rsi, [rsi + 16]" "mov ecx, 90" "rep outsb";
    string_out_wide Back, "mov dx, 0xe9" "mov rsi, [rsi + 16]" "mov ecx, 40" "rep outsd";
    string_in Back, "mov dx, 0xe9" "mov rdi, [rsi + 16]" "mov ecx, 9000" "rep insb";
    string_in_to_nowhere Anyhow, "mov dx, 0xe9" "mov edi, 0x12345678" "mov ecx, 9" "rep insd";
    string_in_to_text Anyhow, "mov dx, 0xe9" "lea rdi, [rip]" "mov ecx, 9" "rep insb";
    string_out_of_nowhere Anyhow, "mov dx, 0xe9" "mov esi, 0x12345678" "mov ecx, 9" "rep outsw";
    string_in_over_the_end Anyhow, "mov dx, 0xe9" "mov rdi, [rsi + 16]" "mov rcx, -1" "rep insd";
    string_wild Port, "mov dx, 0x3f8" "mov rsi, [rsi + 16]" "mov ecx, 100" "rep outsb";
    string_backwards Anyhow, "std" "mov dx, 0xe9" "mov rdi, [rsi + 16]" "mov ecx, 9000" "rep insb";
    string_out_of_device Anyhow, "mov dx, 0xe9" "mov rsi, [rsi + 32]" "mov ecx, 100" "rep outsb";
    // Devices, of odd sizes, across pages, by instructions that are hard to emulate.
    store_byte Back, "mov rax, [rsi + 32]" "mov [rax], al";
    store_wide Back, "mov rax, [rsi + 32]" "mov [rax], rax";
    store_not_aligned Anyhow, "mov rax, [rsi + 32]" "mov [rax + 3], rax";
    store_across_devices Anyhow, "mov rax, [rsi + 32]" "mov [rax - 3], rax";
    store_across_the_end Anyhow, "mov rax, [rsi + 72]" "mov [rax + 4093], rax";
    store_past_a_bell Anyhow, "mov rax, [rsi + 48]" "mov [rax + 4093], rax";
    store_to_sleep Anyhow, "mov rax, [rsi + 72]" "mov [rax], eax";
    load_from_bell Anyhow, "mov rax, [rsi + 48]" "mov eax, [rax]";
    load_from_end Anyhow, "mov eax, [r13]";
    load_across_sleep Anyhow, "mov rax, [rsi + 72]" "mov rax, [rax - 3]";
    sse_store Anyhow, "mov rax, [rsi + 32]" "movups [rax], xmm0";
    avx_store Anyhow, "mov rax, [rsi + 32]" "vmovups [rax], ymm0";
    avx512_store Anyhow, "mov rax, [rsi + 32]" "vmovups [rax], zmm0";
    x87_store Anyhow, "mov rax, [rsi + 32]" "fld1" "fstp tbyte ptr [rax]";
    save_to_device Anyhow, "mov rax, [rsi + 32]" "fxsave [rax]";
    gather_from_device Anyhow, "mov rax, [rsi + 32]" "vpcmpeqd ymm1, ymm1, ymm1" "vpxor ymm2, ymm2, ymm2" "vpgatherdd ymm0, [rax + ymm2*4], ymm1";
    locked_add Anyhow, "mov rax, [rsi + 32]" "lock xadd [rax], ecx";
    locked_exchange Anyhow, "mov rax, [rsi + 32]" "lock cmpxchg16b [rax]";
    string_to_device Anyhow, "mov rdi, [rsi + 32]" "mov ecx, 100" "rep stosq";
    string_from_device Anyhow, "mov rdi, [rsi + 16]" "mov rsi, [rsi + 32]" "mov ecx, 100" "rep movsb";
    string_device_to_device Anyhow, "mov rdi, [rsi + 32]" "mov rsi, rdi" "mov ecx, 9000" "rep movsq";
    stack_in_device Anyhow, "mov rsp, [rsi + 32]" "push rax" "call 4f" "4: ud2";
    call_through_device Anyhow, "mov rax, [rsi + 32]" "call [rax]";
    // Early returns, with what nobody expects.
    return_at_once Back, "mov [r13], rax";
    return_a_byte Back, "mov [r13], al";
    return_in_pieces Back, "mov rdi, r13" "mov ecx, 9" "rep stosb";
    return_elsewhere_in_the_page Anyhow, "mov [r13 + 8], rax";
    no_return_register By(&[13]), "mov r13, 0x8000000000000000";
    // The machine's own tables.
    tables_by_their_address Anyhow, "sub rsp, 16" "sgdt [rsp]" "mov rax, [rsp + 2]" "mov byte ptr [rax], 0";
    exceptions_by_their_address Anyhow, "sub rsp, 16" "sidt [rsp]" "mov rax, [rsp + 2]" "mov qword ptr [rax + 14*16], 0";
    // State that must not be there in the next call.
    bases_changed Anyhow, "mov rax, 0x123456789000" "wrfsbase rax" "wrgsbase rax" "mov eax, 0" "mov es, ax";
    direction_left_set Back, "std";
    control_words_left Back, "push 0x0c40" "fldcw [rsp]" "push 0x0" "ldmxcsr [rsp]" "pop rax" "pop rax";
    vmcalls_of_all_kinds Calling(Intel, &Back), "xor r8d, r8d" "4: mov eax, r8d" "mov rbx, -1" "mov rcx, rsp" "mov rdx, rsi" "push rsi" "vmcall" "pop rsi" "inc r8d" "cmp r8d, 64" "jb 4b";
    vmmcalls_of_all_kinds Calling(Amd, &Back), "xor r8d, r8d" "4: mov eax, r8d" "mov rbx, -1" "mov rcx, rsp" "mov rdx, rsi" "push rsi" "vmmcall" "pop rsi" "inc r8d" "cmp r8d, 64" "jb 4b";
    processor_number Back, "rdtscp" "rdtsc";
    length_that_changes Late, "mov rax, [rsi]" "4: mov qword ptr [rax], 8" "mov qword ptr [rax], -1" "jmp 4b";
}

struct Place {
    guest: IsolatedGuest,
    window: Window,
}

impl Place {
    fn new(code: &[u8]) -> Place {
        let window = Window::new(4096).unwrap();
        let devices = Devices::new(2).unwrap();
        let image = Image::from_code(code).unwrap();
        let guest = IsolatedGuest::new(&image, &window, &devices, &IsolatedOptions::default()).unwrap();
        Place { guest, window }
    }

    fn call(&mut self, argument: usize, limit: Duration) -> Result {
        self.guest.call(0, argument, Limits { time: limit })
    }
}

fn is_expected(ends: &Ends, result: &Result) -> bool {
    let fault = match result {
        Err(MicroError::Fault(fault)) => Some(&**fault),
        _ => None,
    };
    // A KVM that shuts the guest down instead of delivering exceptions cannot tell the vector.
    let vector = |fault: &Fault, any: &[u8]| fault.vector.is_none_or(|vector| any.contains(&vector));
    match ends {
        By(vectors) => fault.is_some_and(|fault| vector(fault, vectors)),
        At(place) => fault.is_some_and(|f| vector(f, &[14]) && f.address_in.as_deref() == Some(*place)),
        Executing(place) => {
            fault.is_some_and(|f| vector(f, &[14]) && f.address_in.as_deref() == Some(*place))
        }
        Port => matches!(result, Err(MicroError::WildPort { .. })),
        Late => matches!(result, Err(MicroError::TimedOut { .. })),
        Back => result.is_ok(),
        Anyhow => true,
        // The kernel writes the processor's own instruction in place of the other vendor's, into text that nobody may write.
        Calling(by, ends) if *by == Hypercall::of_this_processor() => is_expected(ends, result),
        Calling(..) => true,
    }
}

/// Each piece ends as it should and in time, twice, and the guest works between and afterwards.
#[test]
fn hostile_code_is_caught_and_named() {
    let Some(_one) = kvm() else { return };
    let mut wrong = Vec::new();
    for (name, code, ends) in pieces() {
        if name.starts_with("avx") && !std::is_x86_feature_detected!("avx") {
            continue;
        }
        let mut place = Place::new(code);
        for _ in 0..2 {
            // What shall end by itself gets time for it, however busy the machine is.
            let is_late = matches!(ends, Late | Calling(_, Late));
            let limit = Duration::from_millis(if is_late { 40 } else { 20_000 });
            let started = Instant::now();
            let result = place.call(0, limit);
            let took = started.elapsed();
            match &result {
                Ok(outcome) => println!("{name}: returned {}, {:?}, {took:?}", outcome.value, outcome.exits),
                Err(error) => println!("{name}: {error}, {took:?}"),
            }
            if !is_expected(&ends, &result) {
                wrong.push(format!("{name}: {result:?}"));
            }
            assert!(took < limit + Duration::from_secs(60), "{name} took {took:?}");
            // The first call after an error has to work, and the next, which finds everything clean, as well.
            for argument in [1, 2] {
                let after = place.call(argument, Duration::from_secs(20));
                assert!(after.as_ref().is_ok_and(|o| o.value == argument + 1), "after {name}: {after:?}");
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A guest changes the length of its message while the host reads it. What the host has checked, it uses.
#[test]
fn the_window_changes_under_the_hosts_hands() {
    let Some(_one) = kvm() else { return };
    let (_, code, _) = pieces().into_iter().find(|(name, ..)| *name == "length_that_changes").unwrap();
    let mut place = Place::new(code);
    let window = place.window.clone();
    let (mut short, mut long) = (0u32, 0u32);
    std::thread::scope(|scope| {
        let guest = scope.spawn(|| place.call(0, Duration::from_secs(2)));
        while !guest.is_finished() {
            let mut length = [0; 8];
            window.read(0, &mut length).unwrap();
            let length = usize::from_le_bytes(length);
            let mut message = [0u8; 16];
            // The check and the use are of one value: neither the slice nor the window is overrun.
            match message.get_mut(..length) {
                Some(message) => {
                    window.read(8, message).unwrap();
                    short += 1;
                }
                None => {
                    assert!(window.read(8, &mut message[..]).is_ok() && length == usize::MAX, "{length:#x}");
                    long += 1;
                }
            }
        }
    });
    println!("{short} times short, {long} times long");
    assert!(long > 0 && short > 0);
}
