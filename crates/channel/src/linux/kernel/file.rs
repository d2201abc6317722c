//! Open files, sockets among them, that operations use: kept open until the last operation on them is over, so that no number of a closed one
//! comes to mean another.

use std::cell::RefCell;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::rc::{Rc, Weak};

use super::Kernel;
use super::queue::Queue;

/// An open file or socket, for as long as any copy of this lives and any operation on it lasts. [Registered](super::Kernel::register) or not.
#[derive(Clone)]
pub struct File(pub(super) Rc<Opened>);

pub(super) struct Opened {
    descriptor: OwnedFd,
    /// Its place in the ring's table of registered files, and that ring.
    registered: Option<(u32, Weak<RefCell<Queue>>)>,
}

/// How an operation names a file.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Descriptor(i32),
    Registered(u32),
}

impl File {
    pub(super) fn new(descriptor: OwnedFd, registered: Option<(u32, Weak<RefCell<Queue>>)>) -> File {
        File(Rc::new(Opened { descriptor, registered }))
    }

    /// How that ring names it: its place is one of its own ring's table, and in another's there is another file.
    pub(super) fn named(&self, kernel: &Kernel) -> Named {
        match &self.0.registered {
            Some((at, queue)) if queue.as_ptr() == Rc::as_ptr(&kernel.0) => Named::Registered(*at),
            _ => Named::Descriptor(self.0.descriptor.as_raw_fd()),
        }
    }

    /// Whether the ring has it in its table.
    pub fn is_registered(&self) -> bool {
        self.0.registered.is_some()
    }
}

impl AsFd for File {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.descriptor.as_fd()
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        if let Some((at, queue)) = &self.registered
            && let Some(queue) = queue.upgrade()
        {
            queue.borrow_mut().unregisters(*at);
        }
    }
}
