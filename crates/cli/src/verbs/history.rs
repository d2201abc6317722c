//! `tollway history`: the runs of the store.

use std::path::Path;

use anyhow::{Result, bail};
use tollway_host::fingerprint;
use tollway_lab::is_killed;
use tollway_store::{RunId, RunState, RunSummary, Store};

use crate::args::{Arguments, History};
use crate::exit::Ending;
use crate::output;

/// Lists the runs, newest first.
pub fn history(arguments: &Arguments, options: &History) -> Result<Ending> {
    let store = existing(&arguments.store)?;
    let mut runs = store.runs()?;
    runs.truncate(options.last);
    let killed = killed(&store, &runs)?;
    if arguments.json {
        output::json(&serde_json::json!({ "schema_version": 1, "runs": runs, "killed": killed }))?;
    } else {
        output::text(&tollway_report::history(&runs, &killed, output::width()))?;
    }
    Ok(Ending::Done)
}

/// Those whose process is gone without having ended them.
fn killed(store: &Store, runs: &[RunSummary]) -> Result<Vec<RunId>> {
    let running: Vec<RunId> = runs.iter().filter(|r| r.state == RunState::Running).map(|r| r.id).collect();
    if running.is_empty() {
        return Ok(Vec::new());
    }
    let machine = fingerprint::read().machine_id();
    let mut killed = Vec::new();
    for id in running {
        killed.extend(is_killed(&store.run(id)?, &machine).then_some(id));
    }
    Ok(killed)
}

/// A store that is there already, for reading.
pub fn existing(file: &Path) -> Result<Store> {
    Ok(Store::open_read_only(file)?)
}

/// The run of that number, or the newest that has a trial.
pub fn chosen(store: &Store, number: Option<i64>) -> Result<RunId> {
    if let Some(number) = number {
        return Ok(store.run(RunId(number))?.id);
    }
    match store.runs()?.into_iter().find(|r| r.trials > 0) {
        Some(run) => Ok(run.id),
        None => {
            bail!("{}: no run in it has a trial yet; measure one with `tollway run`", store.file().display())
        }
    }
}
