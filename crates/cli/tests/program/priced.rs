//! This machine's prices, in a store and in a price list.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tempfile::TempDir;
use tollway_program_tool::own_tolls;
use tollway_store::{RunSpec, Store};

use super::{Bench, SHORT};

/// The list is measured once for all tests of a program: into a store, and into the price list of a machine.
fn measured() -> &'static Path {
    static LIST: OnceLock<TempDir> = OnceLock::new();
    let list = LIST.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let first = Bench::with(SHORT);
        first.ends(&["measure", "crossings", "--preset", "calls", "--runs", "3", "--time", "20"], 0);
        // As bills have kept them there before there was a list of the machine.
        let mut store = Store::open(first.file("tollway.db")).unwrap();
        let spec = store.runs().unwrap().first().and_then(|run| store.run(run.id).ok()).unwrap().spec;
        let of = |title| RunSpec { title, ..spec.clone() };
        own_tolls::measure(&mut store, &own_tolls::keys(), of).unwrap();
        drop(store);
        fs::copy(first.file("tollway.db"), folder.path().join("tollway.db")).unwrap();
        fs::create_dir(folder.path().join("prices")).unwrap();
        for file in fs::read_dir(first.file("prices")).unwrap().map(|file| file.unwrap().path()) {
            fs::copy(&file, folder.path().join("prices").join(file.file_name().unwrap())).unwrap();
        }
        for folder in [folder.path(), &folder.path().join("prices")] {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        }
        folder
    });
    list.path()
}

/// A bench whose store has this machine's prices; no list has them.
pub fn bench() -> Bench {
    let bench = Bench::with(SHORT);
    fs::copy(measured().join("tollway.db"), bench.file("tollway.db")).unwrap();
    bench
}

/// The folder of a price list that has all prices, for all to read.
pub fn prices() -> PathBuf {
    measured().join("prices")
}
