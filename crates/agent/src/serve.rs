//! The agent's main loop: reads commands and hands each to the thread of its actor.

use std::collections::HashMap;
use std::io::{self, BufReader};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread;

use tollway_core::{Clock, Error, Registry};
use tollway_host::clock::RunClock;
use tollway_host::cpu;
use tollway_tenant::protocol::{self, Answer, Command, Hello, Reply, Request};

use crate::actor_thread;

/// The socket to the coordinator, shared by the threads that answer.
#[derive(Clone)]
pub(crate) struct Coordinator(Arc<Mutex<UnixStream>>);

impl Coordinator {
    /// Sends one answer. Where the coordinator is gone the process ends: there is nobody left to work for.
    pub(crate) fn answer(&self, actor: u32, answer: Answer) {
        let mut socket = match self.0.lock() {
            Ok(socket) => socket,
            Err(poisoned) => poisoned.into_inner(),
        };
        if protocol::send(&mut *socket, &Reply { actor, answer }).is_err() {
            std::process::exit(0);
        }
    }
}

/// Serves the coordinator at the other end of standard input until it closes the socket; then ends the process, with
/// whatever its actors are still doing.
///
/// # Errors
/// Standard input is no socket, or what arrives there is not this protocol.
pub fn serve(registry: Registry) -> io::Result<()> {
    let socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.peer_addr().map_err(|_| {
        io::Error::other("standard input is no socket; an agent is started by `tollway`, not by hand")
    })?;
    let mut from = BufReader::new(socket.try_clone()?);
    let coordinator = Coordinator(Arc::new(Mutex::new(socket.try_clone()?)));
    let clock = RunClock::chosen();
    protocol::send(
        &mut &socket,
        &Hello {
            protocol: protocol::VERSION,
            program: env!("CARGO_PKG_VERSION").into(),
            pid: std::process::id(),
            clock: clock.now(),
        },
    )?;

    let registry = Arc::new(registry);
    let mut actors: HashMap<u32, Sender<Command>> = HashMap::new();
    while let Some(Request { actor, command }) = protocol::receive(&mut from)? {
        if let Command::Make(make) = command {
            // This thread sleeps while actors run, but on another core it would keep the address space alive there, and
            // every change of a mapping would have to be told to that core. Where it may not be moved it stays.
            let _ = cpu::pin_current_thread(make.cpu);
            let (sender, commands) = channel();
            let (registry, coordinator) = (registry.clone(), coordinator.clone());
            thread::Builder::new()
                .name(make.role.clone())
                .spawn(move || actor_thread::live(actor, &make, &registry, &commands, &coordinator))?;
            actors.insert(actor, sender);
        } else {
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
    std::process::exit(0)
}

fn nobody(actor: u32) -> Error {
    Error::Tenant { tenant: format!("actor {actor}"), reason: "it was never made, or is finished".into() }
}
