//! What the `openssl` command comes to.

use std::io::Write;
use std::process::{Command, Stdio};

use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Digest, Direction, RsaPadding, Session};
use tollway_host::requirement::skip_test;

use super::memory::{Asked, Layout, run};
use super::rsa;

/// What it prints, given these words and this input. Nothing if there is no such command here.
fn openssl(words: &[&str], input: &[u8]) -> Option<Vec<u8>> {
    let mut command = Command::new("openssl");
    command.args(words).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            skip_test(&["openssl"], &format!("the openssl command: {error}; install the package openssl"));
            return None;
        }
    };
    child.stdin.take().unwrap().write_all(input).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "openssl {words:?}: {}", String::from_utf8_lossy(&output.stderr));
    Some(output.stdout)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn done(algorithm: Algorithm, key: &[u8], asked: Asked<'_>) -> Vec<u8> {
    run(&Session::new(algorithm, key).unwrap(), asked, &Layout::default()).unwrap()
}

#[test]
fn ciphers() {
    let text: Vec<u8> = (0..4096u32).map(|i| ((i * i) >> 4) as u8).collect();
    let (key, iv): (Vec<u8>, Vec<u8>) = ((0..32).collect(), (0xf0..=0xff).collect());
    for (mode, name) in [(CipherMode::Cbc, "cbc"), (CipherMode::Ctr, "ctr")] {
        for len in [16, 24, 32] {
            let cipher = format!("-aes-{}-{name}", 8 * len);
            let words = ["enc", &cipher, "-nopad", "-K", &hex(&key[..len]), "-iv", &hex(&iv)];
            let Some(right) = openssl(&words, &text) else { return };
            let algorithm = Algorithm::Cipher(mode, Direction::Encrypt);
            assert_eq!(done(algorithm, &key[..len], Asked::cipher(Work::Encrypt, &iv, &text)), right);
            let algorithm = Algorithm::Cipher(mode, Direction::Decrypt);
            assert_eq!(done(algorithm, &key[..len], Asked::cipher(Work::Decrypt, &iv, &right)), text);
        }
    }
}

#[test]
fn digests() {
    let text = [7; 1000];
    for (digest, name) in [
        (Digest::Sha1, "SHA1"),
        (Digest::Sha224, "SHA224"),
        (Digest::Sha256, "SHA256"),
        (Digest::Sha384, "SHA384"),
        (Digest::Sha512, "SHA512"),
    ] {
        let Some(right) = openssl(&["dgst", &format!("-{name}"), "-binary"], &text) else { return };
        let asked = Asked { result: digest.bytes(), ..Asked::cipher(Work::Hash, &[], &text) };
        assert_eq!(done(Algorithm::Hash(digest), &[], asked), right);
        let key = format!("hexkey:{}", hex(&[5; 100]));
        let words = ["dgst", &format!("-{name}"), "-mac", "HMAC", "-macopt", &key, "-binary"];
        let Some(right) = openssl(&words, &text) else { return };
        let asked = Asked { work: Work::Mac, ..asked };
        assert_eq!(done(Algorithm::Mac { digest, tag: digest.bytes() }, &[5; 100], asked), right);
    }
}

#[test]
fn signatures_and_encryption() {
    let key = &rsa::keys()[0];
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    std::fs::write(path("key.der"), &key.private).unwrap();
    let key_file = path("key.der");
    let with_key = ["-inkey", &key_file, "-keyform", "DER"];
    let digest = [3; 32];
    let words = [&["pkeyutl", "-sign", "-pkeyopt", "digest:sha256"], &with_key[..]].concat();
    let Some(right) = openssl(&words, &digest) else { return };
    let algorithm = Algorithm::Rsa { padding: RsaPadding::Pkcs1(Some(Digest::Sha256)), private: true };
    let asked = Asked { result: 256, ..Asked::cipher(Work::Sign, &[], &digest) };
    assert_eq!(done(algorithm, &key.private, asked), right);

    let public = Algorithm::Rsa { padding: RsaPadding::Pkcs1(None), private: false };
    let asked = Asked { result: 256, ..Asked::cipher(Work::Encrypt, &[], b"a session key") };
    let coded = done(public, &key.public, asked);
    let words = [&["pkeyutl", "-decrypt"], &with_key[..]].concat();
    assert_eq!(openssl(&words, &coded).unwrap(), b"a session key");
}
