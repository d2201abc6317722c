//! A device, a file or a pipe that random bytes are read from.

use std::fs::File;
use std::io::{self, Read};
use std::os::linux::fs::MetadataExt;
use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl, major, minor};
use rustix::io::Errno;

use super::{Claim, Counts, Error, Source};

/// Bytes read from a descriptor, in reads as large as what is asked for.
#[derive(Debug)]
pub struct Device {
    name: String,
    file: File,
    /// A FIFO whose writer may not have come yet: until then a read would tell its end.
    awaited: bool,
    counts: Counts,
    claim: Claim,
}

impl Device {
    /// What nobody has measured: one bit a byte is credited, and health tests allow for as much unevenness. Say so where
    /// more is known ([`Device::claiming`]).
    pub const CAUTIOUS: Claim = Claim { evenness: 1.0, entropy: 1.0 };

    /// /dev/random and /dev/urandom: even, and nothing that this kernel does not know.
    const OWN: Claim = Claim { evenness: 8.0, entropy: 0.0 };

    /// Opens what is at `path`, without waiting: the writer of a FIFO is waited for by the first [`fill`](Source::fill).
    ///
    /// # Errors
    /// It cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let name = path.display().to_string();
        let flags = OFlags::NONBLOCK.bits() as i32;
        let opened = File::options().read(true).custom_flags(flags).open(path).and_then(|file| {
            // Only opening it must not wait.
            fcntl_setfl(&file, fcntl_getfl(&file)? - OFlags::NONBLOCK)?;
            let awaited = file.metadata()?.file_type().is_fifo();
            Ok((file, awaited))
        });
        match opened {
            Ok((file, awaited)) => {
                let own = is_this_kernels_generator(&file);
                let device = Device { awaited, ..Device::of(file, name) };
                Ok(if own { device.claiming(Device::OWN) } else { device })
            }
            Err(reason) => Err(Error::System { source_name: name, doing: "opening it", reason }),
        }
    }

    /// Reads from an open file.
    pub fn of(file: File, name: impl Into<String>) -> Self {
        Device { name: name.into(), file, awaited: false, counts: Counts::default(), claim: Device::CAUTIOUS }
    }

    /// The same, of which that is known.
    pub fn claiming(self, claim: Claim) -> Self {
        Device { claim, ..self }
    }
}

/// Whether it is /dev/random or /dev/urandom, by whatever name: character devices 1:8 and 1:9 (`Documentation/admin-guide/
/// devices.txt` of Linux).
fn is_this_kernels_generator(file: &File) -> bool {
    file.metadata().is_ok_and(|data| {
        let device = data.st_rdev();
        data.file_type().is_char_device() && major(device) == 1 && [8, 9].contains(&minor(device))
    })
}

impl Source for Device {
    fn name(&self) -> &str {
        &self.name
    }

    fn fill(&mut self, mut into: &mut [u8]) -> Result<(), Error> {
        while !into.is_empty() {
            self.counts.draws += 1;
            if self.awaited {
                // Of a FIFO nothing is told before its first writer has come (Linux, fs/pipe.c).
                match poll(&mut [PollFd::new(&self.file, PollFlags::IN)], None) {
                    Err(Errno::INTR) => continue,
                    _ => self.awaited = false,
                }
            }
            match self.file.read(into) {
                Ok(0) => {
                    self.counts.failures += 1;
                    return Err(Error::Ended { source_name: self.name.clone(), bytes: self.counts.bytes });
                }
                Ok(read) => {
                    self.counts.bytes += read as u64;
                    into = &mut into[read..];
                }
                Err(e) if e.kind() == io::ErrorKind::Interrupted => self.counts.failures += 1,
                Err(reason) => {
                    self.counts.failures += 1;
                    return Err(Error::System {
                        source_name: self.name.clone(),
                        doing: "reading from it",
                        reason,
                    });
                }
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }

    fn claim(&self) -> Claim {
        self.claim
    }
}
