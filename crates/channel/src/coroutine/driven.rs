//! An end as what drives it has it.

use core::ops::Deref;

use super::{Shared, Stopped};

/// Dropped, it tells who waits that nothing comes any more, as nobody brings it: no waker is left behind that could keep a task, and by it this end.
pub(crate) struct Driven<S: Shared>(pub S);

impl<S: Shared> Deref for Driven<S> {
    type Target = S;

    #[inline]
    fn deref(&self) -> &S {
        &self.0
    }
}

impl<S: Shared> Drop for Driven<S> {
    fn drop(&mut self) {
        self.0.ends(Stopped::Gone);
    }
}
