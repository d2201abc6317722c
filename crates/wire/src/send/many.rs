//! One system call a batch, which copies its frames: sendmmsg(2).

use std::ptr;

use super::outlet::{Fate, Outlet};
use super::{Counts, SLOT, Transmit};
use crate::{Interface, WireError};

/// Frames a batch holds: beyond this a call's own cost is no longer seen beside its frames'.
const BATCH: usize = 64;

/// Sends a batch of frames by one sendmmsg(), a single one by send().
#[derive(Debug)]
pub struct Many {
    outlet: Outlet,
    slots: Box<[[u8; SLOT]]>,
    lengths: Box<[usize; BATCH]>,
    filled: usize,
    counts: Counts,
}

impl Many {
    /// Opens a socket on the interface, which has to be up.
    ///
    /// # Errors
    /// [`WireError`] if it is down or carries no Ethernet frames, or this process may not.
    pub fn open(interface: &Interface) -> Result<Many, WireError> {
        let outlet = Outlet::open(interface)?;
        let slots = vec![[0; SLOT]; BATCH].into_boxed_slice();
        Ok(Many { outlet, slots, lengths: Box::new([0; BATCH]), filled: 0, counts: Counts::default() })
    }

    /// Offers frames from `first` on to the kernel; how many it took, or -1.
    fn offer(&mut self, first: usize, filled: usize) -> i32 {
        if filled - first == 1 {
            let (slot, length) = (&self.slots[first], self.lengths[first]);
            // SAFETY: the kernel reads `length` bytes, no more than the slot has (checked by `commit`).
            let sent =
                unsafe { libc::send(self.outlet.raw(), slot.as_ptr().cast(), length, libc::MSG_DONTWAIT) };
            return if sent < 0 { -1 } else { 1 };
        }
        // SAFETY: all-zero is a valid mmsghdr: no address, no vectors, no control data.
        let mut headers: [libc::mmsghdr; BATCH] = unsafe { std::mem::zeroed() };
        let mut vectors = [libc::iovec { iov_base: ptr::null_mut(), iov_len: 0 }; BATCH];
        for (number, slot) in self.slots[..filled].iter_mut().enumerate().skip(first) {
            vectors[number] =
                libc::iovec { iov_base: slot.as_mut_ptr().cast(), iov_len: self.lengths[number] };
            headers[number].msg_hdr.msg_iov = &raw mut vectors[number];
            headers[number].msg_hdr.msg_iovlen = 1;
        }
        // SAFETY: headers `first..filled` name one live vector each, and those live slots with lengths that `commit`
        // checked; the kernel writes only the headers' counts.
        unsafe {
            libc::sendmmsg(
                self.outlet.raw(),
                headers[first..filled].as_mut_ptr(),
                (filled - first) as libc::c_uint,
                libc::MSG_DONTWAIT,
            )
        }
    }
}

impl Transmit for Many {
    #[inline]
    fn slot(&mut self) -> Option<&mut [u8]> {
        self.slots.get_mut(self.filled).map(|slot| &mut slot[..])
    }

    #[inline]
    fn commit(&mut self, length: usize) {
        assert!(length <= SLOT && self.filled < BATCH, "a frame of {length} bytes has no slot");
        self.lengths[self.filled] = length;
        self.filled += 1;
    }

    fn flush(&mut self) -> Result<(), WireError> {
        let filled = std::mem::take(&mut self.filled);
        let mut first = 0;
        while first < filled {
            self.counts.calls += 1;
            let taken = self.offer(first, filled);
            if taken > 0 {
                let after = first + taken as usize;
                self.counts.frames += taken as u64;
                self.counts.bytes += self.lengths[first..after].iter().sum::<usize>() as u64;
                first = after;
                continue;
            }
            // An error is told only of the first frame offered: after a frame that was taken the kernel returns the count
            // and keeps quiet, and the next call meets the error.
            match self.outlet.judge(self.lengths[first])? {
                Fate::AskAgain => {}
                Fate::Refused(why) => {
                    self.counts.refuse(1, why);
                    first += 1;
                }
            }
        }
        Ok(())
    }

    fn counts(&self) -> Counts {
        self.counts
    }
}
