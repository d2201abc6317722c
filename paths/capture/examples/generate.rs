//! How well the generator keeps to a rate, and how fast it goes without one: over a veth pair made for it where nobody
//! listens, or on an interface that is named.
//!
//! ```text
//! cargo run --release -p tollway-capture --example generate -- RATE|full FRAMES [SIZES [INTERFACE]]
//! ```

use std::sync::atomic::AtomicBool;

use tollway_capture::engine::generate::{Flows, Generator, Method, Schedule, Sizes, Traffic};
use tollway_wire::Cable;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let word = |number: usize, otherwise: &str| words.get(number).map_or(otherwise.into(), String::clone);
    let schedule = match word(0, "full").as_str() {
        "full" => Schedule::FullSpeed,
        rate => Schedule::Constant { rate: rate.parse()? },
    };
    let interface = word(3, "");
    let cable;
    if interface.is_empty() {
        cable = Cable::new()?;
        cable.namespace().enter()?;
    }
    let generator = Generator {
        interface: if interface.is_empty() { Cable::LEFT.into() } else { interface },
        traffic: Traffic::Made {
            flows: Flows::web(0.5)?,
            sizes: word(2, "64").parse::<Sizes>()?,
            schedule,
            seed: 1,
        },
        count: Some(word(1, "1000000").parse()?),
        time: None,
        method: Method::default(),
    };
    let report = generator.run(&AtomicBool::new(false))?;
    println!("{report:#?}");
    println!("{:.0} ns of processor time a frame", report.processor.as_nanos() as f64 / report.sent as f64);
    Ok(())
}
