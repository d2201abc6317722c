//! How two actors take turns, so that only one of them works at a time: one asks for a turn on a page that both have, the other
//! says when it is done. Both wait awake.

use std::hint::spin_loop;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result, Ticks};
use tollway_host::descriptor;
use tollway_host::shared::SharedPages;

/// Words of the page: the number of the turn that was asked for, of the one that is done, and a time.
const ASKED: usize = 0;
const DONE: usize = 1;
const STAMP: usize = 2;

/// The turn after which there is none.
const LAST: u64 = u64::MAX;

/// How long the other side may take: it may have lost its processor.
const PATIENCE: Duration = Duration::from_secs(5);

/// One side of the page.
pub(super) struct Lockstep {
    page: SharedPages,
    number: u64,
    /// Open as long as both live.
    _link: UnixStream,
}

fn silent() -> Error {
    Error::Tenant {
        tenant: "lockstep".into(),
        reason: format!("nothing was heard of the other for {PATIENCE:?}"),
    }
}

impl Lockstep {
    /// Meets whoever listens under that name, and hands over the page, with these descriptors.
    pub(super) fn meet(name: &str, others: &[OwnedFd]) -> Result<Lockstep> {
        let link = descriptor::connect(name)?;
        let page = SharedPages::new(1)?;
        let mut all = vec![page.as_fd()];
        all.extend(others.iter().map(AsFd::as_fd));
        descriptor::send(&link, &all)?;
        Ok(Lockstep { page, number: 0, _link: link })
    }

    /// Waits for whoever meets, and for what it hands over.
    pub(super) fn wait_for(listener: &UnixListener) -> Result<(Lockstep, Vec<OwnedFd>)> {
        let link = descriptor::accept(listener)?;
        let mut all = descriptor::receive(&link)?;
        if all.is_empty() {
            return Err(Error::Wrong("a page to take turns by did not come".into()));
        }
        let page = SharedPages::from_fd(all.remove(0))?;
        Ok((Lockstep { page, number: 0, _link: link }, all))
    }

    /// Asks for a turn.
    #[inline]
    pub(super) fn ask(&mut self) {
        self.number += 1;
        self.page.words()[ASKED].store(self.number, Ordering::Release);
    }

    /// Waits until the turn that was asked for is done.
    ///
    /// # Errors
    /// If that takes longer than anything explains.
    #[inline]
    pub(super) fn answered(&self) -> Result<()> {
        self.spin(|| (self.page.words()[DONE].load(Ordering::Acquire) >= self.number).then_some(()))
    }

    /// Says that nothing more will be asked for.
    pub(super) fn end(&self) {
        self.page.words()[ASKED].store(LAST, Ordering::Release);
    }

    /// Whether a turn was asked for that is not done: no turn will be any more, no, or yes.
    #[inline]
    pub(super) fn asked(&self) -> Asked {
        match self.page.words()[ASKED].load(Ordering::Acquire) {
            LAST => Asked::NoMore,
            asked if asked > self.number => Asked::Turn,
            _ => Asked::Nothing,
        }
    }

    /// Waits for a turn to be asked for; false: none will be any more.
    ///
    /// # Errors
    /// If that takes longer than anything explains.
    #[inline]
    pub(super) fn next(&self) -> Result<bool> {
        self.spin(|| match self.asked() {
            Asked::NoMore => Some(false),
            Asked::Turn => Some(true),
            Asked::Nothing => None,
        })
    }

    /// Says that the turn is done.
    #[inline]
    pub(super) fn done(&mut self) {
        self.number += 1;
        self.page.words()[DONE].store(self.number, Ordering::Release);
    }

    /// Leaves a time for the other.
    #[inline]
    pub(super) fn stamp(&self, at: Ticks) {
        self.page.words()[STAMP].store(at, Ordering::Release);
    }

    /// The time that the other left.
    #[inline]
    pub(super) fn stamped(&self) -> Ticks {
        self.page.words()[STAMP].load(Ordering::Acquire)
    }

    fn spin<T>(&self, mut look: impl FnMut() -> Option<T>) -> Result<T> {
        let begun = Instant::now();
        loop {
            for _ in 0..1024 {
                if let Some(found) = look() {
                    return Ok(found);
                }
                spin_loop();
            }
            if begun.elapsed() > PATIENCE {
                return Err(silent());
            }
        }
    }
}

/// What was asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Asked {
    Nothing,
    Turn,
    NoMore,
}
