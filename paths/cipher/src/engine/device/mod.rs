//! A card in software: one physical function, many virtual ones, each with queues and sessions of its own; or several cards, behind one
//! front at which all functions enter.
//!
//! ```text
//!   card       starts, is asked, is changed, stops: the whole, of one card or several
//!   front      where tenants enter: which card each function is on, and where it goes when that fails
//!   pool       one card: what its engines share; whose turn it is, and who sleeps (desk, in tollway-virtio)
//!   engine     one thread each: requests of whoever's turn it is
//!   function   a virtual function: its queues, its sessions, what is counted
//!   reply      one request: read, done, answered
//!   delivery   when a tenant is told what is done
//!   line       how many requests stand at the card
//!   sessions   keys by number; nobody else's numbers mean anything
//! ```
//!
//! An engine serves a function's queues in turns. What a turn costs is the time that it took: who asks for much work a
//! request pays for it. Requests of one queue are done in their order.

mod card;
mod delivery;
mod engine;
mod front;
mod function;
mod line;
mod options;
mod pool;
mod reply;
mod sessions;
mod status;
mod told;

pub use card::Card;
pub use delivery::Delivery;
pub(crate) use delivery::Teller;
pub use engine::{Engine, Slept};
pub use line::Standing;
pub use options::{LONGEST, NewFunction, Options};
pub use status::{CardStatus, Counts, FunctionStatus, Status};
pub use told::Told;
