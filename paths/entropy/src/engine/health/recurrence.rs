//! Bytes that come again: a source that plays the same few thousand bytes over and over.

use memchr::memmem;
use zeroize::Zeroizing;

/// The longest period that is found, in bytes.
pub const SPAN: usize = 4096;

/// Looks for the first bytes of a window in the rest of it, at every position up to [`SPAN`] from where they were.
///
/// A repeat with a period up to [`SPAN`] is found in the first window that begins in it: after two windows at the latest.
#[derive(Clone, Debug)]
pub struct Recurrence {
    length: usize,
    /// The window so far; its first `length` bytes are what must not come again.
    window: Zeroizing<Vec<u8>>,
    /// They did: the window has had its alarm.
    found: bool,
}

/// Fewer new bytes than that are looked through one by one: to prepare a search takes longer.
const FEW: usize = 64;

impl Recurrence {
    /// An alarm for every window whose first `length` bytes come again in it.
    pub fn new(length: usize) -> Self {
        Recurrence { length, window: Vec::with_capacity(length + SPAN).into(), found: false }
    }

    /// Forgets what was.
    pub fn reset(&mut self) {
        self.window.clear();
        self.found = false;
    }

    /// The next bytes; how many windows had an alarm in them.
    #[inline(always)]
    pub fn feed(&mut self, mut bytes: &[u8]) -> u64 {
        let (whole, mut alarms) = (self.length + SPAN, 0);
        while !bytes.is_empty() {
            let before = self.window.len();
            let (now, later) = bytes.split_at(bytes.len().min(whole - before));
            self.window.extend_from_slice(now);
            if !self.found && self.comes_again(before) {
                self.found = true;
                alarms += 1;
            }
            if self.window.len() == whole {
                self.reset();
            }
            bytes = later;
        }
        alarms
    }

    /// Whether they do in what was not there when the window had `before` bytes.
    fn comes_again(&self, before: usize) -> bool {
        if self.window.len() <= self.length {
            return false;
        }
        let wanted = &self.window[..self.length];
        let looked = &self.window[(before + 1).saturating_sub(self.length).max(1)..];
        if looked.len() < FEW + self.length {
            return looked.windows(self.length).any(|bytes| bytes[0] == wanted[0] && bytes == wanted);
        }
        memmem::find(looked, wanted).is_some()
    }
}
