//! Two words in shared memory, each slept on by one end and changed by the other.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::thread::futex;
use tollway_core::{Params, Place, Result};
use tollway_host::watch::Release;

use super::sequence::{STOP, Sequence};
use super::shared::Shared;
use super::{Caller, Exchange, Server};

/// A word changed, a sleeper woken, and the same back.
pub struct FutexExchange;

/// The end that asks.
pub struct FutexCaller {
    shared: Arc<Shared>,
    /// The last answer, as it was read: what it is now may already be the word that says that the server is gone.
    seen: u32,
    sequence: Sequence,
}

/// The end that answers.
pub struct FutexServer(Arc<Shared>);

impl Exchange for FutexExchange {
    type Caller = FutexCaller;
    type Server = FutexServer;

    fn caller(_: &Params, _: &Place) -> Result<(FutexCaller, Vec<OwnedFd>)> {
        let (shared, memory) = Shared::create()?;
        Ok((FutexCaller { shared: Arc::new(shared), seen: 0, sequence: Sequence::default() }, vec![memory]))
    }

    fn server(_: &Params, descriptors: Vec<OwnedFd>) -> Result<FutexServer> {
        let [memory] = super::exactly(descriptors)?;
        Ok(FutexServer(Arc::new(Shared::adopt(memory)?)))
    }
}

impl Caller for FutexCaller {
    #[inline]
    fn ask(&mut self) {
        let Some(number) = self.sequence.next() else { return };
        change(&self.shared.request, number);
        self.seen = changed(&self.shared.reply, self.seen);
        match self.seen {
            STOP => self.sequence.end(),
            answer => self.sequence.note(answer == number),
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
        Box::new(move || change(&shared.reply, STOP))
    }
}

impl Server for FutexServer {
    fn serve(&mut self) -> Result<u64> {
        let (mut served, mut last) = (0, 0);
        loop {
            last = changed(&self.0.request, last);
            if last == STOP {
                return Ok(served);
            }
            change(&self.0.reply, last);
            served += 1;
        }
    }

    fn release(&self) -> Release {
        let shared = self.0.clone();
        Box::new(move || change(&shared.request, STOP))
    }
}

/// Changes a word and wakes who sleeps on it. The system call is made even where nobody sleeps.
#[inline]
pub(super) fn change(word: &AtomicU32, value: u32) {
    word.store(value, Ordering::Release);
    // Waking nobody is no error, and the word is mapped: there is no other.
    let _ = futex::wake(word, futex::Flags::empty(), 1);
}

/// Sleeps until a word is no longer what it was.
///
/// No wake-up is lost: the kernel compares the word with `before` under the lock that a wake-up takes. Neither
/// FUTEX_PRIVATE_FLAG nor a time limit: the waker may be another process, and a limit would be timed as well.
#[inline]
pub(super) fn changed(word: &AtomicU32, before: u32) -> u32 {
    loop {
        let now = word.load(Ordering::Acquire);
        if now != before {
            return now;
        }
        // Interrupted, or changed meanwhile: looked at again either way.
        let _ = futex::wait(word, futex::Flags::empty(), before, None);
    }
}
