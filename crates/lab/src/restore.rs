//! Puts right what a killed run left: settings of the host that it had changed, and files that had a name just then.

use std::fs;

use jiff::Timestamp;
use tollway_host::scratch;
use tollway_store::{RunState, Store};

use crate::lab::LabError;
use crate::script::Script;

/// Puts back the settings of every run of this machine whose process is gone without having ended it, the newest
/// first, so that what stood before the oldest stands last; marks them interrupted. What cannot be put back is an
/// error that names the file and the value.
pub(crate) fn abandoned(store: &mut Store, machine: &str) -> Result<(), LabError> {
    for summary in store.runs()? {
        if !matches!(summary.state, RunState::Running | RunState::Killed) {
            continue;
        }
        let run = store.run(summary.id)?;
        if !store.is_killed(&run, machine)? {
            continue;
        }
        if let Ok(script) = serde_json::from_value::<Script>(run.spec.plan) {
            // A store is only a file: whoever wrote it does not get to choose which files are written here.
            for setting in script.before.iter().filter(|s| s.is_of_the_kernel()) {
                fs::write(&setting.file, &setting.value).map_err(|e| LabError::Setting {
                    file: setting.file.clone(),
                    value: setting.value.clone(),
                    reason: e.to_string(),
                })?;
            }
        }
        store.end_run(run.id, RunState::Interrupted, Timestamp::now())?;
    }
    Ok(())
}

/// Clears the folder of measurements of what killed programs left there. One that cannot be read is told of by whoever needs it.
pub(crate) fn files() {
    let _ = scratch::clear(&scratch::folder());
}
