//! One request of a session.

use vm_memory::VolatileSlice;

use crate::engine::protocol::Work;

/// What is to be done to which bytes. They may be a guest's, who may change them meanwhile: that spoils its own result and
/// nothing else.
#[derive(Debug)]
pub struct Job<'j, 'm> {
    /// What is to be done; it must be what the session is for.
    pub work: Work,
    /// The IV, counter or tweak.
    pub iv: &'j [u8],
    /// What is authenticated and not encrypted.
    pub associated: &'j [VolatileSlice<'m>],
    /// What it is done to; to verify, the signature and after it the digest.
    pub source: &'j [VolatileSlice<'m>],
    /// Where the result goes.
    pub result: &'j [VolatileSlice<'m>],
    /// Of [`Work::Verify`], how many bytes of the source are the digest.
    pub digest: usize,
}
