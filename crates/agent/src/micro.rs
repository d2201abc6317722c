//! Where an actor runs: on its thread, or inside a micro-guest that is made of this process's memory.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tollway_core::{Actor, Clock, Doorbell, Error, Exits, Recorder, Result, TenantKind, Window};
use tollway_host::clock::RunClock;
use tollway_tenant::micro::{Devices, Limits, MicroGuest, Options};
use tollway_tenant::protocol::Make;

/// How long a micro-guest may run beyond the end of its window.
const GRACE: Duration = Duration::from_secs(2);

/// What surrounds an actor in its tenant.
pub(crate) enum Surroundings {
    /// Nothing: it runs on its thread.
    Thread,
    /// The devices of the micro-guest that will be made for its run.
    MicroGuest {
        /// Its ways out.
        devices: Devices,
        /// Ticks per second of the run's clock.
        hz: f64,
    },
}

impl Surroundings {
    /// What an actor's tenant provides.
    pub(crate) fn of(make: &Make) -> Result<Self> {
        match make.tenant {
            TenantKind::Thread | TenantKind::Process | TenantKind::LinuxGuest => Ok(Surroundings::Thread),
            TenantKind::MicroGuest => {
                Ok(Surroundings::MicroGuest { devices: Devices::new(make.doorbells)?, hz: make.hz })
            }
        }
    }

    pub(crate) fn doorbells(&self) -> Vec<Doorbell> {
        match self {
            Surroundings::Thread => Vec::new(),
            Surroundings::MicroGuest { devices, .. } => devices.doorbells(),
        }
    }

    pub(crate) fn exits(&self) -> Option<Exits> {
        match self {
            Surroundings::Thread => None,
            Surroundings::MicroGuest { devices, .. } => Some(devices.exits()),
        }
    }

    /// Lets the actor run.
    pub(crate) fn run(&self, actor: &mut dyn Actor, window: &Window, recorder: &mut Recorder) -> Result<()> {
        match self {
            Surroundings::Thread => actor.run(window, recorder),
            Surroundings::MicroGuest { devices, hz } => run_inside(devices, *hz, actor, window, recorder),
        }
    }
}

/// Makes a micro-guest of the memory as it is now, with everything that the actor mapped when it got ready, and runs
/// the actor in it.
fn run_inside(
    devices: &Devices,
    hz: f64,
    actor: &mut dyn Actor,
    window: &Window,
    recorder: &mut Recorder,
) -> Result<()> {
    let clock = RunClock::chosen();
    let mut guest = MicroGuest::over_own_memory(devices, &Options::default())?;
    let left = window.close.saturating_sub(clock.now()) as f64 / hz;
    let limits = Limits { time: Duration::from_secs_f64(left) + GRACE };
    let mut result = Err(Error::Wrong("the actor did not return".into()));
    // SAFETY: an actor's `run` in a micro-guest makes no system call, does not allocate and does not unwind: that is
    // the contract of `Actor`.
    let outcome = unsafe { guest.run(limits, || result = actor.run(window, recorder)) }?;
    result?;
    let seen = devices.exits().seen;
    seen.port.store(outcome.exits.port, Ordering::Relaxed);
    seen.mmio.store(outcome.exits.mmio, Ordering::Relaxed);
    Ok(())
}
