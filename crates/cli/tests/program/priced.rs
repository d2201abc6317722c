//! A bench whose store has this machine's price list.

use std::fs;
use std::sync::OnceLock;

use tempfile::TempDir;

use super::{Bench, SHORT};

/// The list is measured once for all tests of a program.
pub fn bench() -> Bench {
    static LIST: OnceLock<TempDir> = OnceLock::new();
    let bench = Bench::with(SHORT);
    let list = LIST.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let first = Bench::with(SHORT);
        first.ends(&["measure", "crossings", "--preset", "calls", "--runs", "3", "--time", "20"], 0);
        fs::copy(first.file("tollway.db"), folder.path().join("tollway.db")).unwrap();
        folder
    });
    fs::copy(list.path().join("tollway.db"), bench.file("tollway.db")).unwrap();
    bench
}
