//! The actor that draws, 64 bits an operation, from whichever source, and its part in a plan.

use std::path::Path;

use tollway_core::{
    Actor, Address, Clock, CpuFeature, Error, Params, Place, Plan, Recorder, Requirement, Result, Role,
    Tally, TenantKind, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat, wait_until};

use super::blocks::{counted, judge};
use crate::engine::condition::{INPUT, Reduction, SAMPLE, STREAMS};
use crate::engine::fips::{self, Bootstrap};
use crate::engine::source::{Counts, Device, Getrandom, Rdrand, Rdseed, Source};

/// What an operation is.
pub(super) const OPERATION: &str = "64 bits drawn";

/// The role of those who draw.
pub(super) const ROLE: &str = "drawer";

/// A plan in which so many draw at once. A micro-guest wants KVM and a clock that it can read; what a Linux guest lacks is
/// told by its agent.
///
/// # Errors
/// The source is behind a kernel, and there is none in a micro-guest.
pub(super) fn plan(params: &Params, count: u32) -> Result<Plan> {
    let (kind, tenant) = (params.word("kind")?, params.tenant()?);
    if ["getrandom", "hwrng"].contains(&kind) && tenant == TenantKind::MicroGuest {
        return Err(Error::Input {
            place: "axis `tenant`, value `micro-guest`".into(),
            reason: format!("{kind} asks a kernel, and a micro-guest has none"),
            remedy: "take another kind of tenant, or another source".into(),
        });
    }
    let feature = match kind {
        "rdseed" | "rdseed-rested" => Some(Requirement::Cpu(CpuFeature::Rdseed)),
        "getrandom" => None,
        "hwrng" => Some(Requirement::HwRng),
        _ => Some(Requirement::Cpu(CpuFeature::Rdrand)),
    };
    let mut role = Role { count, ..Role::measured(ROLE).tenant(tenant) };
    let mut requires = Vec::new();
    match tenant {
        TenantKind::LinuxGuest => {
            requires.push(Requirement::LinuxGuest);
            role.requires.extend(feature);
        }
        TenantKind::MicroGuest => {
            requires.extend(feature);
            requires.extend([Requirement::Kvm, Requirement::InvariantTsc]);
        }
        TenantKind::Thread | TenantKind::Process => requires.extend(feature),
    }
    Ok(Plan { roles: vec![role], requires, ..super::plan_of_one(OPERATION, ROLE, Vec::new()) })
}

/// The actor for that source.
///
/// # Errors
/// The processor lacks it.
pub(super) fn actor(params: &Params) -> Result<Box<dyn Actor>> {
    Ok(match params.word("kind")? {
        "rdseed" => Box::new(Drawer::of(Seeds(Rdseed::open()?))),
        "rdseed-rested" => Box::new(Drawer::of(Rested(Rdseed::open()?))),
        "getrandom" => Box::new(Drawer::of(Asked::<_, ASKED>(Getrandom::default()))),
        "hwrng" => Box::new(Drawer::of(Asked::<_, READ>(Device::open(Path::new("/dev/hwrng"))?))),
        "rdrand-512" => Box::new(Drawer::of(Reduced::new()?)),
        _ => Box::new(Drawer::of(Draws(Rdrand::open()?))),
    })
}

/// A way to draw 64 bits, or some at once. Makes no system call unless the source itself does.
trait Drawing: Send {
    /// Draws in one call.
    const AT_ONCE: u32 = 1;

    /// Before each draw, untimed: how long the generator is left alone to fill, in ticks.
    const REST: u64 = 0;

    /// Draws; the last 64 bits, and whether it failed.
    fn draw(&mut self) -> Result<u64, crate::engine::source::Error>;

    /// What it did.
    fn counts(&self) -> Counts;

    /// Blocks that were put to the FIPS tests.
    fn tested(&self) -> fips::Tally {
        fips::Tally::default()
    }
}

struct Draws(Rdrand);

impl Drawing for Draws {
    #[inline(always)]
    fn draw(&mut self) -> Result<u64, crate::engine::source::Error> {
        self.0.draw()
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }
}

struct Seeds(Rdseed);

impl Drawing for Seeds {
    #[inline(always)]
    fn draw(&mut self) -> Result<u64, crate::engine::source::Error> {
        self.0.draw()
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }
}

/// RDSEED that is given time to fill.
struct Rested(Rdseed);

impl Drawing for Rested {
    // Several times what any generator known takes for a sample: AMD's Zen 5 has 128 bits in 47 µs.
    const REST: u64 = 500_000;

    fn draw(&mut self) -> Result<u64, crate::engine::source::Error> {
        self.0.draw()
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }
}

/// A source behind the kernel, asked for so many bytes at a time: an operation is 64 bits of it.
struct Asked<S, const BYTES: usize>(S);

/// Bytes that the kernel is asked for at once.
pub(super) const ASKED: usize = 1024;

/// Bytes read from a device at once: what Linux's drivers fill at once (`rng_buffer_size`, drivers/char/hw_random/core.c).
const READ: usize = 64;

impl<S: Source, const BYTES: usize> Drawing for Asked<S, BYTES> {
    const AT_ONCE: u32 = (BYTES / 8) as u32;

    fn draw(&mut self) -> Result<u64, crate::engine::source::Error> {
        let mut bytes = [0; BYTES];
        self.0.fill(&mut bytes)?;
        Ok(bytes.last_chunk().map_or(0, |last| u64::from_ne_bytes(*last)))
    }

    fn counts(&self) -> Counts {
        self.0.counts()
    }
}

/// RDRAND on its way through the reduction, and what comes out through the FIPS tests; an operation is still a draw.
struct Reduced {
    source: Rdrand,
    reduction: Reduction,
    samples: Box<[u8]>,
    stream: fips::Stream,
    tally: fips::Tally,
}

impl Reduced {
    fn new() -> Result<Self> {
        let mut source = Rdrand::open()?;
        let mut key = [0; SAMPLE];
        source.fill(&mut key)?;
        Ok(Reduced {
            source,
            reduction: Reduction::new(&key),
            samples: vec![0; STREAMS * INPUT].into(),
            stream: fips::Stream::new(Bootstrap::Compared),
            tally: fips::Tally::default(),
        })
    }
}

impl Drawing for Reduced {
    const AT_ONCE: u32 = (STREAMS * INPUT / 8) as u32;

    fn draw(&mut self) -> Result<u64, crate::engine::source::Error> {
        self.source.fill(&mut self.samples)?;
        let mut outputs = [[0; SAMPLE]; STREAMS];
        self.reduction.reduce(&self.samples, &mut outputs);
        self.stream.push(outputs.as_flattened(), |_, failed| self.tally.add(failed));
        let [last, _] = outputs[STREAMS - 1].as_chunks().0 else { return Ok(0) };
        Ok(u64::from_ne_bytes(*last))
    }

    fn counts(&self) -> Counts {
        self.source.counts()
    }

    fn tested(&self) -> fips::Tally {
        self.tally
    }
}

/// Draws until its window closes.
struct Drawer<D> {
    source: D,
    last: u64,
    repeated: u64,
    given_up: u64,
    done: u64,
}

impl<D: Drawing> Drawer<D> {
    fn of(source: D) -> Self {
        Drawer { source, last: 0, repeated: 0, given_up: 0, done: 0 }
    }
}

impl<D: Drawing> Work for &mut Drawer<D> {
    #[inline(always)]
    fn once(&mut self) {
        match self.source.draw() {
            Ok(drawn) => {
                self.repeated += u64::from(drawn == self.last);
                self.last = drawn;
            }
            Err(_) => self.given_up += 1,
        }
    }

    fn operations(&self) -> u32 {
        D::AT_ONCE
    }

    fn uses_up(&self) -> bool {
        D::REST > 0
    }

    fn restock(&mut self) {
        let clock = RunClock::chosen();
        wait_until(clock, clock.now() + D::REST);
    }
}

impl<D: Drawing> Actor for Drawer<D> {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        // Once outside, so that whatever is asked of CPUID on first use is not asked in a guest.
        (&mut *self).once();
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.done = repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.done == 0 {
            return Err(Error::Wrong("nothing was drawn".into()));
        }
        // An ideal source repeats 64 bits once in 2^64 draws; a stuck one always.
        if self.repeated > 0 {
            let (repeated, done) = (self.repeated, self.done);
            return Err(Error::Wrong(format!("{repeated} of {done} draws repeated the one before")));
        }
        judge(&self.source.tested())?;
        match self.given_up {
            0 => Ok(()),
            n => Err(Error::Wrong(format!("{n} of {} draws were given up: the source is dry", self.done))),
        }
    }

    fn tally(&mut self) -> Tally {
        let counts = self.source.counts();
        let tally = Tally::default()
            .counter("operations", self.done)
            .counter("tries", counts.draws)
            .counter("failures", counts.failures);
        match self.source.tested() {
            tested if tested.blocks() > 0 => counted(tally, &tested),
            _ => tally,
        }
    }
}
