//! Puts back the settings of the host that a killed run left changed.

use std::fs;
use std::path::Path;

use jiff::Timestamp;
use tollway_store::{RunState, Store};

use crate::script::Script;
use crate::session::LabError;

/// Looks for the newest run whose process is gone without having ended it; puts back its settings and marks it
/// interrupted. What cannot be put back is an error that names the file and the value.
pub(crate) fn abandoned(store: &mut Store) -> Result<(), LabError> {
    let Some(left) = store.unfinished(None)? else { return Ok(()) };
    if left.run.state != RunState::Running || alive(left.run.pid) {
        return Ok(());
    }
    if let Ok(script) = serde_json::from_value::<Script>(left.run.spec.plan.clone()) {
        for setting in &script.before {
            fs::write(&setting.file, &setting.value).map_err(|e| LabError::Setting {
                file: setting.file.clone(),
                value: setting.value.clone(),
                reason: e.to_string(),
            })?;
        }
    }
    store.end_run(left.run.id, RunState::Interrupted, Timestamp::now())?;
    Ok(())
}

/// Whether there is a process of that number that is a tollway.
pub(crate) fn alive(pid: u32) -> bool {
    pid != std::process::id()
        && fs::read(Path::new("/proc").join(pid.to_string()).join("comm"))
            .is_ok_and(|name| name.starts_with(b"tollway"))
}
