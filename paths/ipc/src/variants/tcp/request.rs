//! The toll of a message that a network stack answers by itself: what client, network and stack take for it, with nobody asked in between.
//!
//! Of several connections it is the time between two messages, as of other tolls of several at once: the reciprocal of the throughput.

use std::os::unix::net::UnixStream;

use tollway_core::{
    Actor, Address, Axis, Crossing, Domain, Error, Gate, Params, Place, Placement, Plan, Recorder,
    Requirement, Result, Role, Tally, Value, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::wait_until;

use super::super::CLIENT;
use super::super::counted::Before;
use super::super::course::Course;
use super::STACK;
use super::meeting::meets;
use super::stack::{Answering, StackActor};
use crate::engine::ping_pong::Course as _;
use crate::engine::tcp::{Client, Itself, MOST_CONNECTIONS, Network};
use crate::params;
use crate::tolls;

/// Messages that the stack answers.
pub(super) struct StackRequest;

fn itself(params: &Params) -> Result<Itself> {
    Ok(if params.word("kind")? == "tasks" { Itself::Tasks } else { Itself::Threads })
}

fn connections(params: &Params) -> Result<u32> {
    Ok(params.int("depth")? as u32)
}

impl Variant for StackRequest {
    fn name(&self) -> &str {
        Crossing::StackRequest.name()
    }

    fn about(&self) -> &str {
        Crossing::StackRequest.title()
    }

    fn caveats(&self) -> &str {
        "The figure is the time of a stretch of messages by their number; with one connection that is what a message takes. Client and stack are processes, \
         the client with Linux's TCP in a namespace of its own. Both sleep where there is nothing for them. Making the reply is in it, and checking it."
    }

    fn axes(&self) -> Vec<Axis> {
        let depth = Axis {
            name: "depth",
            about: "connections of the client, each with one message on its way",
            domain: Domain::Whole(1, MOST_CONNECTIONS as u64),
            default: Value::Int(1),
        };
        let kinds = "a task of the stack for each connection, or a thread, to which messages are handed";
        vec![params::words("kind", kinds, &["tasks", "threads"]), params::placement(), depth]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let placement = params.placement()?;
        let key = tolls::stack(itself(params)?, placement, connections(params)?);
        let (stack, client) = (Role::serving(STACK), Role::measured(CLIENT));
        let mut requires = vec![Requirement::NetworkNamespaces, Requirement::PacketSockets];
        let roles = match placement {
            Placement::Same => vec![stack, client],
            Placement::Across => {
                requires.push(Requirement::Cores(2));
                vec![stack, client.core(1)]
            }
        };
        Ok(Plan {
            operation: "message and reply".into(),
            roles,
            gates: vec![Gate::new(self.name(), CLIENT, key.clone())],
            provides: Some(key),
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let connections = connections(params)? as usize;
        match role {
            STACK => Ok(Box::new(StackActor::new(Answering::Stack(itself(params)?), connections))),
            CLIENT => Ok(Box::new(Asking { connections, ready: None, answered: 0, tally: Tally::default() })),
            other => Err(Error::Input {
                place: format!("role `{other}`"),
                reason: format!("`{}` has no such role", self.name()),
                remedy: format!("it has: {STACK}, {CLIENT}"),
            }),
        }
    }
}

/// The client, which checks every reply.
struct Asking {
    connections: usize,
    ready: Option<(Client, UnixStream)>,
    answered: u64,
    tally: Tally,
}

impl Actor for Asking {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let (namespace, lasts) = meets(place)?;
        let client = Client::connect(&namespace, Network::APPLICATION, self.connections)?;
        self.ready = Some((client, lasts));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((mut client, lasts)) = self.ready.take() else { return Ok(()) };
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let before = Before::now();
        let mut course = Course::new(clock, window, recorder, self.connections, 1);
        let (mut answered, mut goes_on) = (0, true);
        let ran = client.run(|_| {
            answered += 1;
            // Those that are on their way at the end are waited for, and not timed.
            goes_on = goes_on && course.came(None, || answered);
            goes_on
        });
        let used = before.since();
        // The stack is told so.
        drop((client, lasts));
        ran?;
        self.answered = answered;
        self.tally = used.counted(Tally::default().counter("operations", answered), CLIENT);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        // That each was the reply to what was asked, the client looked at when it came.
        match self.answered {
            0 => Err(Error::Wrong("no message was answered".into())),
            _ => Ok(()),
        }
    }

    fn tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}
