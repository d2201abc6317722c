//! Waiting for the other end: looks, gives its core away between looks, says that it sleeps, looks once more, and sleeps.
//!
//! How long it looks is learnt. To look in vain costs as long as it lasts, and to sleep costs the wake-up: who looks for as long as a wake-up costs
//! and then sleeps pays at most twice what it would have paid had it known (A. R. Karlin, K. Li, M. S. Manasse, S. Owicki, "Empirical
//! Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP 1991, section 2). Where looking has not helped for a while, as
//! it cannot where both ends have one core, it is left out, and tried again ever more seldom: what it costs is soon no part of a wait, and it is back
//! after as many waits again as it was of no use.

use core::time::Duration;

use super::atomic::AtomicU64;
use super::ring::bell::Bell;

/// What the ends need of where they run.
pub trait Platform {
    /// A clock that never goes back, in units of its own.
    fn now(&self) -> u64;

    /// Tells the processor that this is a loop that looks.
    fn relax(&self);

    /// Gives the core to who else wants it.
    fn give_way(&self);

    /// Sleeps while the word is [`ASLEEP`](super::ring::bell::ASLEEP), but may return earlier. Which it is, is looked at after whatever a waker
    /// does before it [wakes](Platform::wake).
    ///
    /// # Errors
    /// [`Gone`] if the other end cannot wake it any more.
    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone>;

    /// As [`sleep`](Platform::sleep), up to this time limit. Where there is no clock to wake it, it sleeps
    /// on, and no wait has a time limit.
    ///
    /// # Errors
    /// [`Gone`] if the other end cannot wake it any more.
    fn sleep_for(&self, bell: &AtomicU64, at_most: Duration) -> Result<(), Gone> {
        let _ = at_most;
        self.sleep(bell)
    }

    /// Wakes who sleeps by that word.
    fn wake(&self, bell: &AtomicU64);

    /// Wakes who sleeps here, from another thread of its own: for who waits for what that thread does as well.
    fn rouse(&self) {}

    /// Whether the other end is known to be no more: asked now and then by who looks for long. Where nobody can tell, it is not.
    fn is_gone(&self) -> bool {
        false
    }
}

impl<T: core::ops::Deref<Target: Platform>> Platform for T {
    fn now(&self) -> u64 {
        (**self).now()
    }

    fn relax(&self) {
        (**self).relax();
    }

    fn give_way(&self) {
        (**self).give_way();
    }

    fn sleep(&self, bell: &AtomicU64) -> Result<(), Gone> {
        (**self).sleep(bell)
    }

    fn sleep_for(&self, bell: &AtomicU64, at_most: Duration) -> Result<(), Gone> {
        (**self).sleep_for(bell, at_most)
    }

    fn wake(&self, bell: &AtomicU64) {
        (**self).wake(bell);
    }

    fn rouse(&self) {
        (**self).rouse();
    }

    fn is_gone(&self) -> bool {
        (**self).is_gone()
    }
}

/// The other end is no more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

impl core::fmt::Display for Gone {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("the other end is gone")
    }
}

impl core::error::Error for Gone {}

/// How long an end looks before it sleeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patience {
    /// For so long it looks, in units of the platform's clock: what a wake-up costs is best. 0 where what it finds so comes from elsewhere, and the other
    /// end waits for this one's core: looking that finds something is not given up.
    pub spin: u64,
    /// So often it gives its core away and looks again after that.
    pub yields: u32,
}

/// How waits ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Waits {
    /// While it looked.
    pub looking: u64,
    /// After it had given its core away.
    pub giving_way: u64,
    /// At the look after it had said that it sleeps.
    pub at_last: u64,
    /// After it had slept.
    pub asleep: u64,
}

/// What one of the phases has been good for.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Use {
    /// In how many waits since it was the end of one.
    vain: u32,
}

/// After so many waits in vain a phase is left out.
const VAIN: u32 = 16;

/// And tried again when it would have been in vain twice as often as when it was last tried, and at the latest once in so many waits.
const AGAIN: u32 = 2048;

/// So often it looks between two readings of the clock, each of which takes as long as a look or two.
const A_READING: u32 = 16;

/// After so many looks, of some 50 cycles each, who looks asks whether the other end is gone, which may be a call of the kernel.
const LOOKS: u32 = 1 << 14;

/// After so many times that it gave its core away it asks the same.
const TURNS: u32 = 64;

impl Use {
    /// Whether it is worth while now.
    pub(crate) fn is_tried(self) -> bool {
        self.vain < VAIN || self.vain.is_power_of_two() || self.vain.is_multiple_of(AGAIN)
    }

    pub(crate) fn had(&mut self, success: bool) {
        self.vain = if success { 0 } else { self.vain.wrapping_add(1).max(1) };
    }
}

/// Waits for one end.
#[derive(Debug)]
pub struct Waiter<P> {
    platform: P,
    patience: Patience,
    looking: Use,
    giving_way: Use,
    waits: Waits,
}

impl<P: Platform> Waiter<P> {
    /// Who has that patience.
    pub fn new(platform: P, patience: Patience) -> Waiter<P> {
        Waiter {
            platform,
            patience,
            looking: Use::default(),
            giving_way: Use::default(),
            waits: Waits::default(),
        }
    }

    /// The same, with what it has learnt, in another place.
    pub fn moved<Q: Platform>(self, to: impl FnOnce(P) -> Q) -> Waiter<Q> {
        let Waiter { platform, patience, looking, giving_way, waits } = self;
        Waiter { platform: to(platform), patience, looking, giving_way, waits }
    }

    /// Where it waits.
    pub fn platform(&self) -> &P {
        &self.platform
    }

    /// Where it waits, to be changed.
    pub fn platform_mut(&mut self) -> &mut P {
        &mut self.platform
    }

    /// Where it waits, when it waits no more, and its patience.
    pub fn into_parts(self) -> (P, Patience) {
        (self.platform, self.patience)
    }

    /// How its waits ended.
    pub fn waits(&self) -> Waits {
        self.waits
    }

    /// Waits until there is something, as `is_there` says.
    ///
    /// # Errors
    /// [`Gone`] if the other end is no more and has left nothing.
    pub fn wait(&mut self, bell: Bell<'_>, is_there: impl FnMut() -> bool) -> Result<(), Gone> {
        self.wait_within(bell, is_there, || None).map(drop)
    }

    /// The same, for as long as `left` says that there is time, without end if it says nothing; whether there
    /// is something. That is asked before it sleeps, and now and then while it looks: so it may look for a
    /// moment longer.
    ///
    /// # Errors
    /// [`Gone`] if the other end is no more and has left nothing.
    pub fn wait_within(
        &mut self,
        bell: Bell<'_>,
        mut is_there: impl FnMut() -> bool,
        mut left: impl FnMut() -> Option<Duration>,
    ) -> Result<bool, Gone> {
        if self.looking.is_tried() {
            let ended = self.looks(&mut is_there, &mut left)?;
            self.looking.had(ended == Phase::Found);
            match ended {
                Phase::Found => {
                    self.waits.looking += 1;
                    return Ok(true);
                }
                Phase::Late => return Ok(false),
                Phase::Vain => {}
            }
        } else {
            self.looking.had(false);
        }
        if self.giving_way.is_tried() {
            let ended = self.gives_way(&mut is_there, &mut left)?;
            self.giving_way.had(ended == Phase::Found);
            match ended {
                Phase::Found => {
                    self.waits.giving_way += 1;
                    return Ok(true);
                }
                Phase::Late => return Ok(false),
                Phase::Vain => {}
            }
        } else {
            self.giving_way.had(false);
        }
        self.sleeps(bell, is_there, left)
    }

    #[inline]
    fn looks(
        &mut self,
        is_there: &mut impl FnMut() -> bool,
        left: &mut impl FnMut() -> Option<Duration>,
    ) -> Result<Phase, Gone> {
        if self.patience.spin == 0 {
            return Ok(if is_there() { Phase::Found } else { Phase::Vain });
        }
        // The clock is not read before it has looked a while: what is on its way comes soon, and is not to wait for that.
        let mut begun = None;
        let mut looked = 0u32;
        loop {
            for _ in 0..A_READING {
                if is_there() {
                    return Ok(Phase::Found);
                }
                self.platform.relax();
            }
            let now = self.platform.now();
            if now.wrapping_sub(*begun.get_or_insert(now)) >= self.patience.spin {
                return Ok(Phase::Vain);
            }
            looked = looked.wrapping_add(A_READING);
            if looked.is_multiple_of(LOOKS) && !self.goes_on(is_there, left)? {
                return Ok(Phase::Late);
            }
        }
    }

    fn gives_way(
        &mut self,
        is_there: &mut impl FnMut() -> bool,
        left: &mut impl FnMut() -> Option<Duration>,
    ) -> Result<Phase, Gone> {
        for turn in 1..=self.patience.yields {
            self.platform.give_way();
            if is_there() {
                return Ok(Phase::Found);
            }
            if turn.is_multiple_of(TURNS) && !self.goes_on(is_there, left)? {
                return Ok(Phase::Late);
            }
        }
        Ok(Phase::Vain)
    }

    /// That the other end is there, or has left something; whether there is time left.
    #[cold]
    fn goes_on(
        &self,
        is_there: &mut impl FnMut() -> bool,
        left: &mut impl FnMut() -> Option<Duration>,
    ) -> Result<bool, Gone> {
        if self.platform.is_gone() && !is_there() {
            return Err(Gone);
        }
        Ok(left() != Some(Duration::ZERO) || is_there())
    }

    fn sleeps(
        &mut self,
        bell: Bell<'_>,
        mut is_there: impl FnMut() -> bool,
        mut left: impl FnMut() -> Option<Duration>,
    ) -> Result<bool, Gone> {
        let mut slept = false;
        loop {
            bell.ask();
            if is_there() {
                bell.withdraw();
                *if slept { &mut self.waits.asleep } else { &mut self.waits.at_last } += 1;
                return Ok(true);
            }
            let woken = match left() {
                None => self.platform.sleep(bell.0),
                Some(Duration::ZERO) => {
                    bell.withdraw();
                    return Ok(false);
                }
                Some(left) => self.platform.sleep_for(bell.0, left),
            };
            slept = true;
            // Before it says again that it sleeps: else whoever writes meanwhile would wake it in vain.
            let is_there = is_there();
            if is_there || woken.is_err() {
                bell.withdraw();
            }
            if is_there {
                self.waits.asleep += 1;
                return Ok(true);
            }
            woken?;
        }
    }
}

/// How a phase of a wait ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// There is something.
    Found,
    /// It was of no use.
    Vain,
    /// Time is over.
    Late,
}
