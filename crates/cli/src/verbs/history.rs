//! `tollway history`: the runs of the store, and how rows went from run to run.

use std::path::Path;

use anyhow::{Result, bail};
use tollway_core::Error;
use tollway_host::fingerprint::Fingerprint;
use tollway_report::RowsOverTime;
use tollway_store::{RunId, RunState, Store};

use crate::args::{Arguments, History};
use crate::exit::Ending;
use crate::output;

/// Lists the runs, newest first; or tells how rows went.
pub fn history(arguments: &Arguments, options: &History) -> Result<Ending> {
    let store = existing(&arguments.store)?;
    if !options.rows.is_empty() {
        return rows(arguments, options, &store);
    }
    let mut runs = store.runs()?;
    runs.truncate(options.last);
    if arguments.json {
        let killed: Vec<RunId> = runs.iter().filter(|r| r.state == RunState::Killed).map(|r| r.id).collect();
        output::json(&serde_json::json!({ "schema_version": 1, "runs": runs, "killed": killed }))?;
    } else {
        output::text(&tollway_report::history(&runs, output::width()))?;
    }
    Ok(Ending::Done)
}

fn rows(arguments: &Arguments, options: &History, store: &Store) -> Result<Ending> {
    let Some(found) = RowsOverTime::from_store(store, &options.rows, options.last)? else {
        return Err(Error::Input {
            place: format!("row `{}`", options.rows.join("`, `")),
            reason: "no run of this store has measured one that is called so".into(),
            remedy:
                "`tollway report` shows the rows of the newest run, and `tollway list PATH` what there is"
                    .into(),
        }
        .into());
    };
    if arguments.json {
        output::json(found.document())?;
    } else {
        output::text(&found.terminal(output::width()))?;
    }
    Ok(Ending::Done)
}

/// A store that is there already, for reading: it tells which of its runs were killed.
pub fn existing(file: &Path) -> Result<Store> {
    let mut store = Store::open_read_only(file)?;
    store.tell_killed(|| Fingerprint::without_clock().machine_id());
    Ok(store)
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
