//! What a guest's devices ask of QEMU and of the guest's kernel.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;

use tollway_core::{DiskFormat, Error, GuestDevice, Missing, Result};

use super::run_folder::GuestFolder;

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
    /// Where their files are, if they have any.
    folder: Option<GuestFolder>,
    /// How many disks there are among them.
    disks: u32,
}

impl Devices {
    /// Prepares the devices of one guest.
    ///
    /// # Errors
    /// [`Error::Missing`] where one cannot be had here.
    pub(super) fn prepare(wanted: &[GuestDevice]) -> Result<Devices> {
        let mut devices = Devices::default();
        for device in wanted {
            devices.add(device)?;
        }
        Ok(devices)
    }

    fn add(&mut self, device: &GuestDevice) -> Result<()> {
        match device {
            GuestDevice::Rng => {
                self.modules.push("virtio_rng");
                self.say("-device", "virtio-rng-pci".into());
                Ok(())
            }
            GuestDevice::Disk { format: DiskFormat::Raw, mib, mounted: false } => self.add_raw_disk(*mib),
            other => {
                let what = format!("{other:?}");
                Err(Error::Missing(Missing::new(what, "guests do not have it yet", "use a later version")))
            }
        }
    }

    /// A disk whose image has no blocks before they are written.
    fn add_raw_disk(&mut self, mib: u32) -> Result<()> {
        let number = self.disks;
        let image = self.folder()?.join(format!("disk-{number}"));
        File::create_new(&image)
            .and_then(|file| file.set_len(u64::from(mib) << 20))
            .map_err(|e| Error::system(format!("making {}", image.display()), e))?;
        self.modules.push("virtio_blk");
        // A comma in a value is doubled (QEMU's documentation, "Options").
        let path = image.display().to_string().replace(',', ",,");
        self.say(
            "-blockdev",
            format!("driver=raw,node-name=disk{number},file.driver=file,file.filename={path}"),
        );
        self.say("-device", format!("virtio-blk-pci,drive=disk{number}"));
        self.disks += 1;
        Ok(())
    }

    fn say(&mut self, option: &str, value: String) {
        self.arguments.extend([option.into(), value.into()]);
    }

    /// Where files of this guest go.
    fn folder(&mut self) -> Result<&Path> {
        let folder = match self.folder.take() {
            Some(folder) => folder,
            None => GuestFolder::make()?,
        };
        Ok(self.folder.insert(folder).path())
    }
}
