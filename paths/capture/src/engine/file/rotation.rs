//! Several files in turn, each of a certain size or time: `-C`, `-G` and `-W` of tcpdump.
//!
//! ```text
//! bytes only          NAME, NAME1, NAME2 …; with a count, NAME0 … again and again, the oldest emptied
//! time only           NAME by strftime(3) at each beginning; after so many files the capture ends
//! both                a new file at either limit; those within one time are numbered
//! ```

use std::ffi::{CStr, CString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use super::error::Error;
use super::output::Output;
use super::pcap::{Layout, Writer};
use super::pcapng::{Described, Statistics};
use super::sink::{Content, Sink};
use crate::engine::{Packet, Timestamp};

/// When the next file begins, and how many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rotation {
    /// A packet that finds a file longer than so many bytes goes into the next one.
    pub bytes: Option<u64>,
    /// A file is of so many seconds, counted by the packets' own times.
    pub seconds: Option<u32>,
    /// How many files there are at most. By size the oldest is then written anew; by time there are no more; with both
    /// limits it is not heeded.
    pub files: Option<u32>,
}

impl Rotation {
    /// Whether files of this name follow each other by time under one and the same name, so that each would be emptied
    /// for the next.
    pub fn repeats(&self, name: &Path) -> bool {
        let Some(seconds) = self.seconds else { return false };
        let only_one = self.files == Some(1) && self.bytes.is_none();
        let name = |number: u64| by_time(name, number * u64::from(seconds));
        // A part of the time that is coarser than a file's may differ between some neighbours.
        !only_one && (0..4).any(|number| name(number) == name(number + 1))
    }
}

/// Writes pcap files in turn.
pub struct Rotating {
    name: PathBuf,
    layout: Layout,
    rotation: Rotation,
    writer: Option<Writer>,
    /// What the files before this one were given.
    before: Content,
    /// The number of this file, counted over one time if there is a limit of time.
    number: u32,
    /// Files begun by time.
    times: u32,
    /// When the file's time began.
    begun: Option<u64>,
}

impl Rotating {
    /// Begins with the first packet: a name by time needs one.
    pub fn new(name: &Path, layout: Layout, rotation: Rotation) -> Rotating {
        Rotating {
            name: name.to_owned(),
            layout,
            rotation,
            writer: None,
            before: Content::default(),
            number: 0,
            times: 0,
            begun: None,
        }
    }

    /// Writes the rest and ends the last file. Without a packet there is one file, with a header only.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn finish(&mut self) -> Result<(), Error> {
        if self.times == 0 && self.writer.is_none() {
            self.begin(0)?;
        }
        self.flush()
    }

    /// The file for a packet of this second; `None` if there are no more.
    #[inline]
    fn file(&mut self, seconds: u64) -> Result<Option<&mut Writer>, Error> {
        let late = match (self.rotation.seconds, self.begun) {
            (Some(limit), Some(begun)) => seconds >= begun + u64::from(limit),
            _ => false,
        };
        let long = match (self.rotation.bytes, &self.writer) {
            (Some(limit), Some(writer)) => writer.length() > limit,
            _ => false,
        };
        if late || long || self.begun.is_none() {
            self.next(late, seconds)?;
        }
        Ok(self.writer.as_mut())
    }

    #[cold]
    fn next(&mut self, late: bool, seconds: u64) -> Result<(), Error> {
        self.flush()?;
        self.before = self.all();
        self.writer = None;
        match self.begun {
            Some(_) if !late => {
                self.number += 1;
                if let Some(files) = self.ring()
                    && self.number >= files
                {
                    self.number = 0;
                }
            }
            _ => {
                self.number = 0;
                self.times += 1;
                self.begun = Some(seconds);
            }
        }
        if self.is_over() {
            return Ok(());
        }
        self.begin(seconds)
    }

    /// What all files were given, those too that were written anew since.
    fn all(&self) -> Content {
        let Content { packets, bytes } = self.writer.as_ref().map(Writer::content).unwrap_or_default();
        Content { packets: self.before.packets + packets, bytes: self.before.bytes + bytes }
    }

    /// How many files are written again and again.
    fn ring(&self) -> Option<u32> {
        self.rotation.files.filter(|_| self.rotation.seconds.is_none())
    }

    fn begin(&mut self, seconds: u64) -> Result<(), Error> {
        let name = self.name(self.begun.unwrap_or(seconds));
        self.writer = Some(Writer::new(Output::create(&name)?, self.layout)?);
        Ok(())
    }

    /// The file's name, as tcpdump makes it.
    fn name(&self, seconds: u64) -> PathBuf {
        let mut name = match self.rotation.seconds {
            Some(_) => by_time(&self.name, seconds),
            None => self.name.clone(),
        };
        let number = match (self.rotation.bytes, self.ring()) {
            // As many digits as the largest number has, so that names sort.
            (Some(_), Some(files @ 2..)) => {
                format!("{:0width$}", self.number, width = (files - 1).to_string().len())
            }
            (Some(_), None) if self.number > 0 => self.number.to_string(),
            _ => return name,
        };
        name.as_mut_os_string().push(number);
        name
    }
}

impl Sink for Rotating {
    fn describe(&mut self, _: &Described) -> Result<(), Error> {
        Ok(())
    }

    fn takes(&mut self, interface: &Described) -> Result<(), Error> {
        let file = self.name.display().to_string();
        self.layout.suits(interface.link_type, interface.check_sequence_bits, &file)
    }

    fn conclude(&mut self, _: u32, _: &Statistics, _: Timestamp) -> Result<(), Error> {
        Ok(())
    }

    #[inline]
    fn write(&mut self, _interface: u32, packet: &Packet<'_>) -> Result<(), Error> {
        match self.file(packet.timestamp.0 / 1_000_000_000)? {
            Some(writer) => writer.write_whole(packet),
            None => Ok(()),
        }
    }

    /// As many files by time are full as there may be.
    fn is_over(&self) -> bool {
        let Rotation { bytes, seconds, files } = self.rotation;
        bytes.is_none() && seconds.is_some() && files.is_some_and(|files| self.times > files)
    }

    fn flush(&mut self) -> Result<(), Error> {
        self.writer.as_mut().map_or(Ok(()), Writer::flush)
    }

    fn content(&self) -> Option<Content> {
        Some(self.all())
    }
}

/// A name with what strftime(3) makes of its percent signs, in local time.
fn by_time(name: &Path, seconds: u64) -> PathBuf {
    let Ok(format) = CString::new(name.as_os_str().as_bytes()) else { return name.to_owned() };
    let seconds = seconds as libc::time_t;
    // SAFETY: all-zero bytes are a valid tm, of which `localtime_r` fills in what it can.
    let mut time: libc::tm = unsafe { std::mem::zeroed() };
    // SAFETY: both places are ours.
    if unsafe { libc::localtime_r(&raw const seconds, &raw mut time) }.is_null() {
        return name.to_owned();
    }
    // PATH_MAX of Linux: a longer name could not be opened.
    let mut text = [0u8; 4096];
    // SAFETY: as much room as is said, a C string, and a tm that was filled in.
    let length =
        unsafe { libc::strftime(text.as_mut_ptr().cast(), text.len(), format.as_ptr(), &raw const time) };
    match CStr::from_bytes_until_nul(&text) {
        Ok(text) if length > 0 => PathBuf::from(std::ffi::OsString::from_vec(text.to_bytes().to_vec())),
        _ => name.to_owned(),
    }
}
