//! Whatever a file holds: an error or a clean read, never a panic.

use std::fs;
use std::path::{Path, PathBuf};

use crate::sample::*;
use proptest::prelude::*;
use tollway_store::{PointId, Store, StoreError};

/// Reads all, then writes; both may be refused.
fn use_it(file: &Path) {
    let _ = read_everything(file);
    if let Ok(mut store) = Store::open(file) {
        let _ = store.begin_run(&run_spec(1));
        let _ = store.record_trial(PointId(1), &trial(100, 100, &[7; 20]));
        let _ = store.predict(PointId(2), &forecast(1.0), at(0));
        let _ = store.reopen_run(tollway_store::RunId(1));
    }
    for suffix in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{suffix}", file.display()));
    }
}

/// The bytes of a store; a large one is not checked when it is opened.
fn whole(dir: &Path, large: bool) -> Vec<u8> {
    let file = dir.join("whole.db");
    let mut store = Store::open(&file).unwrap();
    let (_, points) = one_of_everything(&mut store);
    for n in 0..if large { 70 } else { 0 } {
        let mut padded = trial(9, 1000 + n, &[1000; 10]);
        padded.meters = serde_json::json!("x".repeat(70_000));
        store.record_trial(points[0], &padded).unwrap();
    }
    drop(store);
    fs::read(file).unwrap()
}

fn scratch() -> (tempfile::TempDir, PathBuf) {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.db");
    (dir, file)
}

/// Xorshift (Marsaglia 2003, Journal of Statistical Software 8:14), enough to pick bytes.
fn next(state: &mut u64) -> usize {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    (*state >> 11) as usize
}

#[test]
fn a_store_cut_short_does_not_panic() {
    let (dir, file) = scratch();
    let whole = whole(dir.path(), false);
    let mut refused = 0;
    for n in 0..60 {
        fs::write(&file, &whole[..whole.len() * n / 60]).unwrap();
        refused += u32::from(read_everything(&file).is_err());
        use_it(&file);
    }
    assert_eq!(refused, 60, "a part of a store is not taken for a store");
}

#[test]
fn flipped_bits_do_not_panic() {
    let (dir, file) = scratch();
    let whole = whole(dir.path(), false);
    let mut random = 42;
    for _ in 0..250 {
        let mut bytes = whole.clone();
        for _ in 0..1 + next(&mut random) % 4 {
            let at = next(&mut random) % bytes.len();
            bytes[at] ^= 1 << (next(&mut random) % 8);
        }
        fs::write(&file, bytes).unwrap();
        use_it(&file);
    }
}

#[test]
fn pages_of_rubbish_in_a_large_store_do_not_panic() {
    let (dir, file) = scratch();
    let whole = whole(dir.path(), true);
    assert!(whole.len() > 4 << 20);
    let mut random = 7;
    let mut told = 0;
    for page in 1..25 {
        let mut bytes = whole.clone();
        for byte in &mut bytes[page * 4096..(page + 1) * 4096] {
            if next(&mut random).is_multiple_of(16) {
                *byte = next(&mut random) as u8;
            }
        }
        fs::write(&file, bytes).unwrap();
        told += u32::from(matches!(read_everything(&file), Err(StoreError::Damaged { .. })));
        use_it(&file);
    }
    assert!(told >= 20, "{told} of 24 were told");
}

#[test]
fn rows_of_rubbish_are_told() {
    let (dir, file) = scratch();
    fs::write(&file, whole(dir.path(), false)).unwrap();
    for sql in [
        "UPDATE run SET started_us = 9223372036854775807",
        "UPDATE run SET argv = '[1, 2'",
        "UPDATE run SET pid = -1",
        "UPDATE run SET fingerprint = replace(hex(zeroblob(5000)), '0', '[')",
        "UPDATE point SET params = '7'",
        "UPDATE point SET toll = 'pipe/sideways'",
        "UPDATE point SET boundary = 'wall'",
        "UPDATE point SET trials = 9223372036854775807",
        "UPDATE point SET missing = 'nothing' WHERE state = 'skipped'",
        "DROP TRIGGER trial_is_not_changed; UPDATE trial SET spread = x'ff'",
        "DROP TRIGGER trial_is_not_changed; UPDATE trial SET spread = x'ffffffffffffffffff0100010101'",
        "DROP TRIGGER trial_is_not_changed; UPDATE trial SET block = 99999999999",
        "DROP TRIGGER trial_is_not_changed; UPDATE trial SET tally = 'x'",
        "DROP TRIGGER prediction_is_not_changed; UPDATE prediction SET forecast = '{\"ticks\": null}'",
        "ALTER TABLE trial RENAME COLUMN block TO part",
        "PRAGMA user_version = -1",
        "PRAGMA user_version = 0",
    ] {
        let copy = dir.path().join("copy.db");
        fs::copy(&file, &copy).unwrap();
        rusqlite::Connection::open(&copy).unwrap().execute_batch(sql).unwrap();
        let answer = read_everything(&copy);
        assert!(matches!(answer, Err(StoreError::Damaged { .. })), "{sql}: {answer:?}");
        use_it(&copy);
    }
}

#[test]
fn rubbish_beside_the_store_does_not_panic() {
    let (dir, file) = scratch();
    let whole = whole(dir.path(), false);
    let mut random = 3;
    for length in [0, 1, 31, 32, 5000, 70_000] {
        let rubbish: Vec<u8> = (0..length).map(|_| next(&mut random) as u8).collect();
        fs::write(&file, &whole).unwrap();
        fs::write(dir.path().join("t.db-wal"), &rubbish).unwrap();
        fs::write(dir.path().join("t.db-shm"), &rubbish).unwrap();
        read_everything(&file).unwrap();
        use_it(&file);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn no_bytes_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..9000), headed in any::<bool>()) {
        let (_dir, file) = scratch();
        if headed && bytes.len() > 100 {
            bytes[..16].copy_from_slice(b"SQLite format 3\0");
            bytes[16..24].copy_from_slice(&[16, 0, 1, 1, 0, 64, 32, 32]);
        }
        fs::write(&file, bytes).unwrap();
        use_it(&file);
    }
}
