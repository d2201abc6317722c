//! What does requests, of whichever function's turn it is: in a thread of the card, or in one that its user lends.

use std::num::NonZeroU64;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use tollway_core::Result;
use tollway_virtio::desk::Woken;

use super::pool::Pool;
use super::told::Told;

/// An engine for a thread of its user's ([`Card::engine`](super::Card::engine)): it works while that thread lets it.
pub struct Engine {
    pub(super) pool: Arc<Pool>,
    pub(super) number: usize,
}

/// How often an engine waited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slept {
    /// Until it was kicked.
    pub kicked: u64,
    /// Until a moment that it had set itself: to tell what it had held back, or that a share is due.
    pub timed: u64,
    /// In all, however that ended: it may have had something to do already.
    pub waits: u64,
}

/// How long an engine that looks for requests keeps its core from others. A tenant that looks for itself is back sooner; after that
/// others come first that want the core, of whom one may be the tenant, or who brings it its interrupt.
const EAGER: Duration = Duration::from_micros(5);

/// The longest that an engine sleeps that is to look whether it is wanted any more.
const LOOK: Duration = Duration::from_millis(20);

impl Engine {
    /// Serves while `wanted` says so, which is asked after each round and each sleep, at the latest after 20 ms.
    /// The thread's sleeps are as exact as the kernel's timers from then on (prctl(2), PR_SET_TIMERSLACK).
    ///
    /// # Errors
    /// [`Error::System`](tollway_core::Error::System) if the kernel refuses to let it wait.
    pub fn work(&mut self, wanted: impl FnMut() -> bool) -> Result<Slept> {
        work(&self.pool, self.number, Some(LOOK), wanted)
    }

    /// Asks for kicks: who asks for something from now on kicks, until it is served.
    pub fn arm(&mut self) {
        self.pool.arm();
    }

    /// Waits, and does what lies ready then, as [`work`](Engine::work) does. How many requests that were.
    ///
    /// # Errors
    /// As of [`work`](Engine::work).
    pub fn round(&mut self) -> Result<usize> {
        let mut look = self.pool.desk.look();
        self.pool.wait(&mut look, Some(LOOK))?;
        Ok(self.ready())
    }

    /// Does what lies ready, kicked for or not, and does not wait; how many requests that were.
    pub fn turn(&mut self) -> usize {
        self.pool.notice();
        self.ready()
    }

    /// Does what is known to lie ready, in as many rounds as it takes.
    fn ready(&mut self) -> usize {
        let mut requests = 0;
        loop {
            let had = turns(&self.pool, self.number);
            requests += had.requests;
            if !had.more {
                return requests;
            }
        }
    }
}

/// Serves while it is wanted and the card is not stopped, sleeping so long at most.
pub(super) fn work(
    pool: &Pool,
    number: usize,
    longest: Option<Duration>,
    mut wanted: impl FnMut() -> bool,
) -> Result<Slept> {
    // Interrupts that are held back are due on the microsecond; a thread's sleep may be 50 µs late by itself (prctl(2),
    // PR_SET_TIMERSLACK).
    let _ = rustix::thread::set_current_timer_slack(NonZeroU64::new(1));
    let mut look = pool.desk.look();
    let (mut idle, mut slept) = (Instant::now(), Slept::default());
    while !pool.desk.is_over() && wanted() {
        let had = turns(pool, number);
        if had.requests > 0 {
            idle = Instant::now();
        }
        if had.more {
            continue;
        }
        // For a while it looks for itself before it asks to be kicked, and sleeps.
        let waited = idle.elapsed();
        if waited < pool.spin {
            pool.notice();
            if waited < EAGER {
                std::hint::spin_loop();
            } else {
                thread::yield_now();
            }
            continue;
        }
        slept.waits += 1;
        match pool.wait(&mut look, longest)? {
            Woken::Kicked => slept.kicked += 1,
            Woken::Due => slept.timed += 1,
            Woken::AtOnce | Woken::Otherwise => {}
        }
    }
    Ok(slept)
}

/// How long there are turns before it is asked whether the engine is wanted any more, in nanoseconds.
const ROUND: u64 = 1_000_000;

/// What turns have brought.
struct Turns {
    requests: usize,
    /// Whether there may be more to do at once.
    more: bool,
}

/// Has turns until nobody wants one, or for a round.
fn turns(pool: &Pool, number: usize) -> Turns {
    let mut had = Turns { requests: 0, more: false };
    let begun = pool.now();
    let mut watch = Watch { from: begun };
    while let Some(grant) = pool.desk.next(usize::MAX) {
        let turn = pool.serve(number, grant);
        pool.done(number, grant.tenant, &turn, turn.cost());
        had.requests += turn.requests;
        for (queue, refused) in turn.refused {
            pool.tell(Told::Refused(grant.tenant, queue, refused));
        }
        pool.interrupt();
        if watch.look(pool) - begun >= ROUND {
            had.more = true;
            return had;
        }
    }
    pool.interrupt();
    had
}

/// Looks between turns for those who have asked meanwhile: as long as somebody always wants more nobody waits for kicks.
struct Watch {
    /// When it looks again, in the card's nanoseconds.
    from: u64,
}

/// Of the time, no more than one part in so many is for looking, however many functions there are.
const SHARE: u64 = 16;

impl Watch {
    /// Looks if it is time; what the time is.
    fn look(&mut self, pool: &Pool) -> u64 {
        let now = pool.now();
        if now >= self.from {
            pool.notice();
            let ended = pool.now();
            self.from = ended + SHARE * (ended - now);
        }
        now
    }
}
