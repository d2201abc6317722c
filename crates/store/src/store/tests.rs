//! How a store refuses: each case is a file or a moment at which it must not go on.

use std::path::Path;
use std::sync::Barrier;
use std::thread;
use std::time::Duration;

use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::json;

use super::*;
use crate::{RunSpec, RunState};

fn spec(bytes_of_plan: usize) -> RunSpec {
    RunSpec {
        started: Timestamp::UNIX_EPOCH,
        title: "refusals".into(),
        argv: vec![],
        version: "0.1.0".into(),
        seed: 1,
        machine: "m".into(),
        hz: 1e9,
        sides: vec![],
        fingerprint: json!(null),
        plan: json!("x".repeat(bytes_of_plan)),
    }
}

fn told(result: Result<impl Sized>) -> String {
    result.err().expect("it is refused").to_string()
}

fn foreign(file: &Path, sql: &str) {
    Connection::open(file).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn every_commit_is_synced() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path().join("t.db")).unwrap();
    let ask = |pragma: &str| {
        store.connection.query_row(pragma, [], |r| r.get::<_, rusqlite::types::Value>(0)).unwrap()
    };
    assert_eq!(ask("PRAGMA journal_mode"), "wal".to_string().into());
    assert_eq!(ask("PRAGMA synchronous"), 2i64.into(), "FULL");
}

#[test]
fn one_file_is_left() {
    let dir = tempfile::tempdir().unwrap();
    Store::open(dir.path().join("t.db")).unwrap().begin_run(&spec(0)).unwrap();
    assert_eq!(dir.path().read_dir().unwrap().count(), 1);
}

#[test]
fn names_that_sqlite_takes_for_something_else_are_files() {
    let dir = tempfile::tempdir().unwrap();
    for name in [":memory:", "file:x.db?mode=memory", "a%20b?c#d"] {
        let file = dir.path().join(name);
        Store::open(&file).unwrap();
        assert!(file.is_file(), "{name}");
        let read = Store::connect_immutable(&file, OpenFlags::SQLITE_OPEN_READ_ONLY).unwrap();
        assert_eq!(read.runs().unwrap(), []);
    }
}

#[test]
fn other_databases_are_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("other.db");
    foreign(&file, "CREATE TABLE mine (x); PRAGMA application_id = 7");
    let before = fs::read(&file).unwrap();
    assert!(told(Store::open(&file)).contains("another program's database (application id 0x00000007)"));
    assert!(told(Store::open_read_only(&file)).contains("another program's"));
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn a_newer_store_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.db");
    Store::open(&file).unwrap();
    foreign(&file, "PRAGMA user_version = 99");
    let before = fs::read(&file).unwrap();
    let error = told(Store::open(&file));
    assert!(error.contains("newer Tollway (schema 99") && error.contains("update Tollway"), "{error}");
    assert_eq!(fs::read(&file).unwrap(), before);
}

#[test]
fn what_is_no_store_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.db");
    assert!(matches!(Store::open_read_only(&file), Err(StoreError::NotThere { .. })));
    assert!(!file.exists());
    assert!(matches!(Store::open(dir.path()), Err(StoreError::Unreachable { .. })));
    assert!(matches!(Store::open(dir.path().join("no/t.db")), Err(StoreError::Unreachable { .. })));
    assert!(matches!(Store::open("/dev/null"), Err(StoreError::Unreachable { .. })));
    fs::write(&file, "name,ticks\npipe,1200\n".repeat(100)).unwrap();
    assert!(matches!(Store::open(&file), Err(StoreError::NotADatabase { .. })));
    fs::write(&file, "").unwrap();
    assert!(matches!(Store::open_read_only(&file), Err(StoreError::Empty { .. })));
    Store::open(&file).unwrap();
    foreign(&file, "DROP TABLE prediction");
    assert!(
        Store::open(&file).unwrap().prediction(crate::PointId(1)).is_err_and(|e| {
            matches!(e, StoreError::Damaged { .. }) && e.to_string().contains("prediction")
        })
    );
}

#[test]
fn a_reader_cannot_write() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.db");
    Store::open(&file).unwrap();
    let error = told(Store::open_read_only(&file).unwrap().begin_run(&spec(0)));
    assert!(error.contains("read-only; make"), "{error}");
}

#[test]
fn a_lock_is_waited_for_and_its_holder_named() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.db");
    let mut store = Store::open(&file).unwrap();
    let run = store.begin_run(&spec(0)).unwrap();
    store.set_patience(Duration::from_millis(50)).unwrap();
    let other = Connection::open(&file).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert_eq!(store.runs().unwrap().len(), 1, "readers do not wait");
    let error = told(store.end_run(run, RunState::Complete, Timestamp::UNIX_EPOCH));
    assert!(error.contains(&format!("locked by process {}", std::process::id())), "{error}");
    other.execute_batch("ROLLBACK").unwrap();
    store.end_run(run, RunState::Complete, Timestamp::UNIX_EPOCH).unwrap();
}

#[test]
fn a_full_disk_keeps_what_was_committed() {
    let dir = tempfile::tempdir().unwrap();
    let mut store = Store::open(dir.path().join("t.db")).unwrap();
    let limit = |store: &Store, pages: u32| {
        store.connection.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(())).unwrap();
    };
    limit(&store, 60);
    let mut kept = 0;
    let error = loop {
        match store.begin_run(&spec(10_000)) {
            Ok(_) => kept += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(kept > 5 && store.runs().unwrap().len() == kept);
    store.check().unwrap();
    limit(&store, 1000);
    store.begin_run(&spec(10_000)).unwrap();
}

#[test]
fn many_open_a_new_store_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("t.db");
    let start = Barrier::new(8);
    thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                start.wait();
                Store::open(&file).unwrap().begin_run(&spec(0)).unwrap();
            });
        }
    });
    assert_eq!(Store::open_read_only(&file).unwrap().runs().unwrap().len(), 8);
}
