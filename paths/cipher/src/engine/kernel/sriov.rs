//! Which PCI functions a machine has that matter to a crypto card: physical ones with the virtual ones that they share
//! themselves out as (SR-IOV), and crypto devices of any kind. All of it is what sysfs tells
//! (Linux: Documentation/ABI/testing/sysfs-bus-pci).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::crypto_device::Kind;
use super::drivers::{Driver, drivers_below};

/// A PCI device as it stands on its bus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Device {
    /// The device itself; one that can share itself out is the physical function.
    pub function: Function,
    /// What it can share itself out as; `None` for one that cannot.
    pub sharing: Option<Sharing>,
}

/// The virtual functions of a physical one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharing {
    /// How many there can be.
    pub most: u16,
    /// How many there are to be now.
    pub enabled: u16,
    /// Those that are there.
    pub functions: Vec<Function>,
}

/// A PCI function, physical or virtual.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// Domain, bus, device and function: `0000:02:00.0`.
    pub address: String,
    /// Who made it (PCI-SIG's number).
    pub vendor: u16,
    /// What it is, by that vendor's number.
    pub device: u16,
    /// What it is by PCI's own classes: base class, sub-class, interface, a byte each.
    pub class: u32,
    /// The driver that has it.
    pub driver: Option<String>,
    /// Its IOMMU group; `None` where no IOMMU keeps devices apart.
    pub group: Option<u32>,
    /// The NUMA node that it is near to, where there are several.
    pub node: Option<u32>,
    /// What makes it a crypto device; `None` for any other.
    pub crypto: Option<Kind>,
    /// What the kernel does by it (/proc/crypto); of a virtual function, what it does by any of that kind.
    pub algorithms: Vec<Driver>,
}

/// Devices below a root (`/` for this machine): those that can share themselves out, of whatever kind, and crypto devices, by their
/// addresses. A machine without PCI has none.
///
/// # Errors
/// sysfs cannot be read, or what it tells is not what it is documented to.
pub fn devices(root: &Path) -> io::Result<Vec<Device>> {
    let bus = root.join("sys/bus/pci/devices");
    let known = drivers_below(root).unwrap_or_default();
    let mut found = Vec::new();
    for address in names(&bus)? {
        let folder = bus.join(&address);
        // A virtual function is told with its physical one, where that is there: a guest has the virtual one alone.
        if folder.join("physfn").exists() {
            continue;
        }
        let function = Function::read(&folder, &address, &known)?;
        let sharing = Sharing::read(&folder, &known)?;
        if sharing.is_some() || function.crypto.is_some() {
            found.push(Device { function, sharing });
        }
    }
    Ok(found)
}

impl Sharing {
    fn read(folder: &Path, known: &[Driver]) -> io::Result<Option<Sharing>> {
        let Some(most) = number(folder, "sriov_totalvfs")? else { return Ok(None) };
        let enabled = number(folder, "sriov_numvfs")?.unwrap_or(0);
        let mut links: Vec<(u32, PathBuf)> = names(folder)?
            .iter()
            .filter_map(|name| Some((name.strip_prefix("virtfn")?.parse().ok()?, folder.join(name))))
            .collect();
        links.sort_unstable();
        let functions = links.iter().map(|(_, link)| {
            let address = last(link).ok_or_else(|| wrong(link, "it links to nothing"))?;
            Function::read(link, &address, known)
        });
        Ok(Some(Sharing { most, enabled, functions: functions.collect::<io::Result<_>>()? }))
    }
}

impl Function {
    fn read(folder: &Path, address: &str, known: &[Driver]) -> io::Result<Function> {
        let (vendor, device, class) =
            (word(folder, "vendor")?, word(folder, "device")?, word(folder, "class")?);
        let short = |word: u32, name: &str| {
            u16::try_from(word).map_err(|_| wrong(&folder.join(name), "it has more than 16 bits"))
        };
        let (vendor, device) = (short(vendor, "vendor")?, short(device, "device")?);
        let driver = last(&folder.join("driver"));
        let crypto = Kind::of(vendor, device, class);
        let algorithms = match crypto {
            Some(kind) if driver.is_some() => {
                let module = last(&folder.join("driver/module"));
                known.iter().filter(|known| kind.is_by(known, module.as_deref())).cloned().collect()
            }
            _ => Vec::new(),
        };
        Ok(Function {
            address: address.into(),
            vendor,
            device,
            class,
            driver: behind(folder)?.or(driver),
            group: last(&folder.join("iommu_group")).and_then(|group| group.parse().ok()),
            // -1 where there is one node alone.
            node: number::<i64>(folder, "numa_node")?.and_then(|node| u32::try_from(node).ok()),
            crypto,
            algorithms,
        })
    }
}

/// The driver of the virtio device that a PCI function carries: that of PCI is only its postman.
fn behind(folder: &Path) -> io::Result<Option<String>> {
    let mut devices = names(folder)?.into_iter().filter(|name| name.starts_with("virtio"));
    Ok(devices.find_map(|device| last(&folder.join(device).join("driver"))))
}

/// The names in a folder, in order; none where there is no such folder.
fn names(folder: &Path) -> io::Result<Vec<String>> {
    let told = |e: io::Error| io::Error::new(e.kind(), format!("{}: {e}", folder.display()));
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(told)?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>().map_err(told)?;
    names.sort();
    Ok(names)
}

/// To what a link points, by its last name.
fn last(link: &Path) -> Option<String> {
    Some(fs::read_link(link).ok()?.file_name()?.to_string_lossy().into_owned())
}

fn wrong(file: &Path, reason: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{}: {reason}", file.display()))
}

fn text(folder: &Path, name: &str) -> io::Result<Option<String>> {
    let file = folder.join(name);
    match fs::read_to_string(&file) {
        Ok(text) => Ok(Some(text.trim().to_owned())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io::Error::new(error.kind(), format!("{}: {error}", file.display()))),
    }
}

/// A decimal number, where there is such a file.
fn number<N: std::str::FromStr>(folder: &Path, name: &str) -> io::Result<Option<N>> {
    let Some(text) = text(folder, name)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| wrong(&folder.join(name), &format!("`{text}` is no such number")))
}

/// A hexadecimal number that every function has.
fn word(folder: &Path, name: &str) -> io::Result<u32> {
    let file = folder.join(name);
    let text = text(folder, name)?.ok_or_else(|| wrong(&file, "there is no such file"))?;
    let digits = text.strip_prefix("0x").unwrap_or_default();
    u32::from_str_radix(digits, 16).map_err(|_| wrong(&file, &format!("`{text}` is no hexadecimal number")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    /// A tree as sysfs has it, made by hand: what QEMU has no device of.
    struct Machine(tempfile::TempDir);

    impl Machine {
        fn new() -> Machine {
            let root = tempfile::tempdir().unwrap();
            fs::create_dir_all(root.path().join("sys/bus/pci/devices")).unwrap();
            fs::create_dir_all(root.path().join("proc")).unwrap();
            Machine(root)
        }

        fn function(&self, address: &str, [vendor, device, class]: [u32; 3]) -> PathBuf {
            let folder = self.0.path().join("sys/devices/pci0000:3d").join(address);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("vendor"), format!("{vendor:#06x}\n")).unwrap();
            fs::write(folder.join("device"), format!("{device:#06x}\n")).unwrap();
            fs::write(folder.join("class"), format!("{class:#08x}\n")).unwrap();
            fs::write(folder.join("numa_node"), "1\n").unwrap();
            let link = self.0.path().join("sys/bus/pci/devices").join(address);
            symlink(Path::new("../../../devices/pci0000:3d").join(address), link).unwrap();
            folder
        }

        fn drive(&self, folder: &Path, driver: &str, module: &str) {
            let place = self.0.path().join("sys/bus/pci/drivers").join(driver);
            fs::create_dir_all(&place).unwrap();
            if !place.join("module").is_symlink() {
                symlink(Path::new("../../../../module").join(module), place.join("module")).unwrap();
            }
            symlink(Path::new("../../../bus/pci/drivers").join(driver), folder.join("driver")).unwrap();
        }

        fn ciphers(&self, entries: &[[&str; 3]]) {
            let entry = |[algorithm, driver, module]: &[&str; 3]| {
                format!(
                    "name : {algorithm}\ndriver : {driver}\nmodule : {module}\npriority : 4001\nasync : yes\n\n"
                )
            };
            fs::write(self.0.path().join("proc/crypto"), entries.iter().map(entry).collect::<String>())
                .unwrap();
        }

        fn found(&self) -> Vec<Device> {
            devices(self.0.path()).unwrap()
        }
    }

    const COPROCESSOR: u32 = 0x0b_4000;

    /// The card of the study, with one virtual function in use here, one given to a guest and one nobody has.
    fn card() -> Machine {
        let machine = Machine::new();
        let card = machine.function("0000:3d:00.0", [0x8086, 0x0435, COPROCESSOR]);
        fs::write(card.join("sriov_totalvfs"), "32\n").unwrap();
        fs::write(card.join("sriov_numvfs"), "11\n").unwrap();
        machine.drive(&card, "dh895xcc", "qat_dh895xcc");
        for (number, driver) in [(0, Some("dh895xccvf")), (2, Some("vfio-pci")), (10, None)] {
            let address = format!("0000:3d:01.{number}");
            let function = machine.function(&address, [0x8086, 0x0443, COPROCESSOR]);
            symlink("../0000:3d:00.0", function.join("physfn")).unwrap();
            symlink(format!("../../../kernel/iommu_groups/{}", 40 + number), function.join("iommu_group"))
                .unwrap();
            symlink(format!("../{address}"), card.join(format!("virtfn{number}"))).unwrap();
            if let Some(driver) = driver {
                machine.drive(
                    &function,
                    driver,
                    &driver.replace("dh895xccvf", "qat_dh895xccvf").replace('-', "_"),
                );
            }
        }
        machine.ciphers(&[
            ["cbc(aes)", "qat_aes_cbc", "intel_qat"],
            ["cbc(aes)", "cbc-aes-aesni", "aesni_intel"],
            ["rsa", "qat-rsa", "intel_qat"],
        ]);
        machine
    }

    #[test]
    fn a_card_has_its_virtual_functions_with_what_each_is_driven_by() {
        let machine = card();
        machine.function("0000:3d:1f.0", [0x8086, 0xa1c1, 0x06_0100]);
        let found = machine.found();
        let [Device { function, sharing: Some(sharing) }] = &found[..] else { panic!("{found:?}") };
        assert_eq!((function.vendor, function.device, function.class), (0x8086, 0x0435, COPROCESSOR));
        assert_eq!((function.driver.as_deref(), function.node), (Some("dh895xcc"), Some(1)));
        assert_eq!((function.crypto, function.group), (Some(Kind::Qat), None));
        let names: Vec<&str> = function.algorithms.iter().map(|driver| &*driver.name).collect();
        assert_eq!(names, ["qat_aes_cbc", "qat-rsa"]);
        assert_eq!((sharing.most, sharing.enabled), (32, 11));
        let functions: Vec<_> = sharing
            .functions
            .iter()
            .map(|one| (&*one.address, one.driver.as_deref(), one.group, one.algorithms.len()))
            .collect();
        assert_eq!(
            functions,
            [
                ("0000:3d:01.0", Some("dh895xccvf"), Some(40), 2),
                // The kernel does nothing by what it has given away, or nobody drives.
                ("0000:3d:01.2", Some("vfio-pci"), Some(42), 0),
                ("0000:3d:01.10", None, Some(50), 0)
            ]
        );
    }

    #[test]
    fn in_a_guest_a_virtual_function_stands_alone() {
        let machine = Machine::new();
        let function = machine.function("0000:00:05.0", [0x8086, 0x37c9, COPROCESSOR]);
        machine.drive(&function, "c6xxvf", "qat_c62xvf");
        let found = machine.found();
        assert_eq!((found.len(), &found[0].sharing), (1, &None));
        assert_eq!(found[0].function.crypto, Some(Kind::Qat));
        // No /proc/crypto: no algorithms, and no error.
        assert_eq!(found[0].function.algorithms, []);
    }

    #[test]
    fn a_crypto_device_of_any_maker_is_one_by_its_class_and_its_module_tells_what_it_does() {
        let machine = Machine::new();
        let function = machine.function("0000:3d:00.2", [0x1022, 0x1456, 0x10_8000]);
        machine.drive(&function, "ccp", "ccp");
        machine.ciphers(&[
            ["cbc(aes)", "cbc-aes-ccp", "ccp_crypto"],
            ["cbc(aes)", "cbc-aes-aesni", "aesni_intel"],
        ]);
        let found = machine.found();
        assert_eq!(found[0].function.crypto, Some(Kind::Class));
        assert_eq!(found[0].function.algorithms.len(), 1);
    }

    #[test]
    fn a_machine_without_any_has_none_and_nonsense_is_refused_with_its_place() {
        let empty = tempfile::tempdir().unwrap();
        assert_eq!(devices(empty.path()).unwrap(), []);
        for (file, content, told) in [
            ("vendor", "0x18086", "16 bits"),
            ("class", "co-processor", "no hexadecimal"),
            ("sriov_totalvfs", "70000", "no such number"),
            ("numa_node", "near", "no such number"),
        ] {
            let machine = card();
            let at = machine.0.path().join("sys/bus/pci/devices/0000:3d:00.0").join(file);
            fs::write(at, content).unwrap();
            let error = devices(machine.0.path()).unwrap_err().to_string();
            assert!(error.contains(file) && error.contains(told), "{error}");
        }
    }
}
