//! Whether two runs are of one machine, and what of it changed between them: from fingerprints, in which everything may
//! be absent.

use serde_json::Value;
use tollway_store::Run;

use crate::document::ChangedDocument;

/// What a machine is known by whatever kernel runs on it.
const SAME: [&str; 8] = [
    "cpu_vendor",
    "cpu_model",
    "cpu_family",
    "cpu_model_number",
    "cpu_stepping",
    "virtualisation",
    "hypervisor",
    "cores",
];

/// What is marked where it changed, and what it is called.
const MARKED: [(&str, &str); 8] = [
    ("kernel_release", "kernel"),
    ("microcode", "microcode"),
    ("governor", "governor"),
    ("smt", "SMT"),
    ("huge_pages", "huge pages"),
    ("clocksource", "clock source"),
    ("cpus_online", "processors"),
    ("mitigations", "mitigations"),
];

/// The field that tells two hosts of one kind apart; absent of older runs, and of hosts that have no
/// identity.
const HOST: &str = "host";

/// Whether two fingerprints are of one machine; of two that are alike only where one of them does not say
/// which host it is.
pub(crate) fn same_machine(a: &Value, b: &Value) -> bool {
    let host = |of: &Value| of.get(HOST).filter(|host| !host.is_null()).cloned();
    let other_host = matches!((host(a), host(b)), (Some(a), Some(b)) if a != b);
    !other_host && SAME.iter().all(|field| a.get(field) == b.get(field))
}

/// What of machine and program changed.
pub(super) fn between(before: &Run, after: &Run) -> Vec<ChangedDocument> {
    let mut changed = Vec::new();
    let mut add = |what: &str, from: Option<String>, to: Option<String>| {
        if from != to {
            changed.push(ChangedDocument { what: what.into(), from, to });
        }
    };
    for (field, what) in MARKED {
        let said = |run: &Run| run.spec.fingerprint.get(field).and_then(said);
        add(what, said(before), said(after));
    }
    add("tollway", Some(before.spec.version.clone()), Some(after.spec.version.clone()));
    changed
}

/// A value in a word; of several only how they differ from nothing.
fn said(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}
