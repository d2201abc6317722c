//! The TCP server whole: a client on Linux's TCP, the network stack, the application, in namespaces of their own.

#[path = "../../../../crates/host/testing/asleep.rs"]
mod asleep;
#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod other;
mod setting;

mod answering;
mod betrayed;
mod frames;
mod leaving;
mod linux;
mod vanishing;
