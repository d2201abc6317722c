//! Tells builds apart: a number made of all the sources that an agent is built from. The program and the static agent
//! of Linux guests have the same one, or measure different code.
//!
//! And has the agent linked statically: where it goes there are no libraries. The compiler's own way is a flag for all crates
//! (`target-feature=+crt-static`), with which nothing could be shared that the program and the tests are built of. The flag
//! only changes which libraries the last step names, so here that step alone gets arguments for it.

use std::collections::hash_map::DefaultHasher;
use std::env;
use std::fs;
use std::hash::Hasher;
use std::path::{Path, PathBuf};

/// What an agent is built from, from the folder of the workspace. `crates/cli/tests/tollway/edges.rs` holds the crates against
/// those that it depends on.
pub const PARTS: [&str; 14] = [
    "Cargo.lock",
    "crates/agent",
    "crates/channel",
    "crates/core",
    "crates/host",
    "crates/load",
    "crates/model",
    "crates/payload",
    "crates/stats",
    "crates/tenant",
    "crates/virtio",
    "crates/bpf",
    "crates/wire",
    "paths",
];

/// Folders of which nothing is compiled into an agent.
const NOT_IN_IT: [&str; 6] = ["tests", "testing", "benches", "examples", "oracle", "proptest-regressions"];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Its keys are fixed: the same sources give the same number.
    let mut hasher = DefaultHasher::new();
    for source in sources(&root) {
        println!("cargo::rerun-if-changed={}", source.display());
        let Ok(content) = fs::read(&source) else { continue };
        hasher.write(source.file_name().unwrap_or_default().as_encoded_bytes());
        hasher.write_u64(content.len() as u64);
        hasher.write(&content);
    }
    println!("cargo::rustc-env=TOLLWAY_BUILD={:016x}", hasher.finish());
    link_statically();
}

/// Rust names the libraries of the C library and GCC's as shared ones. The linker first looks for them in a folder of ours,
/// where each name leads to the archive instead (GNU ld's manual, "Implicit Linker Scripts"; LLD and mold read these too).
fn link_statically() {
    let folder = PathBuf::from(env::var_os("OUT_DIR").expect("cargo names it"));
    let write = |library: &str, archives: &str| {
        let script = folder.join(format!("lib{library}.so"));
        fs::write(script, format!("GROUP ( {archives} )\n")).expect("a file for the linker");
    };
    for library in ["c", "dl", "m", "pthread", "rt", "util"] {
        write(library, &format!("-l:lib{library}.a"));
    }
    // This one has no archive of its own: what is in it is in these (GCC's manual, "Link Options", -static-libgcc).
    write("gcc_s", "-l:libgcc_eh.a -l:libgcc.a -l:libc.a");
    let mut arguments = vec!["-static".to_owned(), "-no-pie".to_owned(), format!("-L{}", folder.display())];
    if env::var_os("PROFILE").is_some_and(|profile| profile == "debug") {
        // Guests of tests hold it in their memory. Of a release the names are kept, in a file of their own.
        arguments.push("-Wl,--strip-all".to_owned());
    }
    for argument in arguments {
        println!("cargo::rustc-link-arg-bin=tollway-agent={argument}");
    }
}

/// Every file that is compiled into an agent, always in the same order.
pub fn sources(root: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    PARTS.iter().for_each(|part| add(&root.join(part), &mut files));
    files
}

fn add(path: &Path, files: &mut Vec<PathBuf>) {
    let name = path.file_name().unwrap_or_default();
    if path.is_dir() {
        if NOT_IN_IT.iter().any(|other| name == *other) {
            return;
        }
        let mut inside: Vec<_> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
        inside.sort();
        inside.iter().for_each(|path| add(path, files));
    } else if path.extension().is_none_or(|kind| kind != "md") {
        files.push(path.to_owned());
    }
}
