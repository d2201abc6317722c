//! The path `machine`: disturbed, killed, on full disks, in guests, and by tools that are not what they seem.

mod disturbed;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod full;
mod killed;
mod modes;
#[path = "../../../host/testing/pause.rs"]
mod pause;
#[path = "../program/mod.rs"]
mod program;
mod tools;
