//! How it is going: the document that the status socket answers with.

use serde::Serialize;
use tollway_cipher::engine::device::{CardStatus, FunctionStatus, Standing, Status};

/// Version of the document.
pub const SCHEMA_VERSION: u32 = 1;

/// The state of a card, or of several behind one front. All counts are since it started.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct StatusDocument {
    /// Version of this form.
    pub schema_version: u32,
    /// Seconds since it started.
    pub seconds: f64,
    /// Each card.
    pub cards: Vec<CardState>,
    /// Requests that stand at all cards; the most are those at one of them.
    pub queue: Queue,
    /// Each virtual function.
    pub functions: Vec<FunctionState>,
}

/// One card.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct CardState {
    /// Whether it serves anybody; one that failed does not.
    pub runs: bool,
    /// Seconds that each of its engines has worked.
    pub engines: Vec<f64>,
    /// Requests that stand at it.
    pub queue: Queue,
}

/// Requests that stand somewhere: offered by a driver and not given back yet.
#[derive(Clone, Copy, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Queue {
    /// How many in the mean, by time.
    pub mean: f64,
    /// How many at the last look.
    pub now: u64,
    /// How many at a look at most.
    pub most: u64,
    /// Seconds that they stood there, all of them together: of two looks at this document, what is between them over the seconds between them is the mean of then.
    pub seconds: f64,
}

/// One virtual function.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct FunctionState {
    /// Its name.
    pub name: String,
    /// The card that it is on, from 0; absent where no virtual machine is connected.
    pub card: Option<usize>,
    /// Whether its virtual machine is connected.
    pub connected: bool,
    /// Whether a queue of it is served.
    pub served: bool,
    /// Its weight.
    pub weight: u32,
    /// Its rank.
    pub rank: u8,
    /// Requests a second that it may have done; absent without a limit.
    pub limit: Option<u64>,
    /// Requests that it may have done at once; absent without a limit.
    pub burst: Option<u64>,
    /// Sessions that it has.
    pub sessions: usize,
    /// Requests done, with whatever status.
    pub requests: u64,
    /// Bytes that they were done to.
    pub bytes: u64,
    /// Requests that ended otherwise than well.
    pub failed: u64,
    /// Sessions made and closed by the control queue, or tried to be.
    pub controls: u64,
    /// Kicks noticed; several at once count as one.
    pub kicks: u64,
    /// Interrupts sent.
    pub interrupts: u64,
    /// Queues given up, for a buffer that could not be used.
    pub refused_chains: u64,
    /// Messages refused, and connections that broke.
    pub refused_messages: u64,
    /// Connections made.
    pub connections: u64,
    /// Turns that it had.
    pub turns: u64,
    /// Seconds that it waited for its turns, in the mean.
    pub mean_wait: f64,
    /// Seconds that it waited for a turn at most.
    pub longest_wait: f64,
    /// Seconds that it wanted something and its limit forbade it.
    pub limited: f64,
    /// Its requests that stand at the card.
    pub queue: Queue,
}

const NANO: f64 = 1e-9;

impl From<Status> for StatusDocument {
    fn from(status: Status) -> Self {
        StatusDocument {
            schema_version: SCHEMA_VERSION,
            seconds: status.seconds,
            cards: status.cards.into_iter().map(|card| CardState::of(card, status.seconds)).collect(),
            queue: Queue::of(status.standing, status.seconds),
            functions: status.functions.into_iter().map(|f| FunctionState::of(f, status.seconds)).collect(),
        }
    }
}

impl Queue {
    fn of(standing: Standing, passed: f64) -> Queue {
        let Standing { seconds, now, most } = standing;
        Queue { mean: seconds / passed, now, most, seconds }
    }
}

impl CardState {
    /// So many seconds after it started.
    fn of(card: CardStatus, passed: f64) -> Self {
        let CardStatus { runs, engines, standing } = card;
        CardState { runs, engines, queue: Queue::of(standing, passed) }
    }
}

impl FunctionState {
    /// So many seconds after its card started.
    fn of(function: FunctionStatus, passed: f64) -> Self {
        let FunctionStatus { name, share, card, connected, served, sessions, counts, waits, standing } =
            function;
        FunctionState {
            name,
            card,
            connected,
            served,
            weight: share.weight,
            rank: share.rank,
            limit: share.limit.map(|(rate, _)| rate),
            burst: share.limit.map(|(_, burst)| burst),
            sessions,
            requests: counts.requests,
            bytes: counts.bytes,
            failed: counts.failed,
            controls: counts.controls,
            kicks: counts.kicks,
            interrupts: counts.interrupts,
            refused_chains: counts.refused_chains,
            refused_messages: counts.refused_messages,
            connections: counts.connections,
            turns: waits.turns,
            mean_wait: waits.total as f64 * NANO / waits.turns.max(1) as f64,
            longest_wait: waits.longest as f64 * NANO,
            limited: waits.limited as f64 * NANO,
            queue: Queue::of(standing, passed),
        }
    }
}
