//! `tollway bill`: of a path's gates, and of any program, in containers and out of them.

#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod containers;
mod endings;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
#[path = "../../../host/testing/filter.rs"]
mod filter;
mod gates;
mod paths;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod prices;
#[path = "../program/mod.rs"]
mod program;
mod programs;
#[path = "../../../host/testing/quiet.rs"]
mod quiet;
