//! One tenant's place: its queue, the buffer that is being filled, and what is counted.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use tollway_virtio::backend::{Chain, Port, Refused, Ring};
use tollway_virtio::patience::Patience;

use super::status::TenantCounts;

/// Pieces of buffers after which a turn ends, and the most of one buffer that are filled: as many as there are requests of
/// Linux's virtio-rng in 4 KiB. A device may fill less than the whole of a buffer (VIRTIO 1.2, 5.4.6.2).
const PIECES: usize = 64;

/// A tenant's place.
#[derive(Debug)]
pub(super) struct Seat {
    port: OnceLock<Arc<Port>>,
    inner: Mutex<Inner>,
    /// How long it may still keep the others waiting.
    patience: Mutex<Patience>,
}

impl Default for Seat {
    fn default() -> Seat {
        Seat { port: OnceLock::new(), inner: Mutex::default(), patience: Mutex::new(Patience::new(0)) }
    }
}

#[derive(Debug, Default)]
struct Inner {
    counts: TenantCounts,
    connected: bool,
    /// Of which run of the queue the rest is; what another run's peer offered is not this one's.
    generation: Option<u64>,
    chain: Chain,
    /// Whether `chain` was taken and is not full.
    open: bool,
    /// Whether the driver was asked not to kick.
    quiet: bool,
}

/// What a turn brought.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Turn {
    /// Bytes handed out.
    pub(super) used: usize,
    /// Bytes that it is known to want besides; None if it wants no more.
    pub(super) more: Option<u64>,
    /// Why its queue was given up, if it was.
    pub(super) refused: Option<Refused>,
}

impl Seat {
    /// Told once, before anything is served.
    pub(super) fn is_at(&self, port: Arc<Port>) {
        let _ = self.port.set(port);
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted; whether a peer is connected.
    pub(super) fn counts(&self) -> (TenantCounts, bool) {
        let inner = self.inner();
        (inner.counts, inner.connected)
    }

    /// Whether its queue is served.
    pub(super) fn is_served(&self) -> bool {
        let runs = |port: &Arc<Port>| port.rings()[0].as_ref().is_some_and(|ring| !ring.is_broken());
        self.port.get().is_some_and(runs)
    }

    pub(super) fn kicked(&self) {
        self.inner().counts.kicks += 1;
    }

    pub(super) fn connected(&self, connected: bool) {
        let mut inner = self.inner();
        inner.connected = connected;
        inner.counts.connections += u64::from(connected);
    }

    pub(super) fn refused_message(&self) {
        self.inner().counts.refused_messages += 1;
    }

    /// A turn of it waited for so many nanoseconds: if that is too much, its queue is given up, and why.
    pub(super) fn waited(&self, waited: u64, now: u64) -> Option<Refused> {
        if self.patience.lock().unwrap_or_else(PoisonError::into_inner).lasts(waited, now) {
            return None;
        }
        let mut rings = self.port.get()?.rings();
        let ring = rings[0].as_mut().filter(|ring| !ring.is_broken())?;
        self.inner().counts.refused_chains += 1;
        Some(ring.give_up(Refused::Slow))
    }

    /// Fills its buffers with `bytes`, from the first on, as far as they go.
    pub(super) fn serve(&self, bytes: &[u8]) -> Turn {
        let mut turn = Turn::default();
        let Some(port) = self.port.get() else { return turn };
        let mut rings = port.rings();
        let Some(ring) = &mut rings[0] else { return turn };
        let mut inner = self.inner();
        let inner = &mut *inner;
        if inner.generation != Some(ring.generation()) {
            inner.generation = Some(ring.generation());
            (inner.open, inner.quiet) = (false, false);
        }
        match fill(inner, ring, bytes, &mut turn.used) {
            Ok(more) => turn.more = more,
            Err(refused) => {
                inner.counts.refused_chains += 1;
                inner.open = false;
                turn.refused = Some(refused);
            }
        }
        inner.counts.bytes += turn.used as u64;
        turn
    }
}

fn fill(inner: &mut Inner, ring: &mut Ring, bytes: &[u8], used: &mut usize) -> Result<Option<u64>, Refused> {
    let mut given_back = false;
    let mut walked = 0;
    let more = loop {
        if !inner.open {
            if walked >= PIECES {
                // There may be more, nobody knows how much.
                break Some(1);
            }
            walked += 1;
            if !ring.take_first(&mut inner.chain, PIECES)? {
                inner.quiet = false;
                // The driver may have offered something between the two.
                if ring.want_kicks(true) {
                    continue;
                }
                break None;
            }
            if !inner.chain.is_only_writable() {
                return Err(ring.give_up(Refused::Unfit(
                    "a buffer for random numbers that the device may not write to",
                )));
            }
            inner.open = true;
            walked += inner.chain.pieces().len() - 1;
        }
        if *used == bytes.len() {
            break Some(inner.chain.left());
        }
        if !inner.quiet {
            ring.want_kicks(false);
            inner.quiet = true;
        }
        let memory = ring.memory().clone();
        match inner.chain.fill(&memory, &bytes[*used..]) {
            Ok(written) => *used += written,
            Err(refused) => return Err(ring.give_up(refused)),
        }
        if inner.chain.left() == 0 {
            inner.open = false;
            ring.give_back(&inner.chain, inner.chain.written());
            inner.counts.requests += 1;
            given_back = true;
        }
    };
    if given_back && ring.call() {
        inner.counts.calls += 1;
    }
    Ok(more)
}
