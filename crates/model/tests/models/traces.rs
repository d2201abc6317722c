//! Traces that no clock writes, and what a fuzzer found worth keeping (`fuzz/seeds/trace`; `make soak fuzz TARGET=trace` goes on
//! for longer).

mod harness;

use std::fs;
use std::path::Path;

use proptest::prelude::*;

#[test]
fn what_was_kept() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds/trace");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    let answered = files.iter().filter(|file| harness::fits(&fs::read(file).unwrap())).count();
    assert!(answered >= 5, "{answered} of {}", files.len());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        harness::fits(&bytes);
    }

    #[test]
    fn any_lines(lines in prop::collection::vec("(arrival|start_ns|end_us|class|gap|service|bytes)?[-+.0-9e,;# \"\t]{0,14}", 0..12)) {
        harness::fits(lines.join("\n").as_bytes());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn times_of_any_size(
        columns in prop::sample::select(vec!["gap,service", "gap_ns,service_us,response_ms", "arrival,response", "service", "gap,class"]),
        powers in prop::collection::vec(-20.0..14.0_f64, 80),
    ) {
        let width = columns.split(',').count();
        let rows = powers.chunks_exact(width).map(|row| {
            row.iter().map(|p| format!("{:e}", 10_f64.powf(*p))).collect::<Vec<_>>().join(",")
        });
        let text = [columns.to_owned()].into_iter().chain(rows).collect::<Vec<_>>().join("\n");
        harness::fits(text.as_bytes());
    }

    #[test]
    fn few_different_times(values in prop::collection::vec(0..4_u8, 30..120), columns in prop::sample::select(vec!["gap_us", "service_ms", "arrival", "response", "delivered_us"])) {
        let text = values.iter().fold(columns.to_owned(), |text, v| format!("{text}\n{v}"));
        harness::fits(text.as_bytes());
    }
}
