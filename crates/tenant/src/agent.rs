//! The coordinator's end of an agent, wherever that is: a child process, a process in a Linux guest or of another host.

use std::fmt;
use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command as Spawn, Stdio};
use std::sync::Arc;
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde::Deserialize;
use tollway_core::{Clock, Error, Result, Ticks};
use tollway_host::clock::RunClock;

use crate::connection::Connection;
use crate::linux::Machine;
use crate::protocol::{self, Answer, Command, Hello, Reply, Request};
use crate::ssh::OtherHost;

/// How long a fresh agent may take to say hello.
const HELLO: Duration = Duration::from_secs(30);

/// How long an agent whose socket has closed may take to end before nobody asks any longer how it ended.
const ENDING: Duration = Duration::from_secs(10);

/// The actor number of commands that are to the agent itself.
pub(crate) const ITSELF: u32 = u32::MAX;

/// How often the clock of a guest is read to learn its offset.
const READINGS: usize = 16;

/// How long a reading may take: beside a thread of real time a guest waits for seconds.
const READING: Duration = Duration::from_secs(30);

/// What is started as an agent, and in which surroundings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Executable {
    /// The program.
    pub program: PathBuf,
    /// Its arguments: those that make it an agent.
    pub arguments: Vec<String>,
    /// Environment variables on top of the coordinator's own.
    pub environment: Vec<(String, String)>,
}

/// A running agent.
///
/// Dropping one that is a child kills it and waits for its end; dropping one that lives in a Linux guest has the
/// guest replace it by a fresh process; dropping one of another host has it killed there.
pub struct Agent {
    connection: Connection,
    hello: Hello,
    home: Home,
}

/// Where an agent lives.
enum Home {
    Here(Child),
    Guest { machine: Arc<Machine>, port: usize },
    Elsewhere { host: Arc<OtherHost>, number: u32 },
}

impl fmt::Debug for Agent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Agent").field("hello", &self.hello).finish_non_exhaustive()
    }
}

impl Agent {
    /// Starts the executable with a socket as its standard input and waits for its hello.
    pub fn start(executable: &Executable) -> Result<Agent> {
        let name = executable.program.display().to_string();
        let before = RunClock::chosen().now();
        let (ours, theirs) = UnixStream::pair().map_err(|e| Error::system("making an agent's socket", e))?;
        let mut child = Spawn::new(&executable.program)
            .args(&executable.arguments)
            .envs(executable.environment.iter().map(|(k, v)| (k, v)))
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::null())
            // Ctrl-C is for the coordinator, which lets the running trial end.
            .process_group(0)
            .spawn()
            .map_err(|e| Error::system(format!("starting `{name}` as an agent"), e))?;
        let mut connection = Connection::new(ours, Vec::new());
        let unfit = |reason: String| Error::Tenant { tenant: format!("`{name}`"), reason };
        let hello = hello(&mut connection, Instant::now() + HELLO)
            .map_err(unfit)
            .and_then(|hello| same_clock(before, &hello, &name).map(|()| hello));
        match hello {
            Ok(hello) => Ok(Agent { connection, hello, home: Home::Here(child) }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// A process in a Linux guest that has said hello.
    pub(crate) fn in_guest(
        connection: Connection,
        hello: Hello,
        machine: Arc<Machine>,
        port: usize,
    ) -> Agent {
        Agent { connection, hello, home: Home::Guest { machine, port } }
    }

    /// The agent of that number on another host, whose words come by this socket; waits for its hello.
    pub(crate) fn on_other_host(socket: UnixStream, host: Arc<OtherHost>, number: u32) -> Result<Agent> {
        let mut connection = Connection::new(socket, Vec::new());
        let clock = host.counts();
        let hello =
            hello(&mut connection, Instant::now() + HELLO).and_then(|hello| match hello.counts == clock {
                true => Ok(hello),
                false => Err(format!("it counts by {}, its host by {}", hello.counts.name(), clock.name())),
            });
        match hello {
            Ok(hello) => Ok(Agent { connection, hello, home: Home::Elsewhere { host, number } }),
            Err(reason) => {
                let reason = host.how_ended(number).map_or(reason.clone(), |how| format!("{reason} ({how})"));
                host.forget(number);
                Err(host.error_of(number, reason))
            }
        }
    }

    /// What it said of itself when it started.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Its process number, where it is a process of this machine.
    pub fn process(&self) -> Option<u32> {
        match &self.home {
            Home::Here(child) => Some(child.id()),
            Home::Guest { .. } | Home::Elsewhere { .. } => None,
        }
    }

    /// Learns how far its clock is from this machine's, so that windows can be told in its own; nothing for an agent
    /// that reads the same clock. Nothing else may be outstanding. Takes about 5 ms.
    ///
    /// All agents of a guest share what was learnt, and each further time makes it more exact.
    ///
    /// # Errors
    /// [`Error::Tenant`] if it does not answer, or if its clock runs at another rate.
    pub fn synchronise(&mut self) -> Result<()> {
        let Home::Guest { machine, .. } = &self.home else { return Ok(()) };
        let machine = machine.clone();
        for _ in 0..READINGS {
            let before = RunClock::chosen().now();
            let answer = self.ask(ITSELF, Command::Clock, Instant::now() + READING)?;
            let after = RunClock::chosen().now();
            let Answer::Clock(theirs) = answer else {
                return Err(self.broken(format!("it was asked for its clock and said {answer:?}")));
            };
            machine.clock().learn(before, theirs, after).map_err(|reason| machine.error(reason))?;
        }
        Ok(())
    }

    /// How far apart its clock may be from what [`Agent::synchronise`] learnt, in ticks; 0 where it is the same clock.
    pub fn uncertainty(&self) -> Ticks {
        match &self.home {
            Home::Here(_) | Home::Elsewhere { .. } => 0,
            Home::Guest { machine, .. } => machine.clock().uncertainty(),
        }
    }

    /// Sends a command to one of its actors. A window is this machine's; it is told in the agent's own clock. To an agent
    /// of another host it is in that host's clock from the start ([`Target::now`](crate::Target::now)).
    pub fn send(&mut self, actor: u32, mut command: Command) -> Result<()> {
        if let (Command::Run(window), Home::Guest { machine, .. }) = (&mut command, &self.home) {
            let clock = machine.clock();
            for edge in [&mut window.warm, &mut window.open, &mut window.close] {
                *edge =
                    clock.theirs(*edge).ok_or_else(|| machine.error("its clock is not known yet".into()))?;
            }
        }
        self.connection.send(&Request { actor, command }).map_err(|e| match e.kind() {
            ErrorKind::TimedOut => self.broken("it does not listen and was stopped".into()),
            _ => self.gone(e.to_string()),
        })
    }

    /// The next reply of any of its actors, if it comes before the deadline.
    pub fn reply(&mut self, deadline: Instant) -> Result<Reply> {
        let line = match self.connection.line(deadline) {
            Ok(Some(line)) => line,
            Ok(None) => return Err(self.gone("it ended".into())),
            Err(e) if e.kind() == ErrorKind::TimedOut => {
                return Err(self.broken("it did not answer in time and was stopped".into()));
            }
            Err(e) if e.kind() == ErrorKind::InvalidData => return Err(self.broken(e.to_string())),
            Err(e) => return Err(self.gone(e.to_string())),
        };
        serde_json::from_slice(&line).map_err(|error| match serde_json::from_slice::<Hello>(&line) {
            // The guest has replaced a process that ended by itself.
            Ok(hello) if hello.port.is_some() => {
                let how = hello.before.unwrap_or_else(|| "in order".into());
                self.failed(format!("it ended ({how})"))
            }
            _ => self.broken(error.to_string()),
        })
    }

    /// The next reply of any of these agents, whichever speaks first, with its index. Where none does before the
    /// deadline the error is that of the first.
    pub fn first_of(agents: &mut [Agent], which: &[usize], deadline: Instant) -> Result<(usize, Reply)> {
        let mut places = Vec::new();
        let mut asked = Vec::new();
        for (at, agent) in agents.iter_mut().enumerate().filter(|(at, _)| which.contains(at)) {
            places.push(at);
            asked.push(&mut agent.connection);
        }
        let speaker = Connection::first_of(&mut asked, deadline)
            .map_err(|e| Error::system("waiting for agents", e))?
            .map_or(which[0], |at| places[at]);
        agents[speaker].reply(deadline).map(|reply| (speaker, reply))
    }

    /// Sends a command to an actor of which nothing else is outstanding, and waits for its answer.
    pub fn ask(&mut self, actor: u32, command: Command, deadline: Instant) -> Result<Answer> {
        self.send(actor, command)?;
        let reply = self.reply(deadline)?;
        if reply.actor != actor {
            return Err(self.broken(format!("actor {} answered for actor {actor}", reply.actor)));
        }
        match reply.answer {
            Answer::Failed(error) => Err(error),
            answer => Ok(answer),
        }
    }

    /// The error of an agent that did what it must not do. Whatever it lives in is not used again.
    fn broken(&mut self, reason: String) -> Error {
        match &self.home {
            Home::Here(_) => {}
            Home::Guest { machine, .. } => machine.kill(),
            // It may be the network that does not answer.
            Home::Elsewhere { host, .. } => {
                if let Err(error) = host.is_there() {
                    return error;
                }
            }
        }
        self.failed(reason)
    }

    /// The error of an agent whose end of the stream has closed.
    fn gone(&mut self, reason: String) -> Error {
        // Its socket closes a moment before its end can be asked for.
        let give_up = Instant::now() + ENDING;
        while self.status().is_none() && Instant::now() < give_up {
            sleep(Duration::from_millis(1));
        }
        self.failed(reason)
    }

    fn failed(&mut self, reason: String) -> Error {
        let reason = match self.status() {
            Some(status) => format!("{reason} ({status})"),
            None => reason,
        };
        match &self.home {
            Home::Here(child) => Error::Tenant { tenant: format!("process {}", child.id()), reason },
            Home::Guest { machine, port } => machine.error(format!("agent {port}: {reason}")),
            Home::Elsewhere { host, number } => host.error_of(*number, reason),
        }
    }

    /// Whether it has ended, or the guest that it lives in.
    pub fn has_ended(&mut self) -> bool {
        self.status().is_some()
    }

    /// How its process ended, or that of the guest that it lives in.
    fn status(&mut self) -> Option<String> {
        match &mut self.home {
            Home::Here(child) => child.try_wait().ok().flatten().map(|status| status.to_string()),
            Home::Guest { machine, .. } => machine.ended(),
            Home::Elsewhere { host, number } => host.how_ended(*number),
        }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        match &mut self.home {
            Home::Here(child) => end(child),
            Home::Guest { machine, port } => {
                // Where this fails the guest is gone or stuck; who wants its next agent will hear of it.
                let told = self.connection.send(&Request { actor: ITSELF, command: Command::End }).is_ok();
                machine.free(*port, self.connection.leftover(), told);
            }
            // It is stopped when the socket closes.
            Home::Elsewhere { host, number } => host.forget(*number),
        }
    }
}

fn end(child: &mut Child) {
    // An error here means that the child has ended already, which is what is wanted.
    let _ = child.kill();
    let _ = child.wait();
}

/// Refuses an agent that does not read the clock that this process reads: its windows would never open, or never
/// close.
fn same_clock(before: Ticks, hello: &Hello, name: &str) -> Result<()> {
    /// How far processors' counters may be apart: below a millisecond on any machine.
    const APART: Ticks = 1_000_000;
    let now = RunClock::chosen().now();
    let then = before.saturating_sub(APART)..=now.saturating_add(APART);
    if hello.counts == RunClock::chosen() && then.contains(&hello.clock) {
        return Ok(());
    }
    Err(Error::Input {
        place: format!("`{name}` as an agent"),
        reason: "its clock is not the clock of this program".into(),
        remedy: "let TOLLWAY_CLOCK be the same for both".into(),
    })
}

/// What an agent says first, or why it is none, in words.
pub(crate) fn hello(connection: &mut Connection, deadline: Instant) -> Result<Hello, String> {
    let line = match connection.line(deadline) {
        Ok(Some(line)) => line,
        Ok(None) => return Err("it ended before it said hello; is it a tollway program?".into()),
        Err(e) if e.kind() == ErrorKind::TimedOut => {
            return Err("it did not say hello in time; is it a tollway program?".into());
        }
        Err(e) => return Err(format!("it is no agent: {e}")),
    };
    hello_of(&line)
}

/// The hello that is in this line, or why there is none that this program understands, in words.
pub(crate) fn hello_of(line: &[u8]) -> Result<Hello, String> {
    /// What a hello of any version has.
    #[derive(Deserialize)]
    struct Version {
        protocol: u32,
    }
    let version: Version = serde_json::from_slice(line).map_err(|e| format!("it is no agent: {e}"))?;
    if version.protocol != protocol::VERSION {
        return Err(format!(
            "it speaks protocol {} and this program {}; build both from sources that agree (the agent of Linux \
             guests by `make agent`)",
            version.protocol,
            protocol::VERSION
        ));
    }
    serde_json::from_slice(line).map_err(|e| format!("it is no agent: {e}"))
}
