//! Two texts that are asked for in turns, and what must come of each: what is left of the last time is no answer.

use tollway_cipher::engine::suite::{Job, Named, Session};
use tollway_core::{Error, Result};
use vm_memory::VolatileSlice;

/// Sources and results of a cipher at one size.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    /// What is asked.
    pub(super) sources: [Vec<u8>; 2],
    /// What the library makes of it.
    pub(super) results: [Vec<u8>; 2],
}

/// The key of a cipher, one byte different from the other: the halves of one of XTS have to be.
pub(super) fn key(named: &Named) -> Vec<u8> {
    (0..named.key).map(|at| at as u8 ^ 0x5a).collect()
}

/// Its IV, counter or tweak.
pub(super) fn iv(named: &Named) -> &'static [u8] {
    const LONGEST: [u8; 16] = [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
    &LONGEST[..named.iv]
}

/// A session of the library.
///
/// # Errors
/// [`Error::Wrong`] if it refuses.
pub(super) fn session(named: &Named) -> Result<Session> {
    Session::new(named.algorithm, &key(named)).map_err(|status| refused(named, status))
}

fn refused(named: &Named, status: impl std::fmt::Display) -> Error {
    Error::Wrong(format!("the library refuses {}: {status}", named.name))
}

/// Has the library do a request.
///
/// # Errors
/// [`Error::Wrong`] if it refuses.
#[inline]
pub(super) fn call(session: &Session, named: &Named, source: &mut [u8], result: &mut [u8]) -> Result<()> {
    let job = Job {
        work: named.work,
        iv: iv(named),
        associated: &[],
        source: &[VolatileSlice::from(source)],
        result: &[VolatileSlice::from(result)],
        digest: 0,
    };
    session.run(&job).map(drop).map_err(|status| refused(named, status))
}

impl Texts {
    /// Of that cipher, with sources of so many bytes.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the library refuses.
    pub(super) fn of(named: &Named, size: usize) -> Result<Texts> {
        let source = |number: u8| (0..size).map(|at| (at as u8).wrapping_mul(31) ^ number).collect();
        let mut sources: [Vec<u8>; 2] = [source(0), source(0xa5)];
        let mut results = [vec![0; named.result(size)], vec![0; named.result(size)]];
        let session = session(named)?;
        for (source, result) in sources.iter_mut().zip(&mut results) {
            call(&session, named, source, result)?;
        }
        Ok(Texts { sources, results })
    }

    /// Whether that is what must come of one of them.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it is not.
    pub(super) fn check(&self, turn: bool, result: &[u8]) -> Result<()> {
        if result == self.results[usize::from(turn)] {
            return Ok(());
        }
        Err(Error::Wrong("its result is not the library's".into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_each_cipher_differ_and_so_do_their_results() {
        for named in Named::ALL {
            let texts = Texts::of(named, 64).unwrap();
            assert_ne!(texts.sources[0], texts.sources[1]);
            assert_ne!(texts.results[0], texts.results[1], "{}", named.name);
            assert!(texts.check(true, &texts.results[1]).is_ok());
            assert!(texts.check(false, &texts.results[1]).is_err());
        }
    }
}
