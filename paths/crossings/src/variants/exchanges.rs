//! Round trips between two processes, each with a sleep and a wake-up on either side.

use tollway_core::{Crossing, Variant};

use super::Duo;
use crate::engine::pipe::PipeExchange;

pub(super) fn variants() -> Vec<Box<dyn Variant>> {
    vec![Box::new(
        Duo::<PipeExchange>::new(Crossing::Pipe)
            .caveats("A round trip is two writes, two reads, two sleeps and two wake-ups."),
    )]
}
