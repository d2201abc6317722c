//! The runs of a store as a table.

use anstyle::{AnsiColor, Style};
use jiff::Timestamp;
use tollway_store::{RunState, RunSummary};

use crate::columns::{Align, Cell, Table, printable};

/// What it means that a run was killed.
pub(crate) const KILLED: &str = "killed: its process is gone; what it measured is kept, and `tollway run --resume` goes \
                                 on with the newest run that did not end";

/// A table of runs, in the order given, for a terminal of `width` columns; `None` where the output is no terminal.
pub fn history(runs: &[RunSummary], width: Option<usize>) -> String {
    if runs.is_empty() {
        return "No run yet: `tollway run` makes one.\n".into();
    }
    use Align::{Left, Right};
    let mut table = Table::new([Left, Left, Left, Right, Right, Left]);
    // Where there is no room: what is mostly the same in all lines, and what follows from the points.
    table.can_be_narrow([5, 4]);
    let digits = runs.iter().map(|r| r.id.to_string().len()).max().unwrap_or(0).max("run".len());
    let dim = Style::new().dimmed();
    let head = [
        format!("{:>digits$}  title", "run"),
        "began (UTC)".into(),
        "state".into(),
        "points".into(),
        "trials".into(),
        "machine".into(),
    ];
    table.row(head.map(|h| Cell::styled(h, dim)));
    for run in runs {
        let points = match (run.skipped, run.failed) {
            (0, 0) => run.points.to_string(),
            (skipped, 0) => format!("{} ({skipped} skipped)", run.points),
            (0, failed) => format!("{} ({failed} failed)", run.points),
            (skipped, failed) => format!("{} ({skipped} skipped, {failed} failed)", run.points),
        };
        table.row([
            Cell::plain(format!("{:>digits$}  {}", run.id.0, printable(&run.title))),
            Cell::plain(run.started.strftime("%Y-%m-%d %H:%M").to_string()),
            Cell::styled(state(run), state_style(run.state)),
            Cell::plain(points),
            Cell::plain(run.trials.to_string()),
            Cell::plain(short(&printable(&run.machine))),
        ]);
    }
    if runs.iter().any(|run| run.state == RunState::Killed) {
        table.blank();
        table.across(0, Cell::styled(KILLED, dim));
    }
    table.render(width)
}

fn state(run: &RunSummary) -> String {
    match run.ended {
        Some(ended) => format!("{} in {}", run.state.name(), lasted(run.started, ended)),
        None => run.state.name().into(),
    }
}

fn state_style(state: RunState) -> Style {
    match state {
        RunState::Complete => Style::new(),
        RunState::Running => AnsiColor::Cyan.on_default(),
        RunState::Killed | RunState::Interrupted => AnsiColor::Yellow.on_default(),
        RunState::Failed => AnsiColor::Red.on_default(),
    }
}

/// How long it took: `2:41`, `1:02:03`; not known where the clock of day was set back meanwhile.
pub(crate) fn lasted(from: Timestamp, to: Timestamp) -> String {
    if to < from {
        return "? (the clock was set back)".into();
    }
    let seconds = to.as_second().saturating_sub(from.as_second());
    let (h, m, s) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    if h > 0 { format!("{h}:{m:02}:{s:02}") } else { format!("{m}:{s:02}") }
}

/// The first characters of a machine's id are enough to tell machines apart.
fn short(machine: &str) -> String {
    if machine.chars().count() > 16 {
        machine.chars().take(12).chain(['…']).collect()
    } else {
        machine.into()
    }
}
