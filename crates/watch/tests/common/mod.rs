//! The programs of programs/same.c, for tests of every way of counting.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// Where `same` is, which everybody may run; `None` where there is no C compiler.
pub fn same() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| {
        let folder = TempDir::new().unwrap();
        for_everybody(folder.path());
        let program = folder.path().join("same");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/same.c");
        let mut cc = Command::new("cc");
        match cc.args(["-O1", "-Wall", "-Werror", "-pthread", "-o"]).arg(&program).arg(source).status() {
            Ok(status) => assert!(status.success(), "cc: {status}"),
            Err(error) => {
                println!("skipped: cc: {error}");
                return None;
            }
        }
        Some((folder, program))
    });
    built.as_ref().map(|(_, program)| program.as_path())
}

pub fn for_everybody(path: &Path) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
}

/// Waits until something is so.
#[allow(dead_code)]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let end = Instant::now() + Duration::from_secs(20);
    while !is_so() {
        assert!(Instant::now() < end, "{what}: not in 20 s");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A program that is killed when the test is over.
#[allow(dead_code)]
pub struct Killed(pub std::process::Child);

impl Drop for Killed {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
