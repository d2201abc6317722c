//! Tells builds apart: a number made of all the sources that an agent is built from. The program and the static agent
//! of Linux guests have the same one, or measure different code.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::Hasher;
use std::path::Path;

/// What an agent is built from, from the folder of the workspace.
const PARTS: [&str; 10] = [
    "Cargo.lock",
    "crates/agent",
    "crates/core",
    "crates/host",
    "crates/load",
    "crates/payload",
    "crates/tenant",
    "crates/virtio",
    "crates/wire",
    "paths",
];

fn main() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    // Its keys are fixed: the same sources give the same number.
    let mut hasher = DefaultHasher::new();
    for part in PARTS {
        let part = root.join(part);
        println!("cargo::rerun-if-changed={}", part.display());
        add(&part, &mut hasher);
    }
    println!("cargo::rustc-env=TOLLWAY_BUILD={:016x}", hasher.finish());
}

/// Adds a file, or all of a folder but what only tests and benchmarks are made of.
fn add(path: &Path, hasher: &mut DefaultHasher) {
    let name = path.file_name().unwrap_or_default();
    if path.is_dir() {
        if ["tests", "benches", "examples"].iter().any(|other| name == *other) {
            return;
        }
        let mut inside: Vec<_> =
            fs::read_dir(path).into_iter().flatten().flatten().map(|e| e.path()).collect();
        inside.sort();
        inside.iter().for_each(|path| add(path, hasher));
    } else if let Ok(content) = fs::read(path) {
        hasher.write(name.as_encoded_bytes());
        hasher.write_u64(content.len() as u64);
        hasher.write(&content);
    }
}
