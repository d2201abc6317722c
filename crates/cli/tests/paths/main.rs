//! The other paths through the laboratory, and their tools, on this machine, in guests, and on another host.

mod advice;
#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod cipher;
mod cipher_plans;
mod entropy;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
#[path = "../../../host/testing/filter.rs"]
mod filter;
mod guests;
mod ipc;
mod ipc_killed;
mod ipc_tool;
mod live_captures;
mod other_host;
#[path = "../../../host/testing/pause.rs"]
mod pause;
#[path = "../program/mod.rs"]
mod program;
#[path = "../../../host/testing/quiet.rs"]
mod quiet;
mod reproductions;
mod run_time;
mod sshd;
