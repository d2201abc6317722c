//! Vectors of the standards.

use tollway_cipher::engine::protocol::Work;
use tollway_cipher::engine::suite::{Algorithm, CipherMode, Digest, Direction, Session};

use super::memory::{Asked, Layout, hex, run};

/// NIST SP 800-38A, F: the plain text of all its examples.
const TEXT: &str = "6bc1bee22e409f96e93d7e117393172a ae2d8a571e03ac9c9eb76fac45af8e51
    30c81c46a35ce411e5fbc1191a0a52ef f69f2445df4f9b17ad2b417be66c3710";
const KEY_128: &str = "2b7e151628aed2a6abf7158809cf4f3c";
const KEY_192: &str = "8e73b0f7da0e6452c810f32b809079e562f8ead2522c6b7b";
const KEY_256: &str = "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4";

fn done(algorithm: Algorithm, key: &[u8], asked: Asked<'_>) -> Vec<u8> {
    run(&Session::new(algorithm, key).unwrap(), asked, &Layout::default()).unwrap()
}

/// Both ways.
fn cipher(mode: CipherMode, [key, iv, plain, coded]: [&str; 4]) {
    let [key, iv, plain, coded] = [key, iv, plain, coded].map(hex);
    let encrypted =
        done(Algorithm::Cipher(mode, Direction::Encrypt), &key, Asked::cipher(Work::Encrypt, &iv, &plain));
    assert_eq!(encrypted, coded);
    let decrypted =
        done(Algorithm::Cipher(mode, Direction::Decrypt), &key, Asked::cipher(Work::Decrypt, &iv, &coded));
    assert_eq!(decrypted, plain);
}

/// NIST SP 800-38A, F.2.1 to F.2.6.
#[test]
fn cbc() {
    let iv = "000102030405060708090a0b0c0d0e0f";
    let coded = "7649abac8119b246cee98e9b12e9197d 5086cb9b507219ee95db113a917678b2
        73bed6b8e3c1743b7116e69e22229516 3ff1caa1681fac09120eca307586e1a7";
    cipher(CipherMode::Cbc, [KEY_128, iv, TEXT, coded]);
    let coded = "4f021db243bc633d7178183a9fa071e8 b4d9ada9ad7dedf4e5e738763f69145a
        571b242012fb7ae07fa9baac3df102e0 08b0e27988598881d920a9e64f5615cd";
    cipher(CipherMode::Cbc, [KEY_192, iv, TEXT, coded]);
    let coded = "f58c4c04d6e5f1ba779eabfb5f7bfbd6 9cfc4e967edb808d679f777bc6702c7d
        39f23369a9d9bacfa530e26304231461 b2eb05e2c39be9fcda6c19078c6a9d1b";
    cipher(CipherMode::Cbc, [KEY_256, iv, TEXT, coded]);
}

/// NIST SP 800-38A, F.5.1 to F.5.6.
#[test]
fn ctr() {
    let counter = "f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff";
    let coded = "874d6191b620e3261bef6864990db6ce 9806f66b7970fdff8617187bb9fffdff
        5ae4df3edbd5d35e5b4f09020db03eab 1e031dda2fbe03d1792170a0f3009cee";
    cipher(CipherMode::Ctr, [KEY_128, counter, TEXT, coded]);
    let coded = "1abc932417521ca24f2b0459fe7e6e0b 090339ec0aa6faefd5ccc2c6f4ce8e94
        1e36b26bd1ebc670d1bd1d665620abf7 4f78a7f6d29809585a97daec58c6b050";
    cipher(CipherMode::Ctr, [KEY_192, counter, TEXT, coded]);
    let coded = "601ec313775789a5b7a7f504bbf3d228 f443e3ca4d62b59aca84e990cacaf5c5
        2b0930daa23de94ce87017ba2d84988d dfc9c58db67aada613c2dd08457941a6";
    cipher(CipherMode::Ctr, [KEY_256, counter, TEXT, coded]);
}

/// IEEE Std 1619-2007, B: vectors 2, 3 and 15 to 17 (whose ends are stolen); vector 1 has twice the same key.
#[test]
fn xts() {
    let vector = |key: &str, sector: &str, plain: &str, coded: &str| {
        cipher(CipherMode::Xts, [key, sector, plain, coded]);
    };
    let [ones, twos, fours] = ["11", "22", "44"].map(|byte| byte.repeat(16));
    let sector = "33333333330000000000000000000000";
    vector(
        &[ones, twos.clone()].concat(),
        sector,
        &fours.repeat(2),
        "c454185e6a16936e39334038acef838bfb186fff7480adc4289382ecd6d394f0",
    );
    vector(
        &["fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0", &twos].concat(),
        sector,
        &fours.repeat(2),
        "af85336b597afc1a900b2eb21ec949d292df4c047e0b21532186a5971a227a89",
    );
    let key = "fffefdfcfbfaf9f8f7f6f5f4f3f2f1f0bfbebdbcbbbab9b8b7b6b5b4b3b2b1b0";
    let sector = "9a785634120000000000000000000000";
    let plain = "000102030405060708090a0b0c0d0e0f101112";
    vector(key, sector, &plain[..34], "6c1625db4671522d3d7599601de7ca09ed");
    vector(key, sector, &plain[..36], "d069444b7a7e0cab09e24447d24deb1fedbf");
    vector(key, sector, plain, "e5df1351c0544ba1350b3363cd8ef4beedbf9d");
}

/// "The Galois/Counter Mode of Operation" (McGrew, Viega), B: test cases 2, 4, 10 and 16.
#[test]
fn gcm() {
    let check = |key: &str, iv: &str, associated: &str, plain: &str, coded: &str, tag: &str| {
        let [key, iv, associated, plain] = [key, iv, associated, plain].map(hex);
        let sealed = hex(&[coded, tag].concat());
        let asked = Asked { associated: &associated, ..Asked::cipher(Work::Encrypt, &iv, &plain) };
        let asked = Asked { result: sealed.len(), ..asked };
        assert_eq!(done(Algorithm::Gcm(Direction::Encrypt), &key, asked), sealed);
        let asked = Asked { work: Work::Decrypt, source: &sealed, ..asked };
        assert_eq!(done(Algorithm::Gcm(Direction::Decrypt), &key, asked), plain);
    };
    let zeros = "00".repeat(16);
    check(
        &zeros,
        &zeros[..24],
        "",
        &zeros,
        "0388dace60b6a392f328c2b971b2fe78",
        "ab6e47d42cec13bdf53a67b21257bddf",
    );
    let key = "feffe9928665731c6d6a8f9467308308";
    let iv = "cafebabefacedbaddecaf888";
    let associated = "feedfacedeadbeeffeedfacedeadbeefabaddad2";
    let plain = "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
        1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39";
    check(
        key,
        iv,
        associated,
        plain,
        "42831ec2217774244b7221b784d0d49ce3aa212f2c02a4e035c17e2329aca12e
         21d514b25466931c7d8f6a5aac84aa051ba30b396a0aac973d58e091",
        "5bc94fbc3221a5db94fae95ae7121a47",
    );
    check(
        &[key, &key[..16]].concat(),
        iv,
        associated,
        plain,
        "3980ca0b3c00e841eb06fac4872a2757859e1ceaa6efd984628593b40ca1e19c
         7d773d00c144c525ac619d18c84a3f4718e2448b2fe324d9ccda2710",
        "2519498e80f1478f37ba55bd6d27618c",
    );
    check(
        &key.repeat(2),
        iv,
        associated,
        plain,
        "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
         8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662",
        "76fc6ece0f4e1768cddf8853bb2d551b",
    );
}

/// FIPS 180-2, appendices A to C, and its change notice for SHA-224: "abc".
#[test]
fn hashes() {
    for (digest, right) in [
        (Digest::Sha1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        (Digest::Sha224, "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7"),
        (Digest::Sha256, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            Digest::Sha384,
            "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
        ),
        (
            Digest::Sha512,
            "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a
             2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
        ),
    ] {
        let asked = Asked { result: digest.bytes(), ..Asked::cipher(Work::Hash, &[], b"abc") };
        assert_eq!(done(Algorithm::Hash(digest), &[], asked), hex(right));
    }
}

/// RFC 4231, 4.3, and RFC 2202, 3: test case 2 of both.
#[test]
fn codes() {
    for (digest, right) in [
        (Digest::Sha1, "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79"),
        (Digest::Sha224, "a30e01098bc6dbbf45690f3a7e9e6d0f8bbea2a39e6148008fd05e44"),
        (Digest::Sha256, "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"),
        (
            Digest::Sha384,
            "af45d2e376484031617f78d2b58a6b1b9c7ef464f5a01b47e42ec3736322445e8e2240ca5e69e2c78b3239ecfab21649",
        ),
        (
            Digest::Sha512,
            "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea250554
             9758bf75c05a994a6d034f65f8f0e6fdcaeab1a34d4a6b4b636e070a38bce737",
        ),
    ] {
        let asked = Asked::cipher(Work::Mac, &[], b"what do ya want for nothing?");
        let asked = Asked { result: digest.bytes(), ..asked };
        assert_eq!(done(Algorithm::Mac { digest, tag: digest.bytes() }, b"Jefe", asked), hex(right));
    }
}
