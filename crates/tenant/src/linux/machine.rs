//! One running QEMU: its process, what it says, its clock, and the ports to its agents.

use std::io::Error as IoError;
use std::net::Shutdown;
use std::os::unix::net::UnixStream;
use std::process::Child;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tollway_core::{Error, Result};
use tollway_host::clock::RunClock;

use super::clock::GuestClock;
use super::console::Console;
use crate::Agent;
use crate::agent::{ITSELF, hello};
use crate::connection::Connection;
use crate::protocol::{Answer, Hello, Reply};

/// How often a process is asked whether it has ended.
const ASK: Duration = Duration::from_millis(2);

/// A guest, as it and its agents share it.
pub(crate) struct Machine {
    /// How errors call it.
    name: String,
    pid: Pid,
    process: Mutex<Child>,
    console: Mutex<Console>,
    clock: Mutex<GuestClock>,
    ports: Vec<Port>,
}

/// A port of its virtio-serial device.
struct Port {
    socket: UnixStream,
    state: Mutex<State>,
}

/// What is known of the agent process on a port that nobody uses.
enum State {
    /// It is new, and has said this if it has been heard yet. These bytes were read beyond that.
    Fresh { hello: Option<Hello>, read: Vec<u8> },
    /// It was told to end; its answer, and the hello of the next one, are still to come behind these bytes.
    Ending { read: Vec<u8> },
    /// Somebody uses it, or it could not be told to end.
    Taken,
}

impl Machine {
    pub(super) fn new(name: String, process: Child, console: Console, ports: Vec<UnixStream>) -> Self {
        let fresh =
            |socket| Port { socket, state: Mutex::new(State::Fresh { hello: None, read: Vec::new() }) };
        Machine {
            name,
            pid: Pid::from_child(&process),
            process: Mutex::new(process),
            console: Mutex::new(console),
            clock: Mutex::new(GuestClock::default()),
            ports: ports.into_iter().map(fresh).collect(),
        }
    }

    pub(super) fn pid(&self) -> u32 {
        self.pid.as_raw_nonzero().get().cast_unsigned()
    }

    pub(super) fn ports(&self) -> usize {
        self.ports.len()
    }

    pub(crate) fn clock(&self) -> MutexGuard<'_, GuestClock> {
        held(&self.clock)
    }

    /// Waits for the hello of every agent that nobody has taken.
    pub(super) fn wait_for_hellos(&self, deadline: Instant) -> Result<()> {
        for number in 0..self.ports.len() {
            let mut state = held(&self.ports[number].state);
            if matches!(*state, State::Taken) {
                continue;
            }
            let (mut connection, hello) = self.fresh(number, &mut state, deadline)?;
            *state = State::Fresh { hello: Some(hello), read: connection.leftover() };
        }
        Ok(())
    }

    /// A fresh agent process, which is the caller's until it drops it.
    pub(super) fn agent(self: &Arc<Self>, number: usize, deadline: Instant) -> Result<Agent> {
        let Some(port) = self.ports.get(number) else {
            return Err(self.error(format!("it has {} agents, and no number {number}", self.ports.len())));
        };
        let mut state = held(&port.state);
        let (connection, hello) = self.fresh(number, &mut state, deadline)?;
        Ok(Agent::in_guest(connection, hello, self.clone(), number))
    }

    /// Takes the agent of a port, which is not the one that was told to end. Where that fails the machine is killed:
    /// what a port says then can no longer be told apart.
    fn fresh(&self, number: usize, state: &mut State, deadline: Instant) -> Result<(Connection, Hello)> {
        let (heard, read, ending) = match std::mem::replace(state, State::Taken) {
            State::Fresh { hello, read } => (hello, read, false),
            State::Ending { read } => (None, read, true),
            State::Taken => {
                return Err(self.error(format!("agent {number} is in use, or could not be ended")));
            }
        };
        let outcome = self.ports[number]
            .socket
            .try_clone()
            .map_err(|e| e.to_string())
            .map(|socket| Connection::new(socket, read))
            .and_then(|mut connection| {
                if ending {
                    until_ended(&mut connection, deadline)?;
                }
                let hello = match heard {
                    Some(hello) => hello,
                    None => hello(&mut connection, deadline)?,
                };
                fits(&hello, number)?;
                Ok((connection, hello))
            });
        outcome.map_err(|reason| {
            // What it says tells more than how it ended once it is killed.
            self.settle();
            let how = self.ended().map(|status| format!(" ({status})")).unwrap_or_default();
            let error = self.error(format!("agent {number}: {reason}{how}"));
            self.kill();
            error
        })
    }

    /// Takes a port back from an agent that is no longer used.
    pub(crate) fn free(&self, number: usize, read: Vec<u8>, told_to_end: bool) {
        if told_to_end {
            *held(&self.ports[number].state) = State::Ending { read };
        }
    }

    /// An error of this guest, with what it said last.
    pub(crate) fn error(&self, reason: String) -> Error {
        let reason = match held(&self.console).last_lines() {
            Some(lines) => format!("{reason}; its console ends: {lines}"),
            None => reason,
        };
        Error::Tenant { tenant: self.name.clone(), reason }
    }

    /// How QEMU ended, if it has.
    pub(crate) fn ended(&self) -> Option<String> {
        held(&self.process).try_wait().ok().flatten().map(|status| format!("QEMU: {status}"))
    }

    /// Waits a moment for the end of a process whose ports have closed.
    fn settle(&self) {
        let closed =
            |port: &Port| rustix::net::recv(&port.socket, &mut [0; 1], PEEK).is_ok_and(|(n, _)| n == 0);
        if self.ports.iter().any(closed) {
            self.wait(Duration::from_millis(200));
        }
    }

    /// Ends the process at once; its agents will find their ports closed.
    pub(crate) fn kill(&self) {
        // An error means that it has ended.
        let _ = held(&self.process).kill();
    }

    /// Kills it, and waits until nothing is left.
    pub(super) fn end(&self) {
        let mut process = held(&self.process);
        let _ = process.kill();
        let _ = process.wait();
    }

    /// Whether it ends by itself within that time.
    pub(super) fn wait(&self, patience: Duration) -> bool {
        let give_up = Instant::now() + patience;
        while self.ended().is_none() {
            if Instant::now() >= give_up {
                return false;
            }
            held(&self.console).drain();
            sleep(ASK);
        }
        true
    }

    /// Closes our end of every port, which is how a guest is told to power off.
    pub(super) fn hang_up(&self) {
        for port in &self.ports {
            // One that is closed is what is wanted.
            let _ = port.socket.shutdown(Shutdown::Both);
        }
    }

    pub(super) fn signal(&self, signal: Signal) -> Result<()> {
        // Under the lock, so that the number is still this process's.
        let mut process = held(&self.process);
        match process.try_wait() {
            Ok(None) => kill_process(self.pid, signal).map_err(|e| Error::system("signalling QEMU", e)),
            Ok(Some(status)) => {
                drop(process);
                Err(self.error(format!("it has ended (QEMU: {status})")))
            }
            Err(e) => Err(Error::system("asking for QEMU's end", e)),
        }
    }
}

const PEEK: rustix::net::RecvFlags = rustix::net::RecvFlags::PEEK.union(rustix::net::RecvFlags::DONTWAIT);

/// Reads over what an agent says before it confirms its end.
fn until_ended(connection: &mut Connection, deadline: Instant) -> Result<(), String> {
    let explain = |e: IoError| match e.kind() {
        std::io::ErrorKind::TimedOut => "it did not end in time".into(),
        _ => e.to_string(),
    };
    loop {
        let line = connection.line(deadline).map_err(explain)?.ok_or("it ended before its agent did")?;
        match serde_json::from_slice::<Reply>(&line) {
            Ok(Reply { actor: ITSELF, answer: Answer::Ended }) => return Ok(()),
            Ok(_) => {}
            // One that crashed has been replaced before it could be told to end; its successor ends in its place.
            Err(error) => drop(serde_json::from_slice::<Hello>(&line).map_err(|_| error.to_string())?),
        }
    }
}

/// Whether an agent can be used: it counts by our clock and sits where we think.
fn fits(hello: &Hello, port: usize) -> Result<(), String> {
    let ours = RunClock::chosen();
    if hello.counts != ours {
        return Err(format!("it counts by {}, this program by {}", hello.counts.name(), ours.name()));
    }
    if hello.port.map(|port| port as usize) != Some(port) {
        return Err(format!("it says that it speaks on port {:?}", hello.port));
    }
    Ok(())
}

fn held<T>(lock: &Mutex<T>) -> MutexGuard<'_, T> {
    lock.lock().unwrap_or_else(PoisonError::into_inner)
}
