//! The interfaces of this machine, as far as this network namespace has them.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use tollway_capture::engine::source::link_type;
use tollway_core::{Error, Missing};
use tollway_wire::{Interface, WireError};

/// The one of that name, or of the number that -D prints before it.
///
/// # Errors
/// If there is none: with those that there are.
pub fn named(name: &str) -> Result<Interface, Error> {
    let all = || Interface::all().unwrap_or_default();
    Interface::named(name)
        .or_else(|error| {
            let number = name.parse::<u32>().ok();
            number.and_then(|number| all().into_iter().find(|one| one.index == number)).ok_or(error)
        })
        .map_err(|error| match error {
            WireError::Input { place, reason, .. } => Error::Input { place, reason, remedy: choices() },
            other => other.into(),
        })
}

/// What to name instead.
pub fn choices() -> String {
    let all = Interface::all().unwrap_or_default();
    let names: Vec<String> = all
        .iter()
        .map(|one| if one.up { one.name.clone() } else { format!("{} (down)", one.name) })
        .collect();
    format!("give one of these: {}", names.join(", "))
}

/// What is missing at an interface, with what a person at a terminal would do about it.
pub fn allowed(missing: Missing) -> Missing {
    let remedy = "run it with sudo, or allow it once and for all users: \
                  sudo setcap cap_net_raw=ep \"$(command -v tollway)\"";
    Missing { remedy: remedy.into(), ..missing }
}

/// What -D tells of an interface.
#[derive(Serialize)]
struct Listed {
    number: u32,
    name: String,
    up: bool,
    running: bool,
    link_type: Option<u32>,
    kind: Option<String>,
    mtu: u32,
    receive_queues: u32,
}

/// Lists them on standard output.
///
/// # Errors
/// If the kernel does not tell, or nobody reads.
pub fn list(json: bool) -> Result<()> {
    let all = Interface::all().map_err(Error::from)?;
    let listed: Vec<Listed> = all
        .into_iter()
        .map(|one| Listed {
            number: one.index,
            link_type: link_type(&one).ok().map(|link| link.0),
            up: one.up,
            running: one.running,
            kind: if one.is_loopback() { Some("loopback".into()) } else { one.kind },
            mtu: one.mtu,
            receive_queues: one.receive_queues,
            name: one.name,
        })
        .collect();
    let mut out = io::stdout().lock();
    if json {
        let document = serde_json::json!({ "schema_version": 1, "interfaces": listed });
        serde_json::to_writer_pretty(&mut out, &document).map_err(io::Error::from)?;
        writeln!(out)?;
        return Ok(());
    }
    for one in listed {
        let state = match (one.up, one.running) {
            (true, true) => "up",
            (true, false) => "up, without a carrier",
            _ => "down",
        };
        let kind = one.kind.as_deref().unwrap_or("hardware");
        let unknown = if one.link_type.is_none() { ", cannot be captured on here" } else { "" };
        writeln!(out, "{}.{} [{state}] {kind}, mtu {}{unknown}", one.number, one.name, one.mtu)?;
    }
    Ok(())
}
