//! How tasks share an end: those of one thread without locks, those of several by one.
//!
//! While it is borrowed or locked nothing foreign runs: no waker is cloned, dropped or woken.

use alloc::rc::Rc;
use core::cell::RefCell;

/// How tasks share what they wait for.
pub trait Sharing {
    /// Something that is shared.
    type Cell<T>: Clone;

    /// Shares it.
    fn share<T>(it: T) -> Self::Cell<T>;

    /// Does something with it, alone.
    fn with<T, R>(cell: &Self::Cell<T>, does: impl FnOnce(&mut T) -> R) -> R;
}

/// Tasks of one thread.
#[derive(Clone, Copy, Debug)]
pub struct Alone;

impl Sharing for Alone {
    type Cell<T> = Rc<RefCell<T>>;

    fn share<T>(it: T) -> Rc<RefCell<T>> {
        Rc::new(RefCell::new(it))
    }

    #[inline]
    fn with<T, R>(cell: &Rc<RefCell<T>>, does: impl FnOnce(&mut T) -> R) -> R {
        does(&mut cell.borrow_mut())
    }
}

/// Tasks of several threads.
#[cfg(feature = "linux")]
#[derive(Clone, Copy, Debug)]
pub struct Together;

#[cfg(feature = "linux")]
impl Sharing for Together {
    type Cell<T> = alloc::sync::Arc<std::sync::Mutex<T>>;

    fn share<T>(it: T) -> Self::Cell<T> {
        alloc::sync::Arc::new(std::sync::Mutex::new(it))
    }

    #[inline]
    fn with<T, R>(cell: &Self::Cell<T>, does: impl FnOnce(&mut T) -> R) -> R {
        // Nothing foreign runs while it is locked, so nobody has left it half done.
        does(&mut cell.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
