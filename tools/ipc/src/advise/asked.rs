//! What was asked, as points of the path.

use tollway_core::{Error, Params, Registry, Result};

use crate::PATH;
use crate::args::advise::Advise;
use crate::args::words::Cores;

/// A crossover is looked for at four times as many requests at a time as were asked for, but up to so many at the least …
const LEAST_LADDER: u64 = 32;

/// … and up to so many at the most, unless more were asked for.
const MOST_LADDER: u64 = 256;

/// A way to have requests done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Way {
    /// A message of a Unix socket there and back, by a thread for each request.
    SlowPath,
    /// A handover by futex, by a thread for each request.
    FastPath,
    /// The same, whose ends sleep at once.
    FastPathAsleep,
    /// Futures over rings, whose ends look for as long as a wake-up costs before they sleep.
    Async,
    /// The same, whose ends sleep at once.
    AsyncAsleep,
    /// The same, whose ends look without end.
    AsyncAwake,
}

impl Way {
    /// Those of which a crossover is made: asynchronous as it is by default, and both synchronous ones.
    pub(super) const LADDER: [Way; 3] = [Way::SlowPath, Way::FastPath, Way::Async];

    /// Those of which one is advised where requests come so seldom that ends sleep in between.
    pub(super) const ASLEEP: [Way; 3] = [Way::SlowPath, Way::FastPathAsleep, Way::AsyncAsleep];

    /// All there are.
    pub(super) const ALL: [Way; 6] =
        [Way::SlowPath, Way::FastPath, Way::Async, Way::FastPathAsleep, Way::AsyncAsleep, Way::AsyncAwake];

    /// The path's variant.
    pub(super) fn variant(self) -> &'static str {
        match self {
            Way::SlowPath => "slow-path",
            Way::FastPath | Way::FastPathAsleep => "fast-path",
            _ => "async",
        }
    }

    /// What a person calls it.
    pub(super) fn title(self) -> &'static str {
        match self {
            Way::SlowPath => "slow path",
            Way::FastPath => "fast path",
            Way::FastPathAsleep => "fast path, sleeps at once",
            Way::Async => "async",
            Way::AsyncAsleep => "async, sleeps at once",
            Way::AsyncAwake => "async, looks without end",
        }
    }

    /// Whether who asks waits for each request in a thread of its own.
    pub(super) fn is_sync(self) -> bool {
        matches!(self, Way::SlowPath | Way::FastPath | Way::FastPathAsleep)
    }

    /// The word of the axis `patience`, where there is one.
    fn patience(self) -> Option<&'static str> {
        match self {
            Way::SlowPath | Way::FastPath => None,
            Way::Async => Some("learnt"),
            Way::FastPathAsleep | Way::AsyncAsleep => Some("sleep"),
            Way::AsyncAwake => Some("spin"),
        }
    }
}

/// What was asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Asked {
    /// How long the server works on a request, in nanoseconds.
    pub(super) service_ns: f64,
    /// The same in ticks of this machine's counter.
    pub(super) work: u64,
    /// Requests at a time.
    pub(super) concurrency: u64,
    /// One core or two.
    pub(super) cores: Cores,
    /// Bytes of a message.
    pub(super) size: u64,
    /// Requests a second; as many as can be done where nothing is said.
    pub(super) rate: Option<f64>,
    /// The concurrencies at which a crossover is looked for, ascending.
    pub(super) ladder: Vec<u64>,
}

impl Asked {
    /// What the options ask, on a machine whose counter has so many ticks a second.
    ///
    /// # Errors
    /// What the path's axes do not take.
    pub(super) fn of(options: &Advise, registry: &Registry, hz: f64) -> Result<Asked> {
        let service_ns = options.service.as_nanos() as f64;
        let top = (4 * options.concurrency).clamp(LEAST_LADDER, MOST_LADDER);
        let mut ladder: Vec<u64> =
            std::iter::successors(Some(1), |step| Some(2 * step)).take_while(|step| *step <= top).collect();
        ladder.push(options.concurrency);
        ladder.sort_unstable();
        ladder.dedup();
        let asked = Asked {
            service_ns,
            work: (service_ns * hz / 1e9).round() as u64,
            concurrency: options.concurrency,
            cores: options.cores,
            size: options.size,
            rate: options.rate,
            ladder,
        };
        // Before anything is measured.
        for way in asked.ways() {
            asked.params(way, asked.concurrency, registry)?;
        }
        if let Some(rate) = asked.rate.filter(|rate| rate * service_ns > 1e9) {
            return Err(Error::Input {
                place: format!("--rate {rate}"),
                reason: format!(
                    "a server that works {service_ns} ns on each request does no more than {:.0} a second",
                    1e9 / service_ns
                ),
                remedy: "ask for fewer, or for a shorter --service".into(),
            });
        }
        Ok(asked)
    }

    /// The ways that there are on so many cores: on one, an end that looks without end keeps the other from its core.
    /// A fast path that sleeps at once is a way only where requests may come seldom.
    pub(super) fn ways(&self) -> Vec<Way> {
        let is_one = |way: &Way| match way {
            Way::AsyncAwake => self.cores == Cores::Two,
            Way::FastPathAsleep => self.rate.is_some(),
            _ => true,
        };
        Way::ALL.into_iter().filter(is_one).collect()
    }

    /// What is set of a way's axes.
    pub(super) fn set(&self, way: Way, concurrency: u64) -> Params {
        let params = Params::new()
            .with("concurrency", concurrency)
            .with("cores", self.cores.word())
            .with("size", self.size)
            .with("work", self.work);
        match way.patience() {
            Some(word) => params.with("patience", word),
            None => params,
        }
    }

    /// A value for each of a way's axes.
    ///
    /// # Errors
    /// What they do not take.
    pub(super) fn params(&self, way: Way, concurrency: u64, registry: &Registry) -> Result<Params> {
        self.set(way, concurrency).complete(&registry.path(PATH)?.variant(way.variant())?.axes())
    }

    /// Everything that is foretold: the ladder, every way where it was asked for, and those that sleep with one request at a time, as requests come
    /// that come seldom.
    pub(super) fn places(&self) -> Vec<(Way, u64)> {
        let mut places: Vec<(Way, u64)> =
            Way::LADDER.into_iter().flat_map(|way| self.ladder.iter().map(move |n| (way, *n))).collect();
        for way in self.ways().into_iter().filter(|way| !Way::LADDER.contains(way)) {
            let is_seldom = self.rate.is_some() && Way::ASLEEP.contains(&way);
            places.extend(is_seldom.then_some((way, 1)));
            if way != Way::FastPathAsleep && !(is_seldom && self.concurrency == 1) {
                places.push((way, self.concurrency));
            }
        }
        places
    }
}
