//! Cables, rings and ways of sending.

#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod hostile_rings;
mod links;
mod sending;
