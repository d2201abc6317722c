//! What a specification must satisfy before anybody solves it.

use crate::spec::Spec;
use crate::{ModelError, Result};

impl Spec {
    /// The specification, if its parts are usable and fit each other.
    ///
    /// # Errors
    /// An error that names the part, the parameter and the remedy.
    pub fn checked(self) -> Result<Self> {
        if self.sources.is_empty() {
            return Err(ModelError::parameter(
                "source",
                "there is none",
                "say where customers come from: [[source]]",
            ));
        }
        Ok(self)
    }
}
