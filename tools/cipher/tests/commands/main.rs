//! The commands of the path: what is measured, which devices are found, who is served as an operator has it, and as guests are.

mod bench;
mod devices;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod guests;
mod identity;
mod operator;
#[path = "../../../../crates/host/testing/pause.rs"]
mod pause;
mod program;
#[path = "../../../../paths/cipher/testing/tenancy.rs"]
mod tenancy;
