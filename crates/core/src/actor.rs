//! An actor: one running instance of a role, and what it is given.

use std::os::fd::RawFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use serde::{Deserialize, Serialize};

use crate::{Recorder, Result, Tally, TenantKind, Ticks};

/// How other actors reach this one: a socket's name, a process and descriptor number, or nothing. Its meaning is
/// between the roles of one variant.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Address(pub String);

impl Address {
    /// The address of an actor that nobody needs to reach.
    pub fn none() -> Self {
        Self::default()
    }
}

/// A way out of a micro-guest that does not stop it: a store to `store_to` is caught by the kernel, which signals the
/// eventfd `wakes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Doorbell {
    /// The address, inside the micro-guest, to store a 32-bit word to.
    pub store_to: usize,
    /// The eventfd that counts the stores, valid in the process that made the micro-guest for as long as the actor
    /// lives.
    pub wakes: RawFd,
}

/// The ways out of a micro-guest to the program that made it, which counts the exit and resumes at once.
#[derive(Clone, Debug)]
pub struct Exits {
    /// The I/O port to write a byte to.
    pub port: u16,
    /// The address to store a 32-bit word to.
    pub store_to: usize,
    /// The address to load a 32-bit word from to idle: the guest's thread sleeps until `woken_by` is rung. The word is how often
    /// it was since the last time; where that is not 0 it does not sleep.
    pub idle_at: usize,
    /// The eventfd that wakes it, for whoever is to: adding one rings once. Valid in the process that made the micro-guest for
    /// as long as the actor lives.
    pub woken_by: RawFd,
    /// The address to load a 64-bit word from to learn what processor time the guest's thread has had, in nanoseconds.
    pub time_at: usize,
    /// What the program counted; complete once `run` has ended, so that `verify` can compare.
    pub seen: Arc<ExitCounts>,
}

/// Exits of a micro-guest that the program saw, by kind.
#[derive(Debug, Default)]
pub struct ExitCounts {
    /// Outputs to the port.
    pub port: AtomicU64,
    /// Stores to the address.
    pub mmio: AtomicU64,
    /// Loads from where it idles.
    pub idle: AtomicU64,
}

/// What tells an actor from the others of its role, and a trial from others: of these it draws what is to be random, so that no two
/// draw the same, and a trial can be had again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lot {
    /// Which of its role's actors it is, from 0 on.
    pub number: u32,
    /// The trial's seed: by the run's, the block and the repeat. Trials of other points, and of the other side of a comparison, that
    /// stand at the same place in a run have the same.
    pub seed: u64,
}

/// Where an actor finds itself when it is made ready.
#[derive(Clone, Debug)]
pub struct Place {
    /// What kind of tenant it lives in.
    pub tenant: TenantKind,
    /// The addresses of the actors made ready before it, in the plan's order.
    pub peers: Vec<Address>,
    /// Its doorbells, as many as its role asked for.
    pub doorbells: Vec<Doorbell>,
    /// The ways out, in a micro-guest.
    pub exits: Option<Exits>,
    /// What it draws of.
    pub lot: Lot,
}

/// The window of a trial on the common clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Window {
    /// From here on actors run, but record nothing.
    pub warm: Ticks,
    /// From here on they record.
    pub open: Ticks,
    /// From here on they begin nothing new.
    pub close: Ticks,
    /// How many operations are timed together; 0 asks the actor to find out (a pilot) and to say so in its recorder.
    pub batch: u32,
    /// Steps of a delay added to every sample, to prove that a slowdown is found; 0 but for such proofs.
    pub planted: u32,
}

/// One running instance of a role.
///
/// The order of calls is `ready`, then `run` once, then `park`, `verify` and `tally`. Only `run` may be called inside
/// a micro-guest: it must make no system call there, touch no thread-local storage and not allocate.
pub trait Actor: Send {
    /// Sets up everything `run` needs and returns the address for the roles that follow.
    fn ready(&mut self, place: &Place) -> Result<Address>;

    /// Works from `window.warm` to `window.close`, recording from `window.open` on.
    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()>;

    /// Goes to rest: from here on it spins on nothing and holds no lock.
    fn park(&mut self) {}

    /// Checks that what it did was really done.
    fn verify(&mut self) -> Result<()>;

    /// What it counted.
    fn tally(&mut self) -> Tally {
        Tally::default()
    }
}
