//! The bars of `tollway bill -- COMMAND`: how far counts from slices are off, what counting costs the program, what the tolls explain, and whether what-ifs come true. One table; exit code 1 where a bar fails.
//!
//!     make soak bills                       # all of it
//!     make soak bills BARS=explained        # a part: overhead, explained, everyday, tried, changes, slices

mod changes;
mod everyday;
mod explained;
mod overhead;
mod program;
mod slices;
mod tried;

use std::env;
use std::process::ExitCode;

/// A line of the table: what was held against which bar, what came of it, and whether it keeps to it; `None` where this machine cannot tell.
pub struct Line {
    what: String,
    found: String,
    bar: String,
    holds: Option<bool>,
}

/// A part of the bars.
type Part = fn(&program::Bench) -> Vec<Line>;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    let [tollway, examples, parts @ ..] = &arguments[..] else {
        eprintln!(
            "bills TOLLWAY EXAMPLES [overhead|explained|everyday|tried|changes|slices]…: the program, and the folder of its examples"
        );
        return ExitCode::from(2);
    };
    let bench = program::Bench::new(tollway, examples);
    let mut lines = Vec::new();
    let parts_of: [(&str, Part); 6] = [
        ("changes", changes::lines),
        ("explained", explained::lines),
        ("everyday", everyday::lines),
        ("tried", tried::lines),
        ("overhead", overhead::lines),
        ("slices", slices::lines),
    ];
    for (name, part) in parts_of {
        if parts.is_empty() || parts.iter().any(|asked| asked == name) {
            lines.extend(part(&bench));
        }
    }
    for line in &lines {
        let said = match line.holds {
            Some(true) => "holds",
            Some(false) => "FAILS",
            None => "cannot tell",
        };
        println!("{:44} {:44} {:28} {said}", line.what, line.found, line.bar);
    }
    if lines.iter().any(|line| line.holds == Some(false)) { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
