//! The application's end of the buffer.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::io::{Errno, pread};
use tollway_core::{Error, Result};

use super::header::{HEADER, Header, room_for};
use super::indices::Indices;
use crate::engine::Packet;

/// Reads packets, many at a time.
#[derive(Debug)]
pub struct Consumer {
    memory: OwnedFd,
    capacity: usize,
    indices: Arc<Indices>,
    /// Bytes read since the buffer was made.
    tail: u64,
    calls: u64,
}

/// Whole packets that a read brought.
#[derive(Clone, Copy, Debug)]
pub struct Batch<'a> {
    bytes: &'a [u8],
}

impl Consumer {
    pub(super) fn new(memory: OwnedFd, capacity: usize, indices: Arc<Indices>) -> Consumer {
        Consumer { memory, capacity, indices, tail: 0, calls: 0 }
    }

    /// Bytes that can be read.
    #[inline]
    pub fn available(&self) -> usize {
        (self.indices.written() - self.tail) as usize
    }

    /// System calls made so far.
    pub fn calls(&self) -> u64 {
        self.calls
    }

    /// Reads as many whole packets as there are and `into` can take: one system call, or two where they lie across the
    /// buffer's end. Their room is free for the producer afterwards.
    ///
    /// # Errors
    /// [`Error::Input`] if `into` cannot take the first packet; [`Error::System`] if the kernel refuses.
    pub fn read<'a>(&mut self, into: &'a mut [u8]) -> Result<Batch<'a>> {
        let available = self.available();
        let wanted = available.min(into.len());
        let offset = self.tail as usize & (self.capacity - 1);
        let before_end = wanted.min(self.capacity - offset);
        self.fetch(&mut into[..before_end], offset)?;
        if before_end < wanted {
            self.fetch(&mut into[before_end..wanted], 0)?;
        }
        let bytes = match wanted < available {
            false => &into[..wanted],
            true => whole_records(&into[..wanted]),
        };
        if bytes.is_empty() && available > 0 {
            return Err(Error::Input {
                place: format!("reading into {} bytes", into.len()),
                reason: "the next packet is longer".into(),
                remedy: "read into more bytes than the longest packet and its header have".into(),
            });
        }
        self.tail += bytes.len() as u64;
        self.indices.release(self.tail);
        Ok(Batch { bytes })
    }

    /// Gives everything back unread.
    pub fn discard(&mut self) {
        self.tail = self.indices.written();
        self.indices.release(self.tail);
    }

    fn fetch(&mut self, into: &mut [u8], offset: usize) -> Result<()> {
        let mut done = 0;
        while done < into.len() {
            self.calls += 1;
            match pread(&self.memory, &mut into[done..], (offset + done) as u64) {
                Ok(0) => return Err(Error::system("reading the buffer", "it ends too early")),
                Ok(n) => done += n,
                Err(Errno::INTR) => {}
                Err(e) => return Err(Error::system("reading the buffer", e)),
            }
        }
        Ok(())
    }
}

/// The whole records at the beginning of `bytes`.
fn whole_records(bytes: &[u8]) -> &[u8] {
    let mut end = 0;
    while let Some(header) = bytes[end..].first_chunk::<HEADER>() {
        let room = room_for(Header::read(header).kept);
        if room > bytes.len() - end {
            break;
        }
        end += room;
    }
    &bytes[..end]
}

impl<'a> Batch<'a> {
    /// What an earlier read left in its bytes.
    pub fn of(bytes: &'a [u8]) -> Batch<'a> {
        Batch { bytes }
    }

    /// Bytes that were read, headers included.
    pub fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether nothing was there.
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The packets, oldest first.
    #[inline]
    pub fn packets(&self) -> Records<'a> {
        Records { rest: self.bytes }
    }
}

/// The packets of a [`Batch`].
#[derive(Clone, Debug)]
pub struct Records<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for Records<'a> {
    type Item = Packet<'a>;

    #[inline(always)]
    fn next(&mut self) -> Option<Packet<'a>> {
        let header = Header::read(self.rest.first_chunk::<HEADER>()?);
        let bytes = self.rest.get(HEADER..HEADER + header.kept as usize)?;
        self.rest = self.rest.get(room_for(header.kept)..)?;
        Some(Packet { timestamp: header.timestamp, bytes, wire_length: header.wire_length })
    }
}
