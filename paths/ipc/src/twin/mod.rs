//! A client and a server in simulation, on a clock that is only counted: what a round trip costs, and how often one wakes the other.
//!
//! What each step takes is given ([`Parts`]), as tolls have it. What follows from that is not: who waits for whom, who looks long enough, who sleeps
//! and is woken, how many messages go together. The rules of waiting are those of `tollway_channel::wait`, what is learnt included. Nothing is drawn
//! at random: the same question has the same answer.
//!
//! ```text
//!   end       one end: its messages, and how it waits
//!   one_core  both ends take turns on one processor
//!   two       each has a processor
//! ```

mod end;
mod one_core;
#[cfg(test)]
mod tests;
mod two;

/// What steps take, in ticks.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Parts {
    /// The client: a reply taken, the next request sent.
    pub ask: f64,
    /// The server: a request taken, the reply written, without the work.
    pub answer: f64,
    /// What either takes longer for a message while the other end is at work on entries of the same cache line.
    pub beside: f64,
    /// What either does once for all messages that it finds together.
    pub round: f64,
    /// From a message's being written until the other core sees it.
    pub passage: f64,
    /// Giving way on a core that the other end wants, until that runs.
    pub switch: f64,
    /// Giving way on a core that nobody else wants.
    pub call: f64,
    /// Waking somebody: what it takes of who does.
    pub wake: f64,
    /// From the beginning of that until somebody on another core runs.
    pub late: f64,
    /// Going to sleep on a core that the other end wants, until that runs.
    pub sleep: f64,
}

/// So many entries of a ring are in one cache line: as long as no more are on their way, both ends have to do with that one.
pub const OF_A_LINE: u32 = 8;

/// Whose processors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cores {
    /// Both ends share one.
    One,
    /// Each has one.
    Two,
}

/// How long an end waits awake.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Patience {
    /// For so many ticks it looks.
    pub spin: f64,
    /// So often it gives way after that.
    pub yields: u32,
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Question {
    /// Requests on their way, at least one.
    pub requests: u32,
    /// Ticks of the server's work on each.
    pub service: f64,
    /// Where they run.
    pub cores: Cores,
    /// How both wait.
    pub patience: Patience,
    /// Whether the server looks after each reply whether its client sleeps, and not only when it has no more requests.
    pub hints: bool,
}

/// What is foretold, per round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Answer {
    /// Ticks.
    pub cost: f64,
    /// How often the client wakes the server.
    pub request_notices: f64,
    /// How often the server wakes the client.
    pub reply_notices: f64,
    /// Waits that end after giving way, of both ends.
    pub yields: f64,
    /// Waits that end after a sleep, of both ends.
    pub sleeps: f64,
}

impl Answer {
    /// How often one end wakes the other.
    pub fn notices(&self) -> f64 {
        self.request_notices + self.reply_notices
    }
}

/// What comes of it in the long run.
pub fn run(parts: &Parts, question: &Question) -> Answer {
    match question.cores {
        Cores::One => one_core::run(parts, question),
        Cores::Two => two::run(parts, question),
    }
}
