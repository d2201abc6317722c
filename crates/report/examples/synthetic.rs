//! Writes the page of a made-up run, to be looked at: `cargo run -p tollway-report --example synthetic > page.html`; with
//! the argument `guests` that of a run in this machine and in guests, with `terminal` behind it as text.

#[path = "../tests/reports/synthetic/mod.rs"]
mod synthetic;

use tollway_report::RunReport;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut made = synthetic::Made::new();
    let words: Vec<String> = std::env::args().skip(1).collect();
    let run = match words.first().map(String::as_str) {
        Some("guests") => synthetic::guests::host_and_guests(&mut made.store),
        _ => synthetic::price_list(&mut made.store),
    };
    let report = RunReport::from_store(&made.store, run)?;
    match words.get(1).map(String::as_str) {
        Some("terminal") => print!("{}", report.terminal(words.get(2).and_then(|w| w.parse().ok()))),
        _ => print!("{}", report.html()?),
    }
    Ok(())
}
