//! What is put on trial: the card by every way to tell that a request is done, and what there is instead of a card.
//!
//! ```text
//!   shared     the card and its tenants, by each way of telling
//!   way        the ways: when the card tells, and what a tenant does until then
//!   gates      the bill of a request
//!   card       the card's end; its engine is the actor's thread
//!   tenant     a tenant's end, with its tasks
//!   task       a thread of a tenant: requests out, results in
//!   guest      what a tenant in a micro-guest has instead of system calls
//!   load       what a request is like, and how often they come
//!   demand     what tasks ask for, and when
//!   mix        requests that are not all alike
//!   trace      requests as they came somewhere
//!   classes    tenants that are not all alike
//!   texts      the bytes, and what must come of them
//!   switches   how often a thread is taken off its processor
//!   machine    what the whole machine does meanwhile
//!   alone      each gate of a request by itself
//!   caller     an actor that needs nobody else
//!   library    the cipher called in the program itself: the floor
//!   af_alg     the kernel does it, here or in a guest
//!   dev_crypto the same by /dev/crypto
//! ```

mod af_alg;
mod alone;
mod caller;
mod card;
mod classes;
mod demand;
mod dev_crypto;
mod gates;
mod guest;
mod library;
mod load;
mod machine;
mod mix;
mod shared;
mod switches;
mod task;
mod tenant;
mod texts;
mod trace;
mod way;

use tollway_core::{Params, Result, Variant};

use way::Way;

use crate::engine::device::Delivery;
use crate::engine::driver::Waiting;

/// The roles.
const CARD: &str = "card";
const TENANT: &str = "tenant";

/// Gates of each request.
const SUBMIT: &str = "submit";
const TURN: &str = "turn, less the cipher";
const CIPHER: &str = "cipher";
const TAKE: &str = "take";

/// The name of such a gate where requests have several sizes.
fn of_bytes(gate: &str, size: usize) -> String {
    format!("{gate}: {size} bytes")
}

/// Gates whose visits are counted, as tallies name them.
const KICKING: &str = "kick";
const ROUSING: &str = "kick that wakes the card";
const SLEEPING: &str = "sleep and wake-up";
const WAITING: &str = "wait";
const LOOKING: &str = "look in vain";
const WAKING: &str = "sleep and wake-up of the card";
const PAUSING: &str = "wait of the card";
const TIMING: &str = "sleep of the card until a deadline";
const CALLING: &str = "interrupt";
const STIRRING: &str = "interrupt that wakes";
const RINGING: &str = "exit of the doorbell";
const IDLING: &str = "exit to idle";

/// How often a tenant's sleep was ended by an interrupt.
const CALLED: &str = "wakes";

/// How often a micro-guest was left for its requests.
const EXITS: &str = "exits";

/// How the card tells tenants of the variant of that name, and what they do until then; `None` where it has no card.
///
/// # Errors
/// Those of parameters that cannot be.
pub fn told(variant: &str, params: &Params) -> Result<Option<(Delivery, Waiting)>> {
    let way = Way::ALL.into_iter().find(|way| way.name() == variant);
    way.map(|way| Ok((way.delivery(params)?, way.waiting(params)?))).transpose()
}

/// Every variant.
pub(crate) fn all() -> Vec<Box<dyn Variant>> {
    let mut all: Vec<Box<dyn Variant>> =
        Way::ALL.iter().map(|way| Box::new(shared::Shared(*way)) as Box<dyn Variant>).collect();
    all.push(Box::new(library::Library));
    all.push(Box::new(af_alg::Kernel));
    all.push(Box::new(dev_crypto::DevCrypto));
    all.extend(alone::variants());
    all
}
