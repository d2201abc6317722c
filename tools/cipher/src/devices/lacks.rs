//! What is lacking, each with its reason and what would help.

use tollway_cipher::engine::kernel::{Device, Function, Kind};
use tollway_core::Missing;

use super::Found;

/// Drivers that have a function for a guest, or for a program that drives it itself.
const GIVEN_AWAY: [&str; 3] = ["vfio-pci", "uio_pci_generic", "igb_uio"];

/// Everything.
pub(super) fn of(found: &Found) -> Vec<Missing> {
    let mut all: Vec<Missing> = [&found.af_alg, &found.dev_crypto]
        .into_iter()
        .filter_map(|one| one.as_ref().err().cloned())
        .collect();
    let crypto = |device: &&Device| device.function.crypto.is_some();
    if !found.devices.iter().any(|device| crypto(&device)) {
        let reason = "there is none: no encryption controller, no virtio-crypto, no QuickAssist";
        let remedy = "in a guest let QEMU have a virtio-crypto-pci (docs/cipher-serve.md); else `tollway cipher serve` is one in software";
        all.push(Missing::new("a crypto device on PCI", reason, remedy));
    }
    for device in found.devices.iter().filter(crypto) {
        all.extend(driver(&device.function));
        all.extend(sharing(device));
    }
    all
}

/// What a crypto device lacks to work for this kernel.
fn driver(function: &Function) -> Option<Missing> {
    let address = &function.address;
    let module = match function.crypto {
        Some(Kind::Virtio) => "load virtio_crypto (modprobe virtio_crypto)",
        Some(Kind::Qat) => {
            "load its module (modprobe -a qat_dh895xcc qat_c62x qat_c3xxx qat_4xxx; of a virtual function with vf at the end)"
        }
        _ => "load the module that `lspci -k` names",
    };
    match &function.driver {
        None => Some(Missing::new(format!("a driver of {address}"), "no driver has it", module)),
        // Of the two drivers of a virtio device only the postman is there.
        Some(driver) if driver == "virtio-pci" => {
            Some(Missing::new(format!("a driver of {address}"), "virtio-pci alone has it", module))
        }
        Some(driver) if GIVEN_AWAY.contains(&driver.as_str()) => None,
        Some(driver) if function.algorithms.is_empty() => Some(Missing::new(
            format!("ciphers by {address}"),
            format!("{driver} has it, and /proc/crypto names no algorithm of its"),
            "look for what the driver says as it starts (dmesg): services that are switched off, firmware that is not there",
        )),
        Some(_) => None,
    }
}

/// What a card lacks to be shared out.
fn sharing(device: &Device) -> Vec<Missing> {
    let Some(sharing) = &device.sharing else { return Vec::new() };
    let address = &device.function.address;
    let mut all = Vec::new();
    if sharing.enabled == 0 {
        all.push(Missing::new(
            format!("virtual functions of {address}"),
            format!("0 of {} are enabled", sharing.most),
            format!("as root: echo {} > /sys/bus/pci/devices/{address}/sriov_numvfs", sharing.most.min(4)),
        ));
    }
    if sharing.functions.iter().any(|function| function.group.is_none()) {
        all.push(Missing::new(
            format!("groups of the virtual functions of {address}"),
            "no IOMMU keeps them apart, so that none can be given to a guest",
            "switch VT-d or AMD-Vi on, in the firmware and for the kernel (intel_iommu=on)",
        ));
    }
    all
}

#[cfg(test)]
mod tests {
    use tollway_cipher::engine::kernel::{Driver, Sharing};

    use super::*;

    fn function(
        crypto: Option<Kind>,
        driver: Option<&str>,
        algorithms: usize,
        group: Option<u32>,
    ) -> Function {
        Function {
            address: "0000:3d:00.0".into(),
            vendor: 0x8086,
            device: 0x0435,
            class: 0x0b_4000,
            driver: driver.map(Into::into),
            group,
            node: None,
            crypto,
            algorithms: vec![Driver::default(); algorithms],
        }
    }

    fn told(function: Function, sharing: Option<Sharing>) -> Vec<String> {
        let devices = vec![Device { function, sharing }];
        let found = Found { devices, drivers: Vec::new(), af_alg: Ok(()), dev_crypto: Ok(()) };
        of(&found).into_iter().map(|missing| format!("{}: {}", missing.what, missing.reason)).collect()
    }

    #[test]
    fn a_device_that_works_lacks_nothing_and_another_says_what() {
        let qat = Some(Kind::Qat);
        assert_eq!(told(function(qat, Some("dh895xcc"), 3, None), None), [""; 0]);
        assert_eq!(told(function(qat, Some("vfio-pci"), 0, None), None), [""; 0]);
        for (function, what) in [
            (function(qat, None, 0, None), "a driver of 0000:3d:00.0: no driver has it"),
            (function(Some(Kind::Virtio), Some("virtio-pci"), 0, None), "virtio-pci alone has it"),
            (function(qat, Some("dh895xcc"), 0, None), "ciphers by 0000:3d:00.0"),
            (function(None, Some("igb"), 0, None), "a crypto device on PCI"),
        ] {
            let told = told(function, None);
            assert!(told.len() == 1 && told[0].contains(what), "{told:?}");
        }
    }

    #[test]
    fn a_card_that_could_be_shared_out_says_how() {
        let card = || function(Some(Kind::Qat), Some("dh895xcc"), 3, Some(1));
        let none = Sharing { most: 32, enabled: 0, functions: Vec::new() };
        assert_eq!(told(card(), Some(none)), ["virtual functions of 0000:3d:00.0: 0 of 32 are enabled"]);
        let some = |group| Sharing {
            most: 32,
            enabled: 1,
            functions: vec![function(Some(Kind::Qat), None, 0, group)],
        };
        assert!(told(card(), Some(some(None)))[0].contains("no IOMMU"));
        assert_eq!(told(card(), Some(some(Some(2)))), [""; 0]);
    }
}
