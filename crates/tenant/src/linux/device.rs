//! What a guest's devices ask of QEMU and of the guest's kernel.

use std::ffi::OsString;

use tollway_core::{Error, GuestDevice, Missing, Result};

/// What all devices of a guest ask for.
#[derive(Debug, Default)]
pub(super) struct Devices {
    /// QEMU's arguments.
    pub(super) arguments: Vec<OsString>,
    /// Modules that the guest loads; what they need comes along.
    pub(super) modules: Vec<&'static str>,
    /// Words for the kernel's command line, which become the first program's environment.
    pub(super) settings: Vec<String>,
    /// Whether another process has to see the guest's memory.
    pub(super) shared_memory: bool,
}

impl Devices {
    /// Prepares the devices of one guest.
    ///
    /// # Errors
    /// [`Error::Missing`] where one cannot be had here.
    pub(super) fn prepare(wanted: &[GuestDevice]) -> Result<Devices> {
        let mut devices = Devices::default();
        for device in wanted {
            devices.add(device).map_err(Error::Missing)?;
        }
        Ok(devices)
    }

    fn add(&mut self, device: &GuestDevice) -> Result<(), Missing> {
        Err(Missing::new(format!("{device:?}"), "guests do not have it yet", "use a later version"))
    }
}
