//! What a coordinator and its agents say to each other: one JSON document a line, over a Unix stream socket or, in a
//! Linux guest, a port of its virtio-serial device.
//!
//! The agent opens with a [`Hello`]. After that the coordinator sends [`Request`]s and the agent answers each with one
//! [`Reply`] that carries the same actor number; replies of different actors come in any order. When the socket closes
//! the agent ends, whatever it is doing, so nothing outlives a coordinator that was killed. [`Command::Clock`],
//! [`Command::Probe`] and [`Command::End`] are to the agent itself, whatever actor number they carry.

use std::io::{self, BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tollway_core::{Address, Error, Lot, Params, Requirement, Spread, Tally, TenantKind, Ticks, Window};
use tollway_host::clock::RunClock;
use tollway_host::gap::Gaps;

use crate::probe::Probe;

/// The version of this protocol; both sides must have the same.
pub const VERSION: u32 = 7;

/// The longest line that either side reads, in bytes: a recorder's distribution is far below it.
pub const LONGEST_LINE: u64 = 64 << 20;

/// What an agent says first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// [`VERSION`] of the agent.
    pub protocol: u32,
    /// The program's version, for the record.
    pub program: String,
    /// Of which sources it was built, as a number.
    pub build: String,
    /// Its process number, in a Linux guest that of the guest.
    pub pid: u32,
    /// Which clock it counts by: the coordinator refuses an agent whose clock is another than its own.
    pub counts: RunClock,
    /// That clock at this moment.
    pub clock: Ticks,
    /// The release of the kernel under it.
    pub kernel: String,
    /// The port of a Linux guest's virtio-serial device by which it speaks; `None` where it shares the coordinator's
    /// machine.
    pub port: Option<u32>,
    /// How the process before it on this port ended, where that was not in order.
    pub before: Option<String>,
}

/// A command to one actor, or to the agent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Request {
    /// Which actor; the coordinator numbers them, unique within an agent.
    pub actor: u32,
    /// What it is to do.
    pub command: Command,
}

/// What an actor can be told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Command {
    /// Come into being.
    Make(Make),
    /// Get ready, knowing these addresses.
    Ready(Vec<Address>),
    /// Run in this window.
    Run(Window),
    /// Park, verify, hand in the tally, and cease to be.
    Finish,
    /// To the agent: read the clock.
    Clock,
    /// To the agent in a Linux guest: check a device. It does so beside whatever else it is doing.
    Probe(Probe),
    /// To the agent: answer [`Answer::Ended`] and end the process, whatever its actors are doing.
    End,
}

/// How an actor is made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Make {
    /// Its path.
    pub path: String,
    /// Its variant.
    pub variant: String,
    /// Its role.
    pub role: String,
    /// The point, complete.
    pub params: Params,
    /// Where it lives.
    pub tenant: TenantKind,
    /// The processor that it is pinned to; `None`: it runs where the kernel likes.
    pub cpu: Option<u32>,
    /// How many doorbells it has.
    pub doorbells: u32,
    /// Whether its distribution is the trial's figure.
    pub measured: bool,
    /// Ticks per second of the run's clock.
    pub hz: f64,
    /// What its tenant must have: checked there before it is made, and answered with [`Error::Missing`] if it is not.
    pub requires: Vec<Requirement>,
    /// What it draws of.
    pub lot: Lot,
}

/// An answer of one actor.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Which actor.
    pub actor: u32,
    /// What it says.
    pub answer: Answer,
}

/// What an actor can say.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// It is made.
    Made,
    /// It is ready, at this address.
    Ready(Address),
    /// It has run.
    Ran(Box<Ran>),
    /// It is done and verified.
    Finished(Tally),
    /// It could not.
    Failed(Error),
    /// The agent's clock, read between hearing the question and answering it.
    Clock(Ticks),
    /// The device does what it should; what the check found.
    Probed(String),
    /// The agent ends.
    Ended,
}

/// What a run of an actor brought.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// What it recorded; of the measured role only.
    pub spread: Option<Spread>,
    /// How long that took, in ticks, where it is not the window.
    pub stretch: Option<Ticks>,
    /// Processor time of its thread, in nanoseconds.
    pub cpu_ns: u64,
    /// The stretch that this processor time is of, in nanoseconds: its run, from the beginning of the
    /// warm-up at the latest.
    pub span_ns: u64,
    /// Voluntary context switches of its thread, where they can be read.
    pub voluntary: Option<u64>,
    /// Involuntary context switches of its thread, where they can be read.
    pub involuntary: Option<u64>,
    /// Minor page faults of its thread, where they can be read.
    pub minor_faults: Option<u64>,
    /// Major page faults of its thread, where they can be read.
    pub major_faults: Option<u64>,
    /// Ticks between the opening of the warm-up and the moment at which it began; 0 where it was in time.
    pub late: Ticks,
    /// What its core lost while it waited for the window.
    pub gaps: Gaps,
    /// How fast its processor ran before the warm-up and after the window; of actors on this machine only.
    #[serde(default)]
    pub pace: Option<Paced>,
}

/// How fast a processor ran around a window, as ticks of a step of [`tollway_host::cpu::pace`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Paced {
    /// Which processor.
    pub cpu: u32,
    /// Before the warm-up; `None` where there was no time for it.
    pub before: Option<f64>,
    /// After the window.
    pub after: f64,
}

impl Paced {
    /// The middle of both.
    pub fn middle(&self) -> f64 {
        0.5 * (self.before.unwrap_or(self.after) + self.after)
    }
}

/// Writes one document.
pub fn send<T: Serialize>(to: &mut impl Write, document: &T) -> io::Result<()> {
    let mut line = serde_json::to_vec(document)?;
    line.push(b'\n');
    to.write_all(&line)?;
    to.flush()
}

/// Reads one document; `None` at the end of the stream.
pub fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = Vec::new();
    let read = io::Read::take(&mut *from, LONGEST_LINE).read_until(b'\n', &mut line)?;
    if read == 0 {
        return Ok(None);
    }
    if line.last() != Some(&b'\n') {
        if read as u64 == LONGEST_LINE {
            let reason = format!("a line is longer than {LONGEST_LINE} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the line was cut short"));
    }
    serde_json::from_slice(&line).map(Some).map_err(Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_reads_back() {
        let request = Request { actor: 3, command: Command::Ready(vec![Address("@x".into())]) };
        let mut wire = Vec::new();
        send(&mut wire, &request).unwrap();
        let mut wire = &wire[..];
        assert_eq!(receive::<Request>(&mut wire).unwrap(), Some(request));
        assert_eq!(receive::<Request>(&mut wire).unwrap(), None);
    }

    #[test]
    fn a_cut_or_foreign_line_is_an_error() {
        for text in ["{\"actor\":1", "not json\n", "{}\n", "\n"] {
            assert!(receive::<Request>(&mut text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
