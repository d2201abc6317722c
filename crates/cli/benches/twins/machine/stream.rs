//! STREAM by gcc -O3: the program itself where `TOLLWAY_STREAM` names its source, else the same loops by the same rules in our own C
//! (`stream.c` beside this folder). Its licence lets anybody have it, but it is not ours to ship.
//!
//! Both sides have arrays of one size, as far from each other (1 KiB more than whole pages: STREAM's OFFSET), ten rounds of which the first
//! does not count, the best pass, and the pages that the kernel gives to a program that says nothing.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};
use tollway_core::Missing;
use tollway_host::cpu::last_level_caches;

use super::Machine;
use super::contest::{Contest, Lines, Side};
use crate::twin::Twins;

/// What STREAM's source is named by.
const SOURCE: &str = "TOLLWAY_STREAM";

/// STREAM wants arrays of four times the last-level caches; of more than this a turn would take several seconds.
const MOST_MIB: u64 = 512;

/// Numbers between two arrays, beside their own.
const OFFSET: usize = 128;

/// Rounds, as STREAM has them if it is not told.
const ROUNDS: &str = "10";

pub fn contest(machine: &Machine<'_>, threads: usize, planted: bool) -> Contest {
    let mib = no_power_of_two(
        last_level_caches().map_or(MOST_MIB, |bytes| (4 * bytes).div_ceil(1 << 20).min(MOST_MIB)),
    );
    let by = if threads == 1 { "1 thread".into() } else { format!("{threads} threads") };
    let kernels = ["copy", "scale", "add", "triad"].into_iter();
    let figures =
        kernels.map(|kernel| (format!("machine: STREAM {kernel}, {by}, {mib} MiB / gcc -O3"), kernel));
    let text = mib.to_string();
    let ours = if planted {
        machine.example("machine_memory", &["stream-slowed", &text, ROUNDS])
    } else {
        machine.example("machine_memory", &["stream", &text, &threads.to_string(), ROUNDS, "plain"])
    };
    Contest {
        figures: figures.collect(),
        told: |rate| format!("{rate:.0} MB/s"),
        sides: tool(machine, threads, mib).map(|tool| Lines::Apart { ours, tool }),
        margin: 0.05,
        planted,
    }
}

/// Of arrays of a power of two STREAM's source says that their distance matters. It does: of 2^24 numbers, 1 KiB apart, two threads copied a
/// seventh slower than of 2^24 and an eighth, and threads that have arrays of their own did not.
fn no_power_of_two(mib: u64) -> u64 {
    if mib.is_power_of_two() { mib + mib / 8 } else { mib }
}

fn tool(machine: &Machine<'_>, threads: usize, mib: u64) -> Result<Side, Missing> {
    let failed =
        |error: anyhow::Error, remedy: &str| Missing::new("STREAM by gcc -O3", format!("{error:#}"), remedy);
    if let Some(source) = std::env::var_os(SOURCE) {
        let folder = itself(Path::new(&source), threads, mib)
            .map_err(|e| failed(e, "name the file stream.c of STREAM 5.10, and have gcc"))?;
        let mut side = machine.example("machine_memory", &["stream-itself", &threads.to_string()]);
        let mut path = folder.into_os_string();
        if let Some(rest) = std::env::var_os("PATH") {
            path.push(":");
            path.push(rest);
        }
        side.path = Some(path);
        return Ok(side);
    }
    if threads > 1 {
        let remedy = format!("{SOURCE}=PATH of stream.c (https://www.cs.virginia.edu/stream/FTP/Code)");
        return Err(failed(anyhow::anyhow!("our own loops in C have one thread"), &remedy));
    }
    let twins = Twins::compile_stream().map_err(|e| failed(e, "install gcc"))?;
    let cpu = machine.cpus[0].to_string();
    Ok(Side::new(twins.program("stream"), &[&cpu, "best", &mib.to_string()]))
}

/// Compiles it; the folder of the program.
fn itself(source: &Path, threads: usize, mib: u64) -> Result<PathBuf> {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("stream-{mib}-{threads}"));
    fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
    let cc = std::env::var_os("CC").unwrap_or_else(|| "gcc".into());
    let numbers = mib * (1 << 20) / size_of::<f64>() as u64;
    let mut command = Command::new(cc);
    command.args([
        "-O3",
        "-mcmodel=medium",
        &format!("-DSTREAM_ARRAY_SIZE={numbers}"),
        &format!("-DOFFSET={OFFSET}"),
    ]);
    command.args((threads > 1).then_some("-fopenmp"));
    command
        .args([&format!("-DNTIMES={ROUNDS}"), "-o"])
        .arg(folder.join("stream"))
        .args(["-x", "c"])
        .arg(source);
    let output = command.output().context("starting gcc")?;
    if !output.status.success() {
        bail!("gcc could not compile {}: {}", source.display(), String::from_utf8_lossy(&output.stderr));
    }
    Ok(folder)
}
