//! A client and a server, by each way.
//!
//! ```text
//! client ── message ── (notice, if the server sleeps) ──╮
//!                                                       ╰── server: work ── message ── (notice, if the client sleeps) ── client
//! ```
//!
//! The figure is what a round trip costs with so many on their way: the time of a stretch by the requests that were done in it. Latency is the stage of
//! that name.

use tollway_core::{
    Actor, Axis, Error, Forecast, Gate, Params, Placement, Plan, Requirement, Result, Role, TollKey,
    TollSource, Variant,
};

use super::client::ClientActor;
use super::server::ServerActor;
use super::{CLIENT, SERVER, gates};
use crate::setting::{self, Setting, Way};
use crate::{params, predict};

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let mut all: Vec<Box<dyn Variant>> = Vec::new();
    for way in [Way::Slow, Way::Fast, Way::Ring, Way::Tasks] {
        all.push(Box::new(PingPong { way, has_memory: false }));
    }
    all.push(Box::new(PingPong { way: Way::Tasks, has_memory: true }));
    all
}

/// Client and server by that way.
struct PingPong {
    way: Way,
    /// Whether the server's work is to take memory and to give it back.
    has_memory: bool,
}

/// The placement of the axis `cores`.
pub(super) fn placed(params: &Params) -> Result<Placement> {
    Ok(if params.word("cores")? == "one" { Placement::Same } else { Placement::Across })
}

/// Server and client at that placement, and what that requires.
fn roles(placement: Placement) -> (Vec<Role>, Vec<Requirement>) {
    let (server, client) = (Role::serving(SERVER), Role::measured(CLIENT));
    match placement {
        Placement::Same => (vec![server, client], Vec::new()),
        Placement::Across => (vec![server.core(1), client], vec![Requirement::Cores(2)]),
    }
}

/// The plan of what measures that toll, between server and client at that placement.
pub(super) fn toll(operation: &str, placement: Placement, key: TollKey) -> Plan {
    let (roles, requires) = roles(placement);
    Plan {
        operation: operation.into(),
        roles,
        gates: vec![Gate::new(key.crossing.name(), CLIENT, key.clone())],
        provides: Some(key),
        needs: Vec::new(),
        requires,
        guests: Vec::new(),
    }
}

/// The actor of a role.
pub(super) fn actor(variant: &str, role: &str, setting: Setting) -> Result<Box<dyn Actor>> {
    match role {
        SERVER => Ok(Box::new(ServerActor::new(setting))),
        CLIENT => Ok(Box::new(ClientActor::new(setting))),
        other => Err(no_such_role(variant, other)),
    }
}

/// A role that no variant of two ends has.
pub(super) fn no_such_role(variant: &str, role: &str) -> Error {
    Error::Input {
        place: format!("role `{role}`"),
        reason: format!("`{variant}` has no such role"),
        remedy: format!("it has: {SERVER}, {CLIENT}"),
    }
}

impl Variant for PingPong {
    fn name(&self) -> &str {
        if self.has_memory { "memory-server" } else { self.way.name() }
    }

    fn about(&self) -> &str {
        match self.way {
            _ if self.has_memory => {
                "memory taken and given back by a server process, whose clients ask through rings, each request a future"
            }
            Way::Slow => {
                "synchronous calls by a Unix seqpacket socket, a thread at either end for each request on its way"
            }
            Way::Fast => {
                "synchronous calls through shared memory, the turn handed over by a futex; a thread at either end for each request on its way"
            }
            Way::Ring => "requests through rings in shared memory, by one thread, without futures",
            Way::Tasks => "requests through rings in shared memory, each a future; an executor at either end",
        }
    }

    fn caveats(&self) -> &str {
        "Client and server are processes. The figure is the time of a stretch of requests by their number: with several on their way it is less than what \
         any of them takes, which is the stage `request to reply` (each sixteenth is timed). Writing a request, reading and comparing its reply \
         are in it, and the server's work. An end that looks without end, or for long, uses a processor that is in no figure."
    }

    fn axes(&self) -> Vec<Axis> {
        let mut axes = vec![params::concurrency(), params::cores()];
        if self.has_memory {
            axes.push(params::pages());
        } else {
            axes.extend([params::size(), params::work(), params::matrix()]);
        }
        match self.way {
            Way::Slow => {}
            Way::Fast => axes.push(params::patience()),
            Way::Ring | Way::Tasks => axes.extend([params::notice(), params::patience()]),
        }
        axes
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let setting = Setting::of(self.way, params)?;
        let placement = placed(params)?;
        let (roles, mut requires) = roles(placement);
        requires.extend(setting::requires(params)?);
        Ok(Plan {
            operation: "round trip".into(),
            roles,
            gates: gates::of(&setting, placement),
            provides: None,
            needs: predict::needs(&setting, placement),
            requires,
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        setting::possible(params)?;
        actor(self.name(), role, Setting::of(self.way, params)?)
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        let asked = Setting::of(self.way, params).and_then(|setting| Ok((setting, placed(params)?)));
        match asked {
            Ok((setting, placement)) => predict::forecast(&setting, placement, tolls),
            Err(error) => Some(Err(error)),
        }
    }
}
