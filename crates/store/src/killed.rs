//! Runs whose process is gone without having ended them.

use std::cell::LazyCell;
use std::fs;
use std::os::unix::fs::MetadataExt;

use crate::{Result, Run, RunId, RunState, Store};

/// The id of the machine that this is, worked out when it is first wanted.
pub(crate) type Here = LazyCell<String, fn() -> String>;

impl Run {
    /// Whether another process measures it now.
    pub fn is_measured(&self) -> bool {
        is_under_way(self.state) && is_alive(self.pid)
    }
}

impl Store {
    /// From now on a run that this machine measured and whose process is gone without having ended it is read as [`RunState::Killed`]. `machine` tells this
    /// machine's id, and is asked once a run seems to be under way.
    pub fn tell_killed(&mut self, machine: fn() -> String) {
        self.here = Some(LazyCell::new(machine));
    }

    /// Whether the process that measured a run on that machine, which has just been read, is gone without having ended it. Of another machine's it is not known.
    pub fn is_killed(&self, run: &Run, machine: &str) -> Result<bool> {
        let is_gone = is_under_way(run.state) && run.spec.machine == machine && !is_alive(run.pid);
        Ok(is_gone && !self.has_ended(run.id, run.pid)?)
    }

    /// The state of a run of that process and machine, which has just been read.
    pub(crate) fn seen(&self, run: RunId, state: RunState, pid: u32, machine: &str) -> Result<RunState> {
        let is_gone = |here: &Here| is_under_way(state) && **here == *machine && !is_alive(pid);
        let is_killed = self.here.as_ref().is_some_and(is_gone) && !self.has_ended(run, pid)?;
        Ok(if is_killed { RunState::Killed } else { state })
    }

    /// Whether a run has ended, or another process measures it by now. It may have ended between a reading and the look at its process: then the file says so.
    fn has_ended(&self, run: RunId, pid: u32) -> Result<bool> {
        self.sql(|db| {
            db.prepare_cached("SELECT state <> 'running' OR pid <> ?2 FROM run WHERE id = ?1")?
                .query_row((run, pid), |row| row.get(0))
        })
    }
}

fn is_under_way(state: RunState) -> bool {
    matches!(state, RunState::Running | RunState::Killed)
}

/// Whether another process of that number lives and is a tollway, by its name or because it is this very program. One
/// that was killed and that its parent has not asked after yet does not live.
fn is_alive(pid: u32) -> bool {
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
