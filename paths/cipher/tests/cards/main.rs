//! Cards and their tenants: sessions, orders of service, every way of waiting and being told, and the variants of the path.

#[path = "../../../../crates/host/testing/asleep.rs"]
mod asleep;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod fairness;
mod front;
#[path = "../../../../crates/host/testing/in_threads.rs"]
mod in_threads;
mod killed;
mod limits;
mod micro_guest;
mod noticed;
mod one_queue;
mod orders;
#[path = "../../../../crates/host/testing/pause.rs"]
mod pause;
mod priorities;
mod public_keys;
#[path = "../../../../crates/host/testing/quiet.rs"]
mod quiet;
mod recorded;
mod standing;
mod suite;
mod telling;
#[path = "../../testing/tenancy.rs"]
mod tenancy;
mod tenants;
mod turn;
mod variants;
mod waiting;

/// The key of sessions whose key does not matter.
const KEY: [u8; 16] = *b"a key of sixteen";
