//! Another host as the place where agents live, reached by ssh.
//!
//! # How it is made
//! One client of `ssh` connects, sends the static agent, and has it run (`script.rs`). The agent removes its own file as
//! soon as it runs and is a *keeper* then: it starts agents from what it is itself, without a file, and hands on what they
//! say (`words.rs`, `link.rs`), so that a fresh process costs milliseconds there and no connection of its own. When the
//! connection ends, whoever ends it, the keeper ends with all its agents; where the network falls silent it does so after
//! [`SILENCE`](words::SILENCE), and the client here after 9 s.
//!
//! # Whose clock
//! All actors of a trial live on that host and read its clock, and everything a run states in ticks is in that clock's. So
//! nothing is translated: [`OtherHost::now`] asks what time it is there, which bounds it from above, and a window is told
//! in that clock, far enough ahead for its word to arrive.
//!
//! # What is not there
//! Linux guests are started by the coordinator, on its own machine: what needs one is skipped.

mod address;
mod link;
mod script;
mod trouble;
pub mod words;

use std::collections::BTreeMap;
use std::fmt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tollway_core::{Error, KvmKind, Missing, Requirement, Result, Ticks};
use tollway_host::clock::RunClock;

pub use address::Address;
pub use link::CLIENT;
pub use script::FOLDER;
pub use words::{Reading, Survey};

use self::link::{Link, held};
use self::words::{Order, Word};
use crate::agent::hello_of;
use crate::protocol::Hello;
use crate::{Agent, Executable};

/// What of this program's environment is also that of agents there: it says how is measured, and names what is of that host.
const HANDED_ON: [&str; 2] = ["TOLLWAY_CLOCK", "TOLLWAY_SCRATCH"];

/// How often the clock there is asked for: the answer that took the shortest is taken.
const READINGS: usize = 4;

/// What a requirement's probe found there.
type Probed = (Requirement, Result<(), Missing>);

/// Another host, with a keeper on it.
pub struct OtherHost {
    link: Arc<Link>,
    hello: Hello,
    survey: Survey,
    next: AtomicU32,
    probed: Mutex<Vec<Probed>>,
}

impl fmt::Debug for OtherHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OtherHost").field("hello", &self.hello).finish_non_exhaustive()
    }
}

impl OtherHost {
    /// Reaches it and has the agent in this file run there. `build` is of which sources that must have been built.
    ///
    /// # Errors
    /// [`Error::Missing`] with what is in the way, and the remedy.
    pub fn reach(address: &Address, agent: &Path, build: &str) -> Result<OtherHost> {
        let (link, hello) = Link::open(address, agent)?;
        let hello = hello_of(&hello).map_err(|reason| link.error(reason));
        let fit = hello.and_then(|hello| {
            if hello.build != build {
                return Err(Error::Missing(Missing::new(
                    format!("an agent for {address}"),
                    format!("{} was built from other sources than this program", agent.display()),
                    "make agent",
                )));
            }
            match link.ask(&Order::Survey)? {
                Word::Surveyed(survey) => Ok((hello, *survey)),
                other => Err(link.give_up(format!("it was asked what it is and said {other:?}"))),
            }
        });
        match fit {
            Ok((hello, survey)) => {
                Ok(OtherHost { link, hello, survey, next: AtomicU32::new(1), probed: Mutex::default() })
            }
            Err(error) => {
                link.close();
                Err(error)
            }
        }
    }

    /// What machine it is.
    pub fn survey(&self) -> &Survey {
        &self.survey
    }

    /// Which clock is read there.
    pub fn counts(&self) -> RunClock {
        self.hello.counts
    }

    /// A fresh agent there, with this one's environment: the program is the one that was sent.
    pub(crate) fn agent(self: &Arc<Self>, executable: &Executable) -> Result<Agent> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let inherited =
            HANDED_ON.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?)));
        let environment: BTreeMap<String, String> =
            inherited.chain(executable.environment.iter().cloned()).collect();
        let (ours, theirs) =
            UnixStream::pair().map_err(|e| Error::system("making the sockets of an agent's words", e))?;
        self.link.hand_on(number, theirs, &Order::Start { number, environment })?;
        Agent::on_other_host(ours, self.clone(), number)
    }

    /// The clock there as it stands now at the latest, and how exactly that is known: the time that the question and its
    /// answer took.
    ///
    /// # Errors
    /// [`Error::Tenant`] where nothing is heard from there.
    pub fn now(&self) -> Result<(Ticks, Duration)> {
        let mut best: Option<(Instant, Ticks, Duration)> = None;
        for _ in 0..READINGS {
            let asked = Instant::now();
            let Word::Clock(theirs) = self.link.ask(&Order::Clock)? else { return Err(self.out_of_turn()) };
            let took = asked.elapsed();
            if best.is_none_or(|(.., shortest)| took < shortest) {
                best = Some((asked, theirs, took));
            }
        }
        // It read its clock after it was asked.
        let (asked, theirs, took) = best.ok_or_else(|| self.out_of_turn())?;
        Ok((theirs + (asked.elapsed().as_secs_f64() * self.survey.hz) as Ticks, took))
    }

    /// The meters there, and what this run has used of its processors so far.
    ///
    /// # Errors
    /// [`Error::Tenant`] where nothing is heard from there.
    pub fn read(&self) -> Result<Reading> {
        match self.link.ask(&Order::Read)? {
            Word::Reading(reading) => Ok(*reading),
            _ => Err(self.out_of_turn()),
        }
    }

    /// Whether a requirement is met there; each is probed once.
    ///
    /// # Errors
    /// [`Missing`] with what was tried there and what would provide it.
    pub fn check(&self, requirement: &Requirement) -> Result<(), Missing> {
        if *requirement == Requirement::LinuxGuest {
            return Err(Missing::new(
                "Linux guests on another host",
                "they are started on the machine on which tollway itself runs",
                "install tollway there, and run it there without --on",
            ));
        }
        if let Some((_, found)) = held(&self.probed).iter().find(|(probed, _)| probed == requirement) {
            return found.clone();
        }
        let found = match self.link.ask(&Order::Check(requirement.clone())) {
            Ok(Word::Checked(missing)) => missing.map_or(Ok(()), Err),
            Ok(_) => return Err(lost(&self.out_of_turn())),
            Err(error) => return Err(lost(&error)),
        };
        held(&self.probed).push((requirement.clone(), found.clone()));
        found
    }

    /// The kind of the KVM that is there for micro-guests.
    ///
    /// # Errors
    /// What keeps micro-guests from running there.
    pub fn micro_guests(&self) -> Result<KvmKind> {
        match self.link.ask(&Order::MicroGuests)? {
            Word::MicroGuests(found) => found,
            _ => Err(self.out_of_turn()),
        }
    }

    /// Whether it answers; where not, the connection has been given up, and the error says why.
    pub(crate) fn is_there(&self) -> Result<()> {
        self.link.ask(&Order::Clock).map(drop)
    }

    /// How an agent there ended, or why nothing is known of it any longer.
    pub(crate) fn how_ended(&self, number: u32) -> Option<String> {
        self.link.how_ended(number).or_else(|| self.link.why_lost())
    }

    /// The error of an agent there; that of the connection, where it was lost.
    pub(crate) fn error_of(&self, number: u32, reason: String) -> Error {
        self.link.error(format!("agent {number}: {reason}"))
    }

    /// An agent there is needed no longer.
    pub(crate) fn forget(&self, number: u32) {
        self.link.forget(number);
    }

    fn out_of_turn(&self) -> Error {
        self.link.give_up("it answered what it was not asked".into())
    }
}

impl Drop for OtherHost {
    fn drop(&mut self) {
        self.link.close();
    }
}

/// A requirement that nobody could probe.
fn lost(error: &Error) -> Missing {
    Missing::new("the other host", error.to_string(), "run it again once the host can be reached")
}
