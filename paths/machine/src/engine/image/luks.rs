//! LUKS, version 1, as QEMU makes it unless it is told otherwise: AES-256 in XTS, a tweak from each sector's number (plain64), SHA-256.
//!
//! A header of our own takes a millisecond where QEMU's tool takes two seconds to find out how fast it derives keys; whether it is one is
//! for QEMU to say, which opens it or does not. And since the key is known here, what QEMU has encrypted can be decrypted by other code, and
//! what it is to decrypt can be encrypted by that: neither has to be believed.

use aes::Aes256;
use aes::cipher::KeyInit;
use hmac::{Hmac, Mac};
use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};
use tollway_core::{Error, Result};
use xts_mode::{Xts128, get_tweak_default};

use crate::engine::disk::content::SECTOR;

/// Bytes of the key: two of AES-256, as XTS has them.
const KEY: usize = 64;
/// Parts that a key is split into (LUKS1, 2.4: 4000).
const STRIPES: usize = 4000;
/// Slots for keys.
const SLOTS: usize = 8;
/// Sectors of a slot's split key: begins and ends at a multiple of 4 KiB, as QEMU has it.
const SLOT_SECTORS: usize = (KEY * STRIPES).div_ceil(4096) * 8;
/// The sector of the first of them.
const FIRST_SLOT: usize = 8;
/// The least that QEMU takes: nobody types what is derived from here.
const ITERATIONS: u32 = 1000;
/// `LUKS_KEY_ENABLED` and `LUKS_KEY_DISABLED` (LUKS1, figure 3).
const ENABLED: u32 = 0x00ac_71f3;
const DISABLED: u32 = 0x0000_dead;
const SALT: usize = 32;
const DIGEST: usize = 20;

/// The key of an image, and what stands before its sectors.
pub struct Luks {
    cipher: Xts128<Aes256>,
    /// What the key is unlocked by, as text.
    pub passphrase: String,
    /// The image's first bytes; its sectors follow.
    pub header: Vec<u8>,
}

impl Luks {
    /// A random key, and a header that holds it under a random passphrase.
    ///
    /// # Errors
    /// Where the kernel gives no random bytes.
    pub fn new() -> Result<Luks> {
        let (key, secret): ([u8; KEY], [u8; 32]) = (random()?, random()?);
        let passphrase: String = secret.iter().map(|byte| format!("{byte:02x}")).collect();
        let header = header(&key, passphrase.as_bytes())?;
        Ok(Luks { cipher: cipher(&key), passphrase, header })
    }

    /// Encrypts whole sectors, the first of which has this number in the image.
    pub fn encrypt(&self, sectors: &mut [u8], first: u64) {
        self.cipher.encrypt_area(sectors, SECTOR, first.into(), get_tweak_default);
    }

    /// Decrypts whole sectors, the first of which has this number in the image.
    pub fn decrypt(&self, sectors: &mut [u8], first: u64) {
        self.cipher.decrypt_area(sectors, SECTOR, first.into(), get_tweak_default);
    }
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    fill_random(&mut bytes)?;
    Ok(bytes)
}

fn fill_random(mut bytes: &mut [u8]) -> Result<()> {
    while !bytes.is_empty() {
        let got = getrandom(&mut *bytes, GetRandomFlags::empty())
            .map_err(|e| Error::system("getting random bytes for a key", e))?;
        bytes = &mut bytes[got..];
    }
    Ok(())
}

fn cipher(key: &[u8; KEY]) -> Xts128<Aes256> {
    let half = |bytes| Aes256::new_from_slice(bytes).expect("half of it is a key of AES-256");
    Xts128::new(half(&key[..KEY / 2]), half(&key[KEY / 2..]))
}

/// PBKDF2 with HMAC-SHA-256 (RFC 8018, 5.2).
fn derive(secret: &[u8], salt: &[u8], into: &mut [u8]) {
    let keyed = Hmac::<Sha256>::new_from_slice(secret).expect("HMAC takes a key of any length");
    for (piece, number) in into.chunks_mut(32).zip(1_u32..) {
        let mut turn = keyed.clone().chain_update(salt).chain_update(number.to_be_bytes()).finalize();
        let mut sum = turn.as_bytes().to_vec();
        for _ in 1..ITERATIONS {
            turn = keyed.clone().chain_update(turn.as_bytes()).finalize();
            sum.iter_mut().zip(turn.as_bytes()).for_each(|(sum, byte)| *sum ^= byte);
        }
        piece.copy_from_slice(&sum[..piece.len()]);
    }
}

/// Splits a key so that all of it is needed to have any (LUKS1, 2.4).
fn split(key: &[u8; KEY]) -> Result<Vec<u8>> {
    let mut stripes = vec![0; KEY * STRIPES];
    let (all, last) = stripes.split_at_mut(KEY * (STRIPES - 1));
    fill_random(all)?;
    let mut state = [0; KEY];
    for stripe in all.chunks_exact(KEY) {
        state.iter_mut().zip(stripe).for_each(|(state, byte)| *state ^= byte);
        for (piece, number) in state.chunks_exact_mut(32).zip(0_u32..) {
            let hashed = Sha256::new().chain_update(number.to_be_bytes()).chain_update(&*piece).finalize();
            piece.copy_from_slice(&hashed);
        }
    }
    last.iter_mut().zip(key.iter().zip(state)).for_each(|(last, (key, state))| *last = key ^ state);
    Ok(stripes)
}

/// LUKS1, figures 1 to 3: numbers are big-endian.
fn header(key: &[u8; KEY], passphrase: &[u8]) -> Result<Vec<u8>> {
    let payload = FIRST_SLOT + SLOTS * SLOT_SECTORS;
    let (key_salt, slot_salt): ([u8; SALT], [u8; SALT]) = (random()?, random()?);
    let mut digest = [0; DIGEST];
    derive(key, &key_salt, &mut digest);
    let text = |bytes: &[u8], room: usize| [bytes, &vec![0; room - bytes.len()]].concat();
    let mut bytes = Vec::new();
    bytes.extend(b"LUKS\xba\xbe\x00\x01");
    for word in ["aes", "xts-plain64", "sha256"] {
        bytes.extend(text(word.as_bytes(), 32));
    }
    bytes.extend([payload as u32, KEY as u32].map(u32::to_be_bytes).concat());
    bytes.extend(digest);
    bytes.extend(key_salt);
    bytes.extend(ITERATIONS.to_be_bytes());
    bytes.extend(text(uuid()?.as_bytes(), 40));
    for slot in 0..SLOTS {
        let (state, iterations, salt) =
            if slot == 0 { (ENABLED, ITERATIONS, slot_salt) } else { (DISABLED, 0, [0; SALT]) };
        bytes.extend([state, iterations].map(u32::to_be_bytes).concat());
        bytes.extend(salt);
        let at = FIRST_SLOT + slot * SLOT_SECTORS;
        bytes.extend([at as u32, STRIPES as u32].map(u32::to_be_bytes).concat());
    }
    bytes.resize(payload * SECTOR, 0);
    let mut slot_key = [0; KEY];
    derive(passphrase, &slot_salt, &mut slot_key);
    let mut material = split(key)?;
    material.resize(material.len().next_multiple_of(SECTOR), 0);
    cipher(&slot_key).encrypt_area(&mut material, SECTOR, 0, get_tweak_default);
    bytes[FIRST_SLOT * SECTOR..][..material.len()].copy_from_slice(&material);
    Ok(bytes)
}

/// A random one (RFC 9562, version 4).
fn uuid() -> Result<String> {
    let mut bytes: [u8; 16] = random()?;
    bytes[6] = 0x40 | bytes[6] & 0x0f;
    bytes[8] = 0x80 | bytes[8] & 0x3f;
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Ok(parts.join("-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_derived_as_published() {
        // PBKDF2 with HMAC-SHA-256, "password" and "salt": known for 1 and 4096 turns (RFC 7914, 11 has others); of 1000, by Python's
        // hashlib.pbkdf2_hmac("sha256", b"password", b"salt", 1000, 40).
        let mut key = [0; 40];
        derive(b"password", b"salt", &mut key);
        let digits: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(
            digits,
            "632c2812e46d4604102ba7618e9d6d7d2f8128f6266b4a03264d2a0460b7dcb388b3b1131f741bcb"
        );
    }

    #[test]
    fn a_sector_is_encrypted_by_its_number_and_comes_back() {
        let luks = Luks::new().unwrap();
        let plain = vec![7; 4 * SECTOR];
        let mut sectors = plain.clone();
        luks.encrypt(&mut sectors, 40);
        let pieces: Vec<&[u8]> = sectors.chunks(SECTOR).collect();
        assert!(pieces.iter().all(|piece| *piece != &plain[..SECTOR]) && pieces[0] != pieces[1]);
        let mut third = pieces[2].to_vec();
        luks.decrypt(&mut third, 42);
        assert_eq!(third, plain[..SECTOR]);
        luks.decrypt(&mut sectors, 41);
        assert_ne!(sectors, plain);
    }

    #[test]
    fn no_two_have_a_key_in_common() {
        let (a, b) = (Luks::new().unwrap(), Luks::new().unwrap());
        let encrypted = |luks: &Luks| {
            let mut sector = vec![0; SECTOR];
            luks.encrypt(&mut sector, 0);
            sector
        };
        assert_ne!(encrypted(&a), encrypted(&b));
        assert_ne!(a.passphrase, b.passphrase);
        assert_eq!(a.header.len(), 4040 * SECTOR);
    }
}
