//! What makes a PCI function a crypto device, and which of the kernel's algorithms are done by it.

use super::drivers::Driver;

/// By what a PCI function is known for a crypto device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A virtio-crypto device of a hypervisor.
    Virtio,
    /// A card of Intel's QuickAssist, or a virtual function of one.
    Qat,
    /// Its class: an encryption controller, of any maker.
    Class,
}

/// PCI's base class of encryption and decryption controllers (PCI Code and ID Assignment Specification, 1.17).
const ENCRYPTION: u32 = 0x10;

/// VIRTIO 1.2, 4.1.2 and 5.9.1: virtio's vendor, and 0x1040 with the number of a crypto device, 20.
const VIRTIO: (u16, u16) = (0x1af4, 0x1040 + 20);

const INTEL: u16 = 0x8086;

/// Intel's cards and, each behind its card, their virtual functions (Linux: PCI_DEVICE_ID_INTEL_QAT_* of
/// include/linux/pci_ids.h, ADF_*_PCI_DEVICE_ID of drivers/crypto/intel/qat/qat_common/adf_accel_devices.h; the 200xx, C4xxx and
/// D15xx: the same header of Intel's own driver). Their class is that of a co-processor.
const QAT: [(u16, u16); 10] = [
    (0x0435, 0x0443), // DH895xCC
    (0x37c8, 0x37c9), // C62x
    (0x19e2, 0x19e3), // C3xxx
    (0x18ee, 0x18ef), // 200xx
    (0x18a0, 0x18a1), // C4xxx
    (0x6f54, 0x6f55), // D15xx
    (0x4940, 0x4941), // 4xxx
    (0x4942, 0x4943), // 401xx
    (0x4944, 0x4945), // 402xx
    (0x4946, 0x4947), // 420xx
];

impl Kind {
    /// What makes a function with these numbers a crypto device; `None` if nothing does.
    pub fn of(vendor: u16, device: u16, class: u32) -> Option<Kind> {
        if (vendor, device) == VIRTIO {
            return Some(Kind::Virtio);
        }
        if vendor == INTEL && QAT.iter().any(|(card, function)| [*card, *function].contains(&device)) {
            return Some(Kind::Qat);
        }
        (class >> 16 == ENCRYPTION).then_some(Kind::Class)
    }

    /// Whether an algorithm of the kernel is done by such devices; `module` is that of the function's driver.
    pub(super) fn is_by(self, driver: &Driver, module: Option<&str>) -> bool {
        match (self, module) {
            // Whoever has it for a guest has taken it from the kernel.
            (_, Some("vfio_pci" | "uio_pci_generic" | "igb_uio")) => false,
            // By their names, too: of what is no module of its own /proc/crypto tells that it is the kernel's.
            (Kind::Virtio, _) => driver.module == "virtio_crypto" || driver.name.starts_with("virtio"),
            // The drivers of all its cards share the module that knows the algorithms.
            (Kind::Qat, _) => driver.module == "intel_qat" || driver.name.starts_with("qat"),
            // Linux, drivers/crypto/ccp/Makefile: AMD's card has a module, and its algorithms have one of their own.
            (Kind::Class, Some("ccp")) => driver.module == "ccp_crypto",
            (Kind::Class, module) => module.is_some_and(|module| module == driver.module),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crypto_devices_are_told_from_others() {
        for (vendor, device, class, kind) in [
            (0x1af4, 0x1054, 0xff_0000, Some(Kind::Virtio)),
            (0x8086, 0x0443, 0x0b_4000, Some(Kind::Qat)),
            (0x8086, 0x4940, 0x0b_4000, Some(Kind::Qat)),
            (0x177d, 0x1234, 0x10_8000, Some(Kind::Class)),
            (0x177d, 0x1234, 0x0b_4000, None),
            // Neither another maker's, nor another device of the same.
            (0x1af4, 0x1041, 0x02_0000, None),
            (0x10de, 0x0443, 0x03_0000, None),
            (0x8086, 0x10c9, 0x02_0000, None),
        ] {
            assert_eq!(Kind::of(vendor, device, class), kind, "{vendor:04x}:{device:04x} {class:06x}");
        }
    }
}
