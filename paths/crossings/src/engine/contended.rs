//! One word that two cores add to at the same time.

use std::hint::spin_loop;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use tollway_core::{Error, Params, Place, Result};
use tollway_host::watch::Release;

use super::shared::Shared;
use super::{Caller, Exchange, Server};

/// An atomic add to a word that another core adds to without a pause. It needs two cores.
pub struct ContendedAdd;

/// The end whose adds are counted by the caller of [`Caller::ask`].
pub struct AddingCaller(Arc<Shared>);

/// The end that adds until it is stopped.
pub struct AddingServer(Arc<Shared>);

impl Exchange for ContendedAdd {
    type Caller = AddingCaller;
    type Server = AddingServer;

    fn caller(_: &Params, _: &Place) -> Result<(AddingCaller, Vec<OwnedFd>)> {
        let (shared, memory) = Shared::create()?;
        Ok((AddingCaller(Arc::new(shared)), vec![memory]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<AddingServer> {
        let [memory] = super::exactly(descriptors)?;
        Ok(AddingServer(Arc::new(Shared::adopt(memory)?)))
    }
}

impl Caller for AddingCaller {
    /// Waits until the server adds: without it nothing is contended.
    fn begin(&mut self) {
        while self.0.sum.load(Ordering::Relaxed) == 0 && self.0.over.load(Ordering::Relaxed) == 0 {
            spin_loop();
        }
    }

    #[inline]
    fn ask(&mut self) {
        self.0.sum.fetch_add(1, Ordering::Relaxed);
    }

    fn stop(&mut self) -> Result<()> {
        self.0.over.store(1, Ordering::Release);
        Ok(())
    }

    /// No add was lost: the word is what both have added, and both have.
    fn verify(&mut self, asked: u64, served: u64) -> Result<()> {
        let sum = self.0.sum.load(Ordering::Relaxed);
        match asked.checked_add(served) {
            Some(both) if both == sum && served > 0 => Ok(()),
            _ => Err(Error::Wrong(format!("{asked} and {served} adds made {sum}"))),
        }
    }

    fn release(&self) -> Release {
        stopping(&self.0)
    }
}

impl Server for AddingServer {
    fn serve(&mut self) -> Result<u64> {
        let mut added = 0;
        // The word that stops lies on another line, which stays in this core's cache until it is written.
        while self.0.over.load(Ordering::Relaxed) == 0 {
            self.0.sum.fetch_add(1, Ordering::Relaxed);
            added += 1;
        }
        Ok(added)
    }

    fn release(&self) -> Release {
        stopping(&self.0)
    }
}

/// Ends whoever waits for the other, or adds without end.
fn stopping(shared: &Arc<Shared>) -> Release {
    let shared = shared.clone();
    Box::new(move || shared.over.store(1, Ordering::Release))
}
