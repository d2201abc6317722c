//! A thread that draws from a source of its own and hands out what it drew.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tollway_core::Result;
use zeroize::Zeroizing;

use super::Told;
use super::server::Shared;
use crate::engine::source::Source;

/// How long a worker whose source failed waits before it asks again; a source under health tests has a hold-off of its own
/// besides.
const PAUSE: Duration = Duration::from_millis(500);

/// Bytes drawn and not yet handed out.
struct Block {
    bytes: Zeroizing<Vec<u8>>,
    /// The first that was not handed out.
    at: usize,
}

impl Block {
    fn left(&self) -> usize {
        self.bytes.len() - self.at
    }

    /// Wipes what was handed out.
    fn spend(&mut self, used: usize) {
        let spent = &mut self.bytes[self.at..self.at + used];
        zeroize::Zeroize::zeroize(spent);
        self.at += used;
    }

    fn wipe(&mut self) {
        zeroize::Zeroize::zeroize(self.bytes.as_mut_slice());
        self.at = self.bytes.len();
    }
}

/// Serves until it is told to stop.
pub(super) fn work(shared: &Shared, number: usize, mut source: Box<dyn Source>) -> Result<()> {
    let size = shared.quantum;
    let mut block = Block { bytes: Zeroizing::new(vec![0; size]), at: size };
    let mut kicked = Vec::new();
    let mut failing = false;
    while !shared.stop.load(Ordering::Acquire) {
        if block.left() == 0 {
            if let Err(error) = source.fill(&mut block.bytes) {
                block.wipe();
                shared.report(number, &*source, Some(error.to_string()));
                if !failing {
                    shared.tell(Told::Failing { worker: number, reason: error.to_string() });
                    // Another one may sleep and not know that there is something to do.
                    shared.kicks.ring();
                }
                failing = true;
                shared.rest(PAUSE);
                continue;
            }
            block.at = 0;
            shared.report(number, &*source, None);
            if failing {
                shared.tell(Told::Recovered(number));
            }
            failing = false;
        }
        let most = shared.doze();
        shared.kicks.wait(&mut kicked, most)?;
        shared.awake(most, &mut kicked);
        while block.left() > 0 {
            let Some(grant) = shared.next(block.left()) else { break };
            let seat = &shared.seats[grant.tenant];
            let turn = seat.serve(&block.bytes[block.at..block.at + grant.bytes]);
            block.spend(turn.used);
            shared.done(grant.tenant, turn.used, turn.more);
            if let Some(refused) = turn.refused {
                shared.tell(Told::Refused(grant.tenant, refused));
            }
        }
    }
    Ok(())
}
