//! Descriptors that a peer sent, which nobody has looked at yet; closed where that can hold nobody up.
//!
//! The last close of a descriptor can wait: for a socket's unsent data (socket(7), SO_LINGER), for a terminal's output, for a
//! file system that the peer is. Only eventfds and memory (memfd_create(2)) are closed by the thread that they came
//! to. All else is closed by a thread of that tenant's own, and its next peer waits at the door until that has ended: so
//! there is one such thread for each tenant at most, and no more descriptors than one connection can bring.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use rustix::fs::{fcntl_get_seals, readlink};

/// What /proc says of a descriptor that is an eventfd (eventfd(2)).
const EVENTFD: &[u8] = b"anon_inode:[eventfd]";

/// Whether it is an eventfd.
pub(crate) fn is_eventfd(descriptor: BorrowedFd<'_>) -> bool {
    let link = format!("/proc/self/fd/{}", descriptor.as_raw_fd());
    readlink(link, Vec::new()).is_ok_and(|to| to.as_bytes() == EVENTFD)
}

/// A tenant's descriptors that are to be closed where it may take long.
#[derive(Debug, Default)]
pub(crate) struct Bin {
    waiting: Mutex<Vec<OwnedFd>>,
    busy: AtomicBool,
}

impl Bin {
    pub(crate) fn put(&self, descriptor: OwnedFd) {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(descriptor);
    }

    /// Whether nothing was put there since it was emptied.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner).is_empty()
    }

    /// Whether a thread still closes what was there.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Has a thread close what is there.
    pub(crate) fn empty(self: &Arc<Bin>) {
        let waiting = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
        if waiting.is_empty() {
            return;
        }
        self.busy.store(true, Ordering::Release);
        let (bin, kept) = (self.clone(), Arc::new(Mutex::new(waiting)));
        let theirs = kept.clone();
        let close = move || {
            let waiting = std::mem::take(&mut *theirs.lock().unwrap_or_else(PoisonError::into_inner));
            drop(waiting);
            bin.busy.store(false, Ordering::Release);
        };
        if thread::Builder::new().name("closing".into()).spawn(close).is_err() {
            // No thread to be had: they are tried again with what comes next.
            let waiting = std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
            self.waiting.lock().unwrap_or_else(PoisonError::into_inner).extend(waiting);
            self.busy.store(false, Ordering::Release);
        }
    }
}

/// A descriptor that a peer sent.
#[derive(Debug)]
pub(crate) struct Received {
    /// Absent once it was taken out.
    descriptor: Option<OwnedFd>,
    bin: Arc<Bin>,
}

impl Received {
    pub(crate) fn new(descriptor: OwnedFd, bin: Arc<Bin>) -> Received {
        Received { descriptor: Some(descriptor), bin }
    }

    /// The descriptor, which is one whose close never waits, if `harmless` says so. Else it is put into the bin.
    pub(crate) fn into_if(mut self, harmless: impl FnOnce(BorrowedFd<'_>) -> bool) -> Option<OwnedFd> {
        let is = self.descriptor.as_ref().is_some_and(|descriptor| harmless(descriptor.as_fd()));
        if is { self.descriptor.take() } else { None }
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        let Some(descriptor) = self.descriptor.take() else { return };
        // Only files of memory can be asked for their seals (fcntl(2), F_GET_SEALS).
        if fcntl_get_seals(&descriptor).is_err() && !is_eventfd(descriptor.as_fd()) {
            self.bin.put(descriptor);
        }
    }
}

#[cfg(test)]
impl<D: Into<OwnedFd>> From<D> for Received {
    fn from(descriptor: D) -> Received {
        Received::new(descriptor.into(), Arc::default())
    }
}
