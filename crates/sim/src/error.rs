//! Why a simulation has no outcome.

use tollway_model::ModelError;
use tollway_stats::StatsError;

/// Why a simulation has no outcome. The part of the system is named.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum SimError {
    /// The specification is not usable, or more work comes than can be done.
    #[error(transparent)]
    Spec(#[from] ModelError),
    /// A distribution that cannot be drawn from.
    #[error("{distribution}: {reason}")]
    Distribution {
        /// As it is written in a specification.
        distribution: String,
        /// What is wrong with it.
        reason: String,
    },
    /// Customers pile up.
    #[error(
        "{part}: {inside} customers are there and more come; let less come, serve faster, or give it a capacity"
    )]
    Overflow {
        /// The part that most of them are in.
        part: String,
        /// How many are there.
        inside: u64,
    },
    /// Nobody leaves the system any more.
    #[error("{part}: nobody left the system in {events} events; look at what holds customers there")]
    Stuck {
        /// The part of the last event.
        part: String,
        /// Events since somebody left.
        events: u64,
    },
    /// A sleeping server looks far more often than customers come.
    #[error(
        "{part}: wake: poll: it looks {each:.1e} times for each customer, {all:.1e} times in all, which would take long; \
         give a longer poll, fewer customers, or one that is constant or exponential: their idle looks cost nothing"
    )]
    Looks {
        /// The station.
        part: String,
        /// Looks for each customer.
        each: f64,
        /// Looks over all replications.
        all: f64,
    },
    /// More events than were allowed.
    #[error("{events} events were not enough; ask for fewer customers or allow more events")]
    Events {
        /// How many were allowed for one replication.
        events: u64,
    },
    /// The times are so far apart that adding the small to the large changes nothing, or are no numbers any more.
    #[error("{part}: time stands still at {time} s; use times that are closer to each other")]
    Precision {
        /// The part of the last event.
        part: String,
        /// Time since the beginning, seconds.
        time: f64,
    },
    /// It was interrupted before anything was simulated that counts.
    #[error("interrupted before there was anything to tell")]
    Interrupted,
    /// An exact law was violated: the simulator is wrong, not the specification.
    #[error("the simulator is at fault: {law}: {left} is not {right}; please report this specification")]
    Invariant {
        /// Which law, and where.
        law: String,
        /// One side.
        left: f64,
        /// The other side.
        right: f64,
    },
    /// An option is not usable.
    #[error("{name}: {reason}")]
    Option {
        /// Which.
        name: &'static str,
        /// What is wrong with it, and what to give.
        reason: String,
    },
    /// The figures left floating point.
    #[error(transparent)]
    Stats(#[from] StatsError),
    /// No threads were to be had.
    #[error("threads: {0}")]
    Threads(String),
}

/// What a step of the hot loop answers: an error in one word, since there is none almost always.
pub(crate) type Flow<T = ()> = Result<T, Box<SimError>>;

impl From<Box<SimError>> for SimError {
    fn from(error: Box<SimError>) -> Self {
        *error
    }
}
