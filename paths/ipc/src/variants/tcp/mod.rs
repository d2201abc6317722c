//! A TCP server by several ways: its network stack and its application in two processes, with synchronous or asynchronous requests between
//! them; and for scale the same application on Linux's own TCP.
//!
//! ```text
//! client ── Linux's TCP ── veth ── stack: smoltcp ── request ── application
//!   core 1                           core 0                       core 0 (one), core 1 (two)
//! ```
//!
//! A sample is the latency of a message, with one on its way over each connection. By Little's law (J. D. C. Little, "A Proof for the Queuing
//! Formula L = λW", Operations Research 9, 1961) throughput times mean latency is then the number of connections; what was measured is held
//! against it in every trial.
//!
//! ```text
//!   application   the role of the application in another process
//!   stack         the role of the network stack
//!   on_linux      the role of the application on Linux's TCP
//!   client        the role of the client
//!   request       the toll of a message that the stack answers by itself
//!   meeting       how a client finds the network, and says that it has done
//!   little        throughput times latency
//! ```

mod application;
mod client;
mod little;
mod meeting;
mod on_linux;
mod request;
mod stack;

use tollway_channel::linux::plain;
use tollway_core::{
    Actor, Axis, Domain, Error, Forecast, Gate, Params, Plan, Requirement, Result, Role, TollSource, Value,
    Variant,
};

use super::ping_pong::placed;
use super::{CLIENT, SERVER};
use crate::engine::tcp::{By, MOST_CONNECTIONS, Style};
use crate::{params, predict};

/// The role that has the connections, where that is not the server.
const STACK: &str = "stack";

/// Gates whose visits are counted: what the stack pays for messages.
const SLEEPING: &str = "stack: sleep and wake-up";
const SENDING: &str = "stack: frames handed to the kernel";
const WAKING: &str = "stack: application woken";

/// The server by one way.
struct TcpServer {
    name: &'static str,
    about: &'static str,
    way: Way,
}

/// By what messages go from connections to the application and back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    /// By requests to another process.
    Requests(Style),
    /// Not at all: the application has the connections itself.
    Linux(By),
}

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    let of = |name, about, way| Box::new(TcpServer { name, about, way }) as Box<dyn Variant>;
    vec![
        of(
            "tcp-async",
            "TCP server: network stack and application in two processes, requests by rings and futures, an executor at either end",
            Way::Requests(Style::Asynchronous),
        ),
        of(
            "tcp-sync",
            "TCP server: network stack and application in two processes, synchronous requests by Unix sockets, a thread at either end for \
             each connection",
            Way::Requests(Style::Synchronous(plain::Way::Seqpacket)),
        ),
        of(
            "tcp-handoff",
            "TCP server: network stack and application in two processes, synchronous requests by handing the turn over, a thread at either \
             end for each connection",
            Way::Requests(Style::Synchronous(plain::Way::Handoff)),
        ),
        of("tcp-epoll", "TCP server on Linux's own TCP, by epoll", Way::Linux(By::Epoll)),
        of("tcp-io-uring", "TCP server on Linux's own TCP, by io_uring", Way::Linux(By::IoUring)),
        Box::new(request::StackRequest),
    ]
}

fn connections() -> Axis {
    Axis {
        name: "connections",
        about: "connections of the client, each with one message on its way",
        domain: Domain::Whole(1, MOST_CONNECTIONS as u64),
        default: Value::Int(4),
    }
}

/// One core or two, of the server: the client has the second one in either case.
fn cores() -> Axis {
    Axis { about: "network stack and application on one core, or on two", ..params::cores() }
}

impl Variant for TcpServer {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        self.about
    }

    fn caveats(&self) -> &str {
        "A sample is the time of a message of 64 bytes, from when the reply before it had been read until its own had, of all connections together: \
         throughput is their number by it. The client is a process with Linux's TCP in a namespace of its own, and has the second core, which the application \
         shares with it on `cores=two`. What Linux does to bring a frame over the veth pair runs on the core of who sent it. On Linux's own TCP there is no \
         second process, and checksums are worked out, as they are by the other stack."
    }

    fn axes(&self) -> Vec<Axis> {
        match self.way {
            Way::Requests(_) => vec![connections(), cores()],
            Way::Linux(_) => vec![connections()],
        }
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let mut requires = vec![Requirement::NetworkNamespaces, Requirement::Cores(2)];
        let client = Role::measured(CLIENT).core(1);
        let (roles, gates, needs) = match self.way {
            Way::Requests(style) => {
                requires.push(Requirement::PacketSockets);
                let core = if params.word("cores")? == "one" { 0 } else { 1 };
                let roles = vec![Role::serving(SERVER).core(core), Role::serving(STACK), client];
                let gates = [SENDING, SLEEPING, WAKING].map(|gate| Gate::counted(gate, STACK).apart()).into();
                let needs = predict::tcp::needs(style, params.int("connections")? as usize, placed(params)?);
                (roles, gates, needs)
            }
            Way::Linux(by) => {
                if by == By::IoUring {
                    requires.push(Requirement::IoUring);
                }
                (vec![Role::serving(SERVER), client], Vec::new(), Vec::new())
            }
        };
        Ok(Plan {
            operation: "message and reply".into(),
            roles,
            gates,
            provides: None,
            needs,
            requires,
            guests: Vec::new(),
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let connections = params.int("connections")? as usize;
        match (role, self.way) {
            (CLIENT, _) => Ok(Box::new(client::ClientActor::new(connections))),
            (SERVER, Way::Requests(style)) => {
                Ok(Box::new(application::ApplicationActor::new(style, connections)))
            }
            (STACK, Way::Requests(style)) => {
                let answering = stack::Answering::Application(style, placed(params)?);
                Ok(Box::new(stack::StackActor::new(answering, connections)))
            }
            (SERVER, Way::Linux(by)) => Ok(Box::new(on_linux::LinuxActor::new(by))),
            (other, way) => Err(Error::Input {
                place: format!("role `{other}`"),
                reason: format!("`{}` has no such role", self.name),
                remedy: match way {
                    Way::Requests(_) => format!("it has: {SERVER}, {STACK}, {CLIENT}"),
                    Way::Linux(_) => format!("it has: {SERVER}, {CLIENT}"),
                },
            }),
        }
    }

    fn predict(&self, params: &Params, tolls: &dyn TollSource) -> Option<Result<Forecast>> {
        let Way::Requests(style) = self.way else { return None };
        let asked =
            params.int("connections").and_then(|connections| Ok((connections as usize, placed(params)?)));
        match asked {
            Ok((connections, placement)) => predict::tcp::forecast(style, connections, placement, tolls),
            Err(error) => Some(Err(error)),
        }
    }
}
