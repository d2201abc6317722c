//! How capture and generator take turns, so that only one of them works at a time: the capture asks for frames on the
//! page that both have, the generator says when it has sent them.

use std::hint::spin_loop;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use tollway_core::{Error, Result};
use tollway_host::shared::SharedPages;

/// Words of the page: the number of the turn that was asked for, and of the one that is done; how many frames it has; how
/// long the generator lets the capture fall asleep before it sends them, in nanoseconds.
const ASKED: usize = 0;
const DONE: usize = 1;
const FRAMES: usize = 2;
const PAUSE: usize = 3;

/// The turn after which there is none.
const LAST: u64 = u64::MAX;

/// How long the other side may take: it may have lost its processor.
const PATIENCE: Duration = Duration::from_secs(5);

/// What is asked of a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Turn {
    pub(super) frames: u64,
    pub(super) pause: Duration,
}

/// The page.
pub(super) struct Turns {
    page: SharedPages,
    /// Of the last turn that this side knows of.
    number: u64,
}

impl Turns {
    pub(super) fn new() -> Result<Turns> {
        Ok(Turns { page: SharedPages::new(1)?, number: 0 })
    }

    /// Asks for frames.
    pub(super) fn ask(&mut self, turn: Turn) {
        let words = self.page.words();
        words[FRAMES].store(turn.frames, Ordering::Relaxed);
        words[PAUSE].store(turn.pause.as_nanos() as u64, Ordering::Relaxed);
        self.number += 1;
        words[ASKED].store(self.number, Ordering::Release);
    }

    /// Waits, asleep, until they are sent.
    ///
    /// # Errors
    /// If that takes longer than anything explains.
    pub(super) fn wait_for_frames(&self) -> Result<()> {
        const NAP: Duration = Duration::from_micros(50);
        let begun = Instant::now();
        while self.page.words()[DONE].load(Ordering::Acquire) < self.number {
            if begun.elapsed() > PATIENCE {
                return Err(silent(super::GENERATOR));
            }
            std::thread::sleep(NAP);
        }
        Ok(())
    }

    /// Says that nothing more will be asked for.
    pub(super) fn end(&self) {
        self.page.words()[ASKED].store(LAST, Ordering::Release);
    }

    /// Waits, awake, for what is asked for next; `None`: nothing more.
    ///
    /// # Errors
    /// If the capture is silent for longer than anything explains.
    pub(super) fn next(&mut self) -> Result<Option<Turn>> {
        let begun = Instant::now();
        let words = self.page.words();
        loop {
            match words[ASKED].load(Ordering::Acquire) {
                LAST => return Ok(None),
                asked if asked > self.number => {
                    self.number = asked;
                    let frames = words[FRAMES].load(Ordering::Relaxed);
                    let pause = Duration::from_nanos(words[PAUSE].load(Ordering::Relaxed));
                    return Ok(Some(Turn { frames, pause }));
                }
                _ if begun.elapsed() > PATIENCE => return Err(silent(super::CAPTURE)),
                _ => spin_loop(),
            }
        }
    }

    /// Says that the turn is done.
    pub(super) fn done(&self) {
        self.page.words()[DONE].store(self.number, Ordering::Release);
    }
}

fn silent(role: &str) -> Error {
    Error::Tenant { tenant: role.into(), reason: format!("nothing was heard of it for {PATIENCE:?}") }
}

impl AsRef<SharedPages> for Turns {
    fn as_ref(&self) -> &SharedPages {
        &self.page
    }
}

impl From<SharedPages> for Turns {
    fn from(page: SharedPages) -> Turns {
        Turns { page, number: 0 }
    }
}
