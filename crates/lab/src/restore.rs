//! Puts back the settings of the host that a killed run left changed.

use std::fs;
use std::os::unix::fs::MetadataExt;

use jiff::Timestamp;
use tollway_store::{Run, RunState, Store};

use crate::lab::LabError;
use crate::script::Script;

/// Puts back the settings of every run of this machine whose process is gone without having ended it, the newest
/// first, so that what stood before the oldest stands last; marks them interrupted. What cannot be put back is an
/// error that names the file and the value.
pub(crate) fn abandoned(store: &mut Store, machine: &str) -> Result<(), LabError> {
    let running: Vec<_> = store.runs()?.into_iter().filter(|r| r.state == RunState::Running).collect();
    for summary in running {
        let run = store.run(summary.id)?;
        if !is_killed(&run, machine) {
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

/// Whether the process that measured a run on that machine is gone, without having ended the run. Of another machine's it is not known.
pub fn is_killed(run: &Run, machine: &str) -> bool {
    run.state == RunState::Running && run.spec.machine == machine && !alive(run.pid)
}

/// Whether another process of that number lives and is a tollway, by its name or because it is this very program. One
/// that was killed and that its parent has not asked after yet does not live.
pub(crate) fn alive(pid: u32) -> bool {
    let about = || fs::read_to_string(format!("/proc/{pid}/stat")).ok();
    pid != std::process::id()
        && about().is_some_and(|stat| match (stat.split_once('('), stat.rsplit_once(')')) {
            (Some((_, name)), Some((_, rest))) => {
                (name.starts_with("tollway") || is_this_program(pid))
                    && !rest.trim_start().starts_with(['Z', 'X'])
            }
            _ => false,
        })
}

/// Whether that process runs the file that this one runs.
fn is_this_program(pid: u32) -> bool {
    let file = |process: &str| fs::metadata(format!("/proc/{process}/exe")).ok().map(|m| (m.dev(), m.ino()));
    file("self").is_some_and(|ours| file(&pid.to_string()) == Some(ours))
}
