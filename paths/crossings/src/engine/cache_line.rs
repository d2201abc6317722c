//! One cache line that two cores pass to each other.
//!
//! Neither end makes a system call, allocates or touches thread-local storage, so the caller may as well live in a
//! micro-guest: memory is shared there as it is between processes, and nothing leaves the guest.

use std::hint::spin_loop;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tollway_core::{Params, Place, Result};
use tollway_host::watch::Release;

use super::sequence::Sequence;
use super::shared::Shared;
use super::{Caller, Exchange, Server};

/// A word written by one core, read by the other, and the same back. Both spin: it needs two cores.
///
/// The word is the request of the board. Question `n` is the odd number `2n - 1` and its answer the even one `2n`, so
/// each end knows by the word alone whose turn it is.
pub struct CacheLineExchange;

/// The end that asks.
pub struct CacheLineCaller {
    shared: Arc<Shared>,
    sequence: Sequence,
}

/// The end that answers.
pub struct CacheLineServer(Arc<Shared>);

impl Exchange for CacheLineExchange {
    type Caller = CacheLineCaller;
    type Server = CacheLineServer;

    fn caller(_: &Params, _: &Place) -> Result<(CacheLineCaller, Vec<OwnedFd>)> {
        let (shared, memory) = Shared::create()?;
        Ok((CacheLineCaller { shared: Arc::new(shared), sequence: Sequence::default() }, vec![memory]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<CacheLineServer> {
        let [memory] = super::exactly(descriptors)?;
        Ok(CacheLineServer(Arc::new(Shared::adopt(memory)?)))
    }
}

impl Caller for CacheLineCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        let (question, answer) = (2 * number - 1, 2 * number);
        let ball = &self.shared.request;
        ball.store(question, Ordering::Release);
        loop {
            match ball.load(Ordering::Acquire) {
                word if word != question => return self.sequence.note(word == answer),
                _ if self.shared.over.load(Ordering::Relaxed) != 0 => return self.sequence.end(),
                _ => spin_loop(),
            }
        }
    }

    fn stop(&mut self) -> Result<()> {
        self.shared.over.store(1, Ordering::Release);
        Ok(())
    }

    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        self.sequence.verify(asked, served)
    }

    fn release(&self) -> Release {
        stopping(&self.shared)
    }
}

impl Server for CacheLineServer {
    fn serve(&mut self) -> Result<u64> {
        let ball = &self.0.request;
        let mut served = 0;
        loop {
            match ball.load(Ordering::Acquire) {
                question if question % 2 == 1 => {
                    ball.store(question.wrapping_add(1), Ordering::Release);
                    served += 1;
                }
                _ if self.0.over.load(Ordering::Relaxed) != 0 => return Ok(served),
                _ => spin_loop(),
            }
        }
    }

    fn release(&self) -> Release {
        stopping(&self.0)
    }
}

/// Ends whoever waits. The word itself would not do: it could be overwritten by who has not noticed yet. The one that
/// says so stays in both cores' caches until it is written.
fn stopping(shared: &Arc<Shared>) -> Release {
    let shared = shared.clone();
    Box::new(move || shared.over.store(1, Ordering::Release))
}
