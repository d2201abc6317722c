//! Bars of the FIPS 140-2 tests: how fast each implementation is on one core, and `tollway entropy test` beside rngtest on
//! the same file, in turns.
//!
//! rngtest is found by the variable `TOLLWAY_RNGTEST`, else in PATH; the row says which version it is. Upstream's (6.10 and
//! later) must count as ours does; older ones, Debian's too, count runs wrongly, so there only the other tests are compared.
//! Their speed is about the same.

use std::ffi::OsString;
use std::fs::{self, File};
use std::process::{Command, Output, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tollway_core::Missing;
use tollway_entropy::engine::fips::{BLOCK_BYTES, Block, Implementation, Tally, Tester};
use tollway_stats::{Interval, paired_ratio};

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::in_turns;

/// Our program.
const TOLLWAY: &str = env!("CARGO_BIN_EXE_tollway");

/// Bytes of the file; rngtest takes about a second for them.
const FILE_BYTES: usize = 4 + 12_000 * BLOCK_BYTES;

/// Blocks that an implementation tests again and again: they stay in a second-level cache.
const BLOCKS: usize = 100;

/// Gigabytes a second that each implementation must have.
const LEAST: [(&str, f64); 3] = [("avx512", 2.0), ("avx2", 1.0), ("portable", 0.5)];

/// Measures those of which one of `only` is in the name, or all.
pub fn measure(rounds: u32, seed: u64, only: &Only) -> Vec<Row> {
    let mut rows = Vec::new();
    for (implementation, least) in LEAST {
        let name = format!("fips: {implementation}, one core");
        if only.wants(&name) {
            let bar = Bar::AtLeast(least, "GB/s");
            rows.push(filled(name, bar, alone(implementation, bar, rounds, seed)));
        }
    }
    let name = "fips: tollway entropy test / rngtest";
    if only.wants(name) {
        let bar = Bar::AtLeast(50.0, "×");
        rows.push(match rngtest() {
            Ok((program, version)) => {
                filled(format!("{name} ({version})"), bar, contest(&program, &version, bar, rounds, seed))
            }
            Err(missing) => filled(name.into(), bar, Ok(skipped(&missing))),
        });
    }
    rows
}

fn filled(name: String, bar: Bar, measured: Result<Row>) -> Row {
    let row = measured
        .unwrap_or_else(|error| Row { verdict: Verdict::Broken(format!("{error:#}")), ..Row::default() });
    Row { name, bar: bar.to_string(), ..row }
}

fn skipped(missing: &Missing) -> Row {
    Row { verdict: Verdict::Skipped(missing.to_string()), ..Row::default() }
}

/// One implementation, in this process.
fn alone(name: &str, bar: Bar, rounds: u32, seed: u64) -> Result<Row> {
    let Some(implementation) = Implementation::named(name) else {
        return Ok(skipped(&Missing::new(name, "this processor has no such vectors", "another processor")));
    };
    let mut blocks: Vec<Block> = vec![[0; BLOCK_BYTES]; BLOCKS];
    let mut rng = StdRng::seed_from_u64(seed);
    blocks.iter_mut().for_each(|block| rng.fill_bytes(block));
    let portable = failures(Implementation::portable(), &blocks);
    let mut rates = Vec::new();
    for _ in 0..rounds {
        let mut round = Vec::new();
        for _ in 0..2 {
            let begun = Instant::now();
            let mut times = 0;
            while times < 10 || begun.elapsed().as_millis() < 20 {
                ensure!(
                    failures(implementation, &blocks) == portable,
                    "{name} counts otherwise than portable"
                );
                times += 1;
            }
            round
                .push(f64::from(times) * (BLOCKS * BLOCK_BYTES) as f64 / begun.elapsed().as_secs_f64() / 1e9);
        }
        rates.push(round);
    }
    let measured = tollway_stats::figure(&rates, CONFIDENCE)?;
    Ok(Row {
        ours: format!("{:.2} GB/s", measured.estimate),
        measured: in_words(&measured),
        verdict: bar.judge(&measured),
        ..Row::default()
    })
}

fn failures(implementation: Implementation, blocks: &[Block]) -> Tally {
    let (mut tester, mut tally) = (Tester::with(implementation, [0; 4]), Tally::default());
    blocks.iter().for_each(|block| tally.add(tester.test(block)));
    tally
}

/// The program and the first line of what it says of itself.
fn rngtest() -> Result<(OsString, String), Missing> {
    let program = std::env::var_os("TOLLWAY_RNGTEST").unwrap_or_else(|| "rngtest".into());
    let told = Command::new(&program).arg("--version").output().ok().filter(|o| o.status.success());
    let version = told.and_then(|o| Some(String::from_utf8_lossy(&o.stdout).lines().next()?.to_string()));
    match version {
        Some(version) => Ok((program, version)),
        None => Err(Missing::new(
            "rngtest",
            "there is no program of that name",
            "build upstream's rng-tools and set TOLLWAY_RNGTEST=PATH/rngtest (Debian's rng-tools5 is as fast, but starts \
             a daemon)",
        )),
    }
}

/// Both programs on one file: bytes a second.
fn contest(rngtest: &OsString, version: &str, bar: Bar, rounds: u32, seed: u64) -> Result<Row> {
    let folder = tempfile::Builder::new().prefix("fips").tempdir_in(env!("CARGO_TARGET_TMPDIR"))?;
    let file = folder.path().join("random");
    let mut rng = StdRng::seed_from_u64(seed);
    let mut random = vec![0; FILE_BYTES];
    rng.fill_bytes(&mut random);
    fs::write(&file, random).with_context(|| format!("writing {}", file.display()))?;
    let run = |ours: bool| -> Result<(f64, Output)> {
        let mut command = if ours { Command::new(TOLLWAY) } else { Command::new(rngtest) };
        if ours {
            command.args(["entropy", "test"]);
        }
        command.stdin(File::open(&file)?).stderr(Stdio::piped());
        let begun = Instant::now();
        let output = command.output()?;
        Ok((FILE_BYTES as f64 / begun.elapsed().as_secs_f64(), output))
    };
    let ((_, ours), (_, theirs)) = (run(true)?, run(false)?);
    let is_right = version.starts_with("rngtest 6");
    let (ours, theirs) = (counts(&ours, is_right), counts(&theirs, is_right));
    ensure!(!ours.is_empty() && ours == theirs, "they count otherwise: {ours:?} and {theirs:?}");
    let pairs = in_turns(rounds, &mut rng, |ours| Ok(run(ours)?.0))?;
    let side = |of: fn(&(f64, f64)) -> f64| -> Result<f64> {
        let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
        Ok(tollway_stats::figure(&blocks, CONFIDENCE)?.estimate)
    };
    let measured = paired_ratio(&pairs)?.interval(CONFIDENCE)?;
    Ok(Row {
        ours: format!("{:.0} MB/s", side(|(_, ours)| *ours)? / 1e6),
        twin: format!("{:.1} MB/s", side(|(twin, _)| *twin)? / 1e6),
        measured: in_words(&measured),
        verdict: bar.judge(&measured),
        ..Row::default()
    })
}

/// The lines with counts; without those that runs are in where one side counts them wrongly.
fn counts(output: &Output, with_runs: bool) -> Vec<String> {
    let said = String::from_utf8_lossy(&output.stderr);
    let with = |line: &&str| {
        line.contains("FIPS 140-2(") && (with_runs || !line.contains(" Runs: "))
            || with_runs && line.contains("FIPS 140-2 ")
    };
    said.lines().filter(with).filter(|line| !line.contains("speed")).map(String::from).collect()
}

fn in_words(measured: &Interval) -> String {
    format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi)
}
