//! The programs of programs/, for tests of every way of counting.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tollway_host::requirement::skip_test;

/// Where `same` is, which everybody may run; `None` where there is no C compiler.
#[allow(dead_code)]
pub fn same() -> Option<&'static Path> {
    static BUILT: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    let built = BUILT.get_or_init(|| built("same"));
    built.as_ref().map(|(_, program)| program.as_path())
}

/// A program of programs/ in a folder of its own, which everybody may run; `None` where there is no C compiler.
#[allow(dead_code)]
pub fn built(name: &str) -> Option<(TempDir, PathBuf)> {
    match built_with(name, &["-pthread"]) {
        Ok(built) => Some(built),
        Err(reason) if reason.starts_with("cc: No such file") => {
            skip_test(&["cc"], &format!("{reason} → install gcc"));
            None
        }
        Err(reason) => panic!("{reason}"),
    }
}

/// The same with these options of the compiler.
///
/// # Errors
/// What the compiler says.
pub fn built_with(name: &str, options: &[&str]) -> Result<(TempDir, PathBuf), String> {
    let folder = TempDir::new().unwrap();
    for_everybody(folder.path());
    let program = folder.path().join(name);
    let source = format!("{}/tests/programs/{name}.c", env!("CARGO_MANIFEST_DIR"));
    let mut cc = Command::new("cc");
    let cc = cc.args(["-O1", "-Wall", "-Werror", "-o"]).arg(&program).arg(source).args(options);
    let done = cc.output().map_err(|error| format!("cc: {error}"))?;
    match done.status.success() {
        true => Ok((folder, program)),
        false => Err(format!("cc: {}", String::from_utf8_lossy(&done.stderr))),
    }
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
