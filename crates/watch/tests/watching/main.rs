//! What programs are seen to do by each way of watching: held against strace and against programs of which it
//! is known what they do.

mod against_strace;
#[path = "../../../host/testing/asleep.rs"]
mod asleep;
#[path = "../common/mod.rs"]
mod common;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
#[path = "../common/kernel.rs"]
mod kernel;
mod kernel_execs;
mod kernel_harmless;
mod kernel_namespaces;
mod names;
mod namespace;
mod paths;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod proc;
mod rings;
mod strace;
mod tables;
mod traced;
