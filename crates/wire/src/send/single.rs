//! One system call a frame: send(2).

use super::outlet::{Fate, Outlet};
use super::{Counts, SLOT, Transmit};
use crate::{Interface, WireError};

/// Sends each frame by a send() of its own. A batch is one frame.
#[derive(Debug)]
pub struct Single {
    outlet: Outlet,
    slot: Box<[u8; SLOT]>,
    length: Option<usize>,
    counts: Counts,
}

impl Single {
    /// Opens a socket on the interface, which has to be up.
    ///
    /// # Errors
    /// [`WireError`] if it is down or carries no Ethernet frames, or this process may not.
    pub fn open(interface: &Interface) -> Result<Single, WireError> {
        let outlet = Outlet::open(interface)?;
        Ok(Single { outlet, slot: Box::new([0; SLOT]), length: None, counts: Counts::default() })
    }
}

impl Transmit for Single {
    #[inline]
    fn slot(&mut self) -> Option<&mut [u8]> {
        self.length.is_none().then_some(&mut self.slot[..])
    }

    #[inline]
    fn commit(&mut self, length: usize) {
        assert!(length <= SLOT && self.length.is_none(), "a frame of {length} bytes has no slot");
        self.length = Some(length);
    }

    #[inline]
    fn flush(&mut self) -> Result<(), WireError> {
        let Some(length) = self.length.take() else { return Ok(()) };
        loop {
            self.counts.calls += 1;
            // SAFETY: the kernel reads `length` bytes, no more than the slot has (checked by `commit`).
            let sent = unsafe {
                libc::send(self.outlet.raw(), self.slot.as_ptr().cast(), length, libc::MSG_DONTWAIT)
            };
            if sent >= 0 {
                self.counts.frames += 1;
                self.counts.bytes += length as u64;
                return Ok(());
            }
            match self.outlet.judge(length)? {
                Fate::AskAgain => {}
                Fate::Refused(why) => {
                    self.counts.refuse(1, why);
                    return Ok(());
                }
            }
        }
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
