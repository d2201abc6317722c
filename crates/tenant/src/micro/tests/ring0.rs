//! Guests in ring 0: refused where it would be emulated, and right even there when it is forced.

use std::arch::asm;

use super::super::*;
use super::{Fault, increment, kvm};

/// A guest in ring 0, whatever this KVM makes of it.
fn guest(devices: &Devices) -> MicroGuest {
    let options = Options { ring: Ring::Kernel, ..Options::default() };
    guest::make(std::slice::from_ref(devices), &options, interrupts::Return::Native).unwrap().remove(0)
}

fn fault(result: Result<CallOutcome<u64>, MicroError>) -> Fault {
    match result {
        Err(MicroError::Fault(fault)) => {
            println!("{fault}");
            *fault
        }
        other => panic!("expected a fault, got {other:?}"),
    }
}

/// On software KVM ring 0 is refused with a reason and a remedy; on hardware it is given.
#[test]
fn ring_0_is_given_where_it_is_native() {
    let Some(_one) = kvm() else { return };
    let options = Options { ring: Ring::Kernel, ..Options::default() };
    let made = MicroGuest::over_own_memory(&Devices::new(0).unwrap(), &options);
    if check().unwrap().kind == KvmKind::Software {
        let error = made.unwrap_err();
        println!("{error}");
        assert!(
            matches!(&error, MicroError::Unavailable(missing) if missing.what.contains("ring 0")),
            "{error}"
        );
    } else {
        made.unwrap();
    }
}

/// Functions of the program give the same results, privileged instructions work, exits are counted.
#[test]
fn ring_0_can_what_ring_3_cannot() {
    let Some(_one) = kvm() else { return };
    let devices = Devices::new(0).unwrap();
    let mut guest = guest(&devices);
    // SAFETY: adds one.
    assert_eq!(unsafe { guest.call(increment, 41, Limits::default()) }.unwrap().value, 42);
    // Plain instructions only: what emulates ring 0 knows few of the vector ones.
    // SAFETY: stays in registers.
    let outcome = unsafe { guest.run(Limits::default(), || tollway_payload::work::scramble(3, 50)) };
    assert_eq!(outcome.unwrap().value, tollway_payload::work::scramble(3, 50));
    let port = devices.exits().port;
    // SAFETY: reads registers, and uses the port of the devices.
    let outcome = unsafe {
        guest.run(Limits::default(), move || {
            let (control, segment): (u64, u64);
            asm!("mov {}, cr0", "mov {}, cs", "out dx, al", out(reg) control, out(reg) segment, in("dx") port);
            (control, segment)
        })
    }
    .unwrap();
    assert_eq!(outcome.value.1 & 3, 0, "ring {}", outcome.value.1 & 3);
    assert_eq!(outcome.value.0 & 0x8000_0001, 0x8000_0001);
    assert_eq!(outcome.exits, ExitCounts { port: 1, ..ExitCounts::default() });
}

/// Exceptions in ring 0 are told as those in ring 3 are, and endless loops are stopped.
#[test]
fn faults_in_ring_0_are_told() {
    let Some(_one) = kvm() else { return };
    let mut guest = guest(&Devices::new(0).unwrap());
    // SAFETY: it is the test that these are not allowed.
    let (load, illegal, endless) = unsafe {
        (
            guest.run(Limits::default(), || (0x1234_5678 as *const u64).read_volatile()),
            guest.run(Limits::default(), || -> u64 { asm!("ud2", options(noreturn)) }),
            guest.run(Limits { time: Duration::from_millis(100) }, || -> u64 {
                loop {
                    std::hint::spin_loop();
                }
            }),
        )
    };
    assert_eq!(fault(load).address, Some(0x1234_5678));
    assert_eq!(fault(illegal).instruction, Some("ud2"));
    assert!(matches!(endless, Err(MicroError::TimedOut { .. })), "{endless:?}");
    // SAFETY: as above: a stack that does not exist, on which not even the exception can be told.
    let lost = unsafe {
        guest.run(Limits::default(), || -> u64 { asm!("xor esp, esp", "push rax", "ud2", options(noreturn)) })
    };
    println!("{:?}", lost.as_ref().map_err(ToString::to_string));
    assert!(lost.is_err());
    // SAFETY: adds one.
    assert_eq!(unsafe { guest.call(increment, 1, Limits::default()) }.unwrap().value, 2);
}
