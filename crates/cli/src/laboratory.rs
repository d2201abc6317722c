//! The laboratory of this machine and this program, and the store it writes to.

use std::env;
use std::path::Path;

use anyhow::{Context, Result};
use tollway_core::{Preset, Registry};
use tollway_host::{clock, cpu, fingerprint};
use tollway_lab::Lab;
use tollway_lab::crew::GRACE;
use tollway_lab::point::parse_preset;
use tollway_store::Store;
use tollway_tenant::Executable;

use crate::args::Repeats;
use crate::interrupt;

/// The lab on this machine, with this program as its agent.
pub fn lab(registry: &Registry) -> Result<Lab<'_>> {
    let program = env::current_exe().context("finding this program's own file, to start it as an agent")?;
    let fingerprint = fingerprint::read();
    Ok(Lab {
        registry,
        own: Executable { program, arguments: vec!["agent".into()], environment: Vec::new() },
        cpus: processors()?,
        hz: clock::hz()?,
        machine: fingerprint.machine_id(),
        fingerprint: serde_json::to_value(&fingerprint)?,
        argv: env::args().collect(),
        version: env!("CARGO_PKG_VERSION").into(),
        interrupted: interrupt::flag()?,
        grace: GRACE,
    })
}

/// The processors for the core slots of plans: first two that go together best (distinct cores of one package), then
/// the others that this process may use.
fn processors() -> Result<Vec<u32>> {
    let allowed = cpu::allowed_cpus()?;
    let mut processors = match cpu::choose_slots(2) {
        Ok(pair) => pair.cpus,
        Err(_) => Vec::new(),
    };
    processors.extend(allowed.iter().filter(|c| !processors.contains(c)).copied().collect::<Vec<_>>());
    Ok(processors)
}

/// The store, made where there is none.
pub fn store(file: &Path) -> Result<Store> {
    Ok(Store::open(file)?)
}

/// A preset of a path.
pub fn preset(registry: &Registry, path: &str, name: &str) -> Result<Preset> {
    Ok(parse_preset(&format!("{path}/{name}"), registry.path(path)?.preset(name)?)?)
}

/// A preset from a file.
pub fn preset_file(file: &Path) -> Result<Preset> {
    let text = std::fs::read_to_string(file).with_context(|| format!("reading preset {}", file.display()))?;
    Ok(parse_preset(&file.display().to_string(), &text)?)
}

/// Presets with what the command line says of repeats put in the place of their own.
pub fn adjust(mut presets: Vec<Preset>, repeats: &Repeats) -> Result<Vec<Preset>> {
    for preset in &mut presets {
        preset.trial.runs = repeats.runs.unwrap_or(preset.trial.runs);
        preset.trial.warmup_ms = repeats.warmup.unwrap_or(preset.trial.warmup_ms);
    }
    Ok(presets)
}
