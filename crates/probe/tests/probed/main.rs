//! What requests of a program pay, as it asks itself: in this process, in namespaces of their own, and in the
//! example.

mod namespaces;
#[path = "../../../host/testing/pause.rs"]
mod pause;
#[path = "../../../host/testing/quiet.rs"]
mod quiet;
mod requests;
mod server;
