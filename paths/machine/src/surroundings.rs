//! Where a part of the suite runs: on this machine, or in a Linux guest with a disk and memory of some kind; alone, or beside a
//! business.

use tollway_core::{
    Axis, DiskFormat, Error, GuestDevice, GuestSpec, Params, Plan, Requirement, Result, TenantKind,
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
    let mut title = what;
    if let Some(by) = params.word("by").ok().filter(|by| *by != params::TOLLWAY) {
        title += &format!(", {by}");
    }
    let axes = axes();
    let (tenant, others) = axes.split_first()?;
    if params.get(tenant.name) != Some(&tenant.default) {
        title += &format!(", {}", params.tenant().ok()?.title());
    }
    for axis in others {
        if let Some(value) = params.get(axis.name).filter(|value| **value != axis.default) {
            title += &format!(" {}={value}", axis.name);
        }
    }
    Some(title)
}

/// As [`titled`], with each of the variant's own axes that is not as usual and of which `what` says nothing.
pub(crate) fn titled_besides(what: String, said: &[&str], own: &[Axis], params: &Params) -> Option<String> {
    let around = axes();
    let unsaid = own.iter().filter(|axis| {
        axis.name != "by" && !said.contains(&axis.name) && !around.iter().any(|other| other.name == axis.name)
    });
    let unusual = unsaid.filter_map(|axis| {
        let value = params.get(axis.name).filter(|value| **value != axis.default)?;
        Some(format!(" {}={value}", axis.name))
    });
    titled(what + &unusual.collect::<String>(), params)
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
