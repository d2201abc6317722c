//! The options of the calculator's verbs.

use std::path::PathBuf;

use clap::Args;

/// `tollway model`.
#[derive(Debug, Args)]
#[command(
    after_help = "Quantities are written like 1000/s, 10k/s, 3us, 1.5ms, 80 %, and distributions like \
                        'exponential(3us)', 'constant(3us)', 'erlang(4, 3us)', 'lognormal(3us, 2)'. MODELS.md has every \
                        model with formula, assumptions and source."
)]
pub struct Model {
    /// The model; without one, all are listed.
    #[arg(value_name = "NAME")]
    pub name: Option<String>,

    /// What it is asked with, as KEY=VALUE; without any, its card is shown: formula, assumptions, source, parameters.
    #[arg(value_name = "KEY=VALUE")]
    pub parameters: Vec<String>,

    /// Ask at many values: KEY=FROM..TO:STEP, KEY=FROM..TO:xFACTOR (1..16:x2), or KEY=A,B,C. Given again, all
    /// combinations.
    #[arg(long, value_name = "KEY=VALUES", requires = "name")]
    pub sweep: Vec<String>,

    /// Only these figures; names with , between them.
    #[arg(long, value_name = "NAMES", value_delimiter = ',', requires = "name")]
    pub figure: Vec<String>,

    /// Draw the figures over the first --sweep into FILE (SVG); a further --sweep makes a line each.
    #[arg(long, value_name = "FILE", requires = "sweep")]
    pub plot: Option<PathBuf>,

    /// Also write the figures to FILE; its ending says how: .json, .csv or .md.
    #[arg(long, value_name = "FILE", requires = "name")]
    pub export: Option<PathBuf>,
}
