//! Two texts that are asked for in turns, and what must come of each: what is left of the last time is no answer.

use std::sync::Arc;

use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Job, Named, Outcome, Session};
use tollway_core::{Error, Result};
use vm_memory::VolatileSlice;

/// Sources and results of a cipher at one size.
#[derive(Clone, Debug)]
pub(super) struct Texts {
    /// What is asked.
    pub(super) sources: [Vec<u8>; 2],
    /// What the library makes of it: of a signature that differs each time, one.
    pub(super) results: [Vec<u8>; 2],
    /// What verifies such.
    verifier: Option<Arc<Session>>,
}

/// The key of a cipher, one byte different from the other: the halves of one of XTS have to be.
pub(super) fn key(named: &Named) -> Vec<u8> {
    let made = || (0..named.key).map(|at| at as u8 ^ 0x5a).collect();
    named.keyed.map_or_else(made, |keyed| keyed.key.to_vec())
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

/// Has the library do a request; bytes of the result.
///
/// # Errors
/// [`Error::Wrong`] if it refuses.
#[inline]
pub(super) fn call(session: &Session, named: &Named, source: &mut [u8], result: &mut [u8]) -> Result<usize> {
    let job = Job {
        work: named.work,
        iv: iv(named),
        associated: &[],
        source: &[VolatileSlice::from(source)],
        result: &[VolatileSlice::from(result)],
        digest: named.digest(),
    };
    session.run(&job).map_err(|status| refused(named, status))
}

/// Has the end of a source signed, and the signature put before it: until one is as long as there is room for.
fn signed(signer: &Session, named: &Named, source: &mut [u8]) -> Result<()> {
    let (signature, digest) = source.split_at_mut(source.len() - named.digest());
    let mut room = vec![0; 2 * signature.len()];
    for _ in 0..1000 {
        let (from, to) = ([VolatileSlice::from(&mut *digest)], [VolatileSlice::from(&mut room[..])]);
        let job = Job { work: Work::Sign, iv: &[], associated: &[], source: &from, result: &to, digest: 0 };
        let bytes = signer.run(&job).map_err(|status| refused(named, status))?;
        if bytes == signature.len() {
            signature.copy_from_slice(&room[..bytes]);
            return Ok(());
        }
    }
    Err(Error::Wrong(format!("no signature for {} is as long as one should be", named.name)))
}

impl Texts {
    /// Of that cipher, with sources of so many bytes.
    ///
    /// # Errors
    /// [`Error::Wrong`] if the library refuses.
    pub(super) fn of(named: &Named, size: usize) -> Result<Texts> {
        let source = |number: u8| (0..size).map(|at| (at as u8).wrapping_mul(31) ^ number).collect();
        let mut sources: [Vec<u8>; 2] = [source(0), source(0xa5)];
        let other = named
            .keyed
            .and_then(|keyed| keyed.other)
            .map(|(algorithm, key)| Session::new(algorithm, key).map_err(|status| refused(named, status)));
        let other = other.transpose()?;
        if let (Work::Verify, Some(signer)) = (named.work, &other) {
            for source in &mut sources {
                signed(signer, named, source)?;
            }
        }
        let mut results = [vec![0; named.result(size)], vec![0; named.result(size)]];
        let session = session(named)?;
        for (source, result) in sources.iter_mut().zip(&mut results) {
            let bytes = call(&session, named, source, result)?;
            result.truncate(bytes);
        }
        let verifier = other.filter(|_| matches!(named.result, Outcome::AtMost(_))).map(Arc::new);
        Ok(Texts { sources, results, verifier })
    }

    /// Whether results differ each time: such are verified, which takes as long as they took.
    pub(super) fn differ(&self) -> bool {
        self.verifier.is_some()
    }

    /// Whether that is what must come of one of them.
    ///
    /// # Errors
    /// [`Error::Wrong`] if it is not.
    pub(super) fn check(&self, turn: bool, result: &[u8]) -> Result<()> {
        let is = match &self.verifier {
            None => result == self.results[usize::from(turn)],
            Some(verifier) => {
                let mut both = [result, &self.sources[usize::from(turn)]].concat();
                let digest = self.sources[0].len();
                let source = &[VolatileSlice::from(&mut both[..])];
                let job = Job { work: Work::Verify, iv: &[], associated: &[], source, result: &[], digest };
                verifier.run(&job).is_ok()
            }
        };
        if is {
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

    #[test]
    fn what_is_signed_is_verified_and_what_is_verified_was_signed() {
        for named in Named::KEYED {
            let texts = Texts::of(named, named.keyed.unwrap().source).unwrap();
            assert_ne!(texts.sources[0], texts.sources[1], "{}", named.name);
            assert!(texts.check(true, &texts.results[1]).is_ok(), "{}", named.name);
            assert_eq!(texts.differ(), named.name == "ecdsap256-sign");
            if named.work == Work::Verify {
                let mut forged = texts.sources[0].clone();
                *forged.last_mut().unwrap() ^= 1;
                assert!(call(&session(named).unwrap(), named, &mut forged, &mut []).is_err());
            } else {
                assert!(texts.check(false, &texts.results[1]).is_err(), "{}", named.name);
            }
        }
    }
}
