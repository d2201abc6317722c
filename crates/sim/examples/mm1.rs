//! How fast? M/M/1 at a load of 0.8, as often as there are stations; the seconds it took, and the mean time in the system in
//! services, which is 5 in the long run: `cargo run --release --example mm1 -- CUSTOMERS events|lindley [STATIONS [THREADS]]`.

use std::time::Instant;

use tollway_model::spec::Spec;
use tollway_sim::{Options, simulate};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |i: usize, default| arguments.get(i).map_or(default, |a| a.parse().expect("a whole number"));
    let (customers, stations, threads) = (number(0, 20_000_000), number(2, 1), number(3, 1));
    let lindley = arguments.get(1).is_some_and(|a| a == "lindley");
    // On several threads as many as `simulate` makes by itself: whoever is done first takes what the other left.
    let replications = if threads == 1 { 1 } else { 4 * threads };
    let mut text =
        format!("[stop]\ncustomers = {}\nreplications = {replications}\n", customers / replications);
    for i in 0..stations {
        text +=
            &format!("[[source]]\nname = \"s{i}\"\ninterarrival = \"exponential(1.25)\"\nto = \"d{i}\"\n");
        text += &format!("[[station]]\nname = \"d{i}\"\nservice = \"exponential(1)\"\n");
    }
    let spec = Spec::from_toml(&text).expect("a sound specification");
    let options = Options { threads: threads as usize, lindley, ..Options::default() };
    let begun = Instant::now();
    let outcome = simulate(&spec, &options).expect("an outcome");
    let seconds = begun.elapsed().as_secs_f64();
    println!("{seconds} {}", outcome.get("response.mean").expect("a figure").value);
}
