//! Code that does what it must not: caught, named, bounded in time, and the guest is good for another call.

use std::arch::naked_asm;
use std::time::Instant;

use super::super::*;
use super::{LONG, increment, kvm, limit};

/// A function of these instructions alone.
macro_rules! code {
    ($name:ident, $($line:literal),+) => {
        #[unsafe(naked)]
        unsafe extern "C" fn $name(_: usize) -> usize {
            naked_asm!($($line,)+ "xor eax, eax", "ret")
        }
    };
}

code!(store_wild, "mov dword ptr [rdi], 1");
code!(load_wild, "mov rax, [rdi]");
code!(jump, "call rdi");
code!(ud2, "ud2");
code!(hlt, "hlt");
code!(divide, "xor ecx, ecx", "mov eax, 1", "cdq", "div ecx");
code!(divide_signed, "mov eax, 0x80000000", "cdq", "mov ecx, -1", "idiv ecx");
code!(syscall, "mov eax, 110", "syscall");
code!(sysenter, "xor ecx, ecx", "xor edx, edx", "mov eax, 20", "sysenter");
code!(int80, "mov eax, 20", "int 0x80");
code!(int3, "int3");
code!(gate, "int 14");
code!(wrmsr, "mov ecx, 0xc0000080", "xor eax, eax", "xor edx, edx", "wrmsr");
code!(rdmsr, "mov ecx, 0xc0000080", "rdmsr");
code!(load_tables, "mov cr3, rdi");
code!(store_tables, "mov rax, cr0");
code!(descriptors, "sub rsp, 16", "lgdt [rsp]", "add rsp, 16");
code!(exceptions, "sub rsp, 16", "lidt [rsp]", "add rsp, 16");
code!(flush, "wbinvd");
code!(swap, "swapgs");
code!(far_return, "push 0x08", "lea rax, [rip + 2f]", "push rax", "retfq", "2:", "hlt");
code!(kernel_stack, "mov ax, 0x10", "mov ss, ax");
code!(single_step, "pushf", "or dword ptr [rsp], 0x100", "popf", "nop");
code!(misaligned, "sub rsp, 24", "movaps xmm0, [rsp + 1]", "add rsp, 24");
code!(no_stack, "mov rcx, rsp", "mov rsp, rdi", "push rax", "mov rsp, rcx");
code!(cli_loop, "cli", "2: jmp 2b");
code!(sti_loop, "sti", "2: jmp 2b");
code!(out_wild, "mov edx, 0x64", "mov al, 0xfe", "out dx, al");
code!(out_string, "mov rsi, rsp", "mov edx, 0xcf8", "mov ecx, 3", "rep outsb");
code!(in_wild, "mov edx, 0x60", "in al, dx");
code!(in_known, "mov edx, 0xe9", "in al, dx");
code!(debug_port, "mov al, 1", "out 0x80, al");
code!(forever, "2: pause", "jmp 2b");
code!(forever_exits, "2: out 0xe9, al", "jmp 2b");
code!(forever_string, "2: mov rsi, rsp", "mov edx, 0xe9", "mov ecx, 16", "rep outsb", "jmp 2b");
code!(forever_cpuid, "push rbx", "2: xor eax, eax", "cpuid", "jmp 2b");
code!(forever_bell, "2: mov dword ptr [rdi], 1", "jmp 2b");

unsafe extern "C" fn recurse(depth: usize) -> usize {
    let mut room = [depth; 64];
    std::hint::black_box(&mut room);
    if room[0] > usize::MAX / 2 {
        return 0;
    }
    // SAFETY: it is the test that this has no end.
    let deeper = unsafe { recurse(depth + 1) };
    room[deeper & 63]
}

/// How long something may take that has no end, or may have none.
const SHORT: Duration = Duration::from_millis(300);

/// The error of a call that is stopped after `time`, and not much later; the processor can be called again.
fn error_of(guest: &mut MicroGuest, time: Duration, name: &str, entry: Entry, argument: usize) -> MicroError {
    let started = Instant::now();
    // SAFETY: none of these changes memory of the program.
    let result = unsafe { guest.call(entry, argument, limit(time)) };
    let took = started.elapsed();
    let error = match result {
        Err(error) => error,
        Ok(outcome) => panic!("{name} came back: {outcome:?}"),
    };
    println!("{name}: {error}");
    assert!(took < time + Duration::from_secs(60), "{name}: {took:?}");
    // SAFETY: adds one.
    assert_eq!(unsafe { guest.call(increment, 1, Limits::default()) }.unwrap().value, 2, "after {name}");
    error
}

/// What raises an exception is told by vector, address or instruction.
#[test]
fn faults_are_told() {
    let Some(_one) = kvm() else { return };
    // One expectation a line: a KVM that shuts the guest down instead of delivering exceptions cannot tell the vector.
    type Case = (&'static str, Entry, usize, Option<u8>, Option<u64>, Option<&'static str>);
    let mut data = 0u64;
    let (text, data) = (increment as *const () as usize, &raw mut data as usize);
    let wild = 0x1234_5678usize;
    let crooked = 0x8000_0000_0000_0000usize;
    let cases: [Case; 28] = [
        ("a wild store", store_wild, wild, Some(14), Some(wild as u64), None),
        ("a wild load", load_wild, wild, Some(14), Some(wild as u64), None),
        ("a null pointer", load_wild, 0, Some(14), Some(0), None),
        ("an address that is none", load_wild, crooked, Some(13), None, None),
        ("an address of the kernel", load_wild, 0xffff_8000_0000_0000, Some(14), None, None),
        ("a store to text", store_wild, text, Some(14), Some(text as u64), None),
        ("a jump to data", jump, data, Some(14), Some(data as u64), None),
        ("a jump to nowhere", jump, 0, Some(14), Some(0), None),
        ("endless recursion", recurse, 0, Some(14), None, None),
        ("a stack that is none", no_stack, wild, Some(14), Some(wild as u64 - 8), None),
        ("a misaligned vector", misaligned, 0, Some(13), None, None),
        ("a division by zero", divide, 0, Some(0), None, Some("div")),
        ("a division that overflows", divide_signed, 0, Some(0), None, Some("idiv")),
        ("ud2", ud2, 0, Some(6), None, Some("ud2")),
        ("hlt", hlt, 0, Some(13), None, Some("hlt")),
        ("syscall", syscall, 0, None, None, Some("syscall")),
        ("sysenter", sysenter, 0, None, None, Some("sysenter")),
        ("int 0x80", int80, 0, None, None, Some("int")),
        ("int 14", gate, 0, None, None, Some("int")),
        ("int3", int3, 0, Some(3), None, Some("int3")),
        ("wrmsr", wrmsr, 0, Some(13), None, Some("wrmsr")),
        ("rdmsr", rdmsr, 0, Some(13), None, Some("rdmsr")),
        ("mov to cr3", load_tables, 0, Some(13), None, Some("mov to or from a control register")),
        ("mov from cr0", store_tables, 0, Some(13), None, Some("mov to or from a control register")),
        ("lgdt", descriptors, 0, Some(13), None, Some("lgdt")),
        ("lidt", exceptions, 0, Some(13), None, Some("lidt")),
        ("wbinvd", flush, 0, Some(13), None, Some("wbinvd")),
        ("swapgs", swap, 0, Some(13), None, Some("swapgs")),
    ];
    let mut guest = super::guest();
    for (name, entry, argument, vector, address, instruction) in cases {
        let error = error_of(&mut guest, LONG, name, entry, argument);
        let MicroError::Fault(fault) = error else { panic!("{name}: {error}") };
        assert!(vector.is_none() || fault.vector.is_none() || fault.vector == vector, "{name}: {fault:?}");
        assert!(address.is_none() || fault.address == address, "{name}: {fault:?}");
        assert!(instruction.is_none() || fault.instruction == instruction, "{name}: {fault:?}");
    }
}

/// What lets code into ring 0, or takes its stack away, ends the call; how depends on the KVM.
#[test]
fn nothing_opens_ring_0() {
    let Some(_one) = kvm() else { return };
    let mut guest = super::guest();
    let cases: [(&str, Entry); 3] = [
        ("a far return to ring 0", far_return),
        ("the stack of ring 0", kernel_stack),
        ("single step", single_step),
    ];
    for (name, entry) in cases {
        error_of(&mut guest, SHORT, name, entry, 0);
    }
}

/// Ports that are no device, in both directions; the one that is answers.
#[test]
fn wild_ports_are_told() {
    let Some(_one) = kvm() else { return };
    let mut guest = super::guest();
    let cases: [(&str, Entry, u16, bool); 3] =
        [("out", out_wild, 0x64, true), ("outs", out_string, 0xcf8, true), ("in", in_wild, 0x60, false)];
    for (name, entry, expected, writes) in cases {
        match error_of(&mut guest, LONG, name, entry, 0) {
            MicroError::WildPort { port, write, .. } => assert_eq!((port, write), (expected, writes)),
            other => panic!("{name}: {other}"),
        }
    }
    // KVM may answer this one by itself.
    // SAFETY: in a guest.
    let result = unsafe { guest.call(debug_port, 0, Limits::default()) };
    assert!(matches!(result, Ok(_) | Err(MicroError::WildPort { port: 0x80, .. })), "{result:?}");
    // SAFETY: in a guest.
    let outcome = unsafe { guest.call(in_known, 0, Limits::default()) }.unwrap();
    assert_eq!(outcome.exits, ExitCounts { other: 1, ..ExitCounts::default() });
}

/// Pages without memory: another guest's devices are an error, one's own know what to do.
#[test]
fn devices_of_others_are_an_error() {
    let Some(_one) = kvm() else { return };
    let devices = [Devices::new(1).unwrap(), Devices::new(1).unwrap()];
    let mut guests = MicroGuest::several(&devices, &Options::default()).unwrap();
    for place in [devices[1].exits().store_to, devices[1].end(), devices[1].doorbells()[0].store_to] {
        let error = error_of(&mut guests[0], LONG, "a store to another's device", store_wild, place);
        assert!(matches!(error, MicroError::NoDevice { .. }), "{error}");
    }
    // The page that ends a call and a doorbell cannot be read.
    for place in [devices[0].end(), devices[0].doorbells()[0].store_to] {
        let error =
            error_of(&mut guests[0], LONG, "a load from a device that is written to", load_wild, place);
        assert!(matches!(error, MicroError::NoDevice { .. }), "{error}");
    }
    // SAFETY: adds one.
    assert_eq!(unsafe { guests[1].call(increment, 1, Limits::default()) }.unwrap().value, 2);
}

/// Loops without end are stopped in time, whatever they do on the way: nothing, exits to the program, exits to the
/// kernel. So are those that try to keep interrupts away.
#[test]
fn endless_loops_are_stopped() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::new(1).unwrap();
    let mut guest = MicroGuest::over_own_memory(&devices, &Options::default()).unwrap();
    let bell = devices.doorbells()[0].store_to;
    let cases: [(&str, Entry, usize); 8] = [
        ("pauses", forever, 0),
        ("exits by a port", forever_exits, 0),
        ("exits by a port, many at a time", forever_string, 0),
        ("exits by a store", forever_bell, devices.exits().store_to),
        ("cpuid", forever_cpuid, 0),
        ("doorbells", forever_bell, bell),
        ("interrupts off", cli_loop, 0),
        ("interrupts on", sti_loop, 0),
    ];
    for (name, entry, argument) in cases {
        let error = error_of(&mut guest, SHORT, name, entry, argument);
        let fault = matches!(&error, MicroError::Fault(f) if matches!(f.instruction, Some("cli" | "sti")));
        assert!(matches!(error, MicroError::TimedOut { .. }) || fault, "{name}: {error}");
    }
}
