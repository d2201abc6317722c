//! `guest-chain`: the published chain, whole, in guests with Linux: a generator, a daemon that feeds the kernel with what it
//! credits, and a reader of /dev/random who tests what he gets. Each guest has one virtual processor for both.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use tollway_core::{
    Actor, Address, Axis, Clock, CpuFeature, Error, GuestDevice, GuestSpec, Params, Place, Plan, Recorder,
    Requirement, Result, Role, Tally, TenantKind, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_load::{Work, repeat, wait_until};

use super::blocks::{counted, judge};
use crate::engine::condition::{Conditioned, SAMPLE, STREAMS};
use crate::engine::feed::{Feeder, Kernel};
use crate::engine::fips::{self, BLOCK_BYTES, Bootstrap};
use crate::engine::source::{Claim, Device, Rdrand, Source};
use crate::params;

/// The chain.
pub(super) struct GuestChain;

const FEEDER: &str = "feeder";
const READER: &str = "reader";

/// Bytes fed at once.
const PORTION: usize = STREAMS * SAMPLE;

impl Variant for GuestChain {
    fn name(&self) -> &str {
        "guest-chain"
    }

    fn about(&self) -> &str {
        "in guests with Linux: generator, feed, kernel, and a reader of /dev/random who tests what he reads"
    }

    fn caveats(&self) -> &str {
        "What is measured is the feed: 128 bits credited. Since Linux 5.6 a reader of /dev/random does not wait for the feed, so \
         the reader's rate says nothing of it; his blocks are tested all the same. RDRAND of a guest that QEMU translates is \
         QEMU's own, made by this machine's kernel; `hwrng` is a virtio device that QEMU fills from there."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![params::chain(), params::guests()]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let count = u32::try_from(params.int("tenants")?).unwrap_or(u32::MAX);
        let device = params.word("kind")? == "hwrng";
        let requires = if device { Vec::new() } else { vec![Requirement::Cpu(CpuFeature::Rdrand)] };
        let here = |role: Role| Role { count, ..role.tenant(TenantKind::LinuxGuest) };
        let devices = if device { vec![GuestDevice::Rng { bytes_per_second: None }] } else { Vec::new() };
        Ok(Plan {
            operation: "128 bits credited".into(),
            roles: vec![here(Role { requires, ..Role::measured(FEEDER) }), here(Role::serving(READER))],
            gates: Vec::new(),
            provides: None,
            needs: Vec::new(),
            requires: vec![Requirement::LinuxGuest],
            guests: vec![GuestSpec { devices, ..GuestSpec::default() }],
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        if role == READER {
            return Ok(Box::new(Reader::new()?));
        }
        let source: Box<dyn Source> = match params.word("kind")? {
            // The host vouches for what its device gives.
            "hwrng" => Box::new(
                Device::open(Path::new("/dev/hwrng"))?.claiming(Claim { evenness: 8.0, entropy: 8.0 }),
            ),
            _ => Box::new(Conditioned::of(Rdrand::open()?)?),
        };
        let feeder = Feeder::new(source, Kernel::open()?, Some(PORTION))?;
        Ok(Box::new(Feeding { feeder, refused: None, done: 0 }))
    }
}

/// Feeds as fast as it goes.
struct Feeding {
    feeder: Feeder<Box<dyn Source>, Kernel>,
    refused: Option<String>,
    done: u64,
}

impl Work for &mut Feeding {
    fn once(&mut self) {
        if let Err(error) = self.feeder.feed() {
            self.refused = Some(error.to_string());
        }
    }

    fn operations(&self) -> u32 {
        STREAMS as u32
    }
}

impl Actor for Feeding {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        self.done = repeat(RunClock::chosen(), window, recorder, &mut &mut *self);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if let Some(refused) = &self.refused {
            return Err(Error::Wrong(format!("the feed failed: {refused}")));
        }
        let bits = self.feeder.fed().bits;
        let due = self.done * 8 * SAMPLE as u64;
        if bits == due && bits > 0 {
            return Ok(());
        }
        Err(Error::Wrong(format!("{bits} bits were credited where {due} were due")))
    }

    fn tally(&mut self) -> Tally {
        let fed = self.feeder.fed();
        Tally::default().counter("operations", self.done).counter("bits_credited", fed.bits)
    }
}

/// Reads as fast as it goes, and tests.
struct Reader {
    random: File,
    stream: fips::Stream,
    tally: fips::Tally,
    bytes: u64,
}

impl Reader {
    fn new() -> Result<Reader> {
        let random = File::open("/dev/random").map_err(|e| Error::system("opening /dev/random", e))?;
        let stream = fips::Stream::new(Bootstrap::Compared);
        Ok(Reader { random, stream, tally: fips::Tally::default(), bytes: 0 })
    }
}

impl Actor for Reader {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, _: &mut Recorder) -> Result<()> {
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let mut block = [0; BLOCK_BYTES];
        // A block at least, however late it was before the feeder left it the processor.
        while clock.now() < window.close || self.tally.blocks() == 0 {
            self.random.read_exact(&mut block).map_err(|e| Error::system("reading /dev/random", e))?;
            self.bytes += block.len() as u64;
            self.stream.push(&block, |_, failed| self.tally.add(failed));
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.tally.blocks() == 0 {
            return Err(Error::Wrong("not a block was read from /dev/random".into()));
        }
        judge(&self.tally)
    }

    fn tally(&mut self) -> Tally {
        counted(Tally::default().counter("bytes_read", self.bytes), &self.tally)
    }
}
