//! `tollway doctor`: what this machine can and cannot do, and what would help.

use anyhow::Result;
use tollway_host::doctor::{self, Doctor, Outcome};

use crate::args::{Arguments, Doctor as Options};
use crate::exit::Ending;
use crate::output;

/// Examines the machine and tells.
pub fn doctor(arguments: &Arguments, options: &Options) -> Result<Ending> {
    let found = doctor::examine();
    if arguments.json {
        output::json(&found)?;
    } else {
        output::text(&brief(&found))?;
    }
    Ok(if options.strict && found.missing().next().is_some() { Ending::RequirementMissing } else { Ending::Done })
}

/// The examination in a few lines: what is there in one, what is not in one each, with its remedy.
pub fn brief(found: &Doctor) -> String {
    let mut present = Vec::new();
    let mut skipped = String::new();
    for check in &found.checks {
        match &check.outcome {
            Outcome::Ok { detail } if detail.is_empty() => present.push(check.name.clone()),
            Outcome::Ok { detail } | Outcome::Note { detail } => present.push(format!("{} ({detail})", check.name)),
            Outcome::Skipped(missing) => skipped += &format!("  skipped  {missing}\n"),
        }
    }
    format!("tollway doctor\n  ok       {}\n{skipped}", present.join(" · "))
}
