//! What a source's health is judged by, as far as serving needs it.

use crate::engine::source::{self, Source};

/// Judges a source by its bytes.
pub trait Watch: Send {
    /// Looks at bytes before anybody gets them.
    ///
    /// # Errors
    /// What is wrong: then nobody gets them, nor any others until [`Watch::start`] has passed.
    fn look(&mut self, bytes: &[u8]) -> Result<(), String>;

    /// Draws from a source that has just been opened, or has failed, and judges it; what it draws goes nowhere.
    ///
    /// # Errors
    /// What is wrong with it.
    fn start(&mut self, source: &mut dyn Source) -> Result<(), String>;
}

/// Takes every byte for good. For sources that are judged elsewhere, and for tests.
#[derive(Clone, Copy, Debug, Default)]
pub struct Unwatched;

impl Watch for Unwatched {
    fn look(&mut self, _: &[u8]) -> Result<(), String> {
        Ok(())
    }

    /// Whether it gives anything at all.
    fn start(&mut self, source: &mut dyn Source) -> Result<(), String> {
        source.fill(&mut [0; 16]).map_err(|e: source::Error| e.to_string())
    }
}
