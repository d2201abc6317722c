//! Files that are kept from trial to trial.

use std::sync::{Mutex, PoisonError};

use tollway_core::Result;
use tollway_host::scratch;

use crate::engine::disk::TestFile;

/// Files that are kept between trials, since a large one takes seconds to make: one that holds what it must, and one that fio has
/// written to.
static KEPT: [Mutex<Option<TestFile>>; 2] = [Mutex::new(None), Mutex::new(None)];

#[derive(Clone, Copy)]
pub(super) enum Shelf {
    Whole,
    Foreign,
}

impl Shelf {
    fn kept(self) -> &'static Mutex<Option<TestFile>> {
        &KEPT[self as usize]
    }

    /// The file of that size that was kept, or a new one.
    pub(super) fn take(self, bytes: u64, seed: u64) -> Result<TestFile> {
        let kept = self.kept().lock().unwrap_or_else(PoisonError::into_inner).take();
        match kept {
            Some(file) if file.bytes() == bytes => Ok(file),
            // What is there of another size is given up first, so that there is room.
            other => {
                drop(other);
                TestFile::make(&scratch::folder(), bytes, seed)
            }
        }
    }

    pub(super) fn keep(self, file: TestFile) {
        *self.kept().lock().unwrap_or_else(PoisonError::into_inner) = Some(file);
    }
}
