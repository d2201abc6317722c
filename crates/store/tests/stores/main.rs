//! Stores: what is written is there again, after kills, on full disks, and in damaged files.

mod crash;
mod damage;
mod disk;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod round_trip;
mod sample;
