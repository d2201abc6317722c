//! The layers of ARCHITECTURE.md, held against `cargo metadata`: any edge that is not allowed there is refused. And
//! what the program and its agent are built of: the same compiled crates.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use cargo_metadata::{DependencyKind, MetadataCommand};

#[path = "../../../agent/build.rs"]
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
    ("tollway-postgres", &["machine"]),
    ("tollway-guard", &[]),
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
            "postgres",
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
    for file in [
        "paths/cipher/README.md",
        "paths/cipher/tests/cards/variants.rs",
        "paths/cipher/testing/tenancy.rs",
        "crates/store/Cargo.toml",
    ] {
        assert!(root.join(file).is_file() && !has(file), "{file}");
    }
}

/// Each crate (name, version) that a package is built of, with the features of each of its builds.
type Built = BTreeMap<String, BTreeSet<String>>;

/// What cargo would build this package of, by these kinds of edges, where it builds nothing else at once.
fn built_of(package: &str, edges: &str) -> Built {
    let output = Command::new(env!("CARGO"))
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(["tree", "--frozen", "--package", package, "--edges", edges])
        .args(["--prefix", "none", "--format", "{p}\t{f}"])
        .output()
        .expect("cargo tree");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut built = Built::new();
    for line in String::from_utf8(output.stdout).expect("names are ASCII").lines() {
        let (of, features) = line.split_once('\t').unwrap_or_else(|| panic!("`{line}`"));
        let name: Vec<&str> = of.split(' ').take(2).collect();
        let features = features.trim_end_matches("(*)").trim();
        built.entry(name.join(" ")).or_default().insert(features.to_owned());
    }
    built
}

/// Else cargo compiles such a crate once for each, and all that use it: a build of both takes twice as long.
#[test]
fn the_program_and_its_agent_are_built_of_the_same_crates_with_the_same_features() {
    // What runs in them must be alike. Of what runs while they are built (derive macros, build scripts), the program
    // may have a build more: its own tools ask for it.
    let (in_them, with_builders) = ("normal,no-proc-macro", "normal,build");
    for (edges, more) in [(in_them, false), (with_builders, true)] {
        let (program, agent) = (built_of("tollway", edges), built_of("tollway-agent", edges));
        assert!(agent.len() > 50 && program.len() > agent.len(), "{} and {}", program.len(), agent.len());
        let unlike: Vec<String> = agent
            .iter()
            .filter_map(|(name, agent)| {
                let program = program.get(name)?;
                let alike = if more { agent.is_subset(program) } else { agent == program };
                (!alike).then(|| format!("{name}: the program {program:?}, the agent {agent:?}"))
            })
            .collect();
        assert!(
            unlike.is_empty(),
            "features of one of them alone ({edges}); ask for them in [workspace.dependencies]:\n{}",
            unlike.join("\n")
        );
    }
}
