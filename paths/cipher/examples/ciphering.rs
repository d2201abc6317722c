//! How fast sessions encrypt, in GB/s, beside the library called directly, in turns, the best of many short rounds:
//! in one piece, and cut into pieces of 1000 bytes (so that blocks are cut, too). With `--openssl`, what `openssl speed` says,
//! where there is one.
//!
//! `cargo run --release -p tollway-cipher --example ciphering -- --openssl`

use std::hint::black_box;
use std::process::Command;
use std::time::{Duration, Instant};

use aws_lc_sys::{AES_KEY, AES_cbc_encrypt, AES_ctr128_encrypt, AES_set_encrypt_key};
use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Direction, Job, Session};
use vm_memory::VolatileSlice;

const KEY: [u8; 64] = *b"Bytes for keys of any length there is; no half is like the other";

/// Rounds of each, in turns.
const ROUNDS: usize = 40;

/// Bytes of a round.
const BYTES: usize = 4 << 20;

/// Bytes of a piece.
const PIECE: usize = 1000;

fn main() {
    let with_openssl = std::env::args().any(|word| word == "--openssl");
    println!(
        "{:<12}{:>8}{:>10}{:>10}{:>10}{:>10}",
        "AES", "bytes", "library", "session", "pieces", "openssl"
    );
    for (name, algorithm) in [
        ("cbc", Algorithm::Cipher(CipherMode::Cbc, Direction::Encrypt)),
        ("cbc back", Algorithm::Cipher(CipherMode::Cbc, Direction::Decrypt)),
        ("ctr", Algorithm::Cipher(CipherMode::Ctr, Direction::Encrypt)),
        ("xts", Algorithm::Cipher(CipherMode::Xts, Direction::Encrypt)),
        ("xts-256", Algorithm::Cipher(CipherMode::Xts, Direction::Encrypt)),
        ("gcm", Algorithm::Gcm(Direction::Encrypt)),
    ] {
        for bytes in [64, 1 << 10, 16 << 10, 64 << 10] {
            let [library, session, pieces] = measured(name, algorithm, bytes);
            let openssl = with_openssl.then(|| openssl(name, bytes)).flatten();
            let [library, openssl] =
                [library, openssl].map(|rate| rate.map_or("–".into(), |rate| format!("{rate:.2}")));
            println!(
                "{name:<12}{bytes:>8}{library:>10}{:>10.2}{:>10.2}{openssl:>10}",
                session.unwrap(),
                pieces.unwrap()
            );
        }
    }
}

/// GB/s of the library, of a session, and of one whose bytes are in pieces.
fn measured(name: &str, algorithm: Algorithm, bytes: usize) -> [Option<f64>; 3] {
    let (key, iv, tag) = match algorithm {
        Algorithm::Cipher(CipherMode::Xts, _) if name == "xts-256" => (&KEY[..], &[5; 16][..], 0),
        Algorithm::Cipher(CipherMode::Xts, _) => (&KEY[..32], &[5; 16][..], 0),
        Algorithm::Gcm(_) => (&KEY[..16], &[5; 12][..], 16),
        _ => (&KEY[..16], &[5; 16][..], 0),
    };
    let session = Session::new(algorithm, key).expect("the key fits");
    let work = match algorithm {
        Algorithm::Cipher(_, Direction::Decrypt) => Work::Decrypt,
        _ => Work::Encrypt,
    };
    let (mut source, mut result) = (vec![1u8; bytes], vec![0u8; bytes + tag]);
    let (from, to) = (source.as_ptr(), result.as_mut_ptr());
    let [source, result] = [&mut source, &mut result].map(|bytes| VolatileSlice::from(bytes.as_mut_slice()));
    let (sources, results) = (pieces(&source, 0), pieces(&result, 333));
    let (source, result) = ([source], [result]);
    let job = |source, result| Job { work, iv, associated: &[], source, result, digest: 0 };
    let [whole, cut] = [job(&source[..], &result[..]), job(&sources[..], &results[..])];
    let mut aes = AES_KEY { rd_key: [0; 60], rounds: 0 };
    let decrypts = work == Work::Decrypt;
    // SAFETY: the key has 16 bytes.
    unsafe {
        if decrypts {
            aws_lc_sys::AES_set_decrypt_key(key.as_ptr(), 128, &mut aes);
        } else {
            AES_set_encrypt_key(key.as_ptr(), 128, &mut aes);
        }
    }
    let has_library = matches!(algorithm, Algorithm::Cipher(CipherMode::Cbc | CipherMode::Ctr, _));
    let library = || {
        let (mut iv, mut stream, mut used) = ([5; 16], [0; 16], 0);
        // SAFETY: source and result are as long as is said, and live until the end of this function.
        unsafe {
            if matches!(algorithm, Algorithm::Cipher(CipherMode::Cbc, _)) {
                AES_cbc_encrypt(from, to, bytes, &aes, iv.as_mut_ptr(), i32::from(!decrypts));
            } else {
                AES_ctr128_encrypt(from, to, bytes, &aes, iv.as_mut_ptr(), stream.as_mut_ptr(), &mut used);
            }
        }
    };
    let mut best = [Duration::MAX; 3];
    let times = (BYTES / bytes).max(1);
    for _ in 0..ROUNDS {
        if has_library {
            best[0] = best[0].min(round(times, library));
        }
        best[1] = best[1].min(round(times, || _ = black_box(session.run(black_box(&whole)))));
        best[2] = best[2].min(round(times, || _ = black_box(session.run(black_box(&cut)))));
    }
    best.map(|best| (best < Duration::MAX).then(|| (times * bytes) as f64 / best.as_secs_f64() / 1e9))
}

/// The same bytes in pieces, the first of which is so many bytes shorter.
fn pieces<'m>(slice: &VolatileSlice<'m>, shorter: usize) -> Vec<VolatileSlice<'m>> {
    let mut at = 0;
    let mut pieces = Vec::new();
    while at < slice.len() {
        let end = (at + PIECE - if at == 0 { shorter } else { 0 }).min(slice.len());
        pieces.push(slice.subslice(at, end - at).expect("it is inside"));
        at = end;
    }
    pieces
}

fn round(times: usize, mut work: impl FnMut()) -> Duration {
    let begun = Instant::now();
    (0..times).for_each(|_| work());
    begun.elapsed()
}

/// What `openssl speed` says of it.
fn openssl(name: &str, bytes: usize) -> Option<f64> {
    let (mode, back) = match name.split_once(' ') {
        Some((mode, _)) => (mode, &["-decrypt"][..]),
        None => (name, &[][..]),
    };
    let name = match mode {
        "xts-256" => "aes-256-xts".to_owned(),
        _ => format!("aes-128-{mode}"),
    };
    let mut command = Command::new("openssl");
    command.args(["speed", "-mr", "-seconds", "1", "-bytes", &bytes.to_string()]).args(back);
    let output = command.args(["-evp", &name]).output().ok()?;
    // "+F:" a number, the name, bytes per second.
    let text = String::from_utf8(output.stdout).ok()?;
    let line = text.lines().find(|line| line.starts_with("+F:"))?;
    line.rsplit(':').next()?.parse::<f64>().ok().map(|rate| rate / 1e9)
}
