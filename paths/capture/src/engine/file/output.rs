//! Where packets are written: a file, a pipe or the standard output, through one buffer.
//!
//! Only whole records are handed in. If a write fails, a regular file is cut where its last whole record ends, so that it
//! stays a valid file.

use std::fs::{File, OpenOptions};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::os::fd::AsFd;
use std::path::Path;

use super::error::Error;

/// Bytes written at once.
const BUFFER: usize = 256 << 10;

/// From how many bytes on something is written from where it is, not through the buffer.
const DIRECT: usize = 64 << 10;

/// What short records are copied by, in bytes: less work than to call for each as many bytes as it has.
const CHUNK: usize = 32;

/// From how many bytes on such a call is less work.
const LONG: usize = 512;

/// The largest end of a record at or before a limit, and how many packets there are up to it; whether the bytes begin at
/// the file's start is told.
pub(super) type Boundary = fn(bytes: &[u8], limit: usize, at_start: bool) -> (usize, u64);

/// A file that is being written.
pub struct Output {
    name: String,
    file: File,
    /// Where a regular file stood before: what is cut off after a failure is counted from here.
    begin: Option<u64>,
    buffer: Vec<u8>,
    /// How much of the buffer waits to be written.
    waiting: usize,
    /// Bytes that the system has taken.
    written: u64,
    /// Packets in them.
    packets: u64,
    /// Packets that wait in the buffer.
    packets_waiting: u64,
    boundary: Boundary,
    /// A write has failed; nothing more is written.
    failed: bool,
}

impl Output {
    /// Makes a file, or empties the one that is there; `-` is the standard output.
    ///
    /// # Errors
    /// If that is refused.
    pub fn create(path: &Path) -> Result<Output, Error> {
        let name = path.display().to_string();
        let opened = if path == Path::new("-") {
            io::stdout().as_fd().try_clone_to_owned().map(File::from)
        } else {
            OpenOptions::new().write(true).create(true).truncate(true).open(path)
        };
        match opened {
            Ok(file) if path == Path::new("-") => Ok(Output::from_file("standard output", file)),
            Ok(file) => Ok(Output::from_file(name, file)),
            Err(source) => Err(Error::System { doing: "creating", file: name, offset: 0, source }),
        }
    }

    /// A file that is open for writing, under the name that errors shall have.
    pub fn from_file(name: impl Into<String>, mut file: File) -> Output {
        let regular = file.metadata().is_ok_and(|m| m.is_file());
        let appends = rustix::fs::fcntl_getfl(&file).is_ok_and(|f| f.contains(rustix::fs::OFlags::APPEND));
        let whence = if appends { SeekFrom::End(0) } else { SeekFrom::Current(0) };
        let begin = if regular { file.seek(whence).ok() } else { None };
        Output {
            name: name.into(),
            file,
            begin,
            buffer: vec![0; BUFFER],
            waiting: 0,
            written: 0,
            packets: 0,
            packets_waiting: 0,
            boundary: |_, _, _| (0, 0),
            failed: false,
        }
    }

    /// Its name, for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes handed in so far.
    pub fn length(&self) -> u64 {
        self.written + self.waiting as u64
    }

    /// Packets handed in so far; once a write has failed, those that are whole in what the system has taken.
    pub fn packets(&self) -> u64 {
        self.packets + self.packets_waiting
    }

    pub(super) fn set_boundary(&mut self, boundary: Boundary) {
        self.boundary = boundary;
    }

    /// The next `length` bytes of the file, to be filled in now with a packet.
    #[inline]
    pub(super) fn reserve(&mut self, length: usize) -> Result<&mut [u8], Error> {
        self.make_room(length)?;
        let begin = self.waiting;
        self.waiting += length;
        self.packets_waiting += 1;
        Ok(&mut self.buffer[begin..begin + length])
    }

    /// Writes whole records, which have so many packets.
    #[inline]
    pub(super) fn append(&mut self, records: &[u8], packets: u64) -> Result<(), Error> {
        if records.len() >= DIRECT {
            self.flush()?;
            return self.hand_over(records, packets);
        }
        self.make_room(records.len())?;
        self.buffer[self.waiting..][..records.len()].copy_from_slice(records);
        self.waiting += records.len();
        self.packets_waiting += packets;
        Ok(())
    }

    /// Writes packets that lie apart: where in `bytes` each begins and ends.
    pub(super) fn gather(&mut self, bytes: &[u8], records: &[(usize, usize)]) -> Result<(), Error> {
        let length: usize = records.iter().map(|(begin, end)| end - begin).sum();
        // The last one may be followed by what is left of its last chunk.
        self.make_room(length + CHUNK)?;
        let mut place = &mut self.buffer[self.waiting..];
        for &(begin, end) in records {
            copy_short(&bytes[begin..], place, end - begin);
            place = &mut place[end - begin..];
        }
        self.waiting += length;
        self.packets_waiting += records.len() as u64;
        Ok(())
    }

    /// Writes what waits if there is no room for `length` bytes more.
    #[inline]
    fn make_room(&mut self, length: usize) -> Result<(), Error> {
        if self.buffer.len() - self.waiting < length {
            self.flush()?;
            if self.buffer.len() < length {
                self.buffer.resize(length, 0);
            }
        }
        Ok(())
    }

    /// Hands all that waits in the buffer to the system.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn flush(&mut self) -> Result<(), Error> {
        let buffer = std::mem::take(&mut self.buffer);
        let outcome = self.hand_over(&buffer[..self.waiting], self.packets_waiting);
        self.buffer = buffer;
        self.waiting = 0;
        self.packets_waiting = 0;
        outcome
    }

    /// Writes the rest, and says whether all of it could be written.
    ///
    /// # Errors
    /// If the system does not take it.
    pub fn finish(mut self) -> Result<(), Error> {
        self.flush()
    }

    /// What there is of the file, as soon as something has gone wrong: whole records, where that can be.
    fn hand_over(&mut self, records: &[u8], packets: u64) -> Result<(), Error> {
        if self.failed {
            return Err(self.error(ErrorKind::BrokenPipe.into()));
        }
        let mut done = 0;
        while done < records.len() {
            match self.file.write(&records[done..]) {
                Ok(0) => return Err(self.give_up(records, done, ErrorKind::WriteZero.into())),
                Ok(count) => done += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(self.give_up(records, done, error)),
            }
        }
        self.written += done as u64;
        self.packets += packets;
        Ok(())
    }

    /// Of `records` the first `done` bytes were written, and no more can be.
    #[cold]
    fn give_up(&mut self, records: &[u8], done: usize, source: io::Error) -> Error {
        self.failed = true;
        let (whole, packets) = (self.boundary)(records, done, self.written == 0);
        self.packets += packets;
        let cut = self.begin.is_some_and(|begin| {
            let end = begin + self.written + whole as u64;
            self.file.set_len(end).is_ok() && self.file.seek(SeekFrom::Start(end)).is_ok()
        });
        self.written += if cut { whole } else { done } as u64;
        self.error(source)
    }

    fn error(&self, source: io::Error) -> Error {
        Error::System { doing: "writing", file: self.name.clone(), offset: self.written, source }
    }
}

/// Copies the first `length` bytes, which both have. What comes behind them in `to`, up to a chunk, is overwritten.
#[inline]
fn copy_short(from: &[u8], to: &mut [u8], length: usize) {
    let whole = length.next_multiple_of(CHUNK);
    match (from.get(..whole), to.get_mut(..whole)) {
        (Some(from), Some(to)) if length < LONG => {
            for (from, to) in from.as_chunks::<CHUNK>().0.iter().zip(to.as_chunks_mut::<CHUNK>().0) {
                *to = *from;
            }
        }
        _ => to[..length].copy_from_slice(&from[..length]),
    }
}

impl Drop for Output {
    /// Writes the rest. Whoever wants to know whether that went well calls [`Output::finish`].
    fn drop(&mut self) {
        if !self.failed {
            let _ = self.flush();
        }
    }
}
