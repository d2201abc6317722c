//! Disks of guests: images that are made here, have no name, and go with the guest.
//!
//! An image lies in the folder of measurements ([`scratch::folder`]). Nothing but QEMU's descriptor keeps it, so it is
//! gone when the guest has ended, however that came. QEMU opens it past the host's page cache with Linux's native
//! asynchronous I/O (`cache.direct=on,aio=native`) where the folder's file system can, else through the cache by threads
//! (`aio=threads`); so what a guest's disk costs is not what the host's memory costs, where that can be had.
//!
//! Its room is taken when it is made, so that a folder without enough is told of before a guest is started. Where that cannot be (qcow2 grows as it is
//! written to), or the disk fails, the guest is told of an error: QEMU's own way is to stop it, and nobody would know why it says no more.
//!
//! LUKS images (version 1) have a passphrase that is random, new in each program, handed to QEMU in a file in memory and
//! written nowhere. Its derivation is short ([`ITERATION_MS`]): nobody types it, and the guest shall start soon. Making a
//! header still takes QEMU's tool two seconds of processor time, in which it measures how fast it derives keys, so a
//! program's images share one, and so their keys: a LUKS 1 header does not say how large its disk is.

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::path::PathBuf;
use std::process::{self, Command};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::fs::{FallocateFlags, OFlags, fallocate, fstat, fstatvfs, ftruncate};
use rustix::io::Errno;
use rustix::rand::{GetRandomFlags, getrandom};
use tollway_core::{DiskFormat, Error, Missing, Result};
use tollway_host::program::{Given, Program};
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
/// How long QEMU's tool or the file system's may take: seconds are usual.
const LONGEST: Duration = Duration::from_secs(120);
/// What is left free beside a disk, for all others of the folder's file system.
const SPARED: u64 = 16 << 20;
/// Errors of the host's file are the guest's.
const ERRORS: &str = "werror=report,rerror=report";
/// The largest disk, in MiB.
const LARGEST_MIB: u32 = 1 << 20;

/// What errors say was being done.
const MAKING: &str = "making a disk for a guest";

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
        let (image, key) = match format {
            DiskFormat::Raw => (plain(mib, mounted)?, None),
            DiskFormat::Qcow2 => (qcow2(qemu, mib, mounted)?, None),
            DiskFormat::Luks => luks(qemu, mib, mounted).map(|(image, key)| (image, Some(key)))?,
        };
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
        self.say(
            "-device",
            format!("virtio-blk-pci,drive=disk{number},serial={},{ERRORS}", disk_serial(number)),
        );
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

/// An image without a format, with a file system if it is to have one.
fn plain(mib: u32, mounted: bool) -> Result<OwnedFd> {
    let image = nameless()?;
    has_room(&image, bytes(mib))?;
    ftruncate(&image, bytes(mib)).map_err(|e| Error::system(MAKING, e))?;
    if mounted {
        let mke2fs = program("mke2fs", "e2fsprogs").map_err(Error::Missing)?;
        // Nothing is left for the guest to initialise while it measures.
        let settings = ["-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=0,lazy_journal_init=0"];
        run(Command::new(mke2fs).args(settings).arg(path(&image)))?;
    }
    take_room(&image)?;
    Ok(image)
}

fn qcow2(qemu: &Qemu, mib: u32, mounted: bool) -> Result<OwnedFd> {
    let image = nameless()?;
    let mut tool = Command::new(qemu.tool("qemu-img").map_err(Error::Missing)?);
    if mounted {
        let plain = plain(mib, true)?;
        run(tool.args(["convert", "-q", "-f", "raw", "-O", "qcow2", &path(&plain), &path(&image)]))?;
    } else {
        run(tool.args(["create", "-q", "-f", "qcow2", &path(&image), &bytes(mib).to_string()]))?;
    }
    Ok(image)
}

/// An image and its key.
fn luks(qemu: &Qemu, mib: u32, mounted: bool) -> Result<(OwnedFd, OwnedFd)> {
    static TEMPLATE: Mutex<Option<Luks>> = Mutex::new(None);
    let mut template = TEMPLATE.lock().unwrap_or_else(PoisonError::into_inner);
    let template = match &mut *template {
        Some(template) => template,
        none => none.insert(Luks::make(qemu)?),
    };
    let system = |e: io::Error| Error::system(MAKING, e);
    let key = template.key.try_clone().map_err(system)?;
    let image = File::from(nameless()?);
    image.write_all_at(&template.header, 0).map_err(system)?;
    image.set_len(template.header.len() as u64 + bytes(mib)).map_err(system)?;
    let image = OwnedFd::from(image);
    has_room(&image, bytes(mib))?;
    if mounted {
        let plain = plain(mib, true)?;
        let target = format!("driver=luks,key-secret=key,file.driver=file,file.filename={}", path(&image));
        let mut tool = Command::new(qemu.tool("qemu-img").map_err(Error::Missing)?);
        tool.args(["convert", "-q", "-n", "-f", "raw", "--object", &secret(&key), "--target-image-opts"]);
        run(tool.args([path(&plain), target]))?;
    }
    take_room(&image)?;
    Ok((image, key))
}

/// What a program's LUKS images have in common.
struct Luks {
    key: OwnedFd,
    header: Vec<u8>,
}

impl Luks {
    fn make(qemu: &Qemu) -> Result<Luks> {
        let (key, image) = (random_key()?, nameless()?);
        let mut tool = Command::new(qemu.tool("qemu-img").map_err(Error::Missing)?);
        tool.args(["create", "-q", "-f", "luks", "--object", &secret(&key)]);
        tool.args(["-o", &format!("key-secret=key,iter-time={ITERATION_MS}"), &path(&image), "0"]);
        run(&mut tool)?;
        let mut header = Vec::new();
        File::from(image).read_to_end(&mut header).map_err(|e| Error::system(MAKING, e))?;
        Ok(Luks { key, header })
    }
}

/// The object by which QEMU's tool knows a key.
fn secret(key: &OwnedFd) -> String {
    format!("secret,id=key,file={}", path(key))
}

fn bytes(mib: u32) -> u64 {
    u64::from(mib) << 20
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

/// Refuses a disk for which its folder has no room, before anything is written.
fn has_room(image: &OwnedFd, bytes: u64) -> Result<()> {
    let about = fstatvfs(image).map_err(|e| Error::system(MAKING, e))?;
    let free = about.f_bavail.saturating_mul(about.f_frsize);
    // A file system that tells of no blocks at all does not tell.
    match about.f_blocks > 0 && free < bytes.saturating_add(SPARED) {
        true => Err(no_room(bytes, format!("{} MiB are free, {} are spared", free >> 20, SPARED >> 20))),
        false => Ok(()),
    }
}

/// Takes the room of all of an image that is not written yet.
fn take_room(image: &OwnedFd) -> Result<()> {
    let bytes = fstat(image).map_err(|e| Error::system(MAKING, e))?.st_size.cast_unsigned();
    match fallocate(image, FallocateFlags::empty(), 0, bytes) {
        // Some file systems have none: then the guest finds out.
        Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        Err(Errno::INVAL) if bytes == 0 => Ok(()),
        Err(error) => Err(no_room(bytes, error.to_string())),
    }
}

fn no_room(bytes: u64, reason: String) -> Error {
    let folder = scratch::folder();
    let what = format!("room for a guest's disk of {} MiB in {}", bytes >> 20, folder.display());
    let remedy = format!("name a folder on a disk with more room by {}", scratch::FOLDER);
    Error::Missing(Missing::new(what, reason, remedy))
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
    let doing = || format!("{MAKING} with {}", name.display());
    let mut tries = 0;
    loop {
        let ended =
            Program::start(command, Given::default()).and_then(|program| program.ends_within(LONGEST));
        let ended = ended.map_err(|e| Error::system(doing(), e))?;
        if ended.status.success() {
            return Ok(());
        }
        tries += 1;
        if tries < TRIES && ended.complained.contains("accurate CPU usage") {
            continue;
        }
        let lines = ended.complained.lines().map(str::trim).filter(|line| !line.is_empty());
        let reason: Vec<&str> = lines.collect();
        return Err(Error::system(doing(), format!("{} ({})", reason.join("; "), ended.status)));
    }
}
