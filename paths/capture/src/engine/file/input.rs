//! The bytes of a file, a pipe, or a file mapped into memory, a window at a time.
//!
//! Reading into one buffer that stays in the processor's cache costs little more than mapping (it was 5.2 against 3.4 ms of
//! processor time for 76 MB), and nobody can change or shorten under our hands what was copied once. So that is what is
//! done unless a map is asked for.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::{Advice, fadvise};

use super::error::Error;
use super::map::Map;

/// How much is read at once, in bytes: a part of what second-level caches have.
const READ: usize = 256 << 10;

/// Where the bytes of a capture file come from.
pub struct Input {
    name: String,
    supply: Supply,
    /// Where in the file the window begins.
    offset: u64,
}

enum Supply {
    Stream(Stream),
    Map { map: Map, at: usize },
}

struct Stream {
    source: Box<dyn Read + Send>,
    buffer: Vec<u8>,
    /// The window is `buffer[start..end]`.
    start: usize,
    end: usize,
}

impl Input {
    /// A file by its path; `-` is the standard input.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path) -> Result<Input, Error> {
        if path == Path::new("-") {
            return Ok(Input::stdin());
        }
        let name = path.display().to_string();
        let file = File::open(path).map_err(|source| Error::System {
            doing: "opening",
            file: name.clone(),
            offset: 0,
            source,
        })?;
        // Only a hint: what is not a file cannot take it.
        let _ = fadvise(&file, 0, None, Advice::Sequential);
        Ok(Input::from_read(name, file))
    }

    /// The standard input.
    pub fn stdin() -> Input {
        match io::stdin().as_fd().try_clone_to_owned() {
            // A buffer of our own is enough.
            Ok(descriptor) => Input::from_read("standard input", File::from(descriptor)),
            Err(_) => Input::from_read("standard input", io::stdin()),
        }
    }

    /// Anything that gives bytes, under the name that errors shall have.
    pub fn from_read(name: impl Into<String>, source: impl Read + Send + 'static) -> Input {
        let stream = Stream { source: Box::new(source), buffer: vec![0; READ], start: 0, end: 0 };
        Input { name: name.into(), supply: Supply::Stream(stream), offset: 0 }
    }

    /// A file, mapped into memory: no byte is copied.
    ///
    /// # Errors
    /// If it cannot be opened or mapped, as a pipe cannot.
    ///
    /// # Safety
    /// As long as this lives nobody may change or shorten the file; it may grow. A process that reads beyond the end of a
    /// file that was shortened is killed by SIGBUS.
    pub unsafe fn map(path: &Path) -> Result<Input, Error> {
        let name = path.display().to_string();
        let told = |doing: &'static str| {
            let file = name.clone();
            move |source: io::Error| Error::System { doing, file, offset: 0, source }
        };
        let file = File::open(path).map_err(told("opening"))?;
        // SAFETY: the caller has promised that nobody changes it.
        let map = unsafe { Map::of(file) }.map_err(told("mapping"))?;
        Ok(Input { name, supply: Supply::Map { map, at: 0 }, offset: 0 })
    }

    /// The file's name, for errors.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where in the file the window begins, in bytes.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// The bytes at hand.
    #[inline]
    pub(super) fn window(&self) -> &[u8] {
        match &self.supply {
            Supply::Stream(stream) => &stream.buffer[stream.start..stream.end],
            Supply::Map { map, at } => &map.bytes()[*at..],
        }
    }

    /// Passes over the first `count` bytes of the window, which has as many.
    #[inline]
    pub(super) fn advance(&mut self, count: usize) {
        debug_assert!(count <= self.window().len());
        match &mut self.supply {
            Supply::Stream(stream) => stream.start += count,
            Supply::Map { at, .. } => *at += count,
        }
        self.offset += count as u64;
    }

    /// Makes the window at least `wanted` bytes long; false if the file ends before (for now, if it grows).
    ///
    /// Memory is taken as bytes come, not as `wanted` says.
    ///
    /// # Errors
    /// If reading fails.
    pub(super) fn fill(&mut self, wanted: usize) -> Result<bool, Error> {
        let filled = match &mut self.supply {
            Supply::Stream(stream) => stream.fill(wanted),
            Supply::Map { map, at } => map.grow_to(at.saturating_add(wanted)),
        };
        filled.map_err(|source| {
            let there = self.offset + self.window().len() as u64;
            Error::System { doing: "reading", file: self.name.clone(), offset: there, source }
        })
    }
}

impl Stream {
    fn fill(&mut self, wanted: usize) -> io::Result<bool> {
        while self.end - self.start < wanted {
            if self.start > 0 && self.buffer.len() - self.start < wanted.max(READ / 2) {
                self.buffer.copy_within(self.start..self.end, 0);
                (self.start, self.end) = (0, self.end - self.start);
            }
            if self.end == self.buffer.len() {
                // It is full of one record: so much has come, as much again may.
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => return Ok(false),
                Ok(count) => self.end += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(true)
    }
}
