//! A thread that does requests, of whichever function's turn it is.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_virtio::patience;

use super::card::{Shared, TURN};
use super::told::Told;

/// Serves until it is told to stop.
pub(super) fn work(shared: &Shared, number: usize) -> Result<()> {
    let (mut kicked, mut looked) = (Vec::new(), shared.now());
    let mut idle = Instant::now();
    while !shared.stop.load(Ordering::Acquire) {
        if turns(shared, number) > 0 {
            idle = Instant::now();
        }
        // For a while it looks for itself before it asks to be kicked, and sleeps.
        if idle.elapsed() < shared.spin {
            shared.want_all();
            std::hint::spin_loop();
            continue;
        }
        let most = if shared.arm() { Some(Duration::ZERO) } else { shared.doze() };
        let since = shared.kicks.wait_since(&mut kicked, most, &mut looked, || shared.now())?;
        shared.awake(most, &mut kicked, since);
    }
    Ok(())
}

/// Has turns until nobody wants one; how many requests were done.
fn turns(shared: &Shared, number: usize) -> usize {
    let mut requests = 0;
    while let Some(grant) = shared.next() {
        let (begun, watched) = (shared.now(), patience::Turn::new());
        let function = &shared.functions[grant.tenant];
        let turn = function.serve(grant.most, &|| shared.now());
        let took = shared.now() - begun;
        // That others had the processor is not the tenant's doing.
        let cost = if took > TURN && watched.was_interrupted() { TURN } else { took };
        shared.done(number, grant.tenant, &turn, took, cost);
        requests += turn.requests;
        let slow = function.waited(watched.waited(), shared.now());
        if let Some(refused) = turn.refused.or(slow) {
            shared.tell(Told::Refused(grant.tenant, refused));
        }
        shared.interrupt();
    }
    shared.interrupt();
    requests
}
