//! Ends of channels in threads of one process, by every way of asking, answering and waiting. No test here starts a process: between fork(2) and
//! exec(3) a child would keep every descriptor of the others open, and some tests see at once that one was closed.

#[path = "../../../host/testing/asleep.rs"]
mod asleep;
mod beside;
mod both;
mod coroutines;
mod doorbells;
#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod executor;
mod idle;
mod kept;
mod kernel;
mod meetings;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod peer;
mod plain_hostile;
mod rings;
mod serving;
mod threads;
mod timeouts;
#[cfg(feature = "tokio")]
mod tokio;
mod unanswered;
mod waits;
mod wakers;
mod watched;
