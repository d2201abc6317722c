//! What became of the rows of a run, read from its document.

use std::collections::BTreeMap;
use std::process::Output;

use super::checked;

/// What became of a row.
#[derive(Clone, Debug)]
pub struct Row {
    /// Its trials that are kept.
    pub trials: u64,
    /// Why it failed, or was skipped; `None` where all went well.
    pub gone: Option<String>,
    pub state: String,
}

/// The rows of a document on standard output, by title; the run must have ended with this exit code.
pub fn rows(output: &Output, code: i32) -> BTreeMap<String, Row> {
    let (out, err) = checked(output, code);
    let document: serde_json::Value =
        serde_json::from_str(&out).unwrap_or_else(|e| panic!("{e}: {out}\n{err}"));
    let row = |point: &serde_json::Value| {
        let error = point["error"].as_str().map(String::from);
        let skipped = || (!point["skipped"].is_null()).then(|| point["skipped"].to_string());
        Row {
            trials: point["trials"].as_u64().unwrap(),
            gone: error.or_else(skipped),
            state: point["state"].as_str().unwrap().into(),
        }
    };
    let points = document["points"].as_array().unwrap();
    points.iter().map(|point| (point["title"].as_str().unwrap().to_string(), row(point))).collect()
}

/// Rows whose title has this word in it all failed, for a reason that has one of these words; all others have so many trials.
pub fn only_fails(rows: &BTreeMap<String, Row>, word: &str, reasons: &[&str], trials: u64) {
    let mut failed = 0;
    for (title, row) in rows {
        if title.contains(word) {
            failed += 1;
            let told = row.gone.as_deref().unwrap_or_default();
            assert_eq!(row.state, "failed", "{title}: {row:?}");
            assert!(reasons.iter().any(|reason| told.contains(reason)), "{title}: {row:?}");
        } else {
            assert!(row.state == "done" && row.trials == trials, "{title}: {row:?}");
        }
    }
    assert!(failed > 0 && failed < rows.len(), "{word}: {rows:?}");
}
