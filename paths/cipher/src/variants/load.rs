//! What a request is like, how many there are at once, and how often they come.

use std::time::Duration;

use tollway_core::{Params, Result};

use crate::engine::suite::Named;

/// The key of every session: its halves differ, as XTS wants them to.
pub(super) const KEY: [u8; 64] = *b"Bytes for keys of any length there is; no half is like the other";

/// The IV of every request.
pub(super) const IV: [u8; 16] = [0x5a; 16];

/// The load of a task.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    pub(super) named: &'static Named,
    /// Bytes of a request; of a mix, of the largest.
    pub(super) size: usize,
    pub(super) depth: usize,
    /// Ticks that are added to each request and no gate owns.
    pub(super) planted: u64,
    /// Requests a second; 0: the next begins when one has ended.
    pub(super) rate: f64,
}

impl Load {
    pub(super) fn of(params: &Params) -> Result<Load> {
        let size = params.int("size")? as usize;
        if !size.is_multiple_of(16) {
            return Err(tollway_core::Error::Input {
                place: "axis `size`".into(),
                reason: format!("{size} is no multiple of 16, which is what ciphers work on"),
                remedy: "take one that is".into(),
            });
        }
        let name = params.word("cipher")?;
        let named = Named::find(name).ok_or_else(|| tollway_core::Error::Input {
            place: "axis `cipher`".into(),
            reason: format!("there is no {name}"),
            remedy: "`tollway list cipher` names those there are".into(),
        })?;
        Ok(Load {
            named,
            size,
            depth: params.int("depth")? as usize,
            planted: params.int("planted").unwrap_or(0),
            rate: params.real("rate").unwrap_or(0.0),
        })
    }

    /// The same, of requests of so many bytes.
    pub(super) fn of_size(self, size: usize) -> Load {
        Load { size, ..self }
    }

    /// Whether requests come whether others have ended or not.
    pub(super) fn is_open(&self) -> bool {
        self.rate > 0.0
    }

    /// The mean time from one request to the next; none of a closed loop.
    pub(super) fn gap(&self) -> Option<Duration> {
        self.is_open().then(|| Duration::try_from_secs_f64(1.0 / self.rate).unwrap_or(Duration::MAX))
    }

    /// How many requests of a task there is room for. Of an open stream as many as a queue has: who finds no room waits before
    /// it, and counts from when it came.
    pub(super) fn places(&self) -> usize {
        if self.is_open() { MOST } else { self.depth.min(MOST) }
    }

    /// Bytes of the result.
    pub(super) fn result(&self) -> usize {
        self.named.result(self.size)
    }

    /// The key of its sessions.
    pub(super) fn key(&self) -> &'static [u8] {
        &KEY[..self.named.key]
    }

    /// The IV of its requests.
    pub(super) fn iv(&self) -> &'static [u8] {
        &IV[..self.named.iv]
    }
}

/// The most requests that a queue has on their way.
const MOST: usize = 1024;

/// How long the end of a trial may take.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
