//! Is a key gone when its session is? All memory of this process is looked through for it, by way of `/proc/self/mem`:
//! heap, stacks, whatever the libraries left behind. What is looked for is kept with all its bits inverted, so that it is not
//! found in its own place. One test, so that no other thread does anything meanwhile.

use std::fs::{File, read_to_string};
use std::os::unix::fs::FileExt;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Digest, Direction, Job, Session};
use vm_memory::VolatileSlice;
use zeroize::{Zeroize, Zeroizing};

/// Bytes with all bits inverted.
struct Inverted(Vec<u8>);

impl Inverted {
    /// Of these, which are wiped.
    fn of(bytes: &mut [u8]) -> Inverted {
        let inverted = Inverted(bytes.iter().map(|byte| !byte).collect());
        bytes.zeroize();
        inverted
    }

    fn bytes(&self) -> Zeroizing<Vec<u8>> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(self.0.len()));
        bytes.extend(self.0.iter().map(|byte| !byte));
        bytes
    }

    fn begin(&self, bytes: &[u8]) -> bool {
        bytes.len() >= self.0.len() && bytes.iter().zip(&self.0).all(|(byte, inverted)| *byte == !*inverted)
    }
}

/// Where any of these bytes lie in the memory of this process.
fn places(looked_for: &[Inverted]) -> Vec<String> {
    let memory = File::open("/proc/self/mem").unwrap();
    let longest = looked_for.iter().map(|bytes| bytes.0.len()).max().unwrap();
    let first: Vec<bool> =
        (0..=255u8).map(|byte| looked_for.iter().any(|bytes| bytes.0[0] == !byte)).collect();
    let mut window = vec![0u8; 1 << 20];
    let own = window.as_ptr() as u64..window.as_ptr() as u64 + window.len() as u64;
    let mut places = Vec::new();
    for line in read_to_string("/proc/self/maps").unwrap().lines() {
        let mut words = line.split_whitespace();
        let (range, may) = (words.next().unwrap(), words.next().unwrap());
        if !may.starts_with("rw") {
            continue;
        }
        let (from, to) = range.split_once('-').unwrap();
        let [mut at, end] = [from, to].map(|at| u64::from_str_radix(at, 16).unwrap());
        while at < end {
            let want = window.len().min((end - at) as usize);
            let Ok(read) = memory.read_at(&mut window[..want], at) else { break };
            for (i, _) in window[..read].iter().enumerate().filter(|(_, byte)| first[usize::from(**byte)]) {
                let rest = &window[i..read];
                let place = at + i as u64;
                if !own.contains(&place) && looked_for.iter().any(|bytes| bytes.begin(rest)) {
                    places.push(format!("{place:#x} in {line}"));
                }
            }
            // Whatever lies across the end of the window is found the next time.
            at += if read < want || at + read as u64 == end { end - at } else { (read - longest) as u64 };
        }
    }
    window.zeroize();
    places
}

/// The sixth round key of AES, and of HMAC-SHA-256 what stands for the key: not the key, but as good.
fn derived(algorithm: Algorithm, key: &[u8]) -> Option<Inverted> {
    use aws_lc_sys::{AES_KEY, AES_set_encrypt_key, SHA256_CTX, SHA256_Init, SHA256_Update};
    match algorithm {
        Algorithm::Cipher(CipherMode::Cbc | CipherMode::Ctr, Direction::Encrypt) | Algorithm::Gcm(_) => {
            let mut keys = AES_KEY { rd_key: [0; 60], rounds: 0 };
            // SAFETY: the key has as many bytes as is said.
            assert_eq!(unsafe { AES_set_encrypt_key(key.as_ptr(), 8 * key.len() as u32, &mut keys) }, 0);
            let mut sixth: Vec<u8> = keys.rd_key[20..24].iter().flat_map(|word| word.to_ne_bytes()).collect();
            keys.rd_key.zeroize();
            Some(Inverted::of(&mut sixth))
        }
        Algorithm::Mac { digest: Digest::Sha256, .. } => {
            let mut block = Zeroizing::new([0x36; 64]);
            block.iter_mut().zip(key).for_each(|(byte, key)| *byte ^= key);
            let mut state = std::mem::MaybeUninit::<SHA256_CTX>::uninit();
            // SAFETY: `SHA256_Init` makes the state, and the block has its 64 bytes.
            let mut state = unsafe {
                SHA256_Init(state.as_mut_ptr());
                SHA256_Update(state.as_mut_ptr(), block.as_ptr().cast(), 64);
                state.assume_init()
            };
            let mut words: Vec<u8> = state.h.iter().flat_map(|word| word.to_ne_bytes()).collect();
            state.h.zeroize();
            state.data.zeroize();
            Some(Inverted::of(&mut words))
        }
        _ => None,
    }
}

#[inline(never)]
fn made(algorithm: Algorithm, key: &Inverted) -> Session {
    Session::new(algorithm, &key.bytes()).unwrap()
}

fn works(session: &Session, work: Work, iv: &[u8]) {
    let (mut source, mut result) = ([7; 1000], [0; 1016]);
    let source = &[VolatileSlice::from(&mut source[..400])];
    let result = &[VolatileSlice::from(&mut result[..])];
    let job = Job { work, iv, associated: &[], source, result, digest: 0 };
    // What does not decrypt is wrong, but it is worked on.
    let _ = session.run(&job);
}

#[test]
fn a_key_is_gone_with_its_session() {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(std::process::id().into());
    let ways = [(Direction::Encrypt, Work::Encrypt), (Direction::Decrypt, Work::Decrypt)];
    let modes = [CipherMode::Cbc, CipherMode::Ctr, CipherMode::Xts];
    let mut cases = vec![(Algorithm::Mac { digest: Digest::Sha256, tag: 32 }, Work::Mac, [].as_slice(), 48)];
    for (way, work) in ways {
        for mode in modes {
            let key = if mode == CipherMode::Xts { 64 } else { 32 };
            cases.push((Algorithm::Cipher(mode, way), work, &[1; 16], key));
        }
        cases.push((Algorithm::Gcm(way), work, &[1; 12], 16));
    }
    for (algorithm, work, iv, len) in cases {
        let mut key = vec![0; len];
        random.fill_bytes(&mut key);
        let key = Inverted::of(&mut key);
        let derived = derived(algorithm, &key.bytes());
        // Of a key of many bytes any sixteen are too many.
        let parts = key.0.chunks(16).map(|part| Inverted(part.to_vec()));
        let looked_for: Vec<Inverted> = parts.chain(derived).collect();
        let before = places(&looked_for);
        assert!(before.is_empty(), "{algorithm:?}: found before there was a session: {before:#?}");
        let session = made(algorithm, &key);
        works(&session, work, iv);
        let alive = places(&looked_for);
        assert!(!alive.is_empty(), "{algorithm:?}: not even found while it was there");
        drop(session);
        let gone = places(&looked_for);
        assert!(gone.is_empty(), "{algorithm:?}: still there: {gone:#?}, of {alive:#?}");
    }
}
