//! What crossings cost on this machine by themselves: the tolls of the price list, in nanoseconds.

use tollway_core::{Crossing, Placement, TollKey, TollSource};
use tollway_watch::FileKind;

use crate::route::{Route, route_of, single};

/// Sizes in bytes at which calls that move bytes are priced (the preset `calls` of the path `crossings`); the last of a datagram is 65,507.
const SIZES: [u64; 4] = [1, 512, 4096, 65_536];
const DATAGRAM: u64 = 65_507;

/// The calls of a wake-up and of a sleep that come to nothing: the tolls of both are measured by futexes between processes.
const WAKE_NONE: &str = "futex-wake-none-shared";
const WAIT_CHANGED: &str = "futex-wait-changed-shared";

/// A price, in nanoseconds of processor time.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Price {
    /// The estimate.
    pub ns: f64,
    /// Its 95 % interval.
    pub lo: f64,
    /// Its upper end.
    pub hi: f64,
    /// The tolls that it is of.
    pub keys: Vec<String>,
    /// It is only what it costs at least: no toll is like it.
    pub at_least: bool,
}

impl Price {
    /// So many times this one.
    pub fn times(&self, count: f64) -> Price {
        Price { ns: self.ns * count, lo: self.lo * count, hi: self.hi * count, ..self.clone() }
    }

    /// This and another one.
    pub fn plus(mut self, other: &Price) -> Price {
        self.ns += other.ns;
        self.lo += other.lo;
        self.hi += other.hi;
        self.at_least |= other.at_least;
        self.keys
            .extend(other.keys.iter().filter(|key| !self.keys.contains(key)).cloned().collect::<Vec<_>>());
        self
    }

    /// This less another one that is in it; not less than 0.
    pub fn less(mut self, other: &Price) -> Price {
        (self.ns, self.lo, self.hi) =
            ((self.ns - other.ns).max(0.0), (self.lo - other.hi).max(0.0), (self.hi - other.lo).max(0.0));
        self.keys.extend(other.keys.iter().map(|key| format!("less {key}")));
        self
    }
}

/// Prices by tolls.
pub struct Prices<'a>(pub &'a dyn TollSource);

impl Prices<'_> {
    /// One toll's price.
    pub fn of(&self, key: &TollKey) -> Option<Price> {
        let toll = self.0.toll(key)?;
        let ns = 1e9 / toll.hz;
        Some(Price {
            ns: toll.work * ns,
            lo: toll.work_lo * ns,
            hi: toll.work_hi * ns,
            keys: vec![key.to_string()],
            at_least: false,
        })
    }

    /// A system call, by its name and file, that moves so many bytes on the average. `gives` says whether it mostly has a result that is more than 0.
    ///
    /// What a call costs in user mode is the program's own time, and not in it.
    pub fn call(&self, call: &str, file: FileKind, bytes: f64, gives: bool) -> Option<Price> {
        let whole = self.whole_call(call, file, bytes, gives)?;
        Some(match self.of(&user_side()) {
            Some(user_side) => Price { keys: whole.keys.clone(), ..whole.less(&user_side) },
            None => whole,
        })
    }

    fn whole_call(&self, call: &str, file: FileKind, bytes: f64, gives: bool) -> Option<Price> {
        let empty =
            || self.of(&TollKey::of(Crossing::Getppid)).map(|price| Price { at_least: true, ..price });
        match route_of(call, file, gives) {
            Route::Sized(kind) => self.sized(kind, bytes).or_else(empty),
            Route::Single(kind) => self.of(&single(kind)).or_else(empty),
            Route::Part(key, part) => self.of(&key).map(|price| price.times(part)).or_else(empty),
            Route::AtLeast => empty(),
        }
    }

    /// A call that moves so many bytes: on the line between the two sizes at which it is priced, or on that of the largest two.
    fn sized(&self, kind: &str, bytes: f64) -> Option<Price> {
        let sizes = SIZES.map(|size| if kind.ends_with("-udp") { size.min(DATAGRAM) } else { size });
        let priced: Vec<(f64, Price)> = sizes
            .iter()
            .filter_map(|size| Some((*size as f64, self.of(&single(kind).size(*size))?)))
            .collect();
        let above =
            priced.iter().position(|(size, _)| *size >= bytes).unwrap_or(priced.len().checked_sub(1)?).max(1);
        let ((low, less), (high, more)) = (priced.get(above - 1)?, priced.get(above)?);
        let part = ((bytes - low) / (high - low)).max(0.0);
        let between = |less: f64, more: f64| (less + (more - less) * part).max(0.0);
        let mut keys = less.keys.clone();
        keys.extend(more.keys.clone());
        let price = Price {
            ns: between(less.ns, more.ns),
            lo: between(less.lo, more.lo),
            hi: between(less.hi, more.hi),
            keys,
            at_least: false,
        };
        Some(price)
    }

    /// What who wakes one pays, besides its call, who sleeps in a call on such a file.
    pub fn wake(&self, file: FileKind, placement: Placement) -> Option<Price> {
        let [wake, sleep] = self.wake_and_sleep(placement)?;
        Some(self.of_a_hand_over(wake.clone(), [&wake, &sleep], file, placement))
    }

    /// What who goes to sleep in a call on such a file and comes back pays, besides its call.
    pub fn sleep(&self, file: FileKind, placement: Placement) -> Option<Price> {
        let [wake, sleep] = self.wake_and_sleep(placement)?;
        Some(self.of_a_hand_over(sleep.clone(), [&wake, &sleep], file, placement))
    }

    /// Each by itself, less the calls by which it is measured.
    fn wake_and_sleep(&self, placement: Placement) -> Option<[Price; 2]> {
        let by_itself = |crossing, call| {
            let whole = self.of(&TollKey::of(crossing).placement(placement))?;
            Some(whole.less(&self.of(&single(call))?))
        };
        Some([by_itself(Crossing::WakeUp, WAKE_NONE)?, by_itself(Crossing::Sleep, WAIT_CHANGED)?])
    }

    /// A part of a hand-over. On one core a wake-up and a sleep by themselves are more than both at once, where one ends as the other begins: together they are half
    /// of a round trip by such a file, less its calls, and each has its share of that.
    fn of_a_hand_over(
        &self,
        part: Price,
        [wake, sleep]: [&Price; 2],
        file: FileKind,
        placement: Placement,
    ) -> Price {
        let both = if placement == Placement::Same { self.hand_over(file) } else { None };
        let apart = wake.ns + sleep.ns;
        let Some(both) = both.filter(|_| apart > 0.0) else { return part };
        let keys = part.keys.iter().chain(both.keys.iter().take(1)).cloned().collect();
        Price { keys, ..both.times(part.ns / apart) }
    }

    /// From one thread to another on the same core, without the calls: half of a round trip.
    fn hand_over(&self, file: FileKind) -> Option<Price> {
        let call = |kind: &str| self.of(&single(kind));
        let byte = |kind: &str| self.of(&single(kind).size(1));
        let (round_trip, ask, answer) = match file {
            FileKind::Pipe => (TollKey::of(Crossing::Pipe), byte("write-pipe")?, byte("read-pipe")?),
            FileKind::Unix => (TollKey::of(Crossing::UnixStream), byte("write-unix")?, byte("read-unix")?),
            FileKind::Tcp => {
                (TollKey::of(Crossing::TcpLoopback).size(1), byte("write-tcp")?, byte("read-tcp")?)
            }
            FileKind::Anonymous => {
                (TollKey::of(Crossing::Eventfd), call("write-eventfd")?, call("read-eventfd")?)
            }
            _ => (TollKey::of(Crossing::Futex), call(WAKE_NONE)?, call(WAIT_CHANGED)?),
        };
        let round_trip = self.of(&round_trip.placement(Placement::Same))?;
        Some(round_trip.times(0.5).less(&ask.plus(&answer)))
    }

    /// One switch from a process to another on the same core: half a round trip by sched_yield, less the call.
    pub fn switch(&self) -> Option<Price> {
        let round_trip = self.of(&TollKey::of(Crossing::SchedYield).placement(Placement::Same))?;
        Some(round_trip.times(0.5).less(&self.of(&TollKey::of(Crossing::Getppid))?))
    }

    /// A page fault that no disk is asked for.
    pub fn fault(&self) -> Option<Price> {
        self.of(&TollKey::of(Crossing::MinorFault))
    }

    /// A signal's delivery: a signal to oneself, less the call that sends it and the one that returns from the handler, which are counted as calls.
    pub fn signal(&self) -> Option<Price> {
        let whole = self.of(&TollKey::of(Crossing::Signal))?;
        Some(whole.less(&self.of(&TollKey::of(Crossing::Getppid))?.times(2.0)))
    }

    /// An operation of io_uring, of many that are given with one call.
    pub fn operation(&self) -> Option<Price> {
        self.of(&TollKey::of(Crossing::IoUringNop).depth(32))
    }

    /// How long it lasts until a call that waits comes back.
    pub fn latency(&self, key: &TollKey) -> Option<Price> {
        let toll = self.0.toll(key)?;
        let ns = 1e9 / toll.hz;
        let (lo, hi) = (toll.lo * ns, toll.hi * ns);
        Some(Price { ns: toll.median * ns, lo, hi, keys: vec![key.to_string()], at_least: false })
    }

    /// An interrupt: the median of what takes a core from a thread that never gives it away. The mean has other threads in it.
    pub fn interrupt(&self) -> Option<Price> {
        self.latency(&TollKey::of(Crossing::Interruption))
    }
}

/// What a call costs in user mode: the toll of a call is of both sides, and the kernel's own account has this part among the program's.
pub fn user_side() -> TollKey {
    single("user-side")
}

/// The tolls without which there is no bill; the preset `calls` measures them.
pub fn needed() -> Vec<TollKey> {
    let mut keys = vec![
        TollKey::of(Crossing::Getppid),
        TollKey::of(Crossing::MinorFault),
        TollKey::of(Crossing::SchedYield).placement(Placement::Same),
        TollKey::of(Crossing::WakeUp).placement(Placement::Same),
        TollKey::of(Crossing::Sleep).placement(Placement::Same),
        TollKey::of(Crossing::Futex).placement(Placement::Same),
        TollKey::of(Crossing::Pipe).placement(Placement::Same),
        single(WAKE_NONE),
        single(WAIT_CHANGED),
        single("epoll-wait"),
    ];
    for kind in [
        "read-pipe",
        "write-pipe",
        "read-unix",
        "write-unix",
        "read-file",
        "write-file",
        "read-zero",
        "write-null",
    ] {
        keys.extend(SIZES.map(|size| single(kind).size(size)));
    }
    keys
}
