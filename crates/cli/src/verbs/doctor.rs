//! `tollway doctor`: what this machine can and cannot do, and what would help.

pub mod counting;
mod prices;

use anyhow::Result;
use serde::Serialize;
use tollway_core::{Missing, TenantKind};
use tollway_host::doctor::{self, Doctor};
use tollway_host::fingerprint::Fingerprint;
use tollway_host::steadiness::{self, Steadiness};
use tollway_tenant::doctor::{self as tenants, TenantCheck};

use self::counting::WayToCount;
use self::prices::Prices;
use crate::args::{Arguments, Doctor as Options};
use crate::exit::Ending;
use crate::output::{self, Versioned};

/// The machine and the tenants on it.
#[derive(Serialize)]
pub struct Examination {
    #[serde(flatten)]
    machine: Doctor,
    tenants: Vec<TenantCheck>,
    /// Whether the machine is steady; `None` where a run is about to find out.
    steadiness: Option<Steadiness>,
    /// The ways in which `bill` can count a program's crossings here; none where nobody asked.
    counting: Vec<WayToCount>,
    /// The price list that bills are made with; `None` where nobody asked.
    prices: Option<Prices>,
}

/// Examines the machine and tells.
pub fn doctor(arguments: &Arguments, options: &Options) -> Result<Ending> {
    let found = Examination {
        steadiness: Some(steadiness::examine()),
        counting: counting::examine(),
        prices: Some(prices::examine(&Fingerprint::without_clock().machine_id())),
        ..examine(options.boot)
    };
    if arguments.json {
        output::json(&Versioned::first(&found))?;
    } else {
        output::text(&brief(&found))?;
    }
    let lacks = found.missing().next().is_some();
    Ok(if options.strict && lacks { Ending::RequirementMissing } else { Ending::Done })
}

/// Looks at everything; boots a Linux guest where that is wanted.
pub fn examine(boot: bool) -> Examination {
    let mut tenants = tenants::examine(tollway_agent::BUILD);
    if boot {
        for check in tenants.iter_mut().filter(|t| t.tenant == TenantKind::LinuxGuest && t.missing.is_none())
        {
            *check = tenants::boot(tollway_agent::BUILD);
        }
    }
    Examination { machine: doctor::examine(), tenants, steadiness: None, counting: Vec::new(), prices: None }
}

impl Examination {
    fn missing(&self) -> impl Iterator<Item = &Missing> {
        let tenants = self.tenants.iter().filter_map(|t| t.missing.as_ref());
        let counting = self.counting.iter().filter_map(|way| way.missing.as_ref());
        self.machine.missing.iter().chain(tenants).chain(counting)
    }
}

/// The examination in a few lines: what is there in one, what should be known and what is not there in one each.
pub fn brief(found: &Examination) -> String {
    let Examination { machine, tenants, steadiness, .. } = found;
    let mut text =
        format!("tollway doctor: {}\n  ok       {}\n", machine.summary, machine.present.join(" · "));
    let working = tenants.iter().filter(|t| t.missing.is_none());
    let names: Vec<&str> = working.clone().map(|t| t.tenant.title()).collect();
    text += &format!("  tenants  {}\n", names.join(" · "));
    for check in working.filter(|t| !t.detail.is_empty()) {
        text += &format!("           {}: {}\n", check.tenant.title(), check.detail);
    }
    let usable: Vec<&str> = found.counting.iter().filter(|w| w.missing.is_none()).map(|w| w.title).collect();
    if !found.counting.is_empty() {
        text +=
            &format!("  counts   {}\n", if usable.is_empty() { "no way".into() } else { usable.join(" · ") });
    }
    for (label, line) in ["prices  ", "        "].iter().zip(found.prices.iter().flat_map(Prices::lines)) {
        text += &format!("  {label} {line}\n");
    }
    for (name, line) in ["steady? ", "unsteady"].iter().zip(steadiness.iter().flat_map(Steadiness::lines)) {
        text += &format!("  {name} {line}\n");
    }
    for note in &machine.notes {
        text += &format!("  note     {}: {}\n", note.about, note.detail);
    }
    for missing in found.missing() {
        text += &format!("  skipped  {missing}\n");
    }
    text
}
