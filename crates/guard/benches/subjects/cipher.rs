//! Instructions of a small request, counted under callgrind: 64 bytes in one piece by a session, and by the library called
//! directly; what is between them is what a session adds. A limit fails `make guard`; it is a few per cent above what was
//! measured, so that no stored baseline is needed. valgrind hides AVX-512.

use std::hint::black_box;

use aws_lc_sys::{AES_KEY, AES_cbc_encrypt, AES_ctr128_encrypt, AES_set_encrypt_key};
use gungraun::prelude::*;
use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction, Job, Session};
use vm_memory::VolatileSlice;

use crate::at_most;

/// Calls that are counted together.
const TIMES: usize = 100;

const KEY: [u8; 16] = *b"sixteen bytes ok";

fn session(algorithm: Algorithm) -> (Session, [u8; 64], [u8; 80]) {
    (Session::new(algorithm, &KEY).expect("the key fits"), [1; 64], [0; 80])
}

const CBC: Algorithm = Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt);
const CTR: Algorithm = Algorithm::Cipher(CipherMode::Ctr, Direction::Encrypt);
const GCM: Algorithm = Algorithm::Gcm(Direction::Encrypt);

#[library_benchmark]
// Measured 39_578, 42_778 and 137_278.
#[bench::cbc(args = (CBC), setup = session, config = at_most(40_800))]
#[bench::ctr(args = (CTR), setup = session, config = at_most(44_100))]
#[bench::gcm(args = (GCM), setup = session, config = at_most(141_400))]
fn hundred_by_session((session, mut source, mut result): (Session, [u8; 64], [u8; 80])) -> Session {
    let iv = if session.algorithm() == GCM { &[5; 12][..] } else { &[5; 16] };
    let source = [VolatileSlice::from(&mut source[..])];
    let result = [VolatileSlice::from(&mut result[..])];
    let job = Job { work: Work::Encrypt, iv, associated: &[], source: &source, result: &result, digest: 0 };
    for _ in 0..TIMES {
        let done = black_box(&session).run(black_box(&job));
        assert!(done.is_ok());
    }
    session
}

fn key(algorithm: Algorithm) -> (Algorithm, AES_KEY) {
    let mut key = AES_KEY { rd_key: [0; 60], rounds: 0 };
    // SAFETY: the key has as many bits as is said.
    unsafe { AES_set_encrypt_key(KEY.as_ptr(), 128, &mut key) };
    (algorithm, key)
}

#[library_benchmark]
// Measured 28_080 and 31_080: a session adds 115 and 117 a request.
#[bench::cbc(args = (CBC), setup = key)]
#[bench::ctr(args = (CTR), setup = key)]
fn hundred_by_library((algorithm, key): (Algorithm, AES_KEY)) -> [u8; 64] {
    let (source, mut result) = ([1u8; 64], [0; 64]);
    for _ in 0..TIMES {
        let (mut iv, mut stream, mut used) = (black_box([5; 16]), [0; 16], 0);
        let (from, to) = (black_box(source.as_ptr()), black_box(result.as_mut_ptr()));
        // SAFETY: source and result have 64 bytes.
        unsafe {
            if algorithm == CBC {
                AES_cbc_encrypt(from, to, 64, &key, iv.as_mut_ptr(), 1);
            } else {
                AES_ctr128_encrypt(from, to, 64, &key, iv.as_mut_ptr(), stream.as_mut_ptr(), &mut used);
            }
        }
    }
    result
}

library_benchmark_group!(name = cipher, benchmarks = [hundred_by_session, hundred_by_library]);
