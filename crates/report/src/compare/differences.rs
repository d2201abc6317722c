//! In what two machines differ, field by field of their fingerprints.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::document::Difference;

/// The fields that differ, by name.
pub(super) fn between(a: &Value, b: &Value) -> Vec<Difference> {
    let (a, b) = (leaves(a), leaves(b));
    let fields: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    let at =
        |leaves: &BTreeMap<String, Value>, field: &String| leaves.get(field).cloned().unwrap_or(Value::Null);
    fields
        .into_iter()
        .map(|field| Difference { field: field.clone(), a: at(&a, field), b: at(&b, field) })
        .filter(|d| !passing(&d.field) && !alike(&d.a, &d.b))
        .collect()
}

/// What differs from one moment to the next on one machine.
fn passing(field: &str) -> bool {
    ["load", "steadiness"]
        .iter()
        .any(|of| field.strip_prefix(of).is_some_and(|more| more.is_empty() || more.starts_with('.')))
}

/// A measured rate is the same within a thousandth: no two calibrations agree to the last digit.
fn alike(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => {
            (a - b).abs() <= 1e-3 * a.abs().max(b.abs()) && (a.fract() != 0.0 || b.fract() != 0.0 || a == b)
        }
        _ => a == b,
    }
}

/// Every value that contains no other, under its dotted name.
pub(crate) fn leaves(value: &Value) -> BTreeMap<String, Value> {
    fn walk(name: String, value: &Value, out: &mut BTreeMap<String, Value>) {
        let below = |part: &str| if name.is_empty() { part.to_string() } else { format!("{name}.{part}") };
        match value {
            Value::Object(fields) => fields.iter().for_each(|(k, v)| walk(below(k), v, out)),
            Value::Array(items) if items.iter().any(|i| i.is_object() || i.is_array()) => {
                items.iter().enumerate().for_each(|(i, v)| walk(below(&i.to_string()), v, out));
            }
            other => {
                out.insert(name, other.clone());
            }
        }
    }
    let mut out = BTreeMap::new();
    walk(String::new(), value, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_what_differs_is_told() {
        let a = json!({"cpu": {"model": "x", "cores": 2}, "kernel": "6.18", "flags": ["a", "b"],
            "load": [0.1, 0.2], "steadiness": {"seconds": 0.3}});
        let b = json!({"cpu": {"model": "x", "cores": 4}, "kernel": "6.18", "flags": ["a"]});
        let found: Vec<String> = between(&a, &b).into_iter().map(|d| d.field).collect();
        assert_eq!(found, ["cpu.cores", "flags"]);
    }
}
