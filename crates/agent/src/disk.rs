//! Disks of a Linux guest: found by their serial number, mounted where the coordinator wants, checked as it asks.

use std::env;
use std::fs::{self, File};
use std::io::{self, Error};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;
use rustix::mount::{MountFlags, mount};
use tollway_host::scratch;
use tollway_tenant::guest_settings::{MOUNT, disk_serial};
use tollway_tenant::probe::{Disk, pattern};

/// Disks are written and read in pieces of this size, in bytes.
const PIECE: usize = 256 << 10;
/// O_DIRECT wants memory, offset and length in multiples of the disk's blocks; no disk here has larger ones.
const BLOCK: usize = 4096;

/// Mounts every disk that the environment names, without updates of access times.
pub(crate) fn mount_all() -> io::Result<()> {
    for (name, folder) in env::vars() {
        let Some(number) = name.strip_prefix(MOUNT) else { continue };
        let mount_it = || -> io::Result<()> {
            let device = device(&Disk::Number(number.parse().map_err(Error::other)?))?;
            fs::create_dir_all(&folder)?;
            Ok(mount(&device, &folder, "ext4", MountFlags::NOATIME, None)?)
        };
        mount_it().map_err(|e| Error::new(e.kind(), format!("mounting disk {number} at {folder}: {e}")))?;
    }
    Ok(())
}

/// The device file of a disk.
fn device(disk: &Disk) -> io::Result<PathBuf> {
    for entry in fs::read_dir("/sys/block")?.flatten() {
        if !entry.file_name().to_string_lossy().starts_with("vd") {
            continue;
        }
        // A vhost-user disk has whatever serial number its server gives it.
        let serial = fs::read_to_string(entry.path().join("serial")).unwrap_or_default();
        let ours = serial.trim();
        let found = match disk {
            Disk::Number(number) => ours == disk_serial(*number),
            Disk::Foreign => !ours.starts_with("tollway."),
        };
        if found {
            return Ok(Path::new("/dev").join(entry.file_name()));
        }
    }
    Err(Error::other(format!("there is no such disk: {disk:?}")))
}

/// Writes the pattern to the whole disk.
pub(crate) fn fill(disk: &Disk, seed: u64) -> io::Result<u64> {
    let (file, size) = open(disk)?;
    let mut memory = Memory::new();
    let piece = memory.piece();
    for at in pieces(size) {
        let piece = &mut piece[..part(at, size)];
        pattern(seed, at, piece);
        file.write_all_at(piece, at)?;
    }
    file.sync_all()?;
    Ok(size)
}

/// Compares the whole disk with the pattern.
pub(crate) fn compare(disk: &Disk, seed: u64) -> io::Result<u64> {
    let (file, size) = open(disk)?;
    same(&file, size, seed)?;
    Ok(size)
}

/// Writes a file into the folder for measurements and reads it back, both with O_DIRECT.
pub(crate) fn scratch(bytes: u64) -> io::Result<PathBuf> {
    if !bytes.is_multiple_of(BLOCK as u64) {
        return Err(Error::other(format!("{bytes} bytes are no multiple of {BLOCK}")));
    }
    let folder = scratch::folder();
    let file = File::from(scratch::nameless(&folder, OFlags::DIRECT)?);
    let mut memory = Memory::new();
    let piece = memory.piece();
    for at in pieces(bytes) {
        let piece = &mut piece[..part(at, bytes)];
        pattern(bytes, at, piece);
        file.write_all_at(piece, at)?;
    }
    file.sync_all()?;
    same(&file, bytes, bytes)?;
    Ok(folder)
}

fn open(disk: &Disk) -> io::Result<(File, u64)> {
    let device = device(disk)?;
    let flags = OFlags::DIRECT.bits().cast_signed();
    let file = File::options().read(true).write(true).custom_flags(flags).open(&device)?;
    let size = rustix::fs::seek(&file, rustix::fs::SeekFrom::End(0))?;
    if size == 0 || !size.is_multiple_of(BLOCK as u64) {
        return Err(Error::other(format!("{} has {size} bytes", device.display())));
    }
    Ok((file, size))
}

fn same(file: &File, size: u64, seed: u64) -> io::Result<()> {
    let (mut memory, mut wanted) = (Memory::new(), vec![0; PIECE]);
    let piece = memory.piece();
    for at in pieces(size) {
        let (piece, wanted) = (&mut piece[..part(at, size)], &mut wanted[..part(at, size)]);
        file.read_exact_at(piece, at)?;
        pattern(seed, at, wanted);
        if let Some(wrong) = piece.iter().zip(&*wanted).position(|(read, wanted)| read != wanted) {
            return Err(Error::other(format!("byte {} is not what was written", at + wrong as u64)));
        }
    }
    Ok(())
}

fn pieces(size: u64) -> impl Iterator<Item = u64> {
    (0..size).step_by(PIECE)
}

fn part(at: u64, size: u64) -> usize {
    (size - at).min(PIECE as u64) as usize
}

/// Memory for a piece that begins where a block may.
struct Memory(Vec<u8>);

impl Memory {
    fn new() -> Memory {
        Memory(vec![0; PIECE + BLOCK])
    }

    fn piece(&mut self) -> &mut [u8] {
        let begin = self.0.as_ptr().align_offset(BLOCK);
        &mut self.0[begin..begin + PIECE]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_any_size_is_written_and_compared() {
        for bytes in [4096, PIECE as u64 + 4096] {
            match scratch(bytes) {
                Ok(folder) => assert_eq!(folder, tollway_host::scratch::folder()),
                Err(error) => println!("skipped: no O_DIRECT here: {error}"),
            }
        }
        assert!(scratch(5).is_err());
    }

    #[test]
    fn a_wrong_byte_is_found() {
        let file = File::from(scratch::nameless(&env::temp_dir(), OFlags::empty()).unwrap());
        let mut bytes = vec![0; PIECE + 10];
        pattern(3, 0, &mut bytes);
        file.write_all_at(&bytes, 0).unwrap();
        let size = bytes.len() as u64;
        same(&file, size, 3).unwrap();
        file.write_all_at(&[!bytes[PIECE + 7]], PIECE as u64 + 7).unwrap();
        let error = same(&file, size, 3).unwrap_err().to_string();
        assert!(error.contains(&format!("byte {}", PIECE + 7)), "{error}");
        assert!(same(&file, size, 4).is_err());
    }

    #[test]
    fn a_disk_that_is_not_there_is_named() {
        assert!(compare(&Disk::Number(77), 0).unwrap_err().to_string().contains("77"));
    }
}
