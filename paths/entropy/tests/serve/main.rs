//! The device served for real: tenants are processes that speak vhost-user, some of them hostile, and who serves and
//! who is served is killed.

#[path = "../../../../crates/host/testing/eventually.rs"]
mod eventually;
mod fairness;
mod health;
mod killed;
mod numbered;
#[path = "../../../../crates/host/testing/pause.rs"]
mod pause;
mod player;
#[path = "../../../../crates/host/testing/quiet.rs"]
mod quiet;
mod tiny;
