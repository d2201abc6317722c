//! The laboratory of this machine and this program, and the store it writes to.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{env, fs, io};

use anyhow::{Context, Result};
use tollway_core::{Error, Preset, Registry};
use tollway_host::{clock, cpu, fingerprint};
use tollway_lab::Lab;
use tollway_lab::crew::GRACE;
use tollway_lab::point::{self, Selection, parse_preset};
use tollway_store::Store;
use tollway_tenant::linux::static_agent;
use tollway_tenant::ssh::{Address, OtherHost, Survey};
use tollway_tenant::{Executable, Target};

use crate::args::Repeats;
use crate::interrupt;

/// The lab on this machine, with this program as its agent.
pub fn lab(registry: &Registry) -> Result<Lab<'_>> {
    let survey = Survey { fingerprint: fingerprint::read(), cpus: cpu::processors()?, hz: clock::hz()? };
    lab_of(registry, Target::ThisHost, survey)
}

/// The lab on that host, or on this machine where none is named.
pub fn lab_on<'r>(registry: &'r Registry, host: Option<&Address>) -> Result<Lab<'r>> {
    let Some(address) = host else { return lab(registry) };
    // Else none could be sent, and the remedy is the same.
    let agent = static_agent::find(Some(tollway_agent::BUILD)).map_err(Error::Missing)?;
    let host = OtherHost::reach(address, &agent, tollway_agent::BUILD)?;
    let survey = host.survey().clone();
    cpu::plan_for(u32::try_from(survey.fingerprint.cpus_allowed.len())?);
    lab_of(registry, Target::OtherHost(Arc::new(host)), survey)
}

fn lab_of(registry: &Registry, target: Target, survey: Survey) -> Result<Lab<'_>> {
    let program = own_file().context("finding this program's own file, to start it as an agent")?;
    let Survey { fingerprint, cpus, hz } = survey;
    Ok(Lab {
        registry,
        target,
        own: Executable { program, arguments: vec!["agent".into()], environment: Vec::new() },
        cpus,
        hz,
        machine: fingerprint.machine_id(),
        fingerprint: serde_json::to_value(&fingerprint)?,
        argv: env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        build: tollway_agent::BUILD.into(),
        interrupted: interrupt::flag()?,
        grace: GRACE,
    })
}

/// This program's own file. Where no /proc tells, it is found by the name by which it was started, as a shell does.
pub fn own_file() -> io::Result<PathBuf> {
    env::current_exe().or_else(|error| {
        let name = env::args_os().next().map(PathBuf::from).unwrap_or_default();
        let folders = env::var_os("PATH").unwrap_or_default();
        let found = match name.components().count() {
            1 => env::split_paths(&folders).map(|folder| folder.join(&name)).find(|file| file.is_file()),
            _ => fs::canonicalize(name).ok(),
        };
        found.ok_or(error)
    })
}

/// The store, made where there is none.
pub fn store(file: &Path) -> Result<Store> {
    Ok(Store::open(file)?)
}

/// The store of a run that is to be gone on with: it is there.
pub fn store_of_unfinished(file: &Path) -> Result<Store> {
    if !file.exists() {
        // Says how one is made.
        Store::open_read_only(file)?;
    }
    store(file)
}

/// A preset of a path.
pub fn preset(registry: &Registry, path: &str, name: &str) -> Result<Preset> {
    Ok(parse_preset(&format!("{path}/{name}"), registry.path(path)?.preset(name)?)?)
}

/// The longest file that is read as a preset, in bytes.
const LONGEST_PRESET: u64 = 1 << 20;

/// A preset from a file; what is wrong with it is told with the file and the case.
pub fn preset_file(registry: &Registry, file: &Path) -> Result<Preset> {
    let name = file.display().to_string();
    let about = std::fs::metadata(file).with_context(|| format!("reading preset {name}"))?;
    if !about.is_file() || about.len() > LONGEST_PRESET {
        return Err(Error::Input {
            place: name,
            reason: "it is no file, or one too long for a preset".into(),
            remedy: "name a TOML file; CONTRIBUTING.md shows one".into(),
        }
        .into());
    }
    let text = std::fs::read_to_string(file).with_context(|| format!("reading preset {name}"))?;
    let preset = parse_preset(&name, &text)?;
    for at in 0..preset.case.len().max(1) {
        let alone = Preset { case: preset.case.get(at).cloned().into_iter().collect(), ..preset.clone() };
        let case = if preset.case.is_empty() { String::new() } else { format!(", case {}", at + 1) };
        let selection = Selection { presets: vec![alone], only: Vec::new() };
        point::points(registry, &selection).map_err(|error| match error {
            Error::Input { place, reason, remedy } => {
                Error::Input { place: format!("{name}{case}: {place}"), reason, remedy }
            }
            other => other,
        })?;
    }
    Ok(preset)
}

/// Presets with what the command line says of repeats put in the place of their own.
pub fn adjust(mut presets: Vec<Preset>, repeats: &Repeats) -> Result<Vec<Preset>> {
    for preset in &mut presets {
        preset.trial.runs = repeats.runs.unwrap_or(preset.trial.runs);
        preset.trial.warmup_ms = repeats.warmup.unwrap_or(preset.trial.warmup_ms);
    }
    Ok(presets)
}
