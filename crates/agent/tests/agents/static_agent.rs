//! The agent of Linux guests as tests have it: static, small, and without what only the program itself needs.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tollway_agent::BUILD;
use tollway_tenant::linux::static_agent;

const AGENT: &str = env!("CARGO_BIN_EXE_tollway-agent");

#[test]
fn it_is_static_and_small() {
    let size = fs::metadata(AGENT).unwrap().len();
    // 17 MB as tests are built, with checks and little optimised; `make agent` keeps watch over that of a release.
    assert!(size <= 20_000_000, "{size} bytes");
    static_agent::is_static(Path::new(AGENT)).unwrap();
    // It runs where there is nothing: no library, no folder of them, no environment.
    let output = Command::new(AGENT).env_clear().current_dir("/proc").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("tollway-agent: standard input is no socket"), "{said}");
}

#[test]
fn it_has_no_store_no_postgresql_no_capture_library_and_no_plots() {
    let content = fs::read(AGENT).unwrap();
    // Each is in whatever links the library: a table of the store, a call of PostgreSQL's, a word of libpcap's compiler, a chart's element. SQLite itself is
    // there, for the business load of the path `machine`.
    for foreign in [
        "CREATE TABLE trial",
        "pg_try_advisory_lock",
        "unknown ether proto",
        "pcap_open_live",
        "<svg",
        "plotters",
    ] {
        let found = content.windows(foreign.len()).any(|bytes| bytes == foreign.as_bytes());
        assert!(!found, "`{foreign}` is in the agent");
    }
}

/// Of two builds the one of the program's own sources is taken, be it the second that is found.
#[test]
fn one_of_other_sources_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let stale = folder.path().join("stale");
    let mut content = fs::read(AGENT).unwrap();
    let starts: Vec<usize> =
        (0..content.len() - BUILD.len()).filter(|at| content[*at..].starts_with(BUILD.as_bytes())).collect();
    assert!(!starts.is_empty(), "what it was built from is in it");
    for at in starts {
        content[at..at + BUILD.len()].fill(b'z');
    }
    fs::write(&stale, content).unwrap();
    fs::set_permissions(&stale, fs::Permissions::from_mode(0o755)).unwrap();
    let both = [stale.clone(), PathBuf::from(AGENT)];
    assert_eq!(static_agent::first_of(&both, Some(BUILD)).unwrap(), both[1]);
    assert_eq!(static_agent::first_of(&both, None).unwrap(), stale);
    let alone = static_agent::first_of(&both[..1], Some(BUILD)).unwrap_err();
    assert!(alone.contains("stale was built from other sources"), "{alone}");
}
