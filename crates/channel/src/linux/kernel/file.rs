//! Open files, sockets among them, that operations use: kept open until the last operation on them is over, so that no number of a closed one
//! comes to mean another.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::ptr;
use std::rc::{Rc, Weak};

/// Who has a ring's table of registered files.
pub(super) trait Table {
    /// A file is closed: its place is free again.
    fn unregisters(&self, at: u32);
}

/// An open file or socket, for as long as any copy of this lives and any operation on it lasts. [Registered](super::Kernel::register) or not.
#[derive(Clone)]
pub struct File(Rc<Opened>);

impl core::fmt::Debug for File {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("File")
            .field("descriptor", &self.0.descriptor)
            .field("is_registered", &self.is_registered())
            .finish_non_exhaustive()
    }
}

struct Opened {
    descriptor: OwnedFd,
    registered: Option<Place>,
}

/// A place in a ring's table of registered files.
struct Place {
    at: u32,
    /// As long as this lives, nothing else is where the table is, or was.
    table: Weak<dyn Table>,
}

/// How an operation names a file.
#[derive(Clone, Copy)]
pub(super) enum Named {
    Descriptor(i32),
    Registered(u32),
}

impl File {
    /// In no ring's table.
    pub(super) fn new(descriptor: OwnedFd) -> File {
        File(Rc::new(Opened { descriptor, registered: None }))
    }

    /// At that place in the table.
    pub(super) fn registered<T: Table + 'static>(descriptor: OwnedFd, at: u32, table: &Rc<T>) -> File {
        let registered = Some(Place { at, table: Rc::<T>::downgrade(table) });
        File(Rc::new(Opened { descriptor, registered }))
    }

    /// How the ring of that table names it: its place is one of its own ring's table, and in another's there is another file.
    pub(super) fn named<T: Table>(&self, table: &Rc<T>) -> Named {
        match &self.0.registered {
            Some(place) if ptr::addr_eq(place.table.as_ptr(), Rc::as_ptr(table)) => {
                Named::Registered(place.at)
            }
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
        if let Some(place) = &self.registered
            && let Some(table) = place.table.upgrade()
        {
            table.unregisters(place.at);
        }
    }
}
