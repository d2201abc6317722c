//! A task of a card: so many requests are always on their way.
//!
//! The loop of [`tollway_load::fly`] looks at the clock four times a request, which of a request of 64 bytes would be a tenth:
//! here, where requests are as short, one of [`STAMPED`] is stamped, and counted are all.

use std::time::Duration;

use tollway_cipher::engine::driver::{Completion, DataQueue, Handle, Operation};
use tollway_cipher::engine::protocol::Status;
use tollway_cipher::engine::suite::Named;
use tollway_core::{Clock, Error, Recorder, Result, Ticks, Window};
use tollway_host::clock::{self, RunClock};
use tollway_load::{STAMP_FROM_TICKS, wait_until};
use tollway_virtio::{Area, Span};

use super::round::Round;
use super::texts::{self, Texts};

/// One request of so many is stamped, and its result compared: a prime, so that it is not always the same of those on their way.
const STAMPED: u64 = 17;

/// How long a card may keep a request.
const PATIENCE: Duration = Duration::from_secs(10);

/// A task with its queue.
pub(super) struct Tenant<'a> {
    queue: &'a mut DataQueue,
    area: Area,
    session: Handle,
    named: &'static Named,
    texts: &'a Texts,
    /// Where its buffers begin.
    at: usize,
    places: Vec<Place>,
    read: Vec<u8>,
    clock: RunClock,
    recorder: Recorder,
    /// From when on what is stamped is recorded.
    open: Ticks,
}

/// A request's buffers.
#[derive(Clone, Copy, Default)]
struct Place {
    turn: bool,
    /// When it began; 0 where it is not stamped.
    began: Ticks,
}

/// Bytes of a place, each part with cache lines of its own.
pub(super) fn slot(named: &Named, size: usize) -> usize {
    size.next_multiple_of(64) + named.result(size).next_multiple_of(64)
}

impl<'a> Tenant<'a> {
    /// One that has so many requests on their way, in the memory from `at` on.
    pub(super) fn new(
        queue: &'a mut DataQueue,
        session: Handle,
        named: &'static Named,
        texts: &'a Texts,
        at: usize,
        in_flight: usize,
    ) -> Tenant<'a> {
        let area = queue.area().clone();
        let read = vec![0; named.result(texts.sources[0].len())];
        let places = vec![Place::default(); in_flight];
        let (clock, recorder) = (RunClock::chosen(), Recorder::new());
        Tenant { queue, area, session, named, texts, at, places, read, clock, recorder, open: Ticks::MAX }
    }

    fn source(&self, place: usize) -> usize {
        self.at + place * slot(self.named, self.texts.sources[0].len())
    }

    fn target(&self, place: usize) -> usize {
        self.source(place) + self.texts.sources[0].len().next_multiple_of(64)
    }

    #[inline]
    fn send(&mut self, place: usize, stamped: bool) -> Result<()> {
        let began = if stamped { self.clock.now() } else { 0 };
        let turn = !self.places[place].turn;
        self.places[place] = Place { turn, began };
        let text = &self.texts.sources[usize::from(turn)];
        self.area.write(self.source(place), text);
        let source = [Span { at: self.source(place), bytes: text.len() as u32 }];
        let result = [Span { at: self.target(place), bytes: self.read.len() as u32 }];
        // A signature that is verified has none.
        let result = if self.read.is_empty() { &[][..] } else { &result };
        let (work, iv) = (self.named.work, texts::iv(self.named));
        let operation = Operation {
            digest: self.named.digest() as u32,
            ..Operation::new(self.session, work, iv, &source, result)
        };
        if self.queue.submit(place as u64, &operation)? {
            return Ok(());
        }
        Err(Error::Wrong("a queue with room takes no request".into()))
    }

    /// Takes in what is done: its place.
    #[inline]
    fn take(&mut self, completion: Completion) -> Result<usize> {
        let place = completion.token as usize;
        let bytes = completion.bytes as usize;
        let fits = bytes == self.read.len() || self.texts.differ() && bytes < self.read.len();
        if completion.status != Status::Ok || !fits {
            let Completion { status, bytes, .. } = completion;
            // Whoever serves the card may have said so.
            let hint = if status == Status::Err { ", or is longer than the card's --longest" } else { "" };
            return Err(Error::Wrong(format!("a request ended with {bytes} bytes, and that {status}{hint}")));
        }
        self.area.read(self.target(place), &mut self.read[..bytes]);
        let Place { turn, began } = self.places[place];
        if began > 0 {
            let is_timed = began >= self.open;
            if is_timed {
                self.recorder.sample(self.clock.now().saturating_sub(began));
            }
            if !(is_timed && self.texts.differ()) {
                self.texts.check(turn, &self.read[..bytes])?;
            }
        }
        Ok(place)
    }

    /// Waits for one that is done.
    #[inline]
    fn wait(&mut self) -> Result<usize> {
        match self.queue.wait(PATIENCE)? {
            Some(completion) => self.take(completion),
            None => Err(Error::system("waiting for a crypto device", format!("no answer in {PATIENCE:?}"))),
        }
    }

    /// Keeps requests on their way in the window, and waits for those that are left.
    ///
    /// # Errors
    /// A result is wrong, or the card does not answer.
    pub(super) fn run(mut self, window: &Window) -> Result<Round> {
        // Both texts in each place, before anything is timed.
        for _ in 0..2 {
            for place in 0..self.places.len() {
                self.send(place, true)?;
            }
            self.queue.kick();
            for _ in 0..self.places.len() {
                self.wait()?;
            }
        }
        self.open = window.open;
        wait_until(self.clock, window.warm);
        let mut free: Vec<usize> = (0..self.places.len()).rev().collect();
        let (mut sent, mut done, mut every) = (0u64, 0u64, STAMPED);
        // When it opened, and how many were done by then.
        let mut opened: Option<(Ticks, u64)> = None;
        let (opened, before, closed) = loop {
            let now = self.clock.now();
            match opened {
                // One at least, also where the processor was somebody else's for all of the window.
                Some((at, before)) if now >= window.close && done > before => break (at, before, now),
                None if now >= window.open => {
                    opened = Some((now, done));
                    if now - window.warm > done * STAMP_FROM_TICKS {
                        every = 1;
                    }
                }
                _ => {}
            }
            while let Some(place) = free.pop() {
                self.send(place, sent.is_multiple_of(every))?;
                sent += 1;
            }
            self.queue.kick();
            free.push(self.wait()?);
            done += 1;
            while let Some(completion) = self.queue.take()? {
                free.push(self.take(completion)?);
                done += 1;
            }
        };
        while self.queue.in_flight() > 0 {
            self.wait()?;
        }
        let seconds = (closed - opened) as f64 / clock::hz()?;
        Ok(Round {
            rate: (done - before) as f64 / seconds,
            latency: self.recorder.spread(),
            ..Round::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use tollway_cipher::engine::device::{Card, Delivery, NewFunction, Options as CardOptions};
    use tollway_cipher::engine::driver::{Driver, Options};
    use tollway_virtio::order::Share;
    use tollway_virtio::socket::Meeting;

    use super::*;
    use crate::bench::library::Caller;
    use crate::bench::round;

    const SIZE: usize = 256;

    /// What a card comes to, asked for these texts.
    fn asked(texts: &Texts) -> Result<Round> {
        let function = NewFunction {
            name: "one".into(),
            meeting: Meeting::Inside,
            share: Share::default(),
            delivery: Delivery::Each,
        };
        let card = Card::start(vec![function], &CardOptions::default(), |_| ())?;
        let mut driver = Driver::inside(card.inside(0).unwrap(), &Options::default())?;
        let named = Named::find("aes-128-gcm").unwrap();
        let session = driver.open(named.algorithm, &texts::key(named))?.unwrap();
        let at = driver.free();
        let tenant = Tenant::new(&mut driver.queues[0], session, named, texts, at, 4);
        round::all(vec![tenant], &[0], 0.005, Tenant::run)
    }

    #[test]
    fn who_is_told_something_else_than_the_library_has_no_figure() {
        let named = Named::find("aes-128-gcm").unwrap();
        let mut texts = Texts::of(named, SIZE).unwrap();
        let round = asked(&texts).unwrap();
        assert!(round.rate > 0.0 && round.latency.quantile(0.5).is_some(), "{round:?}");
        // The last byte of a tag.
        *texts.results[1].last_mut().unwrap() ^= 1;
        let told = asked(&texts).unwrap_err().to_string();
        assert!(told.contains("not the library's"), "{told}");
        let callers = vec![Caller::new(named, &texts, true).unwrap()];
        let told = round::all(callers, &[0], 0.005, |mut caller, window| caller.run(window)).unwrap_err();
        assert!(told.to_string().contains("not the library's"), "{told}");
    }
}
