//! The agent of Linux guests as it was built: static, small, and without what only the program itself needs.
//!
//! Where `make agent` has built none this says so and does nothing, unless `TOLLWAY_REQUIRE` names `agent`.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tollway_tenant::linux::static_agent;

fn built() -> Option<PathBuf> {
    match static_agent::find() {
        Ok(agent) => Some(agent),
        Err(missing) => {
            tollway_host::requirement::skip_test(&["agent"], &missing);
            None
        }
    }
}

#[test]
fn it_is_static_and_small() {
    let Some(agent) = built() else { return };
    let size = fs::metadata(&agent).unwrap().len();
    println!("{}: {size} bytes", agent.display());
    // AWS-LC, by which actors encipher, is a third of it; SQLite (2 MB) and a web service, of the path `machine`, are the last three megabytes.
    assert!(size <= 12 << 20, "{size} bytes");
    static_agent::is_static(&agent).unwrap();
    // It runs where there is nothing: no library, no folder of them, no environment.
    let output = Command::new(&agent).env_clear().current_dir("/proc").output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.starts_with("tollway-agent: standard input is no socket"), "{said}");
}

#[test]
fn it_has_no_store_no_postgresql_no_capture_library_and_no_plots() {
    let Some(agent) = built() else { return };
    let content = fs::read(&agent).unwrap();
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
        assert!(!found, "`{foreign}` is in {}", agent.display());
    }
}
