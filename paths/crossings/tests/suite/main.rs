//! Operations, exchanges and whole variants: that each does what it is timed for, and that its figure stands in the right relation to others.

mod against_c;
mod against_strace;
mod depth;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod exchanges;
mod in_threads;
mod operations;
#[path = "../../../../crates/host/testing/pause.rs"]
mod pause;
#[path = "../../../../crates/host/testing/quiet.rs"]
mod quiet;
mod turn;
mod warmth;
