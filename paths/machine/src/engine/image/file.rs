//! An image of a disk: made here without a name, full of [content] as other test files are, and encrypted here where it is to be.

use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::process;

use rustix::fs::{
    Advice, FallocateFlags, MemfdFlags, Mode, OFlags, fadvise, fallocate, fdatasync, memfd_create, open,
};
use rustix::io::{Errno, pread, pwrite};
use tollway_core::{Error, Missing, Result};
use tollway_host::scratch::{FOLDER, nameless};

use super::luks::Luks;
use crate::engine::disk::content::{self, SECTOR};

/// Bytes that are made at a time.
const PIECE: usize = 1 << 20;

/// How an image keeps its sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// As they are.
    Raw,
    /// Encrypted, as LUKS has it.
    Luks,
}

/// Where an image lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Medium<'a> {
    /// In a folder.
    Folder(&'a Path),
    /// In memory, which costs next to nothing.
    Memory,
}

/// An image, of which it is known what each sector must hold.
pub struct Image {
    pub(super) file: OwnedFd,
    pub(super) luks: Option<Luks>,
    /// Of each sector, of which generation it is.
    generations: Vec<u32>,
}

impl Image {
    /// Makes one of so many bytes, whole sectors. Two of different `seed` do not hold the same.
    ///
    /// # Errors
    /// [`Error::Missing`] where there is no room for it.
    pub fn make(medium: Medium<'_>, format: Format, bytes: u64, seed: u64) -> Result<Image> {
        let missing = |errno: Errno| {
            let (place, remedy) = match medium {
                Medium::Folder(folder) => (
                    format!("in {}", folder.display()),
                    format!("name a folder on a disk with more room in {FOLDER}, or ask for a smaller image"),
                ),
                Medium::Memory => ("in memory".into(), "ask for a smaller image".into()),
            };
            let what = format!("room for an image of {} MiB {place}", bytes >> 20);
            Error::Missing(Missing::new(what, errno.to_string(), remedy))
        };
        let file = match medium {
            Medium::Folder(folder) => nameless(folder, OFlags::empty()),
            Medium::Memory => memfd_create("image", MemfdFlags::CLOEXEC),
        };
        let luks = match format {
            Format::Raw => None,
            Format::Luks => Some(Luks::new()?),
        };
        let mut image = Image { file: file.map_err(missing)?, luks, generations: Vec::new() };
        match fallocate(&image.file, FallocateFlags::empty(), 0, image.start() + bytes) {
            // Some file systems have none; then writing finds out.
            Ok(()) | Err(Errno::OPNOTSUPP | Errno::NOSYS) => {}
            Err(errno) => return Err(missing(errno)),
        }
        image.generations = vec![seed as u32; (bytes / SECTOR as u64) as usize];
        image.fill(seed).map_err(missing)?;
        Ok(image)
    }

    fn fill(&self, seed: u64) -> Result<(), Errno> {
        if let Some(luks) = &self.luks {
            write_all(&self.file, &luks.header, 0)?;
        }
        let mut plain = vec![0; PIECE];
        content::fill(&mut plain, seed);
        let (mut at, mut piece) = (0, Vec::new());
        while at < self.bytes() {
            let first = at / SECTOR as u64;
            piece.clear();
            piece.extend_from_slice(&plain[..PIECE.min((self.bytes() - at) as usize)]);
            content::stamp(&mut piece, first, self.generations[first as usize..].iter().copied());
            if let Some(luks) = &self.luks {
                luks.encrypt(&mut piece, first);
            }
            write_all(&self.file, &piece, self.start() + at)?;
            at += piece.len() as u64;
        }
        fdatasync(&self.file)?;
        fadvise(&self.file, 0, None, Advice::DontNeed)
    }

    /// Where its sectors begin in the file.
    fn start(&self) -> u64 {
        self.luks.as_ref().map_or(0, |luks| luks.header.len() as u64)
    }

    /// Its bytes, without a header.
    pub fn bytes(&self) -> u64 {
        self.generations.len() as u64 * SECTOR as u64
    }

    /// How its sectors are kept.
    pub fn format(&self) -> Format {
        if self.luks.is_some() { Format::Luks } else { Format::Raw }
    }

    /// Of which generation a sector is.
    pub(super) fn generation(&self, sector: u64) -> u32 {
        self.generations[sector as usize]
    }

    /// Says that sectors of the next generation were written.
    pub(super) fn written(&mut self, first: u64, sectors: usize) {
        for generation in &mut self.generations[first as usize..][..sectors] {
            *generation = generation.wrapping_add(1);
        }
    }

    /// By which path other processes of ours open it.
    pub(super) fn path(&self) -> String {
        path(&self.file)
    }

    /// Whether it can be opened past the page cache.
    pub(super) fn opens_directly(&self) -> bool {
        open(self.path(), OFlags::RDONLY | OFlags::DIRECT | OFlags::CLOEXEC, Mode::empty()).is_ok()
    }

    /// Reads blocks of `size` bytes from the file, decrypts them here where they are encrypted, and checks each of their bytes.
    ///
    /// # Errors
    /// [`Error::Wrong`] where one does not hold what was written last, or lies there in the clear and should not.
    pub fn check(&self, size: usize, blocks: impl Iterator<Item = u64>) -> Result<()> {
        let mut block = vec![0; size];
        for number in blocks {
            let (at, first) = (number * size as u64, number * (size / SECTOR) as u64);
            read_all(&self.file, &mut block, self.start() + at)
                .map_err(|e| Error::system("reading an image", e))?;
            let sectors = || (first..).zip(&self.generations[first as usize..]);
            if let Some(luks) = &self.luks {
                let in_the_clear = |(sector, (number, generation)): (&[u8], (u64, &u32))| {
                    content::bears(sector, number, *generation)
                };
                if block.chunks_exact(SECTOR).zip(sectors()).any(in_the_clear) {
                    return Err(Error::Wrong(format!("block {number} of {size} bytes lies in the clear")));
                }
                luks.decrypt(&mut block, first);
            }
            let holds = |(sector, (number, generation)): (&[u8], (u64, &u32))| {
                content::holds(sector, number, *generation)
            };
            if !block.chunks_exact(SECTOR).zip(sectors()).all(holds) {
                let reason = format!("block {number} of {size} bytes is not what was written last");
                return Err(Error::Wrong(reason));
            }
        }
        Ok(())
    }
}

/// A file of our own, by a path that works in processes that we start.
pub(super) fn path(file: &OwnedFd) -> String {
    format!("/proc/{}/fd/{}", process::id(), file.as_raw_fd())
}

pub(super) fn write_all(file: &OwnedFd, mut bytes: &[u8], mut at: u64) -> Result<(), Errno> {
    while !bytes.is_empty() {
        match pwrite(file, bytes, at)? {
            0 => return Err(Errno::NOSPC),
            written => (bytes, at) = (&bytes[written..], at + written as u64),
        }
    }
    Ok(())
}

fn read_all(file: &OwnedFd, mut into: &mut [u8], mut at: u64) -> Result<(), Errno> {
    while !into.is_empty() {
        match pread(file, &mut *into, at)? {
            0 => return Err(Errno::NODATA),
            read => (into, at) = (&mut into[read..], at + read as u64),
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use tollway_host::scratch::folder;

    use super::*;

    const BYTES: u64 = 3 << 19;

    #[test]
    fn a_new_image_holds_what_it_must_in_either_format_and_a_changed_byte_is_found() {
        for format in [Format::Raw, Format::Luks] {
            for medium in [Medium::Memory, Medium::Folder(&folder())] {
                let mut image = Image::make(medium, format, BYTES, 3).unwrap();
                assert_eq!((image.bytes(), image.format()), (BYTES, format));
                image.check(4096, 0..384).unwrap();
                write_all(&image.file, b"?", image.start() + 5 * 4096 + 700).unwrap();
                image.check(4096, 0..5).unwrap();
                let wrong = image.check(4096, 0..384).unwrap_err();
                assert!(matches!(&wrong, Error::Wrong(what) if what.contains("block 5 ")), "{wrong}");
                image.written(8, 8);
                assert!(image.check(4096, 1..2).is_err());
            }
        }
    }

    #[test]
    fn what_should_be_encrypted_and_is_not_is_found() {
        let image = Image::make(Medium::Memory, Format::Luks, BYTES, 1).unwrap();
        let plain = Image::make(Medium::Memory, Format::Raw, BYTES, 1).unwrap();
        let mut sector = [0; SECTOR];
        read_all(&plain.file, &mut sector, 9 * SECTOR as u64).unwrap();
        write_all(&image.file, &sector, image.start() + 9 * SECTOR as u64).unwrap();
        let wrong = image.check(4096, 0..9).unwrap_err();
        assert!(
            matches!(&wrong, Error::Wrong(what) if what.contains("block 1 of 4096 bytes lies in the clear")),
            "{wrong}"
        );
    }

    #[test]
    fn where_there_is_no_room_that_is_said_with_what_helps() {
        let refused = Image::make(Medium::Folder(&folder()), Format::Raw, 1 << 42, 0);
        let Err(Error::Missing(missing)) = refused else { panic!() };
        assert!(missing.remedy.contains(FOLDER) && missing.what.contains("MiB in "), "{missing}");
        assert!(matches!(
            Image::make(Medium::Folder(Path::new("/nowhere")), Format::Raw, BYTES, 0),
            Err(Error::Missing(_))
        ));
    }
}
