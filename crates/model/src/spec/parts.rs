//! The parts of a system: sources, classes, stations, coalescers, routes.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::whole;
use crate::quantity::texts;
use crate::{Distribution, ModelError};

/// A kind of customer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// 0 is served first, where a station's order heeds priorities.
    #[serde(default, deserialize_with = "whole::number")]
    pub priority: u32,
}

/// Where customers come from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "SourceTable")]
pub struct Source {
    /// Its name.
    pub name: String,
    /// The class of its customers; needed where there are classes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// When they come.
    #[serde(flatten)]
    pub arrivals: Arrivals,
    /// Customers that come at each arrival, each number with its probability; one where none is given.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub batch: Vec<(u32, f64)>,
    /// Where they go first: a station or coalescer; where there is one part only, that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<Routes>,
}

/// A source as it is written: serde can refuse unknown keys only where no key is flattened.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct SourceTable {
    name: String,
    class: Option<String>,
    interarrival: Option<Distribution>,
    mmpp: Option<Switching>,
    trace: Option<TraceText>,
    closed: Option<Population>,
    #[serde(default, deserialize_with = "whole::with_shares")]
    batch: Vec<(u32, f64)>,
    to: Option<Routes>,
}

/// The gaps of a trace, or the name of the file that has them.
pub(super) enum TraceText {
    Gaps(Vec<f64>),
    File(String),
}

impl SourceTable {
    /// The source, with its trace read by `gaps` where a file is named.
    pub(super) fn resolve(
        self,
        gaps: &mut impl FnMut(&str) -> Result<Vec<f64>, ModelError>,
    ) -> Result<Source, ModelError> {
        let SourceTable { name, class, interarrival, mmpp, trace, closed, batch, to } = self;
        let trace = match trace {
            None => None,
            Some(TraceText::Gaps(gaps)) => Some(gaps),
            Some(TraceText::File(file)) => {
                Some(gaps(&file).map_err(|error| error.within(&format!("source {name}: trace")))?)
            }
        };
        let ways = [
            interarrival.map(Arrivals::Interarrival),
            mmpp.map(Arrivals::Mmpp),
            trace.map(Arrivals::Trace),
            closed.map(Arrivals::Closed),
        ];
        let mut ways = ways.into_iter().flatten();
        match (ways.next(), ways.next()) {
            (Some(arrivals), None) => Ok(Source { name, class, arrivals, batch, to }),
            _ => Err(ModelError::parameter(
                format!("source {name}"),
                "it does not say in one way when customers come",
                "give exactly one of interarrival, mmpp, trace, closed",
            )),
        }
    }
}

impl TryFrom<SourceTable> for Source {
    type Error = ModelError;

    fn try_from(table: SourceTable) -> Result<Self, ModelError> {
        table.resolve(&mut |file| {
            Err(ModelError::parameter(format!("file `{file}`"), "files are not read here", "write the gaps"))
        })
    }
}

/// When the customers of a source come: exactly one of these keys.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Arrivals {
    /// Independent gaps of this distribution.
    Interarrival(Distribution),
    /// A Poisson stream whose rate a hidden chain switches (MMPP).
    Mmpp(Switching),
    /// These gaps, in seconds, again from the first when all are used.
    Trace(Vec<f64>),
    /// A fixed number of customers who think, are served, and come back.
    Closed(Population),
}

/// A Markov-modulated Poisson process.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Switching {
    /// Arrivals per second in each state; 0 is allowed.
    #[serde(with = "texts::rates")]
    pub rates: Vec<f64>,
    /// Mean stay in each state, seconds. The next state is the next in the list, the first after the last.
    #[serde(with = "texts::times")]
    pub stays: Vec<f64>,
}

/// Customers who come back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Population {
    /// How many there are.
    #[serde(deserialize_with = "whole::number")]
    pub customers: u32,
    /// Time between an answer and the next request; none where it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub think: Option<Distribution>,
}

/// One value for all classes, or one for each.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum ByClass {
    /// The same for all.
    All(Distribution),
    /// By the name of the class.
    Each(BTreeMap<String, Distribution>),
}

impl ByClass {
    /// What is the same for all, whether it is written once or for each; `None` where classes differ.
    pub fn same(&self) -> Option<&Distribution> {
        match self {
            ByClass::All(value) => Some(value),
            ByClass::Each(values) => {
                let mut values = values.values();
                let first = values.next()?;
                values.all(|value| value.simplest() == first.simplest()).then_some(first)
            }
        }
    }
}

/// Where customers are served.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Station {
    /// Its name.
    pub name: String,
    /// Servers that work side by side on one queue.
    #[serde(default = "one", deserialize_with = "whole::number")]
    pub servers: u32,
    /// Time of one service.
    pub service: ByClass,
    /// The most customers that it holds, those in service included; who finds it full is lost.
    #[serde(default, deserialize_with = "whole::number_or_none", skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Who is served next.
    #[serde(default)]
    pub order: Order,
    /// Several customers in one service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<Bulk>,
    /// What a server that ran out of work waits for before it works again.
    #[serde(default, deserialize_with = "wake_on_something", skip_serializing_if = "Wake::is_at_once")]
    pub wake: Wake,
    /// Where customers go next.
    #[serde(default)]
    pub to: Exit,
}

/// Who is served next.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// First come, first served.
    #[default]
    Fcfs,
    /// By priority of class, then first come; a service begun is finished.
    Priority,
    /// By priority of class; who comes interrupts a lower one, whose service goes on where it stopped.
    PreemptiveResume,
    /// All at once, each at an equal share of the servers.
    ProcessorSharing,
}

/// Several customers in one service.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bulk {
    /// A service waits until so many are there.
    #[serde(default = "one", deserialize_with = "whole::number")]
    pub least: u32,
    /// It takes so many at most.
    #[serde(deserialize_with = "whole::number")]
    pub most: u32,
    /// Added to the time of the service for each customer in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub each: Option<Distribution>,
}

/// What idle servers wait for: nothing (the first customer wakes them) unless something is said. Once awake they work
/// until the queue is empty. Only for stations of one server.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Wake {
    /// Until so many customers wait (N-policy), or …
    #[serde(default, deserialize_with = "whole::number_or_none", skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// … until the first of them has waited so long, seconds.
    #[serde(default, with = "texts::time_or_none", skip_serializing_if = "Option::is_none")]
    pub timer: Option<f64>,
    /// It looks only when this time is over, and again after as long while nobody is there (vacations).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Distribution>,
    /// After the last customer it looks without pause for so long, and waits as said above only then, seconds.
    #[serde(default, with = "texts::time_or_none", skip_serializing_if = "Option::is_none")]
    pub spin: Option<f64>,
    /// Time from being woken to the first service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup: Option<Distribution>,
}

/// What is written must say something.
fn wake_on_something<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Wake, D::Error> {
    let wake = Wake::deserialize(deserializer)?;
    if wake.is_at_once() {
        return Err(D::Error::custom(
            "it says not what wakes the server; give a count, a timer, a poll, a spin or a setup, or remove it",
        ));
    }
    Ok(wake)
}

impl Wake {
    /// Whether the first customer is served at once.
    pub fn is_at_once(&self) -> bool {
        *self == Wake::default()
    }
}

/// Where customers are held back and let go together, as interrupts are coalesced. `count` and `timer` say when it is
/// time to let all go: the first of them that applies, or at once where neither is given. `cap`, `adaptive` and `poll`
/// say when that is allowed. One at least is given.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Coalescer {
    /// Its name.
    pub name: String,
    /// As soon as so many are held.
    #[serde(default, deserialize_with = "whole::number_or_none", skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// As soon as the first has been held so long, seconds.
    #[serde(default, with = "texts::time_or_none", skip_serializing_if = "Option::is_none")]
    pub timer: Option<f64>,
    /// At most so many releases per second: the next not before 1/cap after the last.
    #[serde(default, with = "texts::rate_or_none", skip_serializing_if = "Option::is_none")]
    pub cap: Option<f64>,
    /// Only at multiples of this period, seconds.
    #[serde(default, with = "texts::time_or_none", skip_serializing_if = "Option::is_none")]
    pub poll: Option<f64>,
    /// A cap that follows the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub adaptive: Option<Adaptive>,
    /// Where customers go next.
    #[serde(default)]
    pub to: Exit,
}

/// A cap on releases that follows the load: after each window the number of customers seen in it picks the cap of
/// the next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Adaptive {
    /// Length of a window, seconds.
    #[serde(with = "texts::time")]
    pub window: f64,
    /// Customers per second from which the cap beside it holds, rising; the first must be 0.
    #[serde(with = "texts::rates")]
    pub from: Vec<f64>,
    /// Releases per second, one for each entry of `from`.
    #[serde(with = "texts::rates")]
    pub caps: Vec<f64>,
}

/// One destination, or several with their probabilities. `exit` leaves the system.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Routes {
    /// Always there.
    Always(String),
    /// There with that probability; they add up to 1.
    Shares(BTreeMap<String, f64>),
}

/// Where customers go after a part; out of the system where nothing is said.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Exit(pub Option<Routes>);

/// When a simulation stops: at the first of these.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Stop {
    /// Customers that left, in each replication, after warm-up.
    #[serde(deserialize_with = "whole::number")]
    pub customers: u64,
    /// When the half-width of the mean response is this share of the mean.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Independent replications.
    #[serde(deserialize_with = "whole::number")]
    pub replications: u32,
}

impl Default for Stop {
    fn default() -> Self {
        Stop { customers: 1_000_000, precision: None, replications: 8 }
    }
}

fn one() -> u32 {
    1
}
