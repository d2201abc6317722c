//! Names of files that a program closes at once: they are taken as it opens them.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Child;

use crate::common::same;
use crate::kernel::{self, to_the_end, watch};
use tempfile::TempDir;
use tollway_watch::kernel::Watch;
use tollway_watch::traced::Traced;
use tollway_watch::{Counts, File, FileKind};

/// Files in a folder: many, with some bytes each.
fn files(many: usize) -> (TempDir, Vec<PathBuf>) {
    let folder = TempDir::new().unwrap();
    let files: Vec<PathBuf> = (0..many).map(|number| folder.path().join(format!("file-{number}"))).collect();
    files.iter().for_each(|file| fs::write(file, "some bytes").unwrap());
    (folder, files)
}

fn ended(watch: &mut Watch, mut child: Child) -> Counts {
    to_the_end(watch, &mut child);
    watch.counts().unwrap()
}

/// Every file is read by the program under the number and the device that its name has.
#[test]
fn files_that_are_closed_at_once_have_names() {
    let (_folder, files) = files(500);
    let Some(mut watch) = watch(true, None) else { return };
    let paths: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let child = watch.start(&mut kernel::command("/bin/cat".as_ref(), &paths)).unwrap();
    let counts = ended(&mut watch, child);
    let names = watch.names().unwrap();
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    let is_read = |file: &File| file.kind == FileKind::Regular;
    let read: BTreeSet<File> = calls
        .filter(|calls| i64::from(calls.number) == libc::SYS_read)
        .map(|calls| calls.file)
        .filter(is_read)
        .collect();
    for path in paths {
        let named: Vec<&File> = names.iter().filter(|(_, name)| name == path).map(|(file, _)| file).collect();
        assert!(matches!(named[..], [file] if read.contains(file)), "{path}: {named:?} {names:?}");
    }
}

/// The same by ptrace: as they are read.
#[test]
fn files_that_are_closed_at_once_have_names_by_ptrace() {
    let (_folder, files) = files(100);
    let paths: Vec<&str> = files.iter().map(|file| file.to_str().unwrap()).collect();
    let traced = Traced::start(&mut kernel::command("/bin/cat".as_ref(), &paths)).unwrap();
    traced.wait().unwrap();
    let (names, counts) = (traced.names(), traced.counts().unwrap());
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls);
    let read: BTreeSet<File> = calls.filter(|calls| calls.number == 0).map(|calls| calls.file).collect();
    for path in paths {
        let named: Vec<&File> =
            names.iter().filter(|(_, name)| *name == path).map(|(file, _)| file).collect();
        assert!(matches!(named[..], [file] if read.contains(file)), "{path}: {named:?} {names:?}");
    }
}

/// Paths that lead nowhere, are at no address, are too long, or are not UTF-8: what is known is cut, and nothing else is harmed.
#[test]
fn a_program_that_opens_by_nonsense_is_counted_all_the_same() {
    let Some(same) = same() else { return };
    let folder = TempDir::new().unwrap();
    let Some(mut watch) = watch(true, None) else { return };
    let mut command = kernel::command(same, &["opens-by-nonsense", "100"]);
    let child = watch.start(command.current_dir(folder.path())).unwrap();
    let counts = ended(&mut watch, child);
    assert!(kernel::calls(&counts, libc::SYS_openat) >= 500, "{counts:?}");
    assert_eq!(counts.lost, 0);
    let names: Vec<String> = watch.names().unwrap().into_iter().map(|(_, name)| name).collect();
    let is_there = |what: &dyn Fn(&str) -> bool| names.iter().filter(|name| what(name)).count();
    assert_eq!(is_there(&|name| name == "\u{fffd}\u{fffd}"), 1, "{names:?}");
    assert_eq!(is_there(&|name| name.ends_with("//…") && name.chars().count() == 256), 1, "{names:?}");
    assert_eq!(is_there(&|name| name.contains("nowhere") || name.is_empty()), 0, "{names:?}");
}

/// More files than there is room for: the last ones are known.
#[test]
fn of_very_many_files_the_last_have_names() {
    let Some(same) = same() else { return };
    let (folder, _) = files(0);
    let Some(mut watch) = watch(true, None) else { return };
    let mut command = kernel::command(same, &["opens-many", "20000"]);
    let child = watch.start(command.current_dir(folder.path())).unwrap();
    let counts = ended(&mut watch, child);
    assert!(kernel::calls(&counts, libc::SYS_openat) >= 20_000, "{counts:?}");
    let names = watch.names().unwrap();
    let of_last = (19_900..20_000).filter(|number| {
        let name = format!("file-{number}");
        names.iter().any(|(_, known)| *known == name)
    });
    assert_eq!(of_last.count(), 100, "{} names", names.len());
}
