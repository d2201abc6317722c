//! How many customers a second? `cargo run --release --example speed -- CUSTOMERS STATIONS [events|lindley]`

use std::time::Instant;

use tollway_model::spec::Spec;
use tollway_sim::{Options, simulate};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let customers: u64 = arguments.first().and_then(|a| a.parse().ok()).unwrap_or(20_000_000);
    let stations: usize = arguments.get(1).and_then(|a| a.parse().ok()).unwrap_or(1);
    let lindley = arguments.get(2).is_some_and(|a| a == "lindley");
    let mut text = format!("[stop]\ncustomers = {customers}\nreplications = 1\n");
    for i in 0..stations {
        text +=
            &format!("[[source]]\nname = \"s{i}\"\ninterarrival = \"exponential(125us)\"\nto = \"d{i}\"\n");
        text += &format!("[[station]]\nname = \"d{i}\"\nservice = \"exponential(100us)\"\n");
    }
    let spec = Spec::from_toml(&text).expect("a sound specification");
    let began = Instant::now();
    let outcome =
        simulate(&spec, &Options { threads: 1, lindley, ..Options::default() }).expect("an outcome");
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "{:?} {:.2} million customers/s, {} events, wait {:?}",
        outcome.engine,
        customers as f64 / seconds / 1e6,
        outcome.events,
        outcome.get("wait.mean")
    );
}
