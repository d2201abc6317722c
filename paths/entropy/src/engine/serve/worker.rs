//! A thread that draws from a source of its own and hands out what it drew.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tollway_core::Result;
use zeroize::Zeroizing;

use super::Told;
use super::server::{Shared, Supply};

/// How long a worker whose source failed waits before it tries again.
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
pub(super) fn work(shared: &Shared, number: usize, mut supply: Supply) -> Result<()> {
    let size = shared.quantum;
    let mut block = Block { bytes: Zeroizing::new(vec![0; size]), at: size };
    let mut kicked = Vec::new();
    // The first test is no recovery.
    let mut failing = true;
    let mut failed_before = false;
    while !shared.stop.load(Ordering::Acquire) {
        if failing {
            let started = supply.watch.start(&mut *supply.source);
            shared.report(number, &supply, started.as_ref().err().cloned());
            match started {
                Ok(()) if failed_before => shared.tell(Told::Recovered(number)),
                Ok(()) => {}
                Err(reason) => {
                    if !failed_before {
                        shared.tell(Told::Failing { worker: number, reason });
                    }
                    failed_before = true;
                    shared.rest(PAUSE);
                    continue;
                }
            }
            failing = false;
        }
        if block.left() == 0 {
            if let Err(reason) = draw(&mut supply, &mut block) {
                block.wipe();
                (failing, failed_before) = (true, true);
                shared.report(number, &supply, Some(reason.clone()));
                shared.tell(Told::Failing { worker: number, reason });
                // Nobody else may be awake for what this one has noticed.
                shared.kicks.ring();
                continue;
            }
            shared.report(number, &supply, None);
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

fn draw(supply: &mut Supply, block: &mut Block) -> std::result::Result<(), String> {
    supply.source.fill(&mut block.bytes).map_err(|e| e.to_string())?;
    supply.watch.look(&block.bytes)?;
    block.at = 0;
    Ok(())
}
