//! The axes that several crossings share.

use tollway_core::{
    Axis, DiskFormat, Domain, Error, GuestDevice, GuestSpec, Params, Result, TenantKind, Value,
};

/// Whether the two sides share a core.
pub(crate) fn placement() -> Axis {
    Axis {
        name: "placement",
        about: "both sides on the same core, or on two",
        domain: Domain::Words(&["same", "across"]),
        default: Value::Text("across".into()),
    }
}

/// Where an operation can live that needs no kernel.
pub(crate) fn tenant_without_kernel() -> Axis {
    TenantKind::axis(&["process", "thread", "micro-guest", "linux-guest"])
}

/// Where actors can live that need a kernel.
pub(crate) fn tenant_with_kernel() -> Axis {
    TenantKind::axis(&["process", "thread", "linux-guest"])
}

/// How many actors do the same at once.
pub(crate) fn tenants() -> Axis {
    Axis {
        name: "tenants",
        about: "how many do it at once, each in a tenant of its own, spread over the processors",
        domain: Domain::Whole(1, 256),
        default: Value::Int(1),
    }
}

/// The disk of a Linux guest, in MiB: room for the largest file of a disk's variants, and for a file system.
const DISK_MIB: u32 = 160;

/// How the image of a Linux guest's disk is kept.
pub(crate) fn disk() -> Axis {
    Axis {
        name: "disk",
        about: "the disk of a Linux guest, by the format of its image; elsewhere the folder for measurements as it is",
        domain: Domain::Words(&["own", "raw", "qcow2", "luks"]),
        default: Value::Text("own".into()),
    }
}

/// A Linux guest with a disk of its own.
pub(crate) fn own_disk() -> GuestSpec {
    let disk = GuestDevice::Disk { format: DiskFormat::Raw, mib: DISK_MIB, mounted: true };
    GuestSpec { devices: vec![disk], ..GuestSpec::default() }
}

/// What the axis `disk` means where the actor lives.
pub(crate) struct Disk {
    /// The toll's kind; nothing where the disk is what one has there anyway.
    pub(crate) kind: Option<String>,
    /// The guest that has it.
    pub(crate) guest: Option<GuestSpec>,
}

/// A Linux guest's own disk is a raw one.
pub(crate) fn disk_of(params: &Params) -> Result<Disk> {
    let word = params.word("disk")?;
    let format = match word {
        "qcow2" => DiskFormat::Qcow2,
        "luks" => DiskFormat::Luks,
        _ => DiskFormat::Raw,
    };
    let kind = (word != "own").then(|| word.to_owned());
    if params.tenant()? == TenantKind::LinuxGuest {
        let disk = GuestDevice::Disk { format, mib: DISK_MIB, mounted: true };
        return Ok(Disk { kind, guest: Some(GuestSpec { devices: vec![disk], ..GuestSpec::default() }) });
    }
    if kind.is_some() {
        return Err(Error::Input {
            place: format!("axis `disk`, value `{word}`"),
            reason: "only a Linux guest has a disk of a format".into(),
            remedy: "set `tenant` to linux-guest, or leave `disk` out and name a folder in TOLLWAY_SCRATCH"
                .into(),
        });
    }
    Ok(Disk { kind, guest: None })
}
