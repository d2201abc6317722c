//! The simplest front end: one queue of equal buffers that the device fills.

use std::path::Path;
use std::time::Duration;

use tollway_core::{Error, Result};
use vhost::vhost_user::Frontend as Messages;

use super::link::{Link, LinkOptions};
use crate::area::{Area, Span};

/// What a front end is like.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// How many buffers it has: a power of two.
    pub buffers: u16,
    /// Bytes of each.
    pub buffer_bytes: u32,
    /// Whether it uses event indices (VIRTIO_F_EVENT_IDX), if the device offers them.
    pub event_index: bool,
    /// How long it waits for an answer.
    pub patience: Duration,
}

impl Default for Options {
    /// 16 buffers of 4 KiB.
    fn default() -> Self {
        Options { buffers: 16, buffer_bytes: 4096, event_index: true, patience: Duration::from_secs(10) }
    }
}

/// A buffer that came back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Used {
    /// Its number.
    pub buffer: u16,
    /// Bytes that the device wrote.
    pub bytes: u32,
}

/// A process that uses a device as a guest would that only takes bytes from it: a [`Link`] of one queue, and a buffer for each of
/// its descriptors.
#[derive(Debug)]
pub struct Frontend {
    link: Link,
    area: Area,
    buffer_bytes: u32,
    offered: Vec<bool>,
}

impl Frontend {
    /// Connects, and sets the queue up.
    ///
    /// # Errors
    /// [`Error::Input`] for options that cannot be; [`Error::System`] if nobody listens there, or what listens does not
    /// speak the protocol.
    pub fn connect(path: &Path, options: &Options) -> Result<Frontend> {
        let Options { buffers, buffer_bytes, event_index, patience } = *options;
        if buffer_bytes == 0 {
            return Err(Error::Input {
                place: "a queue of a process tenant".into(),
                reason: "its buffers have no bytes".into(),
                remedy: "let them have one or more".into(),
            });
        }
        let bytes = usize::from(buffers).saturating_mul(buffer_bytes as usize);
        let options = LinkOptions {
            size: buffers,
            bytes,
            event_index,
            indirect: 0,
            patience,
            ..LinkOptions::default()
        };
        let link = Link::connect(path, &options)?;
        let area = link.area();
        Ok(Frontend { link, area, buffer_bytes, offered: vec![false; usize::from(buffers)] })
    }

    /// Connects anew, with empty rings. What it returns was offered and had not come back: lost, and to be offered
    /// again. What has come back already is taken first (with [`take`](Frontend::take)), else it is lost too.
    ///
    /// # Errors
    /// As [`Frontend::connect`].
    pub fn reconnect(&mut self) -> Result<Vec<u16>> {
        self.link.reconnect()?;
        let lost = (0..self.offered.len()).filter(|number| self.offered[*number]).map(|number| number as u16);
        let lost = lost.collect();
        self.offered.fill(false);
        Ok(lost)
    }

    /// Offers the first `bytes` of a buffer to the device, which does not see it until [`kick`](Frontend::kick).
    ///
    /// # Errors
    /// [`Error::Input`] if the device has it already, or it has not as many bytes.
    pub fn offer(&mut self, buffer: u16, bytes: u32) -> Result<()> {
        let free = self.offered.get(usize::from(buffer)).is_some_and(|offered| !offered);
        if !free || bytes == 0 || bytes > self.buffer_bytes {
            return Err(Error::Input {
                place: format!("buffer {buffer} of a queue"),
                reason: format!("it cannot be offered with {bytes} bytes"),
                remedy: format!(
                    "offer one that is not with the device, with 1 to {} bytes",
                    self.buffer_bytes
                ),
            });
        }
        let span = Span { at: self.place(buffer), bytes };
        // There are as many descriptors as buffers.
        self.offered[usize::from(buffer)] = self.link.lane(0).submit(u64::from(buffer), &[], &[span])?;
        Ok(())
    }

    /// Has the device see what was offered, and tells it if it wants to be told. Whether it was told.
    pub fn kick(&mut self) -> bool {
        self.link.lane(0).kick()
    }

    /// Kicks although nothing was offered.
    pub fn kick_anyway(&mut self) {
        self.link.lane(0).kick_anyway();
    }

    /// Takes a buffer that came back, if there is one.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the device gave back what it had not been given.
    pub fn take(&mut self) -> Result<Option<Used>> {
        let found = self.link.lane(0).take()?;
        Ok(found.map(|found| self.back(found.token, found.written)))
    }

    /// Takes a buffer that comes back; sleeps until the device calls, at most that long.
    ///
    /// # Errors
    /// As [`Frontend::take`]; and [`Error::System`] if the connection is gone, once no buffer is left that came back.
    pub fn wait(&mut self, most: Duration) -> Result<Option<Used>> {
        let found = self.link.lane(0).wait(most)?;
        Ok(found.map(|found| self.back(found.token, found.written)))
    }

    fn back(&mut self, token: u64, bytes: u32) -> Used {
        let buffer = token as u16;
        self.offered[usize::from(buffer)] = false;
        Used { buffer, bytes }
    }

    /// Whether the device is still there.
    pub fn is_connected(&self) -> bool {
        self.link.is_connected()
    }

    /// How many buffers the device has.
    pub fn in_flight(&self) -> usize {
        self.offered.iter().filter(|offered| **offered).count()
    }

    /// Copies a buffer's beginning.
    pub fn copy(&self, buffer: u16, into: &mut [u8]) {
        let len = into.len().min(self.buffer_bytes as usize);
        self.area.read(self.place(buffer), &mut into[..len]);
    }

    /// Overwrites a buffer's beginning.
    pub fn write(&self, buffer: u16, bytes: &[u8]) {
        let len = bytes.len().min(self.buffer_bytes as usize);
        self.area.write(self.place(buffer), &bytes[..len]);
    }

    fn place(&self, buffer: u16) -> usize {
        self.link.free() + usize::from(buffer) * self.buffer_bytes as usize
    }

    /// The connection's messages, for whoever wants to send others; None before it is connected.
    pub fn messages(&mut self) -> Option<&mut Messages> {
        self.link.messages()
    }
}
