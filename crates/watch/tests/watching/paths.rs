//! Of how many names the paths are by which a program looks for files.

use std::path::Path;

use crate::eventually::eventually;
use crate::kernel;
use tollway_watch::traced::Traced;
use tollway_watch::{Calls, Counts, FileKind, Paths, numbers};

/// Calls of each path.
const CALLS: u64 = 2000;

/// A shell that asks for a file by this path so often, in the folder `/`, and does nothing else by that number: dash's `test -e` is newfstatat or faccessat2.
fn asks(path: &str) -> [String; 2] {
    let script = format!("cd /; i=0; while [ $i -lt {CALLS} ]; do [ -e '{path}' ]; i=$((i+1)); done; exit 0");
    ["-c".into(), script]
}

/// Paths of the calls by no open file that ask about one, and how many calls there were: those that found one, and those that did not.
fn asked(counts: &Counts) -> [(u64, Paths); 2] {
    let is_asked = |calls: &&Calls| {
        let name = numbers::name(calls.number);
        let asks = matches!(name, Some("newfstatat" | "stat" | "faccessat" | "faccessat2" | "access"));
        asks && calls.file.kind == FileKind::None && calls.count > CALLS / 2
    };
    let calls = counts.threads.iter().flat_map(|thread| &thread.calls).filter(is_asked);
    let mut all = [(0, Paths::default()); 2];
    for calls in calls {
        let failed = calls.failed.unwrap();
        for (sum, (count, paths)) in
            all.iter_mut().zip([(calls.count - failed, calls.paths), (failed, calls.paths_failed)])
        {
            *sum = (sum.0 + count, sum.1 + paths.unwrap_or_default());
        }
    }
    all
}

/// Paths, their names, and whether there is something.
const PATHS: [(&str, u64, bool); 9] = [
    ("/usr", 1, true),
    ("usr/bin", 2, true),
    ("/usr/bin/env", 3, true),
    ("//usr///bin//env", 3, true),
    ("/usr/bin/", 2, true),
    ("./usr/./bin/../bin", 6, true),
    ("/", 0, true),
    ("/usr/bin/no-such", 3, false),
    ("no/such/path/of/five", 5, false),
];

/// Nearly all calls of the loop are by the one path: the shell's own start has some thirty others.
fn is_near(seen: Paths, names: u64) -> bool {
    (seen.names as f64 / seen.paths as f64 - names as f64).abs() < 0.2
}

#[test]
fn one_call_in_sixteen_has_its_path_looked_at() {
    for (path, names, is_there) in PATHS {
        let arguments = asks(path);
        let arguments = [&*arguments[0], &*arguments[1]];
        let Some(counts) = kernel::counted(Path::new("/bin/dash"), &arguments) else { return };
        let [found, missing] = asked(&counts);
        let (count, seen) = if is_there { found } else { missing };
        assert!(count >= CALLS, "{path}: {count}");
        let expected = count as f64 / 16.0;
        assert!((seen.paths as f64 - expected).abs() < 0.3 * expected, "{path}: {seen:?} of {count}");
        assert!(is_near(seen, names), "{path}: {seen:?}");
        let other = if is_there { missing } else { found };
        assert!(other.1.paths <= 8, "{path}: {other:?}");
    }
}

#[test]
fn by_ptrace_all_paths_are_looked_at() {
    for (path, names, is_there) in PATHS {
        let mut command = kernel::command(Path::new("/bin/dash"), &[]);
        command.args(asks(path));
        let traced = Traced::start(&mut command).unwrap();
        traced.wait().unwrap();
        eventually("the end of all", || traced.is_over());
        let [found, missing] = asked(&traced.counts().unwrap());
        let (count, seen) = if is_there { found } else { missing };
        assert!(count >= CALLS && seen.paths == count, "{path}: {seen:?} of {count}");
        assert!(is_near(seen, names), "{path}: {seen:?}");
    }
}
