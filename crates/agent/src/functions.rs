//! Virtual functions of a guest's PCI devices (Linux: Documentation/PCI/pci-iov-howto.rst).

use std::fs;
use std::io::{self, Error};
use std::path::Path;

use tollway_tenant::recording::{PCI_DEVICES, Recording};

/// Has each physical function make so many, or as many as it can have, and records all devices.
pub(crate) fn make(root: &Path, count: u16) -> io::Result<String> {
    for entry in fs::read_dir(root.join(PCI_DEVICES))? {
        let folder = entry?.path();
        let Ok(most) = fs::read_to_string(folder.join("sriov_totalvfs")) else { continue };
        let most: u16 = most.trim().parse().map_err(Error::other)?;
        let wanted = count.min(most).to_string();
        let file = folder.join("sriov_numvfs");
        fs::write(&file, wanted).map_err(|e| Error::new(e.kind(), format!("{}: {e}", file.display())))?;
    }
    Recording::of(root)?.to_json()
}
