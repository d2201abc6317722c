//! The command line: verbs, options, and the words that a person reads about them.

mod bill;
mod calculator;
mod fit;
mod plan;
mod reproduce;

use std::path::PathBuf;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use tollway_capture_tool::args::Capture;
use tollway_cipher_tool::args::Cipher;
use tollway_entropy_tool::args::Entropy;
use tollway_ipc_tool::args::Ipc;
use tollway_machine_tool::args::Machine;
use tollway_program_tool::command::is_program;
use tollway_tenant::ssh::Address;

pub use bill::Bill;
pub use calculator::{Model, Simulate};
pub use fit::Fit;
pub use plan::Plan;
pub use reproduce::Reproduce;

/// Measures what every crossing between a program and the machine costs.
#[derive(Debug, Parser)]
#[command(
    name = "tollway",
    version,
    about,
    long_about = "Measures what every crossing between a program and the machine costs (system calls, wake-ups, VM \
                  exits, copies, entropy draws), with intervals, and keeps the figures to compare.",
    after_help = "Exit codes: 0 ok · 1 error · 2 usage · 3 a check failed · 4 a requirement is missing (--strict) · \
                  130 interrupted, with what was measured kept. Of `bill -- COMMAND` the program's own, 128 and the number \
                  of a signal that ended it; 127 there is no such program · 126 it cannot be executed · 125 an error",
    max_term_width = 110
)]
pub struct Arguments {
    /// The file that keeps all runs.
    #[arg(long, global = true, value_name = "FILE", default_value = "tollway.db", env = "TOLLWAY_STORE")]
    pub store: PathBuf,

    /// Print one JSON document on standard output instead of text.
    #[arg(long, global = true)]
    pub json: bool,

    /// What to do.
    #[command(subcommand)]
    pub verb: Verb,
}

impl Arguments {
    /// Those of this process.
    ///
    /// # Errors
    /// What is no command line of this program.
    pub fn read() -> Result<Arguments, clap::Error> {
        let mut command = Arguments::command();
        let matches = command.try_get_matches_from_mut(std::env::args_os()).map_err(with_dashes)?;
        if let Some(("capture", capture)) = matches.subcommand()
            && let Some((word, _)) = capture.subcommand()
            && is_capturing(capture)
        {
            let text = format!(
                "`{word}` is a command of its own, and what stands before it is for capturing; write `tollway capture \
                 {word}` with its own options behind it, or, if `{word}` is a word of the filter, `--` before the filter"
            );
            return Err(command.error(ErrorKind::ArgumentConflict, text));
        }
        Arguments::from_arg_matches(&matches)
    }

    /// The exit code of a command line that is none: of `entropy test` that of rngtest, in whose place it is.
    pub fn usage_code() -> u8 {
        let mut words = std::env::args_os().skip(1).filter(|word| !word.as_encoded_bytes().starts_with(b"-"));
        let is_rngtest =
            words.any(|word| word == "entropy") && words.next().is_some_and(|word| word == "test");
        if is_rngtest { tollway_entropy_tool::test::USAGE } else { 2 }
    }
}

/// Says of a command line of `bill` that could not be read how a program is billed, if it names one.
fn with_dashes(mut error: clap::Error) -> clap::Error {
    let words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let behind = words.iter().position(|word| word == "bill").map_or(&[][..], |bill| &words[bill + 1..]);
    let program = behind.iter().position(|word| is_program(word));
    if let Some(program) = program.filter(|_| !behind.iter().any(|word| word == "--")) {
        let (options, command) = (behind[..program].join(" "), behind[program..].join(" "));
        let options = if options.is_empty() { options } else { options + " " };
        let tip = format!("`tollway bill {options}-- {command}` bills the program {}", behind[program]);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    error
}

/// Whether anything was given that is neither for every verb nor a default.
fn is_capturing(capture: &ArgMatches) -> bool {
    let global = ["store", "json"];
    capture.ids().any(|id| {
        !global.contains(&id.as_str()) && capture.value_source(id.as_str()) == Some(ValueSource::CommandLine)
    })
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Verb {
    /// The main job: doctor, measure, predict, report. Writes report.html.
    Run(Run),
    /// Measure presets of a path, or your own.
    Measure(Measure),
    /// What a program, or an operation of a path, pays crossing by crossing.
    Bill(Bill),
    /// What has become of published claims: runs what tests them, writes REPRODUCTION.md.
    Reproduce(Reproduce),
    /// Capture packets: from an interface or a file, filtered, into a file or on the terminal.
    Capture(Box<Capture>),
    /// Random number generators: how fast, how good, shared out fairly.
    Entropy(Box<Entropy>),
    /// Crypto devices: one in software for many virtual machines, fair to all.
    Cipher(Box<Cipher>),
    /// Requests to another process: synchronous or asynchronous, measured and advised.
    Ipc(Box<Ipc>),
    /// A machine judged part by part, and two modes of running it side by side.
    Machine(Box<Machine>),
    /// Compare two runs of the store, or run two builds or two settings in turns.
    Compare(Compare),
    /// Show a run of the store again: on the terminal, or as a page.
    Report(Report),
    /// Write a run of the store to a file.
    Export(Export),
    /// List the runs of the store, or show how rows went from run to run.
    History(History),
    /// Ask a model: what happens at this load, this many servers, this moderation of interrupts.
    Model(Model),
    /// Simulate a system of queues from a file, beside the formula where there is one.
    Simulate(Simulate),
    /// Find the largest load, number of tenants or interrupt cap that keeps a service level.
    Plan(Plan),
    /// Fit a trace or counters: rates with intervals, which models it rejects, which are left.
    Fit(Fit),
    /// List paths, variants, presets, crossings.
    List(List),
    /// Say what this machine can and cannot do, and what would help.
    Doctor(Doctor),
    /// Write shell completions, man pages or the JSON schema.
    Generate(Generate),
    /// Play actors at the command of another tollway (started by it, not by hand).
    #[command(hide = true)]
    Agent,
}

/// How often and how long.
#[derive(Clone, Debug, Args)]
pub struct Repeats {
    /// Blocks of trials, each with processes of its own [default: the preset's].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub runs: Option<u32>,

    /// Warm-up before each window, in milliseconds [default: the preset's].
    #[arg(long, value_name = "MS", value_parser = milliseconds)]
    pub warmup: Option<f64>,

    /// Seconds that the whole may take; runs and windows are cut to fit.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time: Option<f64>,

    /// Seed of the order of trials and of all resampling.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    pub seed: u64,

    /// Say what would be done, how long it would take, what it needs and what it would write; do nothing.
    #[arg(long)]
    pub dry_run: bool,

    /// Treat a missing requirement as a failure (exit code 4).
    #[arg(long)]
    pub strict: bool,

    /// Also write the figures to FILE; its ending says how: .json, .csv or .md.
    #[arg(long, value_name = "FILE")]
    pub export: Option<PathBuf>,
}

/// `tollway run`.
#[derive(Debug, Args)]
pub struct Run {
    /// Paths to measure [default: all].
    #[arg(value_name = "PATH")]
    pub paths: Vec<String>,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,

    /// Where the page goes.
    #[arg(long, value_name = "FILE", default_value = "report.html")]
    pub html: PathBuf,

    /// Go on with the last run that was interrupted or killed, as it was begun, and show it as the command does that began it.
    #[arg(long, conflicts_with_all = ["paths", "runs", "warmup", "time", "seed", "dry_run"])]
    pub resume: bool,
}

/// `tollway measure`.
#[derive(Debug, Args)]
pub struct Measure {
    /// The path; not needed with --resume or --preset-file.
    #[arg(value_name = "PATH", required_unless_present_any = ["resume", "preset_file"])]
    pub path: Option<String>,

    /// The preset of that path.
    #[arg(long, value_name = "NAME", default_value = "quick")]
    pub preset: String,

    /// A preset of your own (TOML; CONTRIBUTING.md shows one).
    #[arg(long, value_name = "FILE", conflicts_with = "preset")]
    pub preset_file: Option<PathBuf>,

    /// Only points whose crossing or title contains TEXT; may be given again.
    #[arg(long, value_name = "TEXT")]
    pub only: Vec<String>,

    /// On another host, as ssh:user@host:port: the agent is copied there, run, and removed (docs/machine.md).
    #[arg(long, value_name = "HOST")]
    pub on: Option<Address>,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,

    /// Go on with the last run that was interrupted or killed, as it was begun, and show it as the command does that began it.
    #[arg(
        long,
        conflicts_with_all = ["path", "preset", "preset_file", "only", "runs", "warmup", "time", "seed", "dry_run"]
    )]
    pub resume: bool,
}

/// `tollway compare`.
#[derive(Debug, Args)]
pub struct Compare {
    /// The first: a run's number, or with --run a side: `self`, a tollway program, `env:NAME=VALUE`,
    /// `set:/sys/…=VALUE` (put back after each trial; after a kill, by the next run on this store), `plant:10%` (samples
    /// made slower by that share, for proofs), joined by commas.
    #[arg(value_name = "A", required_unless_present = "prove")]
    pub a: Option<String>,

    /// The second.
    #[arg(value_name = "B", required_unless_present = "prove")]
    pub b: Option<String>,

    /// Run A and B now, in turns, instead of reading two runs from the store.
    #[arg(long)]
    pub run: bool,

    /// Show that comparisons can be trusted: run this program against itself, and against itself with a planted
    /// slowdown of 10 %, and count what was found.
    #[arg(long, conflicts_with_all = ["run", "a", "b"])]
    pub prove: bool,

    /// With --run: which points, as `PATH/PRESET`.
    #[arg(long, value_name = "PATH/PRESET", default_value = "crossings/truth")]
    pub preset: String,

    /// Only points whose crossing or title contains TEXT; may be given again.
    #[arg(long, value_name = "TEXT")]
    pub only: Vec<String>,

    /// A change beyond this many per cent for the worse is a failure (exit code 3), and so is nothing to compare.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub threshold: Option<f64>,

    /// What counts as the same, in per cent.
    #[arg(long, value_name = "PERCENT", default_value_t = 5.0, value_parser = percent)]
    pub margin: f64,

    /// How often and how long.
    #[command(flatten)]
    pub repeats: Repeats,
}

/// `tollway report`.
#[derive(Debug, Args)]
pub struct Report {
    /// The run [default: the newest].
    #[arg(value_name = "RUN")]
    pub run: Option<i64>,

    /// Write the page to FILE instead of printing text.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
}

/// `tollway export`.
#[derive(Debug, Args)]
pub struct Export {
    /// The file; its ending says how: .json, .csv or .md.
    #[arg(value_name = "FILE")]
    pub file: PathBuf,

    /// The run [default: the newest].
    #[arg(value_name = "RUN")]
    pub run: Option<i64>,
}

/// `tollway history`.
#[derive(Debug, Args)]
#[command(after_help = "For example:
  tollway history
  tollway history machine
  tollway history 'stream copy' 'disk read 1 MiB'

Without a row the runs are listed. With rows, how the figure of each went from run to run on one machine: unpaired, since runs are \
                  measured at different times.")]
pub struct History {
    /// Rows over time: the name of a path, or words each of which is in path, variant, title or toll of a row.
    #[arg(value_name = "ROW")]
    pub rows: Vec<String>,

    /// Show at most so many runs, the newest.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pub last: usize,
}

/// `tollway list`.
#[derive(Debug, Args)]
pub struct List {
    /// A path, `tolls` for every crossing that has a price, or `claims` for what was published [default: the paths].
    #[arg(value_name = "PATH")]
    pub what: Option<String>,
}

/// `tollway doctor`.
#[derive(Debug, Args)]
pub struct Doctor {
    /// Treat a missing requirement as a failure (exit code 4).
    #[arg(long)]
    pub strict: bool,
    /// Also boot a Linux guest for real, which takes some seconds.
    #[arg(long)]
    pub boot: bool,
}

/// `tollway generate`.
#[derive(Debug, Args)]
pub struct Generate {
    /// What to write.
    #[command(subcommand)]
    pub what: Generated,
}

/// What `tollway generate` writes.
#[derive(Debug, Subcommand)]
pub enum Generated {
    /// Completions for a shell, on standard output.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Man pages, one file a verb, into a folder.
    Man {
        /// The folder; it is made.
        folder: PathBuf,
    },
    /// MODELS.md, on standard output: every model with formula, assumptions, source and an example.
    Models,
    /// The schema of a JSON document, on standard output.
    Schema {
        /// Which document.
        #[arg(value_enum)]
        document: SchemaOf,
    },
}

/// The documents that have a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    /// What `run`, `measure` and `report` print with --json.
    Run,
    /// What `compare` prints with --json.
    Comparison,
    /// What `reproduce` prints with --json.
    Reproduction,
    /// What `history ROW` prints with --json.
    History,
    /// What `model NAME KEY=VALUE …` prints with --json.
    Model,
    /// What `simulate` prints with --json.
    Simulation,
    /// What `plan` prints with --json.
    Plan,
    /// What `fit` prints with --json.
    Fit,
    /// What `capture` prints with --json.
    Capture,
    /// What `capture generate` prints with --json.
    Traffic,
    /// What `capture advise` prints with --json.
    Advice,
    /// What `entropy speed` prints with --json.
    EntropySpeed,
    /// What `entropy test` prints with --json.
    EntropyTest,
    /// What `entropy feed` prints with --json, at SIGUSR1 and at its status socket.
    EntropyFeed,
    /// What the status socket of `entropy serve` answers with.
    EntropyServe,
    /// What `cipher bench` prints with --json.
    CipherBench,
    /// What `cipher devices` prints with --json.
    CipherDevices,
    /// What `cipher plan` prints with --json.
    CipherPlan,
    /// What `cipher predict` prints with --json.
    CipherPredict,
    /// What the status socket of `cipher serve` answers with.
    CipherServe,
    /// What `ipc ping-pong`, `alloc-server` and `tcp-server` print with --json.
    IpcSweep,
    /// What `ipc advise` prints with --json.
    IpcAdvice,
    /// What `machine modes A B` prints with --json.
    MachineModes,
    /// What `bill -- COMMAND` and `bill --pid PID` print with --json.
    ProgramBill,
}

fn milliseconds(text: &str) -> Result<f64, String> {
    between(text, 0.0, 60_000.0)
}

fn seconds(text: &str) -> Result<f64, String> {
    between(text, 0.1, 1e6)
}

fn percent(text: &str) -> Result<f64, String> {
    between(text, 0.01, 1000.0)
}

/// A number within bounds; what is no number, or not a finite one, is outside of all.
fn between(text: &str, least: f64, most: f64) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(format!("give a number from {least} to {most}")),
    }
}
