//! A thread that draws from a source of its own and hands out what it drew.

use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_virtio::patience;
use zeroize::Zeroizing;

use super::Told;
use super::server::Shared;
use crate::engine::source::{Error, Source};

/// How long a worker whose source failed waits before it asks again; a source under health tests has a hold-off of its own
/// besides.
const PAUSE: Duration = Duration::from_millis(500);

/// How long a draw should take at most: who comes meanwhile waits for it.
const DRAW: Duration = Duration::from_millis(1);

/// The least that is drawn at once, in bytes: what Linux's virtio-rng asks for. Draws are multiples of it.
const LEAST: usize = 64;

/// What a turn costs at most for the time that it took, in quanta.
const DEAREST: usize = 16;

/// Bytes drawn and not yet handed out.
struct Block {
    bytes: Zeroizing<Vec<u8>>,
    /// How many of these are drawn at once.
    size: usize,
    /// The first that was not handed out, and the end of those drawn.
    at: usize,
    end: usize,
    /// Bytes that the source gives in a nanosecond, while it is drawn from.
    rate: f64,
}

impl Block {
    fn left(&self) -> usize {
        self.end - self.at
    }

    /// Draws a block; of a slow source a smaller one the next time.
    fn draw(&mut self, source: &mut dyn Source) -> std::result::Result<(), Error> {
        let begun = Instant::now();
        source.fill(&mut self.bytes[..self.size])?;
        (self.at, self.end) = (0, self.size);
        let took = begun.elapsed().as_nanos().max(1) as f64;
        let rate = self.size as f64 / took;
        // A mean over some sixteen draws, as any one of them may have been interrupted.
        self.rate += (rate - self.rate) / if self.rate > 0.0 { 16.0 } else { 1.0 };
        let fits = rate * DRAW.as_nanos() as f64;
        let size = (fits as usize).clamp(LEAST, 2 * self.size).min(self.bytes.len());
        self.size = size - size % LEAST;
        Ok(())
    }

    /// Wipes what was handed out.
    fn spend(&mut self, used: usize) {
        let spent = &mut self.bytes[self.at..self.at + used];
        zeroize::Zeroize::zeroize(spent);
        self.at += used;
    }

    fn wipe(&mut self) {
        zeroize::Zeroize::zeroize(self.bytes.as_mut_slice());
        self.at = self.end;
    }
}

/// Serves until it is told to stop.
pub(super) fn work(shared: &Shared, number: usize, mut source: Box<dyn Source>) -> Result<()> {
    let size = shared.quantum.next_multiple_of(LEAST);
    let mut block = Block { bytes: Zeroizing::new(vec![0; size]), size, at: 0, end: 0, rate: 0.0 };
    let mut look = shared.desk.look();
    while !shared.desk.is_over() {
        if block.left() == 0 {
            if let Err(error) = block.draw(&mut *source) {
                block.wipe();
                shared.report(number, &*source, Some(error.to_string()));
                if !error.may_pass() {
                    shared.is_over(number, error.to_string());
                    return Ok(());
                }
                shared.is_failing(number, error.to_string());
                shared.rest(PAUSE);
                continue;
            }
            shared.report(number, &*source, None);
            shared.gives(number);
        }
        shared.wait(&mut look)?;
        while block.left() > 0 {
            let Some(grant) = shared.desk.next(block.left()) else { break };
            let seat = &shared.seats[grant.tenant];
            let (begun, watched) = (Instant::now(), patience::Turn::new());
            let turn = seat.serve(&block.bytes[block.at..block.at + grant.most]);
            block.spend(turn.used);
            // What could have been drawn meanwhile, unless others had the processor: that is not the tenant's doing.
            let missed = (begun.elapsed().as_nanos() as f64 * block.rate) as usize;
            let is_dear = missed > turn.used && watched.worked_if_displaced().is_none();
            let cost = if is_dear { missed.min(DEAREST * shared.quantum) } else { turn.used };
            shared.done(grant.tenant, turn.used, cost, turn.more);
            let slow = seat.waited(watched.waited(), shared.desk.now());
            if let Some(refused) = turn.refused.or(slow) {
                shared.tell(Told::Refused(grant.tenant, refused));
            }
        }
    }
    Ok(())
}
