//! `tollway doctor`: what this machine can and cannot do, and what would help.

use anyhow::Result;
use tollway_host::doctor::{self, Doctor};

use crate::args::{Arguments, Doctor as Options};
use crate::exit::Ending;
use crate::output::{self, Versioned};

/// Examines the machine and tells.
pub fn doctor(arguments: &Arguments, options: &Options) -> Result<Ending> {
    let found = doctor::examine();
    if arguments.json {
        output::json(&Versioned::first(&found))?;
    } else {
        output::text(&brief(&found))?;
    }
    Ok(if options.strict && !found.missing.is_empty() { Ending::RequirementMissing } else { Ending::Done })
}

/// The examination in a few lines: what is there in one, what should be known and what is not there in one each.
pub fn brief(found: &Doctor) -> String {
    let mut text = format!("tollway doctor: {}\n  ok       {}\n", found.summary, found.present.join(" · "));
    for note in &found.notes {
        text += &format!("  note     {}: {}\n", note.about, note.detail);
    }
    for missing in &found.missing {
        text += &format!("  skipped  {missing}\n");
    }
    text
}
