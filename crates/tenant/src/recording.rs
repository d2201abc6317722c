//! What a machine's /sys and /proc tell of its PCI devices, recorded, and laid out again as files elsewhere: so that what looks
//! for devices there can look at those of a guest, or of a machine of another day.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Component, Path};

use serde::{Deserialize, Serialize};

/// Where the kernel lists PCI devices and their drivers, from the root.
pub const PCI_DEVICES: &str = "sys/bus/pci/devices";
const PCI_DRIVERS: &str = "sys/bus/pci/drivers";
/// The kernel's list of ciphers.
const CIPHERS: &str = "proc/crypto";

/// What is read of each device (Linux: Documentation/ABI/testing/sysfs-bus-pci).
const TEXTS: [&str; 7] =
    ["vendor", "device", "class", "numa_node", "sriov_totalvfs", "sriov_numvfs", "sriov_vf_device"];

/// A file of a recording.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Entry {
    /// Its text.
    Text(String),
    /// To where it links.
    Link(String),
}

/// Files by their paths from the root.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Recording(BTreeMap<String, Entry>);

impl Recording {
    /// Of the machine whose files are below that root.
    ///
    /// # Errors
    /// There is a list of devices and it cannot be read.
    pub fn of(root: &Path) -> io::Result<Recording> {
        let mut recording = Recording::default();
        for address in listed(&root.join(PCI_DEVICES))? {
            recording.link(root, &format!("{PCI_DEVICES}/{address}"));
            let folder = root.join(PCI_DEVICES).join(&address).canonicalize()?;
            let Some(folder) = within(root, &folder) else { continue };
            recording.device(root, &folder)?;
        }
        for driver in listed(&root.join(PCI_DRIVERS))? {
            recording.link(root, &format!("{PCI_DRIVERS}/{driver}/module"));
        }
        recording.text(root, CIPHERS);
        Ok(recording)
    }

    fn device(&mut self, root: &Path, folder: &str) -> io::Result<()> {
        TEXTS.iter().for_each(|name| self.text(root, &format!("{folder}/{name}")));
        for name in listed(&root.join(folder))? {
            let path = format!("{folder}/{name}");
            self.link(root, &path);
            // A device of virtio is one more behind that of PCI, with a driver of its own.
            if name.starts_with("virtio") {
                self.link(root, &format!("{path}/driver"));
            }
        }
        Ok(())
    }

    fn text(&mut self, root: &Path, path: &str) {
        if let Ok(text) = fs::read_to_string(root.join(path)) {
            self.0.insert(path.into(), Entry::Text(text));
        }
    }

    fn link(&mut self, root: &Path, path: &str) {
        if let Ok(target) = fs::read_link(root.join(path)) {
            self.0.insert(path.into(), Entry::Link(target.to_string_lossy().into_owned()));
        }
    }

    /// As JSON, in one line.
    ///
    /// # Errors
    /// It cannot be written so.
    pub fn to_json(&self) -> io::Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Out of JSON.
    ///
    /// # Errors
    /// It is no recording.
    pub fn of_json(json: &str) -> io::Result<Recording> {
        Ok(serde_json::from_str(json)?)
    }

    /// Lays it out below a folder, which becomes the root.
    ///
    /// # Errors
    /// The files cannot be made, or a path leads out of the folder.
    pub fn lay_out(&self, root: &Path) -> io::Result<()> {
        for (path, entry) in &self.0 {
            let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
            if !plain {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    format!("{path} is no path below a root"),
                ));
            }
            let place = root.join(path);
            place.parent().map_or(Ok(()), fs::create_dir_all)?;
            match entry {
                Entry::Text(text) => fs::write(place, text)?,
                Entry::Link(target) => symlink(target, place)?,
            }
        }
        Ok(())
    }
}

/// The names in a folder, in order; none where there is no such folder.
fn listed(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let names = entries.map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()));
    let mut names = names.collect::<io::Result<Vec<_>>>()?;
    names.sort();
    Ok(names)
}

fn within(root: &Path, folder: &Path) -> Option<String> {
    let root = root.canonicalize().ok()?;
    folder.strip_prefix(root).ok().map(|path| path.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(root: &Path) {
        let device = root.join("sys/devices/pci0000:00/0000:00:04.0");
        let driver = root.join("sys/bus/pci/drivers/virtio-pci");
        fs::create_dir_all(device.join("virtio1")).unwrap();
        fs::create_dir_all(root.join(PCI_DEVICES)).unwrap();
        fs::create_dir_all(&driver).unwrap();
        fs::create_dir_all(root.join("proc")).unwrap();
        symlink("../../../devices/pci0000:00/0000:00:04.0", root.join(PCI_DEVICES).join("0000:00:04.0"))
            .unwrap();
        symlink("../../../bus/pci/drivers/virtio-pci", device.join("driver")).unwrap();
        symlink("../../../../bus/virtio/drivers/virtio_crypto", device.join("virtio1/driver")).unwrap();
        symlink("../../../../module/virtio_pci", driver.join("module")).unwrap();
        fs::write(device.join("vendor"), "0x1af4\n").unwrap();
        fs::write(device.join("remove"), "not to be read").unwrap();
        fs::write(root.join(CIPHERS), "name : cbc(aes)\n").unwrap();
    }

    #[test]
    fn what_is_laid_out_is_what_was_recorded() {
        let (from, to) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        machine(from.path());
        let recording = Recording::of(from.path()).unwrap();
        recording.lay_out(to.path()).unwrap();
        let device = to.path().join(PCI_DEVICES).join("0000:00:04.0");
        assert_eq!(fs::read_to_string(device.join("vendor")).unwrap(), "0x1af4\n");
        assert!(!device.join("remove").exists());
        assert!(fs::read_link(device.join("virtio1/driver")).unwrap().ends_with("virtio_crypto"));
        assert!(fs::read_link(device.join("driver/module")).unwrap().ends_with("virtio_pci"));
        assert_eq!(fs::read_to_string(to.path().join(CIPHERS)).unwrap(), "name : cbc(aes)\n");
        assert_eq!(Recording::of(to.path()).unwrap(), recording);
        let json = serde_json::to_string(&recording).unwrap();
        assert_eq!(serde_json::from_str::<Recording>(&json).unwrap(), recording);
    }

    #[test]
    fn a_machine_without_devices_has_an_empty_one_and_nothing_leads_out_of_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(Recording::of(folder.path()).unwrap(), Recording::default());
        for path in ["../outside", "/etc/outside", "a/../../outside"] {
            let recording: Recording =
                serde_json::from_value(serde_json::json!({ path: { "text": "x" } })).unwrap();
            assert!(recording.lay_out(folder.path()).is_err(), "{path}");
        }
    }
}
