//! Descriptors that a peer sent, which nobody has looked at yet; closed where that can hold nobody up.
//!
//! The last close of a descriptor can wait: for a socket's unsent data (socket(7), SO_LINGER), for a terminal's output, for a
//! file system that the peer is. That of memory (memfd_create(2)) takes as long as it takes to free: a second for several GiB.
//! Only eventfds are closed by the thread that they came to. All else is closed by a thread of that tenant's own, and its next
//! peer, or a message with more memory, waits until that has ended: so there is one such thread for each tenant at most, and no more
//! descriptors than one connection can bring.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;

use rustix::fs::{fcntl_get_seals, readlink};

use super::Memory;

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
    waiting: Mutex<Waiting>,
    busy: AtomicBool,
    /// Rung when what was there is closed.
    bell: Option<Arc<OwnedFd>>,
}

#[derive(Debug, Default)]
struct Waiting {
    descriptors: Vec<OwnedFd>,
    /// Memory that was not used, and such that was.
    files: Vec<OwnedFd>,
    memory: Vec<Arc<Memory>>,
}

impl Waiting {
    fn is_empty(&self) -> bool {
        self.descriptors.is_empty() && self.files.is_empty() && self.memory.is_empty()
    }
}

impl Bin {
    /// An empty one. The bell, an eventfd of this process, tells whoever waits until what was there is closed.
    pub(crate) fn new(bell: Arc<OwnedFd>) -> Bin {
        Bin { bell: Some(bell), ..Bin::default() }
    }

    fn waiting(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A descriptor that no peer should have sent.
    pub(crate) fn put(&self, descriptor: OwnedFd) {
        self.waiting().descriptors.push(descriptor);
    }

    /// Memory that was sent and is not used. While some is being closed, no peer should have sent more.
    fn put_file(&self, file: OwnedFd) {
        let mut waiting = self.waiting();
        if self.is_busy() { &mut waiting.descriptors } else { &mut waiting.files }.push(file);
    }

    /// Memory that is not in use any more.
    pub(crate) fn put_memory(&self, memory: Arc<Memory>) {
        self.waiting().memory.push(memory);
    }

    /// Whether descriptors were put there since it was emptied.
    pub(crate) fn has_descriptors(&self) -> bool {
        !self.waiting().descriptors.is_empty()
    }

    /// How many files of memory are there that were not used.
    #[cfg(test)]
    pub(crate) fn files(&self) -> usize {
        self.waiting().files.len()
    }

    /// Whether there is nothing to close.
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting().is_empty()
    }

    /// Whether a thread still closes what was there.
    pub(crate) fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Acquire)
    }

    /// Has a thread close what is there; while one is at it, that waits.
    pub(crate) fn empty(self: &Arc<Bin>) {
        if self.is_busy() {
            return;
        }
        let waiting = std::mem::take(&mut *self.waiting());
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
            if let Some(bell) = &bin.bell {
                // Full: it rings already.
                let _ = rustix::io::write(&**bell, &1u64.to_ne_bytes());
            }
        };
        if thread::Builder::new().name("closing".into()).spawn(close).is_err() {
            // No thread to be had: they are tried again with what comes next.
            let Waiting { descriptors, files, memory } =
                std::mem::take(&mut *kept.lock().unwrap_or_else(PoisonError::into_inner));
            let mut waiting = self.waiting();
            waiting.descriptors.extend(descriptors);
            waiting.files.extend(files);
            waiting.memory.extend(memory);
            self.busy.store(false, Ordering::Release);
        }
    }
}

/// A descriptor that a peer sent.
#[derive(Debug)]
pub(crate) struct Received {
    /// Absent once it was taken out, by what consumes this.
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

impl AsFd for Received {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_ref().expect("a descriptor that was not taken out").as_fd()
    }
}

impl Drop for Received {
    fn drop(&mut self) {
        let Some(descriptor) = self.descriptor.take() else { return };
        // Only files of memory can be asked for their seals (fcntl(2), F_GET_SEALS).
        if fcntl_get_seals(&descriptor).is_ok() {
            self.bin.put_file(descriptor);
        } else if !is_eventfd(descriptor.as_fd()) {
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
