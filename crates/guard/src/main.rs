//! Counts instructions of what `benches/instructions.rs` names, and holds them against their limits. cargo
//! builds it with the benches, which find it by its name and say on its standard input what there is.
//!
//! It is as much of gungraun's own runner as is wanted here: that one has 170 crates, and takes a minute
//! and a half of a processor to build. Both count the same.

use std::error::Error;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;

use gungraun::bincode;
use gungraun_runner::api::{
    BenchRunMode, CallgrindMetrics, EventKind, LibraryBenchmarkConfig, LibraryBenchmarkGroups, Limit,
    ToolRegressionConfig,
};

type Fallible<T> = Result<T, Box<dyn Error>>;

/// The functions that gungraun's macro puts around what is measured, and around nothing else.
const MEASURED: &str = "*::__gungraun_wrapper_mod::*";

/// What gungraun's `main!` gives to its runner, in this order; before it comes how many bytes it writes.
const PROGRAM: usize = 9;

/// One count.
struct Bench {
    name: String,
    /// Which group, function and case.
    at: [usize; 3],
    limit: Option<u64>,
}

fn main() -> ExitCode {
    match run() {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether all are within their limits.
fn run() -> Fallible<bool> {
    let program = std::env::args_os().nth(PROGRAM).map(PathBuf::from);
    let program = program.ok_or("this is what `make guard` starts, not you")?;
    let mut encoded = Vec::new();
    std::io::stdin().read_to_end(&mut encoded)?;
    let (groups, _) = bincode::serde::decode_from_slice(&encoded, bincode::config::legacy())?;
    let benches = benches(&groups)?;
    if benches.is_empty() {
        return Err("there is nothing of that name".into());
    }
    // Beside the folder of the program, so that callgrind_annotate can say where a count comes from.
    let folder = program.ancestors().nth(2).ok_or("a program is in a folder")?.join("callgrind");
    std::fs::create_dir_all(&folder)?;
    let good = count_all(&program, &folder, &benches);
    println!(
        "{good} of {} within their limits; what callgrind wrote is in {}",
        benches.len(),
        folder.display()
    );
    Ok(good == benches.len())
}

/// All, or those whose names have what the command line says after `--`.
fn benches(groups: &LibraryBenchmarkGroups) -> Fallible<Vec<Bench>> {
    let words: Vec<&String> = groups.command_line_args.iter().filter(|word| !word.starts_with('-')).collect();
    let mut benches = Vec::new();
    for (group, of_group) in groups.groups.iter().enumerate() {
        for (function, of_function) in of_group.library_benchmarks.iter().enumerate() {
            let for_all = of_function.config.as_ref().map_or(Ok(None), limit)?;
            for (case, bench) in of_function.benches.iter().enumerate() {
                let limit = bench.config.as_ref().map_or(Ok(None), limit)?.or(for_all);
                let id = bench.id.as_deref().unwrap_or_default();
                let name = format!("{}::{}::{id}", of_group.id, bench.function_name);
                if words.is_empty() || words.iter().any(|word| name.contains(*word)) {
                    benches.push(Bench { name, at: [group, function, case], limit });
                }
            }
        }
    }
    Ok(benches)
}

/// The limit of instructions; any other would not be held.
fn limit(config: &LibraryBenchmarkConfig) -> Fallible<Option<u64>> {
    let mut found = None;
    for tool in &config.tool_specs.0 {
        let Some(ToolRegressionConfig::Callgrind(limits)) = &tool.regression_config else { continue };
        for limit in &limits.hard_limits {
            let (CallgrindMetrics::SingleEvent(EventKind::Ir), Limit::Int(limit)) = limit else {
                return Err(format!("a limit that is not of instructions: {limit:?}").into());
            };
            found = Some(*limit);
        }
    }
    Ok(found)
}

/// How many are within their limits; as many are counted at once as there are processors.
fn count_all(program: &Path, folder: &Path, benches: &[Bench]) -> usize {
    let (next, good) = (AtomicUsize::new(0), Mutex::new(0));
    let threads = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(bench) = benches.get(next.fetch_add(1, Relaxed)) {
                    let counted = count(program, folder, bench);
                    let mut good = good.lock().unwrap_or_else(PoisonError::into_inner);
                    *good += usize::from(tell(bench, counted));
                }
            });
        }
    });
    good.into_inner().unwrap_or_else(PoisonError::into_inner)
}

/// Says what was counted, and whether that is within the limit.
fn tell(bench: &Bench, counted: Fallible<u64>) -> bool {
    let Bench { name, limit, .. } = bench;
    match (counted, *limit) {
        (Ok(count), None) => println!("{name:67} {count:>11}"),
        (Ok(count), Some(limit)) if count <= limit => println!("{name:67} {count:>11} of {limit}"),
        (Ok(count), Some(limit)) => {
            let more = 100.0 * (count as f64 / limit as f64 - 1.0);
            println!("{name:67} {count:>11} of {limit}: {more:.1} % TOO MANY");
            return false;
        }
        (Err(error), _) => {
            println!("{name:67} FAILED: {error}");
            return false;
        }
    }
    true
}

/// Instructions of one run under callgrind. Which caches there are is of no account, so none are simulated.
fn count(program: &Path, folder: &Path, bench: &Bench) -> Fallible<u64> {
    let file = folder.join(format!("{}.out", bench.name.replace("::", ".")));
    let mut callgrind = Command::new("valgrind");
    // As nobody's environment is: how much there is of it moves the stack.
    callgrind.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    callgrind.args(["--tool=callgrind", "--cache-sim=no", "--vgdb=no", "--compress-strings=no"]);
    callgrind.arg(format!("--toggle-collect={MEASURED}"));
    callgrind.arg(format!("--callgrind-out-file={}", file.display()));
    callgrind.arg(program).args(["--gungraun-run", &BenchRunMode::Default.id()]);
    callgrind.args(bench.at.map(|index| format!("{index:05}")));
    let output = callgrind.output().map_err(|error| format!("valgrind: {error}"))?;
    if !output.status.success() {
        return Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)).into());
    }
    let written = std::fs::read_to_string(&file)?;
    let total = written.lines().find_map(|line| line.strip_prefix("totals:"));
    match total.ok_or("callgrind wrote no total")?.trim().parse()? {
        0 => Err("nothing was counted".into()),
        count => Ok(count),
    }
}
