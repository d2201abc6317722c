//! Guests that this process makes, micro and Linux, what hostile code in them can do, and lines of their
//! protocol.

mod clean_state;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod fuzzed;
mod guest_devices;
mod hostile;
mod isolated;
mod linux_guests;
mod probe;
mod protocol_lines;
mod turn;
