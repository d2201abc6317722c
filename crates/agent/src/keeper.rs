//! The agent as the keeper of agents on another host, at the end of a connection that a coordinator opened by ssh.
//!
//! It removes its own file at once, starts agents from what it is itself, hands on what they and the coordinator say to each
//! other, and says what this machine is and does. When its standard input ends, or nothing was heard for
//! [`SILENCE`], it ends with all its agents; where it is killed they hear that their sockets close.

use std::collections::HashMap;
use std::fs;
use std::io::{self, BufReader, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use serde::Serialize;
use tollway_core::{Clock, Error};
use tollway_host::clock::{self, RunClock};
use tollway_host::meters::Meters;
use tollway_host::requirement::check;
use tollway_host::samplers::thread_time;
use tollway_host::samplers::usage::{Usage, children_of};
use tollway_host::{cpu, fingerprint};
use tollway_tenant::micro;
use tollway_tenant::ssh::words::{self, KEEPER, OPENING, Order, Reading, SILENCE, Survey, Word};

use crate::serve;

/// The argument by which the program is a keeper; the folder follows in which its file is.
pub const WORD: &str = "keep";

/// The name of its file in that folder.
const FILE: &str = "agent";

/// What this process is, wherever its file has gone.
const OWN: &str = "/proc/self/exe";

/// How often is looked whether the coordinator fell silent.
const LOOK: Duration = Duration::from_secs(5);

/// How many processes above this one are searched for the session of ssh: a shell or two.
const ABOVE: usize = 4;

/// Keeps agents until the coordinator is gone.
///
/// # Errors
/// What arrives is not the coordinator's, or this machine refuses what every machine has.
pub fn keep(folder: &Path) -> io::Result<()> {
    // The shell that started it does the same once it ends.
    let _ = fs::remove_file(folder.join(FILE)).and_then(|()| fs::remove_dir(folder));
    let way = Way::default();
    let hello = serde_json::to_string(&serve::hello(None))?;
    // A login may have printed half a line.
    way.write(format!("\n{OPENING}{hello}\n").as_bytes())?;
    let heard = Arc::new(Mutex::new(Instant::now()));
    thread::Builder::new().name("silence".into()).spawn({
        let heard = heard.clone();
        move || {
            while held(&heard).elapsed() < SILENCE {
                thread::sleep(LOOK);
            }
            // Agents hear that their sockets close.
            std::process::exit(1);
        }
    })?;
    let mut agents: HashMap<u32, Kept> = HashMap::new();
    let session = session();
    let mut from = BufReader::new(io::stdin());
    while let Some((number, line)) = words::heard(&mut from)? {
        *held(&heard) = Instant::now();
        if number != KEEPER {
            if let Some(agent) = agents.get(&number) {
                agent.hear(&line);
            }
            continue;
        }
        match serde_json::from_slice(&line)? {
            Order::Start { number, environment } => match Kept::start(number, &environment, &way) {
                Ok(agent) => drop(agents.insert(number, agent)),
                Err(error) => {
                    way.say(&Word::Ended { number, how: format!("it could not be started: {error}") })?
                }
            },
            Order::Stop(number) => drop(agents.remove(&number)),
            Order::Survey => {
                let survey = || -> tollway_core::Result<Survey> {
                    Ok(Survey {
                        fingerprint: fingerprint::read(),
                        cpus: cpu::processors()?,
                        hz: clock::hz()?,
                    })
                };
                let survey = survey().map_err(io::Error::other)?;
                way.say(&Word::Surveyed(Box::new(survey)))?;
            }
            Order::Check(requirement) => way.say(&Word::Checked(check(&requirement).err()))?,
            Order::MicroGuests => {
                way.say(&Word::MicroGuests(micro::check().map(|found| found.kind).map_err(Error::from)))?;
            }
            Order::Read => {
                let own = own(&agents, session);
                way.say(&Word::Reading(Box::new(Reading { meters: Meters::read(), own })))?;
            }
            Order::Clock => way.say(&Word::Clock(RunClock::chosen().now()))?,
            Order::Beat => {}
        }
    }
    Ok(())
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The way to the coordinator, which all threads share.
#[derive(Clone, Default)]
struct Way(Arc<Mutex<()>>);

impl Way {
    fn say(&self, word: &impl Serialize) -> io::Result<()> {
        let _alone = held(&self.0);
        words::say_document(&mut io::stdout(), KEEPER, word)
    }

    fn hand_on(&self, number: u32, line: &[u8]) -> io::Result<()> {
        let _alone = held(&self.0);
        words::say(&mut io::stdout(), number, line)
    }

    fn write(&self, bytes: &[u8]) -> io::Result<()> {
        let _alone = held(&self.0);
        let mut to = io::stdout();
        to.write_all(bytes)?;
        to.flush()
    }
}

/// An agent of this keeper; killed when it is dropped.
struct Kept {
    child: Arc<Mutex<Child>>,
    pid: u32,
    to: UnixStream,
}

impl Kept {
    fn start<'e>(
        number: u32,
        environment: impl IntoIterator<Item = (&'e String, &'e String)>,
        way: &Way,
    ) -> io::Result<Kept> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut command = Command::new(OWN);
        command.arg0(FILE).envs(environment).stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        let child = command.process_group(0).spawn()?;
        // Its end of the pair is not ours any longer.
        drop(command);
        let (pid, child) = (child.id(), Arc::new(Mutex::new(child)));
        let (from, way) = (ours.try_clone()?, way.clone());
        let kept = Kept { child: child.clone(), pid, to: ours };
        thread::Builder::new().name(format!("agent {number}")).spawn(move || {
            let mut from = BufReader::new(from);
            while let Ok(Some(line)) = words::line(&mut from) {
                if way.hand_on(number, &line).is_err() {
                    // There is nobody left to work for.
                    std::process::exit(0);
                }
            }
            let how = ended(&child);
            if way.say(&Word::Ended { number, how }).is_err() {
                std::process::exit(0);
            }
        })?;
        Ok(kept)
    }

    /// Hands on a line; one that does not listen any longer has ended, which is told.
    fn hear(&self, line: &[u8]) {
        let mut to = &self.to;
        let _ = to.write_all(line).and_then(|()| to.write_all(b"\n"));
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        // Errors mean that it has ended already.
        let _ = held(&self.child).kill();
        let _ = self.to.shutdown(Shutdown::Both);
    }
}

/// Waits for the end of a process whose socket has closed.
fn ended(child: &Mutex<Child>) -> String {
    loop {
        match held(child).try_wait() {
            Ok(Some(status)) => return status.to_string(),
            Ok(None) => {}
            Err(error) => return error.to_string(),
        }
        thread::sleep(Duration::from_millis(1));
    }
}

/// Processor time of all that is this run's here.
fn own(agents: &HashMap<u32, Kept>, session: Option<u32>) -> Duration {
    let of = |pid: u32| {
        let own = thread_time::process_of(pid.cast_signed()).unwrap_or_default();
        own + children_of(pid).unwrap_or_default()
    };
    let ended = Usage::children().map_or(Duration::ZERO, |used| used.user + used.system);
    let session = session.and_then(|pid| thread_time::process_of(pid.cast_signed()).ok()).unwrap_or_default();
    let living = agents.values().filter(|agent| matches!(held(&agent.child).try_wait(), Ok(None)));
    thread_time::process() + ended + session + living.map(|agent| of(agent.pid)).sum::<Duration>()
}

/// The process of sshd that enciphers what is said here; `None` where it cannot be told.
fn session() -> Option<u32> {
    let mut pid = std::os::unix::process::parent_id();
    for _ in 0..ABOVE {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // PID (NAME) STATE PARENT …: proc_pid_stat(5).
        let (name, rest) = stat.split_once('(')?.1.rsplit_once(')')?;
        if name.starts_with("sshd") || name == "dropbear" {
            return Some(pid);
        }
        pid = rest.split_whitespace().nth(1)?.parse().ok()?;
    }
    None
}
