//! Disks of guests: images that are made here, have no name, and go with the guest.
//!
//! An image lies in the folder of measurements ([`scratch::folder`]). Nothing but QEMU's descriptor keeps it, so it is
//! gone when the guest has ended, however that came. QEMU opens it past the host's page cache with Linux's native
//! asynchronous I/O (`cache.direct=on,aio=native`) where the folder's file system can, else through the cache by threads
//! (`aio=threads`); so what a guest's disk costs is not what the host's memory costs, where that can be had.
//!
//! A LUKS image (version 1) has a key of its own, which is random, is handed to QEMU in a file in memory and is written
//! nowhere. Its key derivation is short ([`ITERATION_MS`]): nobody types this key, and the guest shall start soon.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::process::{self, Command, Stdio};

use rustix::fs::{OFlags, ftruncate};
use rustix::rand::{GetRandomFlags, getrandom};
use tollway_core::{DiskFormat, Error, Missing, Result};
use tollway_host::scratch;

use super::boot::in_memory;
use super::device::Devices;
use super::found::{Qemu, program};
use crate::guest_settings::{MOUNT, disk_serial};

/// How long LUKS may take to derive a key, in milliseconds: the least that QEMU takes.
const ITERATION_MS: u32 = 10;
/// How often QEMU's tool is started where it says that it could not measure how fast it derives keys: that of 7.2 fails
/// three times in four on machines whose kernel counts processor time in ticks.
const TRIES: u32 = 20;
/// The largest disk, in MiB.
const LARGEST_MIB: u32 = 1 << 20;

/// What disks ask of the guest's kernel; a file system on one more.
const MODULE: &str = "virtio_blk";
const FILE_SYSTEM: &str = "ext4";

impl Devices {
    /// Adds a disk. In the guest its serial number is `tollway.N`, where N counts the guest's disks from 0. One that is
    /// mounted is at `/disk/N`, and the first of these is the agents' folder for measurements.
    pub(super) fn add_disk(
        &mut self,
        qemu: &Qemu,
        format: DiskFormat,
        mib: u32,
        mounted: bool,
    ) -> Result<()> {
        if !(1..=LARGEST_MIB).contains(&mib) {
            return Err(Error::Input {
                place: format!("disk of a guest, {mib} MiB"),
                reason: "it has no such size".into(),
                remedy: format!("let it be 1 to {LARGEST_MIB} MiB"),
            });
        }
        let number = self.disks;
        self.disks += 1;
        let key = match format {
            DiskFormat::Luks => Some(random_key()?),
            DiskFormat::Raw | DiskFormat::Qcow2 => None,
        };
        let image = make(qemu, format, mib, mounted, key.as_ref())?;
        let direct = match opens_directly(&image) {
            true => "cache.direct=on,aio=native",
            false => "cache.direct=off,aio=threads",
        };
        let mut driver = format!("driver={},node-name=disk{number},file=file{number}", format.name());
        if let Some(key) = key {
            let path = self.inherit(key);
            self.say("-object", format!("secret,id=key{number},file={path}"));
            driver += &format!(",key-secret=key{number}");
        }
        let path = self.inherit(image);
        self.say("-blockdev", format!("driver=file,node-name=file{number},filename={path},{direct}"));
        self.say("-blockdev", driver);
        self.say("-device", format!("virtio-blk-pci,drive=disk{number},serial={}", disk_serial(number)));
        self.modules.push(MODULE);
        if mounted {
            self.modules.push(FILE_SYSTEM);
            let folder = format!("/disk/{number}");
            self.settings.push(format!("{}{number}={folder}", MOUNT));
            if !self.settings.iter().any(|word| word.starts_with(scratch::FOLDER)) {
                self.settings.push(format!("{}={folder}", scratch::FOLDER));
            }
        }
        Ok(())
    }
}

/// An image with the right content.
fn make(qemu: &Qemu, format: DiskFormat, mib: u32, mounted: bool, key: Option<&OwnedFd>) -> Result<OwnedFd> {
    let plain = nameless()?;
    let size = u64::from(mib) << 20;
    ftruncate(&plain, size).map_err(|e| Error::system("making a disk for a guest", e))?;
    if mounted {
        let mke2fs = program("mke2fs", "e2fsprogs").map_err(Error::Missing)?;
        // Nothing is left for the guest to initialise while it measures.
        let settings = ["-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        run(Command::new(mke2fs).args(settings).arg(path(&plain)))?;
    }
    if format == DiskFormat::Raw {
        return Ok(plain);
    }
    let tool = qemu.tool("qemu-img").map_err(Error::Missing)?;
    let image = nameless()?;
    let mut command = Command::new(tool);
    match mounted {
        true => command.args(["convert", "-q", "-f", "raw", "-O", format.name()]),
        false => command.args(["create", "-q", "-f", format.name()]),
    };
    if let Some(key) = key {
        command.args(["--object", &format!("secret,id=key,file={}", path(key))]);
        command.args(["-o", &format!("key-secret=key,iter-time={ITERATION_MS}")]);
    }
    match mounted {
        true => command.args([path(&plain), path(&image)]),
        false => command.args([path(&image), size.to_string()]),
    };
    run(&mut command)?;
    Ok(image)
}

/// A file of our own that has no name, by a path that works in processes that we start.
fn path(file: &OwnedFd) -> String {
    format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd())
}

fn nameless() -> Result<OwnedFd> {
    let folder = scratch::folder();
    scratch::nameless(&folder, OFlags::empty()).map_err(|e| {
        let reason = format!("no file can be made in {}: {e}", folder.display());
        let remedy = format!("name a folder on a disk by {}", scratch::FOLDER);
        Error::Missing(Missing::new("a disk for a guest", reason, remedy))
    })
}

fn opens_directly(image: &OwnedFd) -> bool {
    rustix::fs::open(path(image), OFlags::RDONLY | OFlags::DIRECT, rustix::fs::Mode::empty()).is_ok()
}

/// 32 random bytes in hexadecimal digits, in a file in memory.
fn random_key() -> Result<OwnedFd> {
    let mut bytes = [0_u8; 32];
    let got = getrandom(&mut bytes, GetRandomFlags::empty()).map_err(|e| Error::system("making a key", e))?;
    if got != bytes.len() {
        return Err(Error::system("making a key", "the kernel gave too few bytes"));
    }
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    in_memory("key", digits.as_bytes())
}

fn run(command: &mut Command) -> Result<()> {
    let name = PathBuf::from(command.get_program());
    let doing = || format!("making a disk for a guest with {}", name.display());
    let mut tries = 0;
    loop {
        let output = command.stdin(Stdio::null()).output().map_err(|e| Error::system(doing(), e))?;
        if output.status.success() {
            return Ok(());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        tries += 1;
        if tries < TRIES && said.contains("accurate CPU usage") {
            continue;
        }
        let reason: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
        return Err(Error::system(doing(), format!("{} ({})", reason.join("; "), output.status)));
    }
}
