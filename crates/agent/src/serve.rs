//! The agent's main loop: reads commands and hands each to the thread of its actor.

use std::collections::HashMap;
use std::env;
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::AsFd;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use rustix::process::{Resource, getrlimit, setrlimit};
use serde::Serialize;
use tollway_core::{Clock, Error, Registry};
use tollway_host::clock::RunClock;
use tollway_host::cpu;
use tollway_tenant::protocol::{self, Answer, Command, Hello, Reply, Request};

use crate::{actor_thread, probe};

/// The environment variable by which a guest's first program tells an agent its port: standard input is that port's
/// device then, and no socket.
pub(crate) const PORT: &str = "TOLLWAY_PORT";

/// The environment variable that tells an agent how the one before it on its port ended.
pub(crate) const BEFORE: &str = "TOLLWAY_BEFORE";

/// The way to the coordinator, shared by the threads that answer.
#[derive(Clone)]
pub(crate) struct Coordinator(Arc<Mutex<File>>);

impl Coordinator {
    /// Sends one answer.
    pub(crate) fn answer(&self, actor: u32, answer: Answer) {
        self.say(&Reply { actor, answer });
    }

    /// Sends one document. Where the coordinator is gone the process ends: there is nobody left to work for.
    fn say(&self, document: &impl Serialize) {
        let mut to = match self.0.lock() {
            Ok(to) => to,
            Err(poisoned) => poisoned.into_inner(),
        };
        if protocol::send(&mut *to, document).is_err() {
            std::process::exit(0);
        }
    }
}

/// Has this process as many descriptors as it may: the usual limit is 1024, and an actor may have hundreds of channels.
fn raise_descriptors() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    // Then there are as many as there are.
    let _ = setrlimit(Resource::Nofile, limit);
}

/// Serves the coordinator at the other end of standard input until it closes the socket or tells it to end; then ends
/// the process, with whatever its actors are still doing.
///
/// # Errors
/// Standard input is no socket, or what arrives there is not this protocol.
pub fn serve(registry: Registry) -> io::Result<()> {
    let port: Option<u32> = env::var(PORT).ok().and_then(|number| number.parse().ok());
    let stdin = io::stdin().as_fd().try_clone_to_owned()?;
    if port.is_none() && rustix::net::getpeername(&stdin).is_err() {
        return Err(io::Error::other(
            "standard input is no socket; an agent is started by `tollway`, not by hand",
        ));
    }
    raise_descriptors();
    let stdin = File::from(stdin);
    let mut from = BufReader::new(stdin.try_clone()?);
    let coordinator = Coordinator(Arc::new(Mutex::new(stdin)));
    let clock = RunClock::chosen();
    coordinator.say(&hello(port));

    let registry = Arc::new(registry);
    let mut actors: HashMap<u32, Sender<Command>> = HashMap::new();
    while let Some(Request { actor, command }) = next(&mut from)? {
        match command {
            Command::Clock => coordinator.answer(actor, Answer::Clock(clock.now())),
            Command::Probe(probe) => {
                let coordinator = coordinator.clone();
                thread::Builder::new()
                    .name("probe".into())
                    .spawn(move || coordinator.answer(actor, probe::make(&probe)))?;
            }
            Command::End => {
                coordinator.answer(actor, Answer::Ended);
                break;
            }
            Command::Make(make) => {
                // This thread sleeps while actors run, but on another core it would keep the address space alive there, and
                // every change of a mapping would have to be told to that core. Where it may not be moved it stays.
                let _ = make.cpu.map(cpu::pin_current_thread);
                let (sender, commands) = channel();
                let (registry, coordinator) = (registry.clone(), coordinator.clone());
                thread::Builder::new()
                    .name(make.role.clone())
                    .spawn(move || actor_thread::live(actor, &make, &registry, &commands, &coordinator))?;
                actors.insert(actor, sender);
            }
            command => {
                let last = command == Command::Finish;
                match actors.get(&actor) {
                    // A thread that has ended has said why; the command finds nobody.
                    Some(sender) => drop(sender.send(command)),
                    None => coordinator.answer(actor, Answer::Failed(nobody(actor))),
                }
                if last {
                    actors.remove(&actor);
                }
            }
        }
    }
    std::process::exit(0)
}

/// The coordinator's next request; `None` once it has ended. A coordinator that ends with answers unread, as after a second
/// Ctrl-C, resets the connection (unix(7)).
fn next(from: &mut impl BufRead) -> io::Result<Option<Request>> {
    match protocol::receive(from) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionReset => Ok(None),
        request => request,
    }
}

/// What this process says of itself first.
pub(crate) fn hello(port: Option<u32>) -> Hello {
    let clock = RunClock::chosen();
    Hello {
        protocol: protocol::VERSION,
        program: env!("CARGO_PKG_VERSION").into(),
        build: crate::BUILD.into(),
        pid: std::process::id(),
        counts: clock,
        clock: clock.now(),
        kernel: rustix::system::uname().release().to_string_lossy().into_owned(),
        port,
        before: env::var(BEFORE).ok(),
    }
}

fn nobody(actor: u32) -> Error {
    Error::Tenant { tenant: format!("actor {actor}"), reason: "it was never made, or is finished".into() }
}
