//! Bars of capture files: a file through a filter by `tollway capture` and by tcpdump, and a whole file copied against plain
//! writes of the same bytes; in turns, each a process of its own.
//!
//! Where the files are matters: a file system that keeps its pages in large pieces is read faster than one that has each
//! for itself, as tmpfs has. So both are measured, the folder of the build and `/dev/shm`.
//!
//! The outputs are compared byte for byte before anything is timed.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use tempfile::TempDir;
use tollway_core::Missing;
use tollway_stats::{Interval, paired_ratio};

use crate::CONFIDENCE;
use crate::bar::{Bar, Row, Verdict};
use crate::only::Only;
use crate::turns::in_turns;
use crate::twin::Twins;

/// Packets of the file, each of 60 bytes; about half of them are UDP.
const PACKETS: u32 = 1_000_000;
const FILTER: &str = "udp";

/// Bytes that plain writes hand over at once.
const PLAIN: &str = "1048576";

/// Our program.
const TOLLWAY: &str = env!("CARGO_BIN_EXE_tollway");

/// The bars of files.
pub struct Files;

/// Where Linux has a tmpfs for everybody. Source: filesystems/tmpfs.rst of Linux.
const TMPFS: &str = "/dev/shm";

/// Where the files are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    /// Among what is built.
    Build,
    /// In memory.
    Tmpfs,
}

/// What is compared.
#[derive(Clone, Copy)]
enum Task {
    /// Processor time of reading, filtering, and writing to nowhere; the peer is tcpdump.
    Nowhere { filter: &'static str },
    /// Time of writing a copy of the whole file; the peer is plain writes of the same bytes.
    ToFile,
}

const TASKS: &[(&str, Place, Task, Bar)] = &[
    ("file: half filtered / tcpdump", Place::Build, Task::Nowhere { filter: FILTER }, Bar::AtMost(0.25, "")),
    (
        "file: half filtered, tmpfs / tcpdump",
        Place::Tmpfs,
        Task::Nowhere { filter: FILTER },
        Bar::AtMost(0.25, ""),
    ),
    ("file: nothing filtered / tcpdump", Place::Build, Task::Nowhere { filter: "" }, Bar::AtMost(0.25, "")),
    ("file: bandwidth / plain writes", Place::Build, Task::ToFile, Bar::AtLeast(0.9, "")),
    ("file: bandwidth, tmpfs / plain writes", Place::Tmpfs, Task::ToFile, Bar::AtLeast(0.9, "")),
];

impl Files {
    /// Measures all of them.
    pub fn measure(&self, rounds: u32, seed: u64, only: &Only) -> Result<Vec<Row>> {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut rows = Vec::new();
        for place in [Place::Build, Place::Tmpfs] {
            let tasks: Vec<_> =
                TASKS.iter().filter(|(name, at, ..)| *at == place && only.wants(name)).collect();
            if tasks.is_empty() {
                continue;
            }
            if let Some(missing) = (place == Place::Tmpfs).then(no_tmpfs).flatten() {
                rows.extend(tasks.iter().map(|(name, .., bar)| skipped(name, *bar, &missing)));
                continue;
            }
            let bench = Bench::prepare(place, seed)?;
            rows.extend(
                tasks.into_iter().map(|(name, _, task, bar)| bench.row(name, *task, *bar, rounds, &mut rng)),
            );
        }
        Ok(rows)
    }
}

fn empty(name: &str, bar: Bar) -> Row {
    Row { name: name.into(), bar: bar.to_string(), ..Row::default() }
}

fn skipped(name: &str, bar: Bar, missing: &Missing) -> Row {
    Row { verdict: Verdict::Skipped(missing.to_string()), ..empty(name, bar) }
}

/// The file that is read, and the programs.
struct Bench {
    plain: PathBuf,
    folder: TempDir,
    from: PathBuf,
}

impl Bench {
    fn prepare(place: Place, seed: u64) -> Result<Bench> {
        let plain = Twins::compile_writer()?.program("write");
        let parent = match place {
            Place::Build => Path::new(env!("CARGO_TARGET_TMPDIR")),
            Place::Tmpfs => Path::new(TMPFS),
        };
        let folder = tempfile::Builder::new()
            .prefix("capture-files")
            .tempdir_in(parent)
            .with_context(|| format!("making a folder in {}", parent.display()))?;
        let from = folder.path().join("from.pcap");
        traffic(&from, seed).with_context(|| format!("writing {}", from.display()))?;
        Ok(Bench { plain, folder, from })
    }

    fn row(&self, name: &str, task: Task, bar: Bar, rounds: u32, rng: &mut StdRng) -> Row {
        let missing = match task {
            Task::Nowhere { .. } => no_tcpdump(),
            Task::ToFile => None,
        };
        if let Some(missing) = missing {
            return skipped(name, bar, &missing);
        }
        self.check(task).and_then(|()| self.compare(task, bar, rounds, rng, empty(name, bar))).unwrap_or_else(
            |error| Row { verdict: Verdict::Broken(format!("{error:#}")), ..empty(name, bar) },
        )
    }

    /// Both sides twice a round, in both orders.
    fn compare(&self, task: Task, bar: Bar, rounds: u32, rng: &mut StdRng, empty: Row) -> Result<Row> {
        let pairs = in_turns(rounds, rng, |ours| self.play(task, ours))?;
        let side = |of: fn(&(f64, f64)) -> f64| -> Result<Interval> {
            let blocks: Vec<Vec<f64>> = pairs.iter().map(|block| block.iter().map(of).collect()).collect();
            Ok(tollway_stats::figure(&blocks, CONFIDENCE)?)
        };
        let measured = paired_ratio(&pairs)?.interval(CONFIDENCE)?;
        let unit = match task {
            Task::Nowhere { .. } => "ns/packet",
            Task::ToFile => "GB/s",
        };
        Ok(Row {
            ours: format!("{:.3} {unit}", side(|(_, ours)| *ours)?.estimate),
            twin: format!("{:.3} {unit}", side(|(twin, _)| *twin)?.estimate),
            measured: format!("{:.3} [{:.3}, {:.3}]", measured.estimate, measured.lo, measured.hi),
            verdict: bar.judge(&measured),
            ..empty
        })
    }

    /// One trial: nanoseconds of processor time per packet, or gigabytes written per second.
    fn play(&self, task: Task, ours: bool) -> Result<f64> {
        match task {
            Task::Nowhere { filter } => {
                let time = self.filtering(ours, filter, Path::new("/dev/null"))?;
                Ok(time.as_secs_f64() * 1e9 / f64::from(PACKETS))
            }
            Task::ToFile => {
                let to = self.folder.path().join("to.pcap");
                let output = self.copying(ours, &to).output().context("starting a copier")?;
                let said = String::from_utf8_lossy(&output.stdout);
                let seconds = if ours {
                    let document: Option<serde_json::Value> = serde_json::from_str(&said).ok();
                    document.and_then(|document| document["seconds"].as_f64())
                } else {
                    said.split(' ').next().and_then(|s| s.trim().parse::<f64>().ok())
                };
                let length = fs::metadata(&to).with_context(|| to.display().to_string())?.len();
                fs::remove_file(&to)?;
                // The next one shall not meet this one's pages on their way to the disk.
                thread::sleep(Duration::from_millis(20));
                let seconds = seconds.with_context(|| {
                    format!("a copier failed: {said}{}", String::from_utf8_lossy(&output.stderr))
                })?;
                Ok(length as f64 / seconds / 1e9)
            }
        }
    }

    /// A copy of the whole file, which tells on standard output how long it took.
    fn copying(&self, ours: bool, to: &Path) -> Command {
        let mut command;
        if ours {
            command = Command::new(TOLLWAY);
            command.args(["capture", "--json", "-r"]).arg(&self.from).arg("-w").arg(to);
        } else {
            command = Command::new(&self.plain);
            command.arg(&self.from).arg(to).arg(PLAIN);
        }
        command
    }

    /// The processor time, user's and system's, of a process that filters.
    fn filtering(&self, ours: bool, filter: &str, to: &Path) -> Result<Duration> {
        let mut command = if ours {
            let mut command = Command::new(TOLLWAY);
            command.args(["capture", "-n", "-r"]).arg(&self.from).arg("-w").arg(to);
            command
        } else {
            let mut command = Command::new("tcpdump");
            // As root it would become another user, who may not read here.
            command.args(["-Z", "root", "-n", "-r"]).arg(&self.from).arg("-w").arg(to);
            command
        };
        if !filter.is_empty() {
            command.arg(filter);
        }
        processor_time(command.stdout(Stdio::null()).stderr(Stdio::null()))
    }

    /// Whether both sides write the same bytes.
    fn check(&self, task: Task) -> Result<()> {
        let (ours, theirs) = (self.folder.path().join("ours.pcap"), self.folder.path().join("theirs.pcap"));
        match task {
            Task::Nowhere { filter } => {
                self.filtering(true, filter, &ours)?;
                self.filtering(false, filter, &theirs)?;
            }
            Task::ToFile => {
                processor_time(self.copying(true, &ours).stdout(Stdio::null()))?;
                processor_time(self.copying(false, &theirs).stdout(Stdio::null()))?;
            }
        }
        let (of_ours, of_theirs) = (fs::read(&ours)?, fs::read(&theirs)?);
        fs::remove_file(ours)?;
        fs::remove_file(theirs)?;
        ensure!(of_ours.len() > 1_000_000, "only {} bytes were copied", of_ours.len());
        ensure!(of_ours == of_theirs, "the copies differ: {} and {} bytes", of_ours.len(), of_theirs.len());
        Ok(())
    }
}

fn no_tcpdump() -> Option<Missing> {
    let there = Command::new("tcpdump").arg("--version").output().is_ok_and(|o| o.status.success());
    let missing = || Missing::new("tcpdump", "there is no program of that name", "apt-get install tcpdump");
    (!there).then(missing)
}

fn no_tmpfs() -> Option<Missing> {
    let there = rustix::fs::statfs(TMPFS).is_ok_and(|s| s.f_type == libc::TMPFS_MAGIC);
    let missing = || Missing::new("tmpfs", "there is none at /dev/shm", "mount -t tmpfs tmpfs /dev/shm");
    (!there).then(missing)
}

/// Runs a program to its end: the processor time it took.
fn processor_time(command: &mut Command) -> Result<Duration> {
    let name = command.get_program().to_string_lossy().into_owned();
    let child = command.spawn().with_context(|| format!("starting {name}"))?;
    let mut status = 0;
    // SAFETY: all-zero bytes are a valid rusage.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: both places are ours, and the child is waited for nowhere else.
    let waited = unsafe { libc::wait4(child.id() as libc::pid_t, &raw mut status, 0, &raw mut usage) };
    if waited < 0 || status != 0 {
        bail!("{name} failed: status {status}");
    }
    let of = |t: libc::timeval| Duration::new(t.tv_sec as u64, t.tv_usec as u32 * 1000);
    Ok(of(usage.ru_utime) + of(usage.ru_stime))
}

/// A capture of frames of 60 bytes, by the format's document: IPv4, UDP or TCP by chance, in microseconds.
fn traffic(path: &Path, seed: u64) -> Result<()> {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut file = BufWriter::with_capacity(1 << 20, File::create(path)?);
    for word in [0xa1b2_c3d4, u32::from_ne_bytes([2, 0, 4, 0]), 0, 0, 262_144, 1] {
        file.write_all(&u32::to_ne_bytes(word))?;
    }
    let mut frame = [0; 60];
    frame[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    frame[14] = 0x45;
    frame[17] = 46;
    frame[22] = 64;
    for i in 0..PACKETS {
        frame[23] = if rng.random() { 17 } else { 6 };
        frame[26..38].copy_from_slice(&rng.random::<[u8; 12]>());
        for word in [1_700_000_000 + i / 1_000_000, i % 1_000_000, 60, 60] {
            file.write_all(&word.to_ne_bytes())?;
        }
        file.write_all(&frame)?;
    }
    file.into_inner().map_err(|e| e.into_error())?;
    Ok(())
}
