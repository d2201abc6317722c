//! Writes the page of a made-up run, to be looked at: `cargo run -p tollway-report --example synthetic > page.html`.

#[path = "../tests/synthetic/mod.rs"]
mod synthetic;

use tollway_report::RunReport;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut made = synthetic::Made::new();
    let run = synthetic::price_list(&mut made.store);
    print!("{}", RunReport::from_store(&made.store, run)?.html()?);
    Ok(())
}
