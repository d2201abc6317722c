//! Runs of a laboratory whose actors misbehave, that are interrupted, that have little time, or whose machine
//! is not calm.

#[path = "../../../host/testing/eventually.rs"]
mod eventually;
mod foretelling;
mod misbehaviour;
#[path = "../../../host/testing/pause.rs"]
mod pause;
mod resumption;
mod steadiness;
mod time;
mod unruly;

/// Not a test but the agent of the others: they start this program again with `--ignored play_agent`, since
/// an agent is a
/// process. Alone it would wait for a coordinator.
#[test]
#[ignore = "it is started by the other tests, as an agent"]
fn play_agent() {
    unruly::play_agent();
}
