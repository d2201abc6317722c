//! What a coordinator and the keeper on another host say to each other.
//!
//! One connection carries the keeper's words and those of all its agents. Each line begins with a number and a blank:
//! what follows is of the agent of that number, in the [`protocol`](crate::protocol) that every agent speaks, or with
//! [`KEEPER`] of the keeper itself, an [`Order`] or a [`Word`]. Before all that the keeper says one line with
//! [`OPENING`] and its [`Hello`](crate::protocol::Hello), since whatever a login prints comes before it.

use std::collections::BTreeMap;
use std::io::{self, BufRead, ErrorKind, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tollway_core::{Error, KvmKind, Missing, Requirement, Ticks};
use tollway_host::fingerprint::Fingerprint;
use tollway_host::meters::Meters;

use crate::protocol::LONGEST_LINE;

/// The number of the keeper's own lines.
pub const KEEPER: u32 = 0;

/// What the line with the keeper's hello begins with.
pub const OPENING: &str = "tollway-keeper ";

/// How often the coordinator says something, so that it is known to be there.
pub const BEAT: Duration = Duration::from_secs(5);

/// A keeper that heard nothing for so long takes its coordinator for gone, and ends with all its agents.
pub const SILENCE: Duration = Duration::from_secs(30);

/// What the keeper is told.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Start an agent of this number, with this environment on top of the keeper's own. It says hello, or [`Word::Ended`] comes.
    Start {
        /// Its number, never used before.
        number: u32,
        /// Variables.
        environment: BTreeMap<String, String>,
    },
    /// Kill that agent; nothing is answered.
    Stop(u32),
    /// Say what machine this is.
    Survey,
    /// Probe a requirement.
    Check(Requirement),
    /// Say what KVM there is for micro-guests.
    MicroGuests,
    /// Read the meters.
    Read,
    /// Read the clock.
    Clock,
    /// Nothing: the coordinator is there.
    Beat,
}

/// What the keeper answers, each order once where nothing else is said there.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Word {
    /// What machine it is.
    Surveyed(Box<Survey>),
    /// What is lacking, if anything.
    Checked(Option<Missing>),
    /// The kind of its KVM.
    MicroGuests(Result<KvmKind, Error>),
    /// The meters.
    Reading(Box<Reading>),
    /// The clock.
    Clock(Ticks),
    /// Unasked: that agent has ended, and how.
    Ended {
        /// Its number.
        number: u32,
        /// How.
        how: String,
    },
}

/// What is to be known of the other host before anything is measured there.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Survey {
    /// The machine.
    pub fingerprint: Fingerprint,
    /// Processors for the core slots of plans, best first.
    pub cpus: Vec<u32>,
    /// Ticks per second of its clock.
    pub hz: f64,
}

/// What the other host did so far.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Reading {
    /// Its meters.
    pub meters: Meters,
    /// Processor time of the keeper, its agents and all that these started, and of the session by which they are reached.
    pub own: Duration,
}

/// Writes one line of that number.
///
/// # Errors
/// The other end is gone.
pub fn say(to: &mut impl Write, number: u32, line: &[u8]) -> io::Result<()> {
    let mut whole = format!("{number} ").into_bytes();
    whole.extend_from_slice(line);
    whole.push(b'\n');
    to.write_all(&whole)?;
    to.flush()
}

/// Writes one document of that number.
///
/// # Errors
/// The other end is gone.
pub fn say_document(to: &mut impl Write, number: u32, document: &impl Serialize) -> io::Result<()> {
    say(to, number, &serde_json::to_vec(document)?)
}

/// The next line, without its end; `None` at the end of the stream.
///
/// # Errors
/// [`ErrorKind::UnexpectedEof`] where the stream ends within it, [`ErrorKind::InvalidData`] where it is too long.
pub fn line(from: &mut impl BufRead) -> io::Result<Option<Vec<u8>>> {
    let mut line = Vec::new();
    // Room for a number before the longest line that an agent may say.
    let most = LONGEST_LINE + 16;
    if from.by_ref().take(most).read_until(b'\n', &mut line)? == 0 {
        return Ok(None);
    }
    match line.pop() {
        Some(b'\n') => Ok(Some(line)),
        _ if line.len() as u64 + 1 == most => {
            Err(io::Error::new(ErrorKind::InvalidData, "a line is too long"))
        }
        _ => Err(io::Error::new(ErrorKind::UnexpectedEof, "the line was cut short")),
    }
}

/// The next line and its number; `None` at the end of the stream.
///
/// # Errors
/// As [`line()`], and [`ErrorKind::InvalidData`] where it has no number.
pub fn heard(from: &mut impl BufRead) -> io::Result<Option<(u32, Vec<u8>)>> {
    let Some(mut line) = line(from)? else { return Ok(None) };
    let no_number = || io::Error::new(ErrorKind::InvalidData, "a line has no number");
    let blank = line.iter().position(|byte| *byte == b' ').ok_or_else(no_number)?;
    let number = std::str::from_utf8(&line[..blank]).ok().and_then(|digits| digits.parse().ok());
    line.drain(..=blank);
    Ok(Some((number.ok_or_else(no_number)?, line)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_keep_their_numbers() {
        let mut wire = Vec::new();
        say(&mut wire, 7, b"{\"actor\":1}").unwrap();
        say_document(&mut wire, KEEPER, &Order::Stop(7)).unwrap();
        let mut wire = &wire[..];
        assert_eq!(heard(&mut wire).unwrap(), Some((7, b"{\"actor\":1}".to_vec())));
        let (number, order) = heard(&mut wire).unwrap().unwrap();
        assert_eq!((number, serde_json::from_slice::<Order>(&order).unwrap()), (KEEPER, Order::Stop(7)));
        assert_eq!(heard(&mut wire).unwrap(), None);
    }

    #[test]
    fn what_has_no_number_or_no_end_is_an_error() {
        for text in ["{}\n", "\n", "x {}\n", "-1 {}\n", "4294967296 {}\n", "7 {}"] {
            assert!(heard(&mut text.as_bytes()).is_err(), "{text:?}");
        }
    }
}
