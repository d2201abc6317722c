//! What happens that somebody may want to know at once.

use tollway_virtio::backend::Refused;

/// Something happened. Virtual functions are told by their numbers.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Told {
    /// A function's peer connected.
    Connected(usize),
    /// A function's peer is gone; its sessions have ended.
    Gone(usize),
    /// A queue of a function is served from now on.
    Started(usize, usize),
    /// A queue of a function is not served any more.
    Stopped(usize, usize),
    /// A message of a function was refused, or a buffer: then the number of its queue, if it is not all of them.
    Refused(usize, Option<usize>, Refused),
    /// Of several cards, that one serves a function from now on.
    Placed(usize, usize),
    /// A card failed, since an engine of it did.
    Failed(usize),
    /// No card is left, or nothing that answers messages: nobody new is served any more.
    Over,
    /// A thread of the card ended for a reason that should not be.
    Ended(String),
}
