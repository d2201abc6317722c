//! The machine in a line, as far as its fingerprint tells: a fingerprint is data of another crate, and older stores hold
//! older ones, so that everything in it may be absent.

use serde_json::Value;

use crate::document::RunDocument;
use crate::number::plain;

/// What a person asks first of a machine, in short parts.
pub(crate) fn summary(document: &RunDocument) -> Vec<String> {
    let fingerprint = &document.machine.fingerprint;
    let text = |field: &str| fingerprint.get(field).and_then(Value::as_str).map(String::from);
    let count = |field: &str| fingerprint.get(field).and_then(Value::as_u64);
    let parts = [
        text("cpu_model").map(|model| model.split_whitespace().collect::<Vec<_>>().join(" ")),
        count("cpus_online").map(|n| if n == 1 { "1 processor".into() } else { format!("{n} processors") }),
        count("memory").map(|bytes| format!("{} GiB", plain(bytes as f64 / f64::from(1 << 30)))),
        guest(fingerprint),
        text("kernel_release").map(|release| format!("Linux {release}")),
        Some(format!("clock {} GHz", plain(document.run.hz / 1e9))),
    ];
    parts.into_iter().flatten().collect()
}

/// How steady it was before the run: all in a line, and what was not steady, each with its remedy. `None` where nobody looked.
pub(crate) fn steadiness(document: &RunDocument) -> Option<(String, Vec<(String, String)>)> {
    let found = document.machine.fingerprint.get("steadiness")?;
    let text = |of: &Value, field: &str| of.get(field).and_then(Value::as_str).map(String::from);
    let findings = found.get("findings").and_then(Value::as_array).into_iter().flatten();
    let each = findings.filter_map(|finding| Some((text(finding, "what")?, text(finding, "remedy")?)));
    Some((text(found, "summary")?, each.collect()))
}

fn guest(fingerprint: &Value) -> Option<String> {
    match fingerprint.get("virtualisation")? {
        Value::String(word) if word == "none" => Some("no hypervisor".into()),
        Value::String(word) if word == "kvm" => Some("guest of KVM".into()),
        Value::Object(other) => Some(format!("guest of {}", other.get("other")?.as_str()?)),
        _ => None,
    }
}
