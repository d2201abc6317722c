//! From a source into a sink, so many bytes at a time.

use std::io;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use tollway_core::Error as Refused;
use zeroize::{Zeroize, Zeroizing};

use super::sink::rest;
use super::{MOST_BYTES, PORTION_BITS, RESEED_INTERVAL, Sink, Woken};
use crate::engine::source::{self, Claim, Source};

/// Feeds.
pub struct Feeder<S, K> {
    source: S,
    sink: K,
    buffer: Zeroizing<Vec<u8>>,
    bits: u32,
    fed: Fed,
}

/// A feeding of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Portion {
    /// Its bytes.
    pub bytes: usize,
    /// Bits that they are credited with.
    pub bits: u32,
}

impl Portion {
    /// So many bytes of the source of that name and claim; without a number as many as hold [`PORTION_BITS`].
    ///
    /// # Errors
    /// Nothing of it can be credited, as of this kernel's own output, or not a bit of so many bytes.
    pub fn of(name: &str, claim: Claim, bytes: Option<usize>) -> Result<Portion, Refused> {
        let entropy = claim.entropy.min(8.0);
        let wrong = |reason: String, remedy: String| Refused::Input {
            place: format!("feeding from {name}"),
            reason,
            remedy,
        };
        if entropy.is_nan() || entropy <= 0.0 {
            return Err(wrong(
                "nothing of it can be credited: what comes from this kernel's own generator, or out of a seed that is \
                 known, adds nothing to what the kernel knows"
                    .into(),
                "take a source of its own: rdrand, rdseed, /dev/hwrng".into(),
            ));
        }
        let needed = |bits: u32| (f64::from(bits) / entropy).ceil() as usize;
        let bytes = bytes.unwrap_or_else(|| needed(PORTION_BITS).min(MOST_BYTES));
        let bits = (bytes as f64 * entropy).floor() as u32;
        if bytes > MOST_BYTES {
            let remedy = format!("give {MOST_BYTES} at most");
            return Err(wrong(format!("{bytes} bytes are too many at a time"), remedy));
        }
        if bits == 0 {
            let remedy = format!("give at least {} bytes", needed(1));
            return Err(wrong(format!("{bytes} bytes of it hold less than one bit"), remedy));
        }
        Ok(Portion { bytes, bits })
    }
}

/// What was fed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Fed {
    /// Feedings.
    pub portions: u64,
    /// Bytes of them.
    pub bytes: u64,
    /// Bits that they were credited with.
    pub bits: u64,
}

/// One feeding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Receipt {
    /// Its bytes.
    pub bytes: usize,
    /// Bits that they were credited with.
    pub bits: u32,
    /// What the sink said that it had before and after, where it said so.
    pub available: Option<(u32, u32)>,
}

/// When it feeds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pace {
    /// So long after a feeding comes the next, if the sink does not want one earlier.
    pub interval: Duration,
    /// So long after a feeding the sink may want one again: one that always does must not be fed without a pause.
    pub pause: Duration,
    /// So long after a failure of the source it is tried again; twice as long after each that follows.
    pub retry: Duration,
    /// The longest of those.
    pub longest_retry: Duration,
}

impl Default for Pace {
    /// A minute, a tenth of a second, and retries from a second to a minute.
    fn default() -> Self {
        Pace {
            interval: RESEED_INTERVAL,
            pause: Duration::from_millis(100),
            retry: Duration::from_secs(1),
            longest_retry: Duration::from_secs(60),
        }
    }
}

/// What happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// It was fed.
    Fed(Receipt, Fed),
    /// The source gives nothing; nothing is fed until it does.
    Failed {
        /// Why.
        error: &'a source::Error,
        /// When it is tried again.
        retry_in: Duration,
    },
    /// The source gives again.
    Recovered,
}

/// Why nothing more can be fed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The source is at its end or gone.
    #[error(transparent)]
    Source(#[from] source::Error),
    /// The sink refuses.
    #[error("feeding the kernel: {0}")]
    Sink(#[from] io::Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Refused {
        match error {
            Error::Source(error) => error.into(),
            Error::Sink(error) => Refused::system("feeding the kernel", error),
        }
    }
}

/// How fast it went.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ended {
    /// What was fed meanwhile.
    pub fed: Fed,
    /// How long that took, in seconds.
    pub seconds: f64,
}

impl Ended {
    /// Bits credited per second.
    pub fn bits_per_second(&self) -> f64 {
        self.fed.bits as f64 / self.seconds
    }
}

impl<S: Source, K: Sink> Feeder<S, K> {
    /// From `source` into `sink`, so many bytes at a time ([`Portion::of`]).
    ///
    /// # Errors
    /// There is no such portion.
    pub fn new(source: S, sink: K, bytes: Option<usize>) -> Result<Self, Refused> {
        let Portion { bytes, bits } = Portion::of(source.name(), source.claim(), bytes)?;
        Ok(Feeder { source, sink, buffer: vec![0; bytes].into(), bits, fed: Fed::default() })
    }

    /// What a feeding is.
    pub fn portion(&self) -> Portion {
        Portion { bytes: self.buffer.len(), bits: self.bits }
    }

    /// What was fed so far.
    pub fn fed(&self) -> Fed {
        self.fed
    }

    /// Where it goes.
    pub fn sink(&self) -> &K {
        &self.sink
    }

    /// Feeds once.
    ///
    /// # Errors
    /// The source gives nothing, and then nothing is fed; or the sink takes nothing.
    pub fn feed(&mut self) -> Result<Receipt, Error> {
        let drawn = self.source.fill(&mut self.buffer);
        let before = self.sink.available().ok();
        let taken = drawn
            .map_err(Error::from)
            .and_then(|()| self.sink.credit(&self.buffer, self.bits).map_err(Error::from));
        self.buffer.as_mut_slice().zeroize();
        taken?;
        self.fed.portions += 1;
        self.fed.bytes += self.buffer.len() as u64;
        self.fed.bits += u64::from(self.bits);
        let available = before.zip(self.sink.available().ok());
        Ok(Receipt { bytes: self.buffer.len(), bits: self.bits, available })
    }

    /// Feeds at that pace until there is something to read in `stop`. A source that fails is tried again and again.
    ///
    /// # Errors
    /// The source has ended, or is not there; or the sink refuses.
    pub fn run(
        &mut self,
        pace: &Pace,
        stop: BorrowedFd<'_>,
        mut told: impl FnMut(Event<'_>),
    ) -> Result<(), Error> {
        let mut retry = None;
        loop {
            let woken = match self.feed() {
                Ok(receipt) => {
                    if retry.take().is_some() {
                        told(Event::Recovered);
                    }
                    told(Event::Fed(receipt, self.fed));
                    match rest(pace.pause.min(pace.interval), stop)? {
                        Woken::Stopped => Woken::Stopped,
                        _ => self.sink.wait(pace.interval.saturating_sub(pace.pause), Some(stop))?,
                    }
                }
                Err(Error::Source(error)) if error.may_pass() => {
                    let wait = retry.map_or(pace.retry, |last: Duration| (2 * last).min(pace.longest_retry));
                    retry = Some(wait);
                    told(Event::Failed { error: &error, retry_in: wait });
                    rest(wait, stop)?
                }
                Err(error) => return Err(error),
            };
            if woken == Woken::Stopped {
                return Ok(());
            }
        }
    }

    /// Feeds as fast as it goes, for that long.
    ///
    /// # Errors
    /// As of [`Feeder::feed`].
    pub fn flood(&mut self, time: Duration) -> Result<Ended, Error> {
        let (begun, before) = (Instant::now(), self.fed);
        while begun.elapsed() < time {
            self.feed()?;
        }
        let fed = Fed {
            portions: self.fed.portions - before.portions,
            bytes: self.fed.bytes - before.bytes,
            bits: self.fed.bits - before.bits,
        };
        Ok(Ended { fed, seconds: begun.elapsed().as_secs_f64() })
    }
}
