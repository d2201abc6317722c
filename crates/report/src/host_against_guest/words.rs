//! The cells of the table as words, the same in a terminal, in Markdown and on a page.

use tollway_core::{Accelerator, TenantKind};

use crate::document::{GuestsDocument, HostAgainstGuestDocument, InTenantDocument, VerdictDocument};
use crate::number::{percent, ratio};

/// How many crossings are named where all share a reason.
const NAMED: usize = 6;

/// A ratio to a process of this machine, and what may be said of it.
pub(crate) struct RatioWords {
    /// `1.02 × [1.00, 1.04]`.
    pub(crate) text: String,
    /// `same`, `dearer`, `cheaper` or `not separable`.
    pub(crate) verdict: &'static str,
    /// The same as a sign behind the ratio, which tells by itself what is dearer: `≈` same, `?` not separable.
    pub(crate) sign: &'static str,
}

/// What a cell says of its ratio; `None` where it has none.
pub(crate) fn ratio_words(cell: &InTenantDocument) -> Option<RatioWords> {
    let found = cell.to_host.as_ref()?;
    let (estimate, interval) = ratio(&found.b_over_a);
    let (verdict, sign) = match found.verdict {
        VerdictDocument::Same => ("same", "≈"),
        VerdictDocument::Better => ("cheaper", ""),
        VerdictDocument::Worse => ("dearer", ""),
        VerdictDocument::NotSeparable => ("not separable", "?"),
    };
    Some(RatioWords { text: format!("{estimate} × {interval}"), verdict, sign })
}

/// What a column is called: what ran a Linux guest is part of its name.
pub(crate) fn kind_title(kind: TenantKind, guests: &GuestsDocument) -> String {
    let ran_by =
        guests.linux_guests.as_ref().map(|g| g.accelerator).filter(|_| kind == TenantKind::LinuxGuest);
    match ran_by {
        Some(Accelerator::Tcg) => format!("{} (TCG)", kind.title()),
        Some(Accelerator::Kvm) => format!("{} (KVM)", kind.title()),
        None => kind.title().into(),
    }
}

/// Why cells are empty: each reason once, with what it holds for.
pub(crate) fn setbacks(table: &HostAgainstGuestDocument) -> Vec<String> {
    let mut reasons: Vec<(TenantKind, &str, Vec<&str>)> = Vec::new();
    for crossing in &table.crossings {
        for cell in &crossing.measured {
            let Some(why) = &cell.why else { continue };
            match reasons.iter_mut().find(|(kind, reason, _)| *kind == cell.tenant && reason == why) {
                Some((.., titles)) => titles.push(&crossing.title),
                None => reasons.push((cell.tenant, why, vec![&crossing.title])),
            }
        }
    }
    let said = |(kind, why, titles): (TenantKind, &str, Vec<&str>)| {
        let place = match kind {
            TenantKind::Process => "in a process",
            TenantKind::Thread => "in threads",
            TenantKind::MicroGuest => "in a micro-guest",
            TenantKind::LinuxGuest => "in a Linux guest",
        };
        let more = titles.len().saturating_sub(NAMED);
        let named = titles[..titles.len() - more].join("; ");
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        format!("{named}{more}, {place}: {why}")
    };
    reasons.into_iter().map(said).collect()
}

/// What the ratios are and what the verdicts hold for.
pub(crate) fn legend(found: &HostAgainstGuestDocument) -> String {
    format!(
        "To process: how many times the price of a process of this machine, with its 95 % interval, paired by block. \
         Verdicts hold for all of the table together (at most {} of them false). Same: within {}, shown; not separable: \
         neither a difference nor sameness could be shown.",
        percent(found.false_discovery_rate),
        percent(found.margin)
    )
}
