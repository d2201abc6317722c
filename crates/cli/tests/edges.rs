//! The layers of ARCHITECTURE.md, held against `cargo metadata`: any edge that is not allowed there is refused.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use cargo_metadata::{DependencyKind, MetadataCommand};

#[path = "../../agent/build.rs"]
#[allow(dead_code)]
mod build;

/// What each crate may depend on, within the workspace. Tests and benches may use more.
const ALLOWED: &[(&str, &[&str])] = &[
    ("tollway-core", &[]),
    ("tollway-stats", &[]),
    ("tollway-model", &["core", "stats"]),
    ("tollway-sim", &["core", "stats", "model"]),
    ("tollway-payload", &[]),
    ("tollway-host", &["core", "stats"]),
    ("tollway-channel", &["core", "host"]),
    ("tollway-bpf", &[]),
    ("tollway-watch", &["core", "host", "bpf"]),
    ("tollway-probe", &["core", "host", "watch"]),
    ("tollway-wire", &["core", "host", "bpf"]),
    ("tollway-virtio", &["core", "host"]),
    ("tollway-service", &["core", "virtio"]),
    ("tollway-store", &["core", "stats"]),
    ("tollway-load", &["core", "stats"]),
    ("tollway-tenant", &["core", "host"]),
    ("tollway-lab", &["core", "stats", "host", "load", "store", "tenant"]),
    ("tollway-report", &["core", "stats", "store"]),
    ("tollway-null", PATH),
    ("tollway-crossings", PATH),
    ("tollway-capture", PATH),
    ("tollway-entropy", PATH),
    ("tollway-cipher", PATH),
    ("tollway-ipc", PATH),
    ("tollway-machine", PATH),
    ("tollway-all", &["core", "null", "crossings", "capture", "entropy", "cipher", "ipc", "machine"]),
    ("tollway-capture-tool", TOOL),
    ("tollway-entropy-tool", TOOL),
    ("tollway-cipher-tool", TOOL),
    ("tollway-ipc-tool", TOOL),
    ("tollway-machine-tool", TOOL),
    ("tollway-program-tool", TOOL),
    ("tollway-agent", &["core", "host", "tenant", "all"]),
    (
        "tollway",
        &[
            "core",
            "stats",
            "model",
            "sim",
            "host",
            "watch",
            "store",
            "tenant",
            "lab",
            "report",
            "agent",
            "all",
            "capture-tool",
            "cipher-tool",
            "entropy-tool",
            "ipc-tool",
            "machine-tool",
            "program-tool",
        ],
    ),
];

/// What every tool may depend on: all below the program, but no other tool.
const TOOL: &[&str] = &[
    "core", "stats", "model", "sim", "host", "watch", "load", "wire", "virtio", "service", "store", "tenant",
    "lab", "report", "all", "capture", "entropy", "cipher", "ipc",
];

/// What every path may depend on: never the lab, the store, the report, a tenant, or another path.
const PATH: &[&str] =
    &["core", "stats", "model", "sim", "host", "load", "wire", "channel", "virtio", "payload"];

#[test]
fn no_edge_but_the_allowed_ones() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let allowed: BTreeMap<&str, BTreeSet<String>> = ALLOWED
        .iter()
        .map(|(from, to)| (*from, to.iter().map(|t| format!("tollway-{t}")).collect()))
        .collect();
    let members: BTreeSet<&str> = metadata.packages.iter().map(|p| p.name.as_str()).collect();
    assert_eq!(
        members,
        allowed.keys().copied().collect(),
        "a crate without a line in this test, or a line without a crate"
    );
    for package in &metadata.packages {
        for dependency in &package.dependencies {
            if dependency.kind == DependencyKind::Normal && members.contains(dependency.name.as_str()) {
                assert!(
                    allowed[package.name.as_str()].contains(&dependency.name),
                    "{} must not depend on {}",
                    package.name,
                    dependency.name
                );
            }
        }
    }
}

/// Else the agent of Linux guests could be of other code than the program, and nobody would be told.
#[test]
fn the_build_number_has_every_crate_that_an_agent_is_made_of_and_no_other() {
    let metadata = MetadataCommand::new().no_deps().exec().expect("cargo metadata");
    let root = metadata.workspace_root.as_std_path();
    let mut found = vec!["tollway-agent"];
    let mut at = 0;
    while let Some(name) = found.get(at).copied() {
        at += 1;
        for package in metadata.packages.iter().filter(|package| package.name.as_str() == name) {
            let built = package.dependencies.iter().filter(|d| d.kind != DependencyKind::Development);
            for other in built.filter(|d| d.path.is_some()) {
                if !found.contains(&other.name.as_str()) {
                    found.push(&other.name);
                }
            }
        }
    }
    let folders: BTreeSet<&Path> = metadata
        .packages
        .iter()
        .filter(|package| found.contains(&package.name.as_str()))
        .filter_map(|package| package.manifest_path.parent()?.as_std_path().strip_prefix(root).ok())
        .map(|folder| if folder.starts_with("paths") { Path::new("paths") } else { folder })
        .collect();
    let parts: BTreeSet<&Path> =
        build::PARTS.iter().map(Path::new).filter(|p| root.join(p).is_dir()).collect();
    assert_eq!(folders, parts);
    // What is read by people alone is not in it; what `include_str!` and build scripts read is.
    let sources = build::sources(root);
    let has = |file: &str| sources.contains(&root.join(file));
    for file in [
        "Cargo.lock",
        "crates/payload/image/layout.ld",
        "paths/cipher/claims.toml",
        "paths/cipher/traces/sessions.csv",
    ] {
        assert!(has(file), "{file}");
    }
    for file in ["paths/cipher/README.md", "paths/cipher/tests/variants.rs", "crates/store/Cargo.toml"] {
        assert!(root.join(file).is_file() && !has(file), "{file}");
    }
}
