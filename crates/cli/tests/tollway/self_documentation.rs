//! What the program says of itself: help texts and lists as they were read over last, completions that complete, man
//! pages that render. `INSTA_UPDATE=always` takes the texts over as they are now.

use std::fs;
use std::process::Command;

use crate::program::{Bench, SHORT};

const VERBS: &[&str] = &[
    "run",
    "measure",
    "bill",
    "reproduce",
    "capture",
    "entropy",
    "cipher",
    "ipc",
    "machine",
    "compare",
    "report",
    "export",
    "history",
    "model",
    "simulate",
    "plan",
    "fit",
    "list",
    "doctor",
    "generate",
];

/// The text with every figure in it made the same: how many variants there are is not what is pinned.
fn without_figures(text: &str) -> String {
    text.split_inclusive(char::is_whitespace)
        .map(|word| {
            let bare = word.trim_end();
            let is_figure = !bare.is_empty() && bare.bytes().all(|b| b.is_ascii_digit());
            if is_figure { word.replace(bare, "#") } else { word.into() }
        })
        .collect()
}

#[test]
fn help_texts_are_as_they_were_read_over() {
    let bench = Bench::with(SHORT);
    insta::assert_snapshot!("help", bench.ends(&["--help"], 0).0);
    for verb in VERBS {
        insta::assert_snapshot!(format!("help-{verb}"), bench.ends(&[verb, "--help"], 0).0);
    }
    for command in ["generate", "advise", "profile"] {
        let (help, _) = bench.ends(&["capture", command, "--help"], 0);
        insta::assert_snapshot!(format!("help-capture-{command}"), help);
    }
    for command in ["serve", "status", "devices", "bench", "predict", "plan"] {
        let (help, _) = bench.ends(&["cipher", command, "--help"], 0);
        insta::assert_snapshot!(format!("help-cipher-{command}"), help);
    }
    for command in ["speed", "test", "feed", "serve", "status"] {
        let (help, _) = bench.ends(&["entropy", command, "--help"], 0);
        insta::assert_snapshot!(format!("help-entropy-{command}"), help);
    }
    for command in ["ping-pong", "alloc-server", "tcp-server", "advise"] {
        let (help, _) = bench.ends(&["ipc", command, "--help"], 0);
        insta::assert_snapshot!(format!("help-ipc-{command}"), help);
    }
    for command in ["suite", "modes"] {
        let (help, _) = bench.ends(&["machine", command, "--help"], 0);
        insta::assert_snapshot!(format!("help-machine-{command}"), help);
    }
    for generated in ["completions", "man", "models", "schema"] {
        let (help, _) = bench.ends(&["generate", generated, "--help"], 0);
        insta::assert_snapshot!(format!("help-generate-{generated}"), help);
    }
    assert_eq!(bench.ends(&["--version"], 0).0.trim(), concat!("tollway ", env!("CARGO_PKG_VERSION")));
}

#[test]
fn every_verb_is_in_the_help_and_the_agent_is_not() {
    let (help, _) = Bench::with(SHORT).ends(&["--help"], 0);
    let verbs: Vec<&str> = help
        .lines()
        .skip_while(|line| *line != "Commands:")
        .skip(1)
        .take_while(|line| !line.is_empty())
        // A text that does not fit goes on in a line that is indented further.
        .filter_map(|line| line.strip_prefix("  ").filter(|line| !line.starts_with(' ')))
        .filter_map(|line| line.split_whitespace().next())
        .filter(|verb| *verb != "help")
        .collect();
    assert_eq!(verbs, VERBS);
}

/// It said 45 and 117 long after there were more.
#[test]
fn the_readme_counts_the_variants_and_points_of_crossings_as_the_program_does() {
    let bench = Bench::with(SHORT);
    let json = |arguments: &[&str]| -> serde_json::Value {
        serde_json::from_str(&bench.ends(arguments, 0).0).unwrap()
    };
    let count = |document: serde_json::Value, of: &str| document[of].as_array().unwrap().len();
    let variants = count(json(&["list", "crossings", "--json"]), "variants");
    let points = count(json(&["measure", "crossings", "--dry-run", "--json"]), "points");
    let says = format!("| {variants} variants, {points} points in the quick preset");
    let readme = include_str!("../../../../README.md");
    assert!(readme.contains(&says), "README.md, \"Paths\", is to say: {says}");
}

#[test]
fn lists_are_as_they_were_read_over() {
    let bench = Bench::with(SHORT);
    insta::assert_snapshot!("list", without_figures(&bench.ends(&["list"], 0).0));
    insta::assert_snapshot!("list-null", bench.ends(&["list", "null"], 0).0);
}

#[test]
fn completions_complete() {
    let bench = Bench::with(SHORT);
    for (shell, check) in [("bash", "bash -n"), ("zsh", "zsh -n"), ("fish", "fish --no-execute")] {
        let (whole, _) = bench.ends(&["generate", "completions", shell], 0);
        assert!(VERBS.iter().all(|verb| whole.contains(verb)), "{shell}");
        // Its own description of a hidden verb, or its name among the verbs; an option's help may speak of it.
        let script = whole.replace("the agent is copied", "");
        assert!(
            !script.contains("Play actors") && !script.contains(" agent"),
            "{shell} completes a hidden verb"
        );
        let file = bench.file(shell);
        fs::write(&file, whole).unwrap();
        match Command::new("sh").args(["-c", &format!("{check} \"$0\"")]).arg(&file).output() {
            Ok(output) if output.status.code() == Some(127) => println!("skipped: no {shell} here"),
            Ok(output) => assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr)),
            Err(error) => panic!("{error}"),
        }
    }
    let ask = "source ./bash; COMP_WORDS=(tollway meas); COMP_CWORD=1; _tollway tollway meas tollway; \
               echo \"${COMPREPLY[@]}\"";
    let answer = Command::new("bash").args(["-c", ask]).current_dir(bench.path()).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&answer.stdout).trim(), "measure", "{answer:?}");
}

#[test]
fn man_pages_render() {
    let bench = Bench::with(SHORT);
    bench.ends(&["generate", "man", "made/pages"], 0);
    let mut pages: Vec<_> =
        fs::read_dir(bench.file("made/pages")).unwrap().map(|e| e.unwrap().path()).collect();
    pages.sort();
    // One of the program, one for each verb, three below capture, five below entropy, six below cipher, four below ipc, two below machine, four below generate.
    assert_eq!(pages.len(), 1 + VERBS.len() + 3 + 5 + 6 + 4 + 2 + 4, "{pages:?}");
    for page in &pages {
        let text = fs::read_to_string(page).unwrap();
        let name = page.file_stem().unwrap().to_string_lossy();
        assert!(text.contains(&format!(".TH {name} 1")), "{text}");
        match Command::new("groff").args(["-Kutf8", "-man", "-ww", "-Tutf8"]).arg(page).output() {
            Ok(output) => {
                let complaint = String::from_utf8_lossy(&output.stderr).into_owned();
                assert!(output.status.success() && complaint.is_empty(), "{name}: {complaint}");
            }
            Err(_) => println!("skipped: {name} is not rendered → install groff"),
        }
    }
    let options = fs::read_to_string(bench.file("made/pages/tollway-compare.1")).unwrap();
    assert!(options.contains("threshold"), "{options}");
}
