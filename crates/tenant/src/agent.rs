//! The coordinator's end of an agent process.

use std::io::{BufReader, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command as Spawn, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tollway_core::{Clock, Error, Result, Ticks};
use tollway_host::clock::RunClock;

use crate::protocol::{self, Answer, Command, Hello, Reply, Request};

/// How long a fresh agent may take to say hello.
const HELLO: Duration = Duration::from_secs(10);

/// How long an agent whose socket has closed may take to end before nobody asks any longer how it ended.
const ENDING: Duration = Duration::from_millis(100);

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

/// A running agent process. Dropping it kills it and waits for its end.
pub struct Agent {
    child: Child,
    to: UnixStream,
    from: BufReader<UnixStream>,
    hello: Hello,
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
        let connected =
            ours.try_clone().map_err(|e| Error::system("sharing an agent's socket", e)).and_then(|to| {
                let mut from = BufReader::new(ours);
                let hello = hello(&mut from, &name)?;
                same_clock(before, &hello, &name)?;
                Ok((to, from, hello))
            });
        match connected {
            Ok((to, from, hello)) => Ok(Agent { child, to, from, hello }),
            Err(error) => {
                end(&mut child);
                Err(error)
            }
        }
    }

    /// What it said of itself when it started.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Sends a command to one of its actors.
    pub fn send(&mut self, actor: u32, command: Command) -> Result<()> {
        protocol::send(&mut self.to, &Request { actor, command }).map_err(|e| self.dead(e.to_string(), true))
    }

    /// The next reply of any of its actors, if it comes before the deadline.
    pub fn reply(&mut self, deadline: Instant) -> Result<Reply> {
        let left = deadline.saturating_duration_since(Instant::now()).max(Duration::from_millis(1));
        self.from
            .get_ref()
            .set_read_timeout(Some(left))
            .map_err(|e| Error::system("setting a time limit on an agent's socket", e))?;
        match protocol::receive::<Reply>(&mut self.from) {
            Ok(Some(reply)) => Ok(reply),
            Ok(None) => Err(self.dead("it ended".into(), true)),
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                Err(self.dead("it did not answer in time and was stopped".into(), false))
            }
            Err(e) => Err(self.dead(e.to_string(), true)),
        }
    }

    /// The next reply of any of these agents, whichever speaks first, with its index. Where none does before the
    /// deadline the error is that of the first.
    pub fn first_of(agents: &mut [Agent], which: &[usize], deadline: Instant) -> Result<(usize, Reply)> {
        let heard = which.iter().copied().find(|at| !agents[*at].from.buffer().is_empty());
        let speaker = match heard {
            Some(at) => at,
            None => {
                let left = deadline.saturating_duration_since(Instant::now());
                let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
                let mut waiting: Vec<PollFd<'_>> =
                    which.iter().map(|at| PollFd::new(agents[*at].from.get_ref(), PollFlags::IN)).collect();
                rustix::io::retry_on_intr(|| poll(&mut waiting, Some(&left)))
                    .map_err(|e| Error::system("waiting for agents", e))?;
                let ready = waiting.iter().position(|fd| !fd.revents().is_empty());
                which[ready.unwrap_or(0)]
            }
        };
        agents[speaker].reply(deadline).map(|reply| (speaker, reply))
    }

    /// Sends a command to an actor of which nothing else is outstanding, and waits for its answer.
    pub fn ask(&mut self, actor: u32, command: Command, deadline: Instant) -> Result<Answer> {
        self.send(actor, command)?;
        let reply = self.reply(deadline)?;
        if reply.actor != actor {
            return Err(self.dead(format!("actor {} answered for actor {actor}", reply.actor), false));
        }
        match reply.answer {
            Answer::Failed(error) => Err(error),
            answer => Ok(answer),
        }
    }

    fn dead(&mut self, reason: String, closed: bool) -> Error {
        // Its socket closes a moment before its end can be asked for.
        let give_up = Instant::now() + ENDING;
        let ended = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break format!("{reason} ({status})"),
                Ok(None) if closed && Instant::now() < give_up => sleep(Duration::from_millis(1)),
                _ => break reason,
            }
        };
        Error::Tenant { tenant: format!("process {}", self.hello.pid), reason: ended }
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        end(&mut self.child);
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
    if (before.saturating_sub(APART)..=now.saturating_add(APART)).contains(&hello.clock) {
        return Ok(());
    }
    Err(Error::Input {
        place: format!("`{name}` as an agent"),
        reason: "its clock is not the clock of this program".into(),
        remedy: "let TOLLWAY_CLOCK be the same for both".into(),
    })
}

fn hello(from: &mut BufReader<UnixStream>, name: &str) -> Result<Hello> {
    let unfit = |reason: String| Error::Tenant { tenant: format!("`{name}`"), reason };
    from.get_ref()
        .set_read_timeout(Some(HELLO))
        .map_err(|e| Error::system("setting a time limit on an agent's socket", e))?;
    let hello: Hello = protocol::receive(from)
        .map_err(|e| match e.kind() {
            ErrorKind::WouldBlock | ErrorKind::TimedOut => {
                unfit(format!("it did not say hello within {} s; is it a tollway program?", HELLO.as_secs()))
            }
            _ => unfit(format!("it is no agent: {e}")),
        })?
        .ok_or_else(|| unfit("it ended before it said hello; is it a tollway program?".into()))?;
    if hello.protocol != protocol::VERSION {
        return Err(unfit(format!(
            "it speaks protocol {} and this program {}; build both from releases that agree",
            hello.protocol,
            protocol::VERSION
        )));
    }
    Ok(hello)
}
