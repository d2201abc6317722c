//! Where an actor runs: on its thread, or inside a micro-guest that is made of this process's memory. Any number of
//! actors of one agent can live in micro-guests at the same time, each in its own.

use std::sync::atomic::Ordering;
use std::time::Duration;

use tollway_core::{Actor, Clock, Doorbell, Error, Exits, Recorder, Result, TenantKind, Window};
use tollway_host::clock::RunClock;
use tollway_tenant::micro::{Devices, Limits, MicroGuest, Options};
use tollway_tenant::protocol::Make;

/// How long a micro-guest may run beyond the end of its window: less than the host waits for the answer of its actor.
const GRACE: Duration = Duration::from_secs(20);

/// What surrounds an actor in its tenant.
pub(crate) enum Surroundings {
    /// Nothing: it runs on its thread.
    Thread,
    /// A micro-guest of its own.
    MicroGuest {
        /// Its ways out, which the actor is told when it is made ready.
        devices: Devices,
        /// The guest, made when the actor is ready.
        guest: Option<MicroGuest>,
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
                let devices = Devices::new(make.doorbells)?;
                Ok(Surroundings::MicroGuest { devices, guest: None, hz: make.hz })
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

    /// Makes what the actor will run in, now that it is ready. A micro-guest sees the memory of this process as it is
    /// now, with everything that the actor mapped to get ready, and with the recorder, which does not grow. What other
    /// actors map afterwards it does not see, nor does it need to.
    pub(crate) fn settle(&mut self) -> Result<()> {
        if let Surroundings::MicroGuest { devices, guest, .. } = self {
            *guest = Some(MicroGuest::over_own_memory(devices, &Options::default())?);
        }
        Ok(())
    }

    /// Gives back what [`settle`](Self::settle) made.
    pub(crate) fn clear(&mut self) {
        if let Surroundings::MicroGuest { guest, .. } = self {
            *guest = None;
        }
    }

    /// Lets the actor run.
    pub(crate) fn run(
        &mut self,
        actor: &mut dyn Actor,
        window: &Window,
        recorder: &mut Recorder,
    ) -> Result<()> {
        match self {
            Surroundings::Thread => actor.run(window, recorder),
            Surroundings::MicroGuest { devices, guest, hz } => {
                let unready = || Error::Wrong("the actor was to run before it was ready".into());
                let guest = guest.as_mut().ok_or_else(unready)?;
                run_inside(guest, devices, *hz, actor, window, recorder)
            }
        }
    }
}

/// Runs the actor in its guest.
fn run_inside(
    guest: &mut MicroGuest,
    devices: &Devices,
    hz: f64,
    actor: &mut dyn Actor,
    window: &Window,
    recorder: &mut Recorder,
) -> Result<()> {
    let left = window.close.saturating_sub(RunClock::chosen().now()) as f64 / hz;
    let limits = Limits { time: Duration::try_from_secs_f64(left).unwrap_or_default() + GRACE };
    // Nothing that would be freed inside: the heap may have grown since the guest was made.
    let mut result = None;
    // SAFETY: an actor's `run` in a micro-guest makes no system call, does not allocate and does not unwind: that is
    // the contract of `Actor`. What is borrowed here lies on this thread's stack, which was mapped whole when the thread
    // began, or was allocated before the guest was made.
    let outcome = unsafe { guest.run(limits, || result = Some(actor.run(window, recorder))) }?;
    result.unwrap_or_else(|| Err(Error::Wrong("the actor did not return".into())))?;
    let seen = devices.exits().seen;
    seen.port.store(outcome.exits.port, Ordering::Relaxed);
    seen.mmio.store(outcome.exits.mmio, Ordering::Relaxed);
    seen.idle.store(outcome.exits.idle, Ordering::Relaxed);
    Ok(())
}
