//! The library, called in this process: what everything else is held against.

use std::hint::black_box;
use std::time::Instant;

use tollway_cipher::engine::suite::{Named, Session};
use tollway_core::{Error, Recorder, Result, Window};
use tollway_host::clock::{self, RunClock};
use tollway_load::{Work, repeat};

use super::round::Round;
use super::texts::{self, Texts};

/// Calls by which a dry run guesses what a request takes.
const CALLS: u32 = 20;

/// A caller of the library.
pub(super) struct Caller<'t> {
    named: &'static Named,
    texts: &'t Texts,
    session: Session,
    /// Whether it writes each request and reads each result.
    copies: bool,
    source: Vec<u8>,
    result: Vec<u8>,
    read: Vec<u8>,
    turn: bool,
    failed: Option<Error>,
}

impl<'t> Caller<'t> {
    /// One that asks for these texts.
    ///
    /// # Errors
    /// The library refuses.
    pub(super) fn new(named: &'static Named, texts: &'t Texts, copies: bool) -> Result<Caller<'t>> {
        let (source, result) = (texts.sources[0].clone(), vec![0; named.result(texts.sources[0].len())]);
        let session = texts::session(named)?;
        let read = result.clone();
        Ok(Caller { named, texts, session, copies, source, result, read, turn: false, failed: None })
    }

    fn call(&mut self) -> Result<usize> {
        texts::call(&self.session, self.named, &mut self.source, &mut self.result)
    }

    /// Whether both texts come out as they must.
    ///
    /// # Errors
    /// They do not.
    fn check(&mut self) -> Result<()> {
        for turn in [true, false] {
            self.source.copy_from_slice(&self.texts.sources[usize::from(turn)]);
            let bytes = self.call()?;
            self.texts.check(turn, &self.result[..bytes])?;
        }
        Ok(())
    }

    /// Calls again and again in the window.
    ///
    /// # Errors
    /// A result is wrong.
    pub(super) fn run(&mut self, window: &Window) -> Result<Round> {
        self.check()?;
        let mut recorder = Recorder::new();
        repeat(RunClock::chosen(), window, &mut recorder, &mut &mut *self);
        if let Some(error) = self.failed.take() {
            return Err(error);
        }
        let spread = recorder.spread();
        let mean = spread.mean().ok_or_else(|| Error::Wrong("nothing was done in the time".into()))?;
        Ok(Round { rate: clock::hz()? / mean, latency: spread, ..Round::default() })
    }
}

/// Nanoseconds for a request of `size` bytes: the minimum of [`CALLS`] calls.
///
/// # Errors
/// The library refuses.
pub(crate) fn takes(named: &'static Named, size: usize) -> Result<f64> {
    let texts = Texts::of(named, size)?;
    let mut caller = Caller::new(named, &texts, false)?;
    let mut least = f64::INFINITY;
    for _ in 0..CALLS {
        let begun = Instant::now();
        caller.call()?;
        least = least.min(begun.elapsed().as_nanos() as f64);
    }
    Ok(least)
}

impl Work for &mut Caller<'_> {
    #[inline]
    fn once(&mut self) {
        if self.copies {
            self.turn = !self.turn;
            self.source.copy_from_slice(black_box(&self.texts.sources[usize::from(self.turn)]));
        }
        if let Err(error) = self.call() {
            self.failed.get_or_insert(error);
        }
        if self.copies {
            self.read.copy_from_slice(black_box(&self.result));
            black_box(&mut self.read);
        } else {
            black_box(&mut self.result);
        }
    }
}
