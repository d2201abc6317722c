//! Channels between processes, and tests whose child may not do something: all that starts processes.

#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod between;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod forbidden;
mod hostile;
mod limits;
mod other;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod plain;
#[path = "../suite/watched.rs"]
mod watched;
