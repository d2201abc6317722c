//! Disks that are full or read-only: real ones, mounted in a namespace of their own.

use std::env;
use std::fs;
use std::io::Write;
use std::path::PathBuf;
use std::process::Command;

use crate::sample::*;
use tollway_store::{PointId, Store, StoreError};

const FOLDER: &str = "TOLLWAY_DISK_TEST_FOLDER";

/// Runs one of the parts below with a small file system of its own.
fn on_a_small_disk(part: &str) {
    let folder = tempfile::tempdir().unwrap();
    let inside = |command: &str| {
        let mut unshare = Command::new("unshare");
        unshare.args(["-rm", "sh", "-c", &format!("mount -t tmpfs -o size=600k none \"$0\" && {command}")]);
        unshare.arg(folder.path()).arg(env::current_exe().unwrap()).args([
            "--exact",
            &format!("disk::{part}"),
            "--ignored",
        ]);
        unshare.env(FOLDER, folder.path()).output()
    };
    match inside("true") {
        Ok(possible) if possible.status.success() => {}
        other => return eprintln!("{part}: not tested here, mount namespaces are not allowed: {other:?}"),
    }
    let output = inside("exec \"$@\"").unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

fn folder() -> Option<PathBuf> {
    env::var_os(FOLDER).map(PathBuf::from)
}

fn remount(how: &str) {
    let options = format!("remount,{how}");
    assert!(Command::new("mount").args(["-o", &options]).arg(folder().unwrap()).status().unwrap().success());
}

#[test]
fn a_full_disk() {
    on_a_small_disk("part_full");
}

#[test]
fn a_disk_that_was_full_before() {
    on_a_small_disk("part_full_before");
}

#[test]
fn a_read_only_disk() {
    on_a_small_disk("part_read_only");
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_full() {
    let Some(folder) = folder() else { return };
    let file = folder.join("tollway.db");
    let mut store = Store::open(&file).unwrap();
    fs::write(folder.join("ballast"), vec![0; 200_000]).unwrap();
    let (_, points) = one_of_everything(&mut store);
    let fill = |store: &mut Store, from: u32| {
        (from..)
            .find_map(|n| store.record_trial(points[0], &trial(n, n, &[3; 9])).err().map(|e| (n, e)))
            .unwrap()
    };
    let (kept, error) = fill(&mut store, 100);
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("no space left on its disk; free some"), "{error}");
    drop(store);

    // All that was committed is there, though not even the log can be folded into the file.
    let count = |store: &Store| store.runs().unwrap()[0].trials;
    let mut store = Store::open(&file).unwrap();
    assert_eq!(count(&store), u64::from(8 + kept - 100));
    store.check().unwrap();
    fs::remove_file(folder.join("ballast")).unwrap();
    store.record_trial(points[0], &trial(kept, kept, &[3; 9])).unwrap();
    let (more, _) = fill(&mut store, kept + 1);
    assert_eq!(count(&store), u64::from(8 + more - 100));
    store.check().unwrap();
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_full_before() {
    let Some(folder) = folder() else { return };
    let file = folder.join("tollway.db");
    one_of_everything(&mut Store::open(&file).unwrap());
    let ballast = folder.join("ballast");
    let mut filled = fs::File::create(&ballast).unwrap();
    while filled.write_all(&[0; 4096]).is_ok() {}
    // SQLite calls it an I/O error that there is no room for its shared memory, or that a file cannot be opened.
    for name in ["tollway.db", "new.db"] {
        let error = Store::open(folder.join(name)).unwrap_err();
        assert!(matches!(error, StoreError::Full { .. }), "{name}: {error}");
        assert!(error.to_string().contains("`--store FILE`"), "{error}");
    }
    // One that could not be made leaves nothing that would be refused later.
    let names = fs::read_dir(&folder).unwrap().map(|one| one.unwrap().file_name().into_string().unwrap());
    let left: Vec<String> = names.filter(|name| name.starts_with("new.db")).collect();
    assert!(left.is_empty(), "{left:?}");
    drop(filled);
    fs::remove_file(&ballast).unwrap();
    assert_eq!(Store::open(&file).unwrap().runs().unwrap()[0].trials, 8);
}

/// Not a test of its own but what another one has a process do, on a small disk in a mount namespace of that process.
#[test]
#[ignore = "started by a test of this file"]
fn part_read_only() {
    let Some(folder) = folder() else { return };
    let file = folder.join("tollway.db");
    one_of_everything(&mut Store::open(&file).unwrap());
    remount("ro");
    read_everything(&file).unwrap();
    let error = Store::open(&file).unwrap_err();
    assert!(matches!(error, StoreError::ReadOnly { .. }), "{error}");
    assert!(matches!(Store::open(folder.join("new.db")), Err(StoreError::Unreachable { .. })));

    // With a log beside it, as a killed run leaves it, reading would have to write: refused, with the remedy.
    remount("rw");
    let log = folder.join("tollway.db-wal");
    let mut store = Store::open(&file).unwrap();
    store.record_trial(PointId(1), &trial(50, 50, &[3; 9])).unwrap();
    let left = [fs::read(&file).unwrap(), fs::read(&log).unwrap()];
    drop(store);
    fs::write(&file, &left[0]).unwrap();
    fs::write(&log, &left[1]).unwrap();
    remount("ro");
    let error = read_everything(&file).unwrap_err();
    assert!(error.to_string().contains("folder"), "{error}");
    remount("rw");
    read_everything(&file).unwrap();
    assert_eq!(Store::open(&file).unwrap().runs().unwrap()[0].trials, 9);
}
