//! How QEMU is told what machine to be.
//!
//! The machine is q35 with nothing but what guests need: its devices are those of PCI, so that whatever QEMU has can be
//! added, and under both accelerators it boots as fast as the smaller `microvm` (1.3 against 1.2 s under TCG), which
//! has no room for many devices.

use std::ffi::OsString;
use std::os::fd::RawFd;

use tollway_core::Accelerator;

use super::device::Devices;

/// The modules that every guest loads; with what they need.
pub(super) const MODULES: [&str; 2] = ["virtio_pci", "virtio_console"];

/// What a guest is, as far as QEMU has to know.
pub(super) struct Shape<'a> {
    pub(super) accelerator: Accelerator,
    /// Whether that is a KVM without hardware beneath.
    pub(super) software_kvm: bool,
    pub(super) vcpus: u32,
    pub(super) memory_mib: u32,
    /// Whether that is of the machine's pool of huge pages.
    pub(super) pooled: bool,
    /// Whether its kernel checks its own memory.
    pub(super) checked: bool,
    pub(super) devices: &'a Devices,
    /// The kernel's settings besides those that every guest has.
    pub(super) settings: &'a [String],
    /// Descriptors that QEMU inherits: kernel, first file system, console, lifeline, ports.
    pub(super) kernel: RawFd,
    pub(super) initramfs: RawFd,
    pub(super) console: RawFd,
    pub(super) lifeline: RawFd,
    pub(super) ports: &'a [RawFd],
}

impl Shape<'_> {
    /// QEMU's arguments.
    pub(super) fn arguments(&self) -> Vec<OsString> {
        let mut all: Vec<OsString> = Vec::new();
        let mut say = |option: &str, value: String| {
            all.push(option.into());
            if !value.is_empty() {
                all.push(value.into());
            }
        };
        say("-nodefaults", String::new());
        say("-no-user-config", String::new());
        say("-no-reboot", String::new());
        say("-display", "none".into());
        // The names of its threads tell which virtual processor each is.
        say("-name", "tollway,debug-threads=on".into());
        let made = self.devices.shared_memory || self.pooled;
        let memory = if made { ",memory-backend=memory" } else { "" };
        say("-machine", format!("q35,sata=off,smbus=off,usb=off,vmport=off,hpet=off{memory}"));
        if made {
            let share = if self.devices.shared_memory { "on" } else { "off" };
            let pages = if self.pooled { ",hugetlb=on,prealloc=on" } else { "" };
            let size = self.memory_mib;
            say("-object", format!("memory-backend-memfd,id=memory,share={share}{pages},size={size}M"));
        }
        say("-m", format!("{}M", self.memory_mib));
        say("-smp", self.vcpus.to_string());
        match self.accelerator {
            Accelerator::Kvm => {
                say("-accel", "kvm".into());
                // A software KVM announces IA32_ARCH_CAPABILITIES but refuses to set it, at which QEMU aborts.
                let less = if self.software_kvm { ",-arch-capabilities" } else { "" };
                say("-cpu", format!("host{less}"));
            }
            Accelerator::Tcg => {
                say("-accel", "tcg,thread=multi".into());
                say("-cpu", "max".into());
            }
        }
        say("-kernel", inherited(self.kernel));
        say("-initrd", inherited(self.initramfs));
        say("-append", self.kernel_command_line());
        say("-chardev", format!("socket,id=console,fd={}", self.console));
        say("-serial", "chardev:console".into());
        // Port 0 is the console's, which is not used.
        say("-device", format!("virtio-serial-pci,max_ports={}", self.ports.len() + 2));
        say("-chardev", format!("socket,id=lifeline,fd={}", self.lifeline));
        say("-device", "virtserialport,chardev=lifeline,nr=1,name=tollway.lifeline".into());
        for (number, fd) in self.ports.iter().enumerate() {
            say("-chardev", format!("socket,id=port{number},fd={fd}"));
            let nr = number + 2;
            say("-device", format!("virtserialport,chardev=port{number},nr={nr},name=tollway.{number}"));
        }
        all.extend(self.devices.arguments.iter().cloned());
        all
    }

    /// Settings of the kernel (its Documentation/admin-guide/kernel-parameters.rst), and the words that it passes on to
    /// the first program.
    fn kernel_command_line(&self) -> String {
        let mut words: Vec<String> = [
            "console=ttyS0 quiet",
            // A panic ends QEMU, which does not reboot.
            "panic=-1 oops=panic",
            "nokaslr",
            // The counter is the host's: no other clock has to watch it, and a guest that rested is not stuck.
            "tsc=reliable nowatchdog rcupdate.rcu_cpu_stall_suppress=1",
            // Its timer works; where QEMU is displaced while the kernel looks whether it does, it would panic.
            "no_timer_check",
            // What takes time at boot and brings nothing here.
            "cryptomgr.notests=1 8250.nr_uarts=1 i8042.noaux i8042.nokbd i8042.nopnp raid=noautodetect",
        ]
        .map(String::from)
        .into();
        if self.checked {
            // Free pages are poisoned and looked at, slabs have red zones and are checked when objects come and go (the kernel's
            // Documentation/admin-guide/kernel-parameters.txt and mm/slub.rst).
            words.push("page_poison=1 slub_debug=FZ".into());
        }
        words.extend(self.settings.iter().cloned());
        words.extend(self.devices.settings.iter().cloned());
        words.push(format!("TOLLWAY_AGENTS={}", self.ports.len()));
        words.join(" ")
    }
}

/// The path by which a process opens what it inherited.
fn inherited(fd: RawFd) -> String {
    format!("/proc/self/fd/{fd}")
}
