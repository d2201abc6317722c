//! Two texts, asked for in turns, and what must come of each: so that what was left from the last time is no answer.

use tollway_core::{Error, Result};
use vm_memory::VolatileSlice;

use super::load::Load;
use crate::engine::suite::{Job, Session};

/// Sources and results.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    pub(super) sources: [Vec<u8>; 2],
    pub(super) results: [Vec<u8>; 2],
}

impl Texts {
    /// As the library has them, here in this process.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it refuses.
    pub(super) fn of(load: &Load) -> Result<Texts> {
        // Texts of other sizes are others.
        let other = ((load.size as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8;
        let source =
            |number: u8| (0..load.size).map(|at| (at as u8).wrapping_mul(31) ^ number ^ other).collect();
        let mut sources: [Vec<u8>; 2] = [source(0), source(0xa5)];
        let mut results = [vec![0; load.result()], vec![0; load.result()]];
        let refused = |status| Error::Wrong(format!("the library refuses {}: {status:?}", load.named.name));
        let session = Session::new(load.named.algorithm, load.key()).map_err(refused)?;
        for (source, result) in sources.iter_mut().zip(&mut results) {
            let job = Job {
                work: load.named.work,
                iv: load.iv(),
                associated: &[],
                source: &[VolatileSlice::from(source.as_mut_slice())],
                result: &[VolatileSlice::from(result.as_mut_slice())],
                digest: 0,
            };
            session.run(&job).map_err(refused)?;
        }
        Ok(Texts { sources, results })
    }
}
