//! What a network gives to programs: streams, requests and datagrams between a server and a client, and where these are.

mod arrivals;
mod between;
mod datagrams;
mod requests;
mod streams;
mod tool;

use tollway_core::{Axis, Error, Params, Plan, Requirement, Result, Role, Variant};

use crate::surroundings;
use between::Between;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![Box::new(streams::TcpStreams), Box::new(requests::TcpRequests), Box::new(datagrams::UdpDatagrams)]
}

const SERVER: &str = "server";
const CLIENT: &str = "client";

/// What a reader of any of them must know.
macro_rules! with_common_caveats {
    ($own:literal) => {
        concat!(
            $own,
            " Server and client are a process each, on a core each. There is no wire between namespaces: packets are handed on by the \
             processor, 64 KiB at a time where TCP sends so much, with no checksums worked out. How TCP controls congestion is the kernel's \
             choice (sysctl net.ipv4.tcp_congestion_control). Between guests, and between guest and host, QEMU passes on what is sent."
        )
    };
}
use with_common_caveats;

/// The axes that all have, besides those of their own.
fn axes(own: impl IntoIterator<Item = Axis>) -> Vec<Axis> {
    let mut axes = surroundings::axes();
    axes.push(between::axis());
    axes.extend(own);
    axes
}

/// The plan of a server and a client, of which one is measured.
fn plan(params: &Params, operation: String, measured: &str) -> Result<Plan> {
    let role = |name: &str| if name == measured { Role::measured(name) } else { Role::serving(name) };
    let plan = Plan {
        operation,
        // The server first: the client is told where it is.
        roles: vec![role(SERVER).core(1), role(CLIENT)],
        gates: Vec::new(),
        provides: None,
        needs: Vec::new(),
        requires: vec![Requirement::Cores(2)],
        guests: Vec::new(),
    };
    Between::of(params)?.settled(plan, params)
}

/// That a variant of two ends has no third.
fn no_such_role(role: &str, variant: &str) -> Error {
    Error::Input {
        place: format!("role `{role}`"),
        reason: format!("`{variant}` has no such role"),
        remedy: format!("it has: {SERVER}, {CLIENT}"),
    }
}

fn not_ready(role: &str) -> Error {
    Error::Wrong(format!("the {role} was never made ready"))
}

/// The outcome of a run that `verify` and `tally` ask for.
fn outcome<T>(of: &Option<T>) -> Result<&T> {
    of.as_ref().ok_or_else(|| Error::Wrong("nothing was sent".into()))
}
