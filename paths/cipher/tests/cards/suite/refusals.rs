//! What makes no sense is refused; memory that changes meanwhile spoils nothing but its own result.

use std::sync::atomic::{AtomicBool, AtomicU8, Ordering};

use proptest::prelude::*;
use tollway_cipher::engine::protocol::{Status, Work};
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Digest, Direction, Job, Session};
use vm_memory::VolatileSlice;

use super::memory::{Asked, Layout, run};

const ENCRYPT: [Algorithm; 4] = [
    Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt),
    Algorithm::Cipher(CipherMode::Ctr, Direction::Encrypt),
    Algorithm::Cipher(CipherMode::Xts, Direction::Encrypt),
    Algorithm::Gcm(Direction::Encrypt),
];

fn key(algorithm: Algorithm) -> Vec<u8> {
    (0..if algorithm == ENCRYPT[2] { 32 } else { 16 }).collect()
}

fn iv(algorithm: Algorithm) -> &'static [u8] {
    if algorithm == ENCRYPT[3] { &[7; 12] } else { &[7; 16] }
}

#[test]
fn keys_that_do_not_fit() {
    for algorithm in ENCRYPT {
        let sizes: &[usize] = if algorithm == ENCRYPT[2] { &[32, 64] } else { &[16, 24, 32] };
        for len in 0..70 {
            let key: Vec<u8> = (0..len as u8).collect();
            let made = Session::new(algorithm, &key).map(|session| session.algorithm());
            assert_eq!(made, if sizes.contains(&len) { Ok(algorithm) } else { Err(Status::Err) }, "{len}");
        }
    }
    assert_eq!(Session::new(ENCRYPT[2], &[9; 32]).unwrap_err(), Status::Err);
    assert_eq!(Session::new(ENCRYPT[2], &[9; 64]).unwrap_err(), Status::Err);
    for tag in [0, 33, usize::MAX] {
        let mac = Algorithm::Mac { digest: Digest::Sha256, tag };
        assert_eq!(Session::new(mac, b"key").unwrap_err(), Status::NotSupported);
    }
}

#[test]
fn requests_that_make_no_sense() {
    let text = [1; 64];
    for algorithm in ENCRYPT {
        let session = Session::new(algorithm, &key(algorithm)).unwrap();
        let tag = if algorithm == ENCRYPT[3] { 16 } else { 0 };
        let right = Asked { result: 64 + tag, ..Asked::cipher(Work::Encrypt, iv(algorithm), &text) };
        let of = |asked| run(&session, asked, &Layout::default()).map(|result| result.len());
        assert_eq!(of(right), Ok(64 + tag));
        assert_eq!(of(Asked { result: 63 + tag, ..right }), Err(Status::Err), "no room");
        for iv in [&[][..], &[0; 8], &[0; 13], &[0; 15]] {
            assert_eq!(of(Asked { iv, ..right }), Err(Status::Err), "an IV of {}", iv.len());
        }
        for work in [Work::Decrypt, Work::Hash, Work::Mac, Work::Sign, Work::Verify] {
            assert_eq!(of(Asked { work, ..right }), Err(Status::NotSupported), "{work:?}");
        }
    }
    let of = |algorithm, source: &[u8]| {
        let session = Session::new(algorithm, &key(algorithm)).unwrap();
        run(&session, Asked::cipher(Work::Encrypt, iv(algorithm), source), &Layout::default()).map(drop)
    };
    assert_eq!(of(ENCRYPT[0], &text[..63]), Err(Status::Err), "a part of a block");
    assert_eq!(of(ENCRYPT[2], &text[..15]), Err(Status::Err), "less than a block");
    assert_eq!(of(ENCRYPT[2], &[]), Err(Status::Err));
    assert_eq!(of(ENCRYPT[2], &vec![0; (16 << 20) + 1]), Err(Status::Err), "more than 2^20 blocks");
    let open = Session::new(Algorithm::Gcm(Direction::Decrypt), &[1; 16]).unwrap();
    let short = Asked { result: 0, ..Asked::cipher(Work::Decrypt, &[0; 12], &text[..15]) };
    assert_eq!(run(&open, short, &Layout::default()), Err(Status::Err), "less than a tag");
}

/// A wrong tag leaves nothing of the plain text, in one piece or in many.
#[test]
fn a_wrong_tag_leaves_no_plain_text() {
    let [seal, open] = [Direction::Encrypt, Direction::Decrypt]
        .map(|way| Session::new(Algorithm::Gcm(way), &[1; 16]).unwrap());
    let asked = Asked { result: 316, ..Asked::cipher(Work::Encrypt, &[0; 12], &[b'x'; 300]) };
    let mut sealed = run(&seal, asked, &Layout::default()).unwrap();
    sealed[315] ^= 1;
    for cut in [1, 7, 100, 300] {
        let mut result = [0x77u8; 310];
        let pieces: Vec<_> = result.chunks_mut(cut).map(VolatileSlice::from).collect();
        let source = [VolatileSlice::from(&mut sealed[..])];
        let job = Job {
            work: Work::Decrypt,
            iv: &[0; 12],
            associated: &[],
            source: &source,
            result: &pieces,
            digest: 0,
        };
        assert_eq!(open.run(&job), Err(Status::BadMessage));
        assert_eq!(result[..300], [0; 300]);
        assert_eq!(result[300..], [0x77; 10]);
    }
    // In place: the cipher text goes, too.
    let all = VolatileSlice::from(&mut sealed[..]);
    let job =
        Job { work: Work::Decrypt, iv: &[0; 12], associated: &[], source: &[all], result: &[all], digest: 0 };
    assert_eq!(open.run(&job), Err(Status::BadMessage));
    assert_eq!(sealed[..300], [0; 300]);
}

proptest! {
    /// Source and result in one memory: the same place is right (see `ciphers`), apart is right, all else is refused.
    #[test]
    fn shifted_overlaps_are_refused(from in 0usize..200, to in 0usize..200, cut in 1usize..70) {
        for algorithm in ENCRYPT {
            let session = Session::new(algorithm, &key(algorithm)).unwrap();
            let mut memory = vec![1u8; 300];
            let all = VolatileSlice::from(memory.as_mut_slice());
            let pieces = |at: usize, len: usize| -> Vec<_> {
                (0..len)
                    .step_by(cut)
                    .map(|piece| all.subslice(at + piece, cut.min(len - piece)).unwrap())
                    .collect()
            };
            let (source, result) = (pieces(from, 64), pieces(to, 80));
            let associated = &[];
            let iv = iv(algorithm);
            let job =
                Job { work: Work::Encrypt, iv, associated, source: &source, result: &result, digest: 0 };
            let done = session.run(&job);
            prop_assert_eq!(done.is_ok(), from == to || from.abs_diff(to) >= 64, "{:?}", done);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Pieces anywhere: whether they overlap as they may is asked of each byte alone.
    #[test]
    fn overlaps_are_those_of_bytes(
        sources in proptest::collection::vec((0usize..400, 0usize..20), 1..6),
        results in proptest::collection::vec((0usize..400, 0usize..20), 1..6),
        is_same in prop_oneof![Just(0), 1usize..6],
    ) {
        // The first ones are the same.
        let results = [&sources[..is_same.min(sources.len())], &results[is_same.min(results.len())..]].concat();
        let bytes = |pieces: &[(usize, usize)]| pieces.iter().flat_map(|(at, len)| *at..at + len).collect::<Vec<_>>();
        let (from, to) = (bytes(&sources), bytes(&results));
        let len = from.len();
        let used = &to[..len.min(to.len())];
        let number = |address| used.iter().position(|to| *to == address);
        let is_right = to.len() >= len
            && (0..used.len()).all(|i| number(used[i]) == Some(i))
            && from.iter().enumerate().all(|(i, address)| number(*address).is_none_or(|to| to == i));
        let mut memory = vec![1u8; 420];
        let all = VolatileSlice::from(memory.as_mut_slice());
        let slices = |pieces: &[(usize, usize)]| -> Vec<_> {
            pieces.iter().map(|(at, len)| all.subslice(*at, *len).unwrap()).collect()
        };
        let session = Session::new(ENCRYPT[1], &key(ENCRYPT[1])).unwrap();
        let (source, result) = (slices(&sources), slices(&results));
        let iv = iv(ENCRYPT[1]);
        let job = Job { work: Work::Encrypt, iv, associated: &[], source: &source, result: &result, digest: 0 };
        prop_assert_eq!(session.run(&job), if is_right { Ok(len) } else { Err(Status::Err) });
    }
}

#[test]
fn many_pieces() {
    let session = Session::new(ENCRYPT[1], &key(ENCRYPT[1])).unwrap();
    let (mut source, mut result) = (vec![1u8; 1025], vec![0u8; 1025]);
    let [source, result] = [&mut source, &mut result]
        .map(|bytes| bytes.chunks_mut(1).map(VolatileSlice::from).collect::<Vec<_>>());
    for (pieces, right) in [(1024, Ok(1024)), (1025, Err(Status::Err))] {
        let (source, result) = (&source[..pieces], &result[..pieces]);
        let job = Job { work: Work::Encrypt, iv: &[7; 16], associated: &[], source, result, digest: 0 };
        assert_eq!(session.run(&job), right);
    }
}

/// Somebody writes to the source and to the result all the time.
#[test]
fn memory_that_changes_meanwhile() {
    let shared: Vec<AtomicU8> = (0..1 << 16).map(|_| AtomicU8::new(0)).collect();
    // SAFETY: so many bytes lie there, which may be changed through a shared reference, until the end of this test.
    let memory = unsafe { VolatileSlice::new(shared.as_ptr().cast_mut().cast(), shared.len()) };
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut at = 1usize;
            while !stop.load(Ordering::Relaxed) {
                at = at.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                shared[(at >> 40) % shared.len()].store((at >> 32) as u8, Ordering::Relaxed);
            }
        });
        let [source, result] = [0, 1 << 15].map(|at| memory.subslice(at, 1 << 14).unwrap());
        let [front, back] = [0, 1000].map(|at| source.subslice(at, 1000).unwrap());
        for algorithm in ENCRYPT {
            let session = Session::new(algorithm, &key(algorithm)).unwrap();
            for _ in 0..300 {
                let iv = iv(algorithm);
                let (work, associated, digest) = (Work::Encrypt, &[front][..], 0);
                for source in [&[back, front][..], &[source.subslice(0, 4000).unwrap()]] {
                    let job = Job { work, iv, associated, source, result: &[result], digest };
                    session.run(&job).unwrap();
                }
            }
        }
        let open = Session::new(Algorithm::Gcm(Direction::Decrypt), &[1; 16]).unwrap();
        for _ in 0..300 {
            let job = Job {
                work: Work::Decrypt,
                iv: &[0; 12],
                associated: &[],
                source: &[source],
                result: &[result],
                digest: 0,
            };
            assert_eq!(open.run(&job), Err(Status::BadMessage));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Many threads, one key.
#[test]
fn threads_share_a_session() {
    let of_256 = (ENCRYPT[2], (0..64).collect());
    for (algorithm, key) in ENCRYPT.map(|algorithm| (algorithm, key(algorithm))).into_iter().chain([of_256]) {
        let session = Session::new(algorithm, &key).unwrap();
        let tag = if algorithm == ENCRYPT[3] { 16 } else { 0 };
        let once = || {
            let asked = Asked::cipher(Work::Encrypt, iv(algorithm), &[3; 4096]);
            run(&session, Asked { result: 4096 + tag, ..asked }, &Layout::default()).unwrap()
        };
        let right = once();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..300).for_each(|_| assert_eq!(once(), right)));
            }
        });
    }
}

#[test]
fn a_session_shows_no_key() {
    let session = Session::new(ENCRYPT[0], b"sixteen bytes ok").unwrap();
    assert_eq!(format!("{session:?}"), "Session { algorithm: Cipher(Cbc, Encrypt), .. }");
}
