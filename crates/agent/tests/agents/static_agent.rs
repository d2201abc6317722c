//! The agent of Linux guests as tests have it: static, small, and without what only the program itself needs.

use std::fs;
use std::path::Path;
use std::process::Command;

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
