//! `tollway cipher devices`: which crypto devices this machine has, which of them can be shared out, and by what its kernel does
//! ciphers.

mod document;
mod lacks;
mod table;

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use tollway_cipher::engine::kernel::{DevCrypto, Device, Driver, devices, drivers_below};
use tollway_core::{Error, Missing};
use tollway_host::af_alg::AfAlg;

use crate::Ending;
use crate::args::devices::Devices;
pub use document::{DevicesDocument, Lack};

/// What there is.
pub struct Found {
    /// PCI devices that can be shared out, and crypto devices.
    pub devices: Vec<Device>,
    /// By what the kernel does ciphers and hashes.
    pub drivers: Vec<Driver>,
    /// Whether programs can ask the kernel for them.
    pub af_alg: Result<(), Missing>,
    /// Whether they can by the older way.
    pub dev_crypto: Result<(), Missing>,
}

impl Found {
    /// On the machine whose files are below that root, with what it says of AF_ALG.
    ///
    /// # Errors
    /// sysfs cannot be read, or tells nonsense.
    pub fn below(root: &Path, af_alg: Result<(), Missing>) -> Result<Found> {
        let devices = devices(root).map_err(|e| Error::system("looking for PCI devices", e))?;
        Ok(Found {
            devices,
            // A kernel without ciphers has no such file.
            drivers: drivers_below(root).unwrap_or_default(),
            af_alg,
            dev_crypto: DevCrypto::check(root),
        })
    }
}

/// Looks and tells.
///
/// # Errors
/// sysfs cannot be read.
pub fn run(options: &Devices, json: bool) -> Result<Ending> {
    let document = DevicesDocument::of(&Found::below(Path::new("/"), AfAlg::check())?);
    let mut out = io::stdout().lock();
    if json {
        serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from)?;
        out.write_all(b"\n")?;
    } else {
        out.write_all(document.to_text().as_bytes())?;
    }
    let lacks = options.strict && !document.missing.is_empty();
    Ok(if lacks { Ending::RequirementMissing } else { Ending::Done })
}
