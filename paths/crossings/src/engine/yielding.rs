//! Two words in shared memory, and `sched_yield` until the other end has run.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use rustix::thread::sched_yield;
use tollway_core::{Params, Place, Result, Tally};
use tollway_host::watch::Release;

use super::futex::{change, changed};
use super::sequence::{STOP, Sequence};
use super::shared::Shared;
use super::{Caller, Exchange, Server};

/// The core given to the other end, which answers and gives it back. Both stay runnable; on two cores they poll.
pub struct YieldExchange;

/// The end that asks.
pub struct YieldCaller {
    shared: Arc<Shared>,
    sequence: Sequence,
    yields: u64,
}

/// The end that answers.
pub struct YieldServer(Arc<Shared>);

impl Exchange for YieldExchange {
    type Caller = YieldCaller;
    type Server = YieldServer;

    fn caller(_: &Params, _: &Place) -> Result<(YieldCaller, Vec<OwnedFd>)> {
        let (shared, memory) = Shared::create()?;
        Ok((YieldCaller { shared: Arc::new(shared), sequence: Sequence::default(), yields: 0 }, vec![memory]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<YieldServer> {
        let [memory] = super::exactly(descriptors)?;
        Ok(YieldServer(Arc::new(Shared::adopt(memory)?)))
    }
}

impl Caller for YieldCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        if self.yields == 0 {
            // The server sleeps until the first request, so that it does not take the core before the window.
            change(&self.shared.request, number);
        } else {
            self.shared.request.store(number, Ordering::Release);
        }
        loop {
            sched_yield();
            self.yields += 1;
            match self.shared.reply.load(Ordering::Acquire) {
                answer if answer == number => return,
                STOP => return self.sequence.end(),
                _ => {}
            }
        }
    }

    fn stop(&mut self) -> Result<()> {
        change(&self.shared.request, STOP);
        Ok(())
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        let shared = self.shared.clone();
        Box::new(move || shared.reply.store(STOP, Ordering::Release))
    }

    fn tally(&self, asked: u64) -> Tally {
        Tally::default().counter("asked", asked).counter("yields", self.yields)
    }
}

impl Server for YieldServer {
    fn serve(&mut self) -> Result<u64> {
        let (mut served, mut last) = (0, 0);
        changed(&self.0.request, last);
        loop {
            match self.0.request.load(Ordering::Acquire) {
                STOP => return Ok(served),
                same if same == last => {}
                number => {
                    self.0.reply.store(number, Ordering::Release);
                    (served, last) = (served + 1, number);
                }
            }
            sched_yield();
        }
    }

    fn release(&self) -> Release {
        let shared = self.0.clone();
        Box::new(move || change(&shared.request, STOP))
    }
}
