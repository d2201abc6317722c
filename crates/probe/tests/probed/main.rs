//! What requests of a program pay, as it asks itself: in this process, in namespaces of their own, and in the
//! example.

#[path = "../../../host/testing/asleep.rs"]
mod asleep;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod namespaces;
#[path = "../../../host/testing/pause.rs"]
mod pause;
#[path = "../../../host/testing/quiet.rs"]
mod quiet;
mod requests;
mod server;
