//! Where a part of the suite runs: on this machine, or in a Linux guest with a disk and memory of some kind; alone, or beside a
//! business.

use tollway_core::{
    Axis, DiskFormat, Error, GuestDevice, GuestSpec, Params, Plan, Requirement, Result, TenantKind, Value,
};

use crate::params;
use crate::variants::business;

/// What a guest's disk has room for besides the files of a part, in MiB: the file system's own.
const SPARE_MIB: u64 = 64;

/// The axes by which it is said.
pub(crate) fn axes() -> Vec<Axis> {
    vec![
        params::tenant(),
        params::disk(),
        params::pages(),
        params::checks(),
        params::memory(),
        params::business(),
    ]
}

/// A point's title: what it measures, and what a reader has to know of by whom and where.
pub(crate) fn titled(what: String, params: &Params) -> Option<String> {
    let mut pieces = vec![what];
    if let Some(by) = params.word("by").ok().filter(|by| *by != params::TOLLWAY) {
        pieces.push(format!("by {by}"));
    }
    let axes = axes();
    let (tenant, others) = axes.split_first()?;
    if params.get(tenant.name) != Some(&tenant.default) {
        pieces.push(format!("in a {}", params.tenant().ok()?.title()));
    }
    for axis in others {
        let Some(value) = params.get(axis.name).filter(|value| **value != axis.default) else { continue };
        pieces.push(match (axis.name, value.to_string()) {
            ("disk", format) => format!("{} disk", if format == "luks" { "LUKS" } else { &format }),
            ("pages", pages) => format!("memory of {pages} pages"),
            ("checks", who) => format!("memory checked by its {who}"),
            ("memory", mib) => format!("memory {}", size(mib.parse::<u64>().ok()? << 20)),
            (params::BUSINESS, _) => "beside a business".into(),
            (axis, value) => format!("{axis} {value}"),
        });
    }
    Some(pieces.join(", "))
}

/// The pieces that say how an axis differs from what is usual, as it is said; nothing of one that does not.
pub(crate) fn unless_usual(params: &Params, axis: &Axis, said: impl FnOnce(&Value) -> String) -> String {
    match params.get(axis.name).filter(|value| **value != axis.default) {
        Some(value) => format!(", {}", said(value)),
        None => String::new(),
    }
}

/// Bytes as a person says them: `4 KiB`, `1 MiB`, `1460 B`.
pub(crate) fn size(bytes: u64) -> String {
    for (unit, shift) in [("GiB", 30), ("MiB", 20), ("KiB", 10)] {
        if bytes >= 1 << shift && bytes.is_multiple_of(1 << shift) {
            return format!("{} {unit}", bytes >> shift);
        }
    }
    format!("{bytes} B")
}

/// Whether a tool of the field measures, by the axis `by`.
///
/// # Errors
/// [`Error::Input`] where it would have to do so in a Linux guest, which has no program but the agent.
pub(crate) fn by_a_tool(params: &Params) -> Result<bool> {
    let by = params.word("by")?;
    if by == params::TOLLWAY {
        return Ok(false);
    }
    match params.tenant()? {
        TenantKind::Process => Ok(true),
        tenant => Err(Error::Input {
            place: format!("axis `tenant`, value `{tenant}`"),
            reason: format!("{by} is a program of this machine, and not there"),
            remedy: format!("set `tenant` to process, or `by` to {}", params::TOLLWAY),
        }),
    }
}

/// The plan of a part that was written for this machine, in its surroundings: its roles live where the axes say, in one
/// guest, which has a disk with room for `disk_mib` where the part works on one; and a business is beside them where that is
/// asked for.
pub(crate) fn settled(mut plan: Plan, params: &Params, mut disk_mib: Option<u64>) -> Result<Plan> {
    if business::is_on(params) {
        plan.roles.extend(business::roles());
        disk_mib = Some(disk_mib.unwrap_or_default() + business::ROOM_MIB);
    }
    let tenant = params.tenant()?;
    if tenant != TenantKind::LinuxGuest {
        return match ["disk", "pages", "checks"]
            .into_iter()
            .find(|axis| params.word(axis).is_ok_and(|w| w != "own"))
        {
            Some(axis) => Err(Error::Input {
                place: format!("axis `{axis}`, value `{}`", params.word(axis)?),
                reason: "only a Linux guest is made to order".into(),
                remedy: format!("set `tenant` to linux-guest, or leave `{axis}` out"),
            }),
            None => Ok(plan),
        };
    }
    let (here, there): (Vec<_>, Vec<_>) =
        plan.requires.drain(..).partition(|r| matches!(r, Requirement::Cores(_)));
    plan.requires = here;
    plan.requires.push(Requirement::LinuxGuest);
    for role in &mut plan.roles {
        role.tenant = TenantKind::LinuxGuest;
        role.guest = 0;
        role.together = true;
        role.requires = there.clone();
    }
    let format = match params.word("disk")? {
        "luks" => DiskFormat::Luks,
        _ => DiskFormat::Raw,
    };
    let mib = |mib: u64| u32::try_from(mib).unwrap_or(u32::MAX);
    let disk = disk_mib.map(|room| GuestDevice::Disk { format, mib: mib(room + SPARE_MIB), mounted: true });
    plan.guests = vec![GuestSpec {
        memory_mib: mib(params.int("memory")?),
        devices: disk.into_iter().collect(),
        huge_pages: params.word("pages")? == "huge",
        checked_memory: params.word("checks")? == "kernel",
    }];
    Ok(plan)
}

/// The same of a part of several ends: the first role lives in a guest, the others in another, and there is a wire between them.
pub(crate) fn wired(plan: Plan, params: &Params) -> Result<Plan> {
    let mut plan = settled(plan, params, None)?;
    for guest in &mut plan.guests {
        guest.devices.push(GuestDevice::Wire(0));
    }
    plan.guests.extend_from_within(..);
    for role in plan.roles.iter_mut().skip(1) {
        role.guest = 1;
    }
    Ok(plan)
}

/// The same of a part of several ends, the first of which is on this machine, whose loopback those in the guest reach.
pub(crate) fn with_host(plan: Plan, params: &Params) -> Result<Plan> {
    let first = plan.roles.first().cloned();
    let mut plan = settled(plan, params, None)?;
    for guest in &mut plan.guests {
        guest.devices.push(GuestDevice::HostNetwork);
    }
    plan.requires.push(Requirement::Loopback);
    for (role, here) in plan.roles.iter_mut().zip(first) {
        *role = here;
    }
    Ok(plan)
}
