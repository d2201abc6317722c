//! What both ends of a channel do, by the axes of a point.

use rustix::process::{Resource, getrlimit};
use tollway_channel::linux::{Limits, Notice, Options, plain};
use tollway_channel::wait::Patience;
use tollway_core::{CpuFeature, Error, Missing, Params, Requirement, Result, Ticks};

use crate::engine::ping_pong::Demand;
use crate::engine::service::Load;
use crate::engine::tcp;
use crate::params;

/// By which way requests go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    Slow,
    Fast,
    Ring,
    Tasks,
}

impl Way {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Way::Slow => "slow-path",
            Way::Fast => "fast-path",
            Way::Ring => "ring",
            Way::Tasks => "async",
        }
    }

    /// Whether each request that is on its way has a thread at either end, and a channel.
    pub(crate) fn is_synchronous(self) -> bool {
        matches!(self, Way::Slow | Way::Fast)
    }

    /// How many channels there are for so many requests.
    pub(crate) fn channels(self, requests: usize) -> usize {
        if self.is_synchronous() { requests } else { 1 }
    }
}

/// Who looks without end looks for so long, in ticks: then it asks whether the other end is gone.
const ENDLESS: Ticks = 1 << 26;

/// Descriptors that a process has for other things, about.
const OWN: u64 = 32;

/// Bytes of a message where nothing else is said.
const MESSAGE: u64 = 64;

/// What both ends do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setting {
    pub(crate) way: Way,
    pub(crate) requests: usize,
    pub(crate) size: usize,
    pub(crate) load: Load,
    pub(crate) notice: Notice,
    pub(crate) patience: Option<Patience>,
}

impl Setting {
    /// Of a point of the axis `concurrency`, and of `size`, `work`, `matrix`, `pages`, `notice` and `patience` where there are such.
    ///
    /// # Errors
    /// Those of axes that are not set.
    pub(crate) fn of(way: Way, params: &Params) -> Result<Setting> {
        let word = |axis: &str| params.get(axis).map(|_| params.word(axis)).transpose();
        let number = |axis: &str| params.get(axis).map_or(Ok(0), |_| params.int(axis));
        let bytes = params.get("pages").map_or(Ok(0), |_| params::bytes(params))?;
        Ok(Setting {
            way,
            requests: params.int("concurrency")? as usize,
            size: params.get("size").map_or(Ok(MESSAGE), |_| params.int("size"))? as usize,
            load: Load { cycles: number("work")?, rows: number("matrix")? as usize, bytes },
            notice: match word("notice")? {
                Some("eventfd") => Notice::Eventfd,
                _ => Notice::Futex,
            },
            patience: patience(word("patience")?.unwrap_or("learnt")),
        })
    }

    /// Of messages that nobody works for, between ends that look without end.
    pub(crate) fn awake(way: Way, requests: usize, size: usize) -> Setting {
        let (load, notice) = (Load::default(), Notice::Futex);
        Setting { way, requests, size, load, notice, patience: patience("spin") }
    }

    /// Of what a network stack asks its application of so many connections.
    pub(crate) fn of_connections(style: tcp::Style, connections: usize) -> Setting {
        let way = match style {
            tcp::Style::Asynchronous => Way::Tasks,
            tcp::Style::Synchronous(plain::Way::Seqpacket) => Way::Slow,
            tcp::Style::Synchronous(plain::Way::Handoff) => Way::Fast,
        };
        let (load, notice) = (Load::default(), Notice::Eventfd);
        Setting { way, requests: connections, size: tcp::BYTES, load, notice, patience: None }
    }

    /// Whether an end that has nothing to do looks until there is something.
    pub(crate) fn looks_without_end(&self) -> bool {
        self.patience.is_some_and(|patience| patience.spin >= ENDLESS)
    }

    /// Whether it sleeps at once.
    pub(crate) fn sleeps_at_once(&self) -> bool {
        self.patience.is_some_and(|patience| patience == Patience { spin: 0, yields: 0 })
    }

    /// What the client wants of a channel.
    pub(crate) fn options(&self) -> Options {
        Options {
            slots: self.requests,
            bytes: self.size,
            notice: self.notice,
            patience: self.patience,
            ..Options::default()
        }
    }

    /// What the server allows.
    pub(crate) fn limits(&self) -> Limits {
        Limits { slots: self.requests.next_power_of_two(), patience: self.patience, ..Limits::default() }
    }

    /// What the client wants of a synchronous channel.
    pub(crate) fn plain_options(&self) -> plain::Options {
        let way = match self.way {
            Way::Slow => plain::Way::Seqpacket,
            _ => plain::Way::Handoff,
        };
        plain::Options { way, bytes: self.size, patience: self.patience, ..plain::Options::default() }
    }

    /// What the server allows of it.
    pub(crate) fn plain_limits(&self) -> plain::Limits {
        plain::Limits { patience: self.patience, ..plain::Limits::default() }
    }

    /// Whether this process may have as many descriptors as its ends of all channels take, and so many besides for each.
    ///
    /// # Errors
    /// [`Error::Missing`] if not.
    pub(crate) fn has_descriptors(&self, besides: u64) -> Result<()> {
        // By the fast path it has the memory, and a socket twice: one to learn that the other end is gone, one to end that.
        let each = besides + if self.way == Way::Slow { 1 } else { 3 };
        let (takes, may) =
            (OWN + each * self.way.channels(self.requests) as u64, getrlimit(Resource::Nofile).current);
        match may {
            Some(may) if may < takes => Err(Error::Missing(Missing::new(
                format!("{takes} descriptors of a process"),
                format!("it may have {may} (RLIMIT_NOFILE), and each request on its way has a channel"),
                "raise the hard limit (ulimit -Hn), or ask for fewer at a time",
            ))),
            _ => Ok(()),
        }
    }

    /// What the client keeps on its way.
    pub(crate) fn demand(&self) -> Demand {
        Demand { requests: self.requests, size: self.size, result: self.load.result() }
    }
}

fn patience(word: &str) -> Option<Patience> {
    match word {
        "sleep" => Some(Patience { spin: 0, yields: 0 }),
        "spin" => Some(Patience { spin: ENDLESS, yields: 0 }),
        _ => None,
    }
}

/// What the machine must have for that notice.
pub(crate) fn requires(params: &Params) -> Result<Vec<Requirement>> {
    Ok(match params.get("notice").map(|_| params.word("notice")).transpose()? {
        Some("user-interrupt") => vec![Requirement::Cpu(CpuFeature::UserInterrupts)],
        _ => Vec::new(),
    })
}

/// Refuses what no kernel of today hands to programs, where the processor has it.
pub(crate) fn possible(params: &Params) -> Result<()> {
    match params.get("notice").map(|_| params.word("notice")).transpose()? {
        Some("user-interrupt") => Err(Error::Input {
            place: "axis `notice`, value `user-interrupt`".into(),
            reason: "this processor has user interrupts, but Linux has no interface by which a program could send one".into(),
            remedy: "take `futex` or `eventfd`".into(),
        }),
        _ => Ok(()),
    }
}
