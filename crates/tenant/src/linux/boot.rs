//! What guests are booted from, found and unpacked once for all of a program's guests.

use std::fs;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{MemfdFlags, memfd_create};
use tollway_core::{Accelerator, Error, Result};

use super::accelerator::{self, Choice};
use super::found::{self, Found};
use super::{kernel, static_agent};

/// QEMU, a kernel, an agent, and the choice of an accelerator.
#[derive(Debug)]
pub struct Boot {
    found: Found,
    agent: PathBuf,
    kernel: OwnedFd,
    choice: Choice,
}

impl Boot {
    /// Finds everything and unpacks the kernel, which takes up to a second. The agent must be of this build; `None` takes
    /// any. Where the accelerator is not known yet a guest is booted to find out, which can take ten
    /// seconds once on a machine.
    ///
    /// # Errors
    /// [`Error::Missing`] with what is not there.
    pub fn prepare(build: Option<&str>) -> Result<Boot> {
        let found = found::find().map_err(Error::Missing)?;
        let agent = static_agent::find(build).map_err(Error::Missing)?;
        let kernel = in_memory("kernel", &bootable(&found.kernel.image)?)?;
        let untried = Choice { accelerator: Accelerator::Tcg, why: String::new() };
        let mut boot = Boot { found, agent, kernel, choice: untried };
        boot.choice = accelerator::choose(&boot)?;
        Ok(boot)
    }

    /// The accelerator of guests that name none, and why it is that one.
    pub fn choice(&self) -> &Choice {
        &self.choice
    }

    /// What was found.
    pub fn found(&self) -> &Found {
        &self.found
    }

    pub(super) fn agent(&self) -> &Path {
        &self.agent
    }

    pub(super) fn kernel(&self) -> &OwnedFd {
        &self.kernel
    }
}

/// The kernel, unpacked if it can be started so.
fn bootable(image: &Path) -> Result<Vec<u8>> {
    let packed = fs::read(image).map_err(|e| Error::system(format!("reading {}", image.display()), e))?;
    Ok(kernel::unpacked(&packed).unwrap_or(packed))
}

/// A file without a name, which is gone when nobody has it open.
pub(super) fn in_memory(name: &str, content: &[u8]) -> Result<OwnedFd> {
    let made = memfd_create(name, MemfdFlags::CLOEXEC).map_err(std::io::Error::from).and_then(|file| {
        let mut file = fs::File::from(file);
        file.write_all(content)?;
        Ok(OwnedFd::from(file))
    });
    made.map_err(|e| Error::system("putting a guest's files into memory", e))
}
