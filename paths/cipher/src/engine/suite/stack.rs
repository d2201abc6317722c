//! What the library leaves on the stack: it wipes what it frees, and not all that it had there. Of a private key that comes without its
//! point the whole number lies there afterwards, until something else goes as deep.

use std::hint::black_box;

/// Bytes of the stack that are wiped: no call with a private key goes deeper.
const DEEP: usize = 32 << 10;

/// Does it, and wipes the stack that it has used.
#[inline(always)]
pub(super) fn wiped<T>(work: impl FnOnce() -> T) -> T {
    let done = work();
    wipe();
    done
}

#[inline(never)]
fn wipe() {
    black_box(&mut [0u8; DEEP]);
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::fs::File;
    use std::os::unix::fs::FileExt;

    use vm_memory::VolatileSlice;

    use super::*;
    use crate::engine::protocol::Work;
    use crate::engine::suite::{Algorithm, Curve, Group, Job, RsaPadding, Session};

    const PAINTED: usize = 256 << 10;
    const PAINT: u8 = 0xa5;

    #[inline(never)]
    fn paint() {
        black_box(&mut [PAINT; PAINTED]);
    }

    /// What lies below here, the nearest last; it was painted.
    #[inline(never)]
    fn below(here: usize) -> Vec<u8> {
        let mut stack = vec![0; PAINTED - (64 << 10)];
        let from = here - stack.len();
        File::open("/proc/self/mem").unwrap().read_exact_at(&mut stack, from as u64).unwrap();
        stack
    }

    /// An `ECPrivateKey` (RFC 5915, 3) without its point, of bytes that are found again.
    fn private_key(bytes: u8) -> Vec<u8> {
        let secret: Vec<u8> = (0..bytes).map(|at| if at == 0 { 0 } else { at ^ 0x63 }).collect();
        [&[0x30, bytes + 5, 2, 1, 1, 4, bytes], &secret[..]].concat()
    }

    /// Private keys, their secret parts, and work for them.
    fn cases() -> Vec<(Algorithm, Vec<u8>, Work, Vec<u8>)> {
        let rsa = Algorithm::Rsa { padding: RsaPadding::Pkcs1(None), private: true };
        let curves = [(Curve::P256, 32), (Curve::P384, 48), (Curve::P521, 66)];
        let ecdsa = |(curve, bytes)| {
            (Algorithm::Ecdsa { curve, private: true }, private_key(bytes), Work::Sign, vec![7; 32])
        };
        let rsa_key = include_bytes!("../../../tests/hostile/rsa-1024.der");
        let others = [
            (rsa, rsa_key.to_vec(), Work::Sign, vec![7; 32]),
            (Algorithm::Agreement(Group::X25519), private_key(32)[7..].to_vec(), Work::Agree, vec![7; 32]),
        ];
        curves.map(ecdsa).into_iter().chain(others).collect()
    }

    /// What can be called with a private key, each time on a stack that was painted: nothing of the key is left, and nothing below
    /// what is wiped was written.
    #[test]
    fn nothing_of_a_private_key_is_left_on_the_stack() {
        let run = || {
            let mark = 0u8;
            let here = std::ptr::from_ref(black_box(&mark)) as usize;
            for (algorithm, key, work, mut text) in cases() {
                paint();
                let session = Session::new(algorithm, &key);
                let made = below(here);
                let (session, mut room) = (session.unwrap(), [0; 256]);
                paint();
                let (source, result) =
                    ([VolatileSlice::from(&mut text[..])], [VolatileSlice::from(&mut room[..])]);
                let job = Job { work, iv: &[], associated: &[], source: &source, result: &result, digest: 0 };
                session.run(&job).unwrap();
                for stack in [made, below(here)] {
                    let deep = stack.len() - stack.iter().position(|byte| *byte != PAINT).unwrap();
                    assert!(deep < DEEP + 4096, "{algorithm:?}: {deep} bytes deep");
                    // The end of each key is secret; numbers are kept from their last byte to their first.
                    let secret = &key[key.len() - 32..];
                    let reversed: Vec<u8> = secret.iter().rev().copied().collect();
                    let parts: HashSet<&[u8]> = secret.windows(8).chain(reversed.windows(8)).collect();
                    let left = stack.windows(8).filter(|bytes| parts.contains(bytes)).count();
                    assert_eq!(left, 0, "{algorithm:?}: parts of the key are on the stack");
                }
            }
        };
        std::thread::Builder::new().stack_size(2 << 20).spawn(run).unwrap().join().unwrap();
    }
}
