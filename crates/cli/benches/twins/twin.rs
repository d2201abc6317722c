//! The twins: compiled once, run as processes of their own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::figures::{FIGURES, Kind, Twin};

/// The compiled twins.
pub struct Twins {
    folder: PathBuf,
}

impl Twins {
    /// Compiles every twin with `cc`, or what the environment names by CC: for any x86-64, and with calls into the C
    /// library that go through its address as those of rustc do, not by way of a stub (one tick of the four that a
    /// copy of 64 bytes takes).
    pub fn compile() -> Result<Self> {
        let programs = FIGURES.iter().filter_map(|figure| match figure.kind {
            Kind::Agrees { twin, .. } | Kind::AtMostTimes { twin, .. } => Some(twin.program),
            Kind::Floor { .. } => None,
        });
        Self::compile_all("benches/twins", programs)
    }

    /// Compiles the simulators in C, in the same way.
    pub fn compile_simulators() -> Result<Self> {
        Self::compile_all("../sim/benches/peers", ["lindley", "heap"])
    }

    /// Compiles the plain writer that copies of files are held against.
    pub fn compile_writer() -> Result<Self> {
        Self::compile_all("benches/twins", ["write"])
    }

    /// Compiles STREAM's loops.
    pub fn compile_stream() -> Result<Self> {
        Self::compile_all("benches/twins", ["stream"])
    }

    /// Compiles what the channel is held against.
    pub fn compile_channel(programs: impl IntoIterator<Item = &'static str>) -> Result<Self> {
        Self::compile_all("benches/twins", programs)
    }

    fn compile_all(sources: &str, programs: impl IntoIterator<Item = &'static str>) -> Result<Self> {
        let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join(sources);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("twins");
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let cc = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
        for program in programs {
            let status = Command::new(&cc)
                .args(["-std=gnu11", "-O2", "-march=x86-64", "-fno-plt", "-Wall", "-Wextra", "-o"])
                .arg(folder.join(program))
                .arg(sources.join(program).with_extension("c"))
                .arg("-lm")
                .status()
                .with_context(|| {
                    format!("starting the C compiler `{}`; install gcc, or set CC", cc.display())
                })?;
            if !status.success() {
                bail!("`{}` could not compile {program}.c ({status})", cc.display());
            }
        }
        Ok(Twins { folder })
    }

    /// The file of a compiled twin.
    pub fn program(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// The median that the twin prints, in ticks per operation.
    pub fn run(&self, twin: &Twin, cpus: &[u32]) -> Result<f64> {
        let mut command = Command::new(self.folder.join(twin.program));
        for slot in twin.cpus {
            let cpu = cpus.get(*slot).context("the twin needs another processor")?;
            command.arg(cpu.to_string());
        }
        let output = command
            .args(twin.rest)
            .output()
            .with_context(|| format!("starting the twin `{}`", twin.program))?;
        let said = String::from_utf8_lossy(&output.stdout);
        match said.trim().parse() {
            Ok(ticks) if output.status.success() => Ok(ticks),
            _ => bail!(
                "the twin `{}` failed ({}): {}{}",
                twin.program,
                output.status,
                said.trim(),
                String::from_utf8_lossy(&output.stderr).trim()
            ),
        }
    }
}
