//! The options of `tollway fit`.

use std::path::PathBuf;

use clap::Args;

/// `tollway fit`.
#[derive(Debug, Args)]
#[command(
    after_help = "A trace is CSV with a header: columns arrival, start, end, delivered, gap, service, wait, response, \
                  class, as many as there are; seconds, or a unit in the name, as in arrival_us, or dates with a time of \
                  day. A web server's end and response will do, and so will plain numbers, one a line. Exit code 3: --model is rejected, or what --against predicts does not hold."
)]
pub struct Fit {
    /// The trace; `-` reads standard input.
    #[arg(value_name = "TRACE", required_unless_present = "arrivals")]
    pub trace: Option<PathBuf>,

    /// What the columns are, with , between them (arrival_us,end_us), where the file does not say.
    #[arg(long, value_name = "NAMES", requires = "trace")]
    pub columns: Option<String>,

    /// Servers side by side [default: as many as were seen at work at one time, else one].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub servers: Option<u32>,

    /// End with exit code 3 if this model is rejected.
    #[arg(long, value_name = "NAME", requires = "trace")]
    pub model: Option<String>,

    /// Hold a prediction against the trace: what `tollway model … --json` wrote before the trace was made; `-` reads it
    /// from standard input. Exit code 3 if a figure does not hold.
    #[arg(long, value_name = "FILE", requires = "trace")]
    pub against: Option<PathBuf>,

    /// How far off a prediction may be, in per cent of what was measured.
    #[arg(long, value_name = "PER CENT", default_value_t = 10.0, requires = "against", value_parser = tolerance)]
    pub tolerance: f64,

    /// Seed of all random numbers.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Instead of a trace, counters: so many customers came …
    #[arg(long, value_name = "N", conflicts_with = "trace", requires = "seconds")]
    pub arrivals: Option<u64>,

    /// … in so many seconds …
    #[arg(long, value_name = "SECONDS", requires = "arrivals")]
    pub seconds: Option<f64>,

    /// … in which all servers together were busy for so many …
    #[arg(long, value_name = "SECONDS", requires = "arrivals")]
    pub busy: Option<f64>,

    /// … and served so many [default: all that came].
    #[arg(long, value_name = "N", requires = "busy")]
    pub served: Option<u64>,
}

fn tolerance(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..=100.0).contains(&share) => Ok(share),
        _ => Err("give a number from 0 to 100".into()),
    }
}
