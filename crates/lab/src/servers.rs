//! The processes that serve devices of Linux guests: each an agent with one actor, which is made and got ready before its guest is
//! started, since a guest finds its devices when it boots.
//!
//! It serves from then on, whatever trial the guest is in, and so has neither window nor tally. What it did wrong its guest's
//! actors find, who verify what they get.

use std::time::Instant;

use tollway_core::{Error, GuestDevice, Lot, Result, Server, TenantKind};
use tollway_tenant::protocol::{Answer, Command, Make};
use tollway_tenant::{Agent, Executable, Target};

use crate::crew::GRACE;

/// The number of the one actor of each.
const ACTOR: u32 = 0;

/// How they are started.
pub(crate) struct Servers<'a> {
    /// The machine that is measured.
    pub(crate) target: &'a Target,
    pub(crate) executable: &'a Executable,
    /// The processors of core slots.
    pub(crate) cpus: &'a [u32],
    /// The rate of the clock.
    pub(crate) hz: f64,
}

impl Servers<'_> {
    /// Starts one for each device that is to be served; its socket takes its place among the devices.
    ///
    /// # Errors
    /// [`Error::Missing`] where one lacks something, [`Error::Tenant`] where it dies or does not answer.
    pub(crate) fn serve(&self, devices: &mut [GuestDevice]) -> Result<Vec<Agent>> {
        let mut agents = Vec::new();
        for device in devices {
            let GuestDevice::Served { kind, by } = device else { continue };
            let (agent, socket) = self.start(by)?;
            agents.push(agent);
            *device = GuestDevice::VhostUser { kind: std::mem::take(kind), socket, listens: false };
        }
        Ok(agents)
    }

    fn start(&self, server: &Server) -> Result<(Agent, String)> {
        let make = Make {
            path: server.path.clone(),
            variant: server.variant.clone(),
            role: server.role.clone(),
            params: server.params.clone(),
            tenant: TenantKind::Process,
            // As QEMU's own threads that serve devices.
            cpu: None,
            doorbells: 0,
            measured: false,
            hz: self.hz,
            requires: Vec::new(),
            lot: Lot::default(),
        };
        let mut agent = self.target.start(self.executable)?;
        let deadline = Instant::now() + GRACE;
        agent.ask(ACTOR, Command::Make(make), deadline)?;
        match agent.ask(ACTOR, Command::Ready(Vec::new()), deadline)? {
            Answer::Ready(address) => Ok((agent, address.0)),
            other => Err(Error::Tenant {
                tenant: server.role.clone(),
                reason: format!("it answered out of turn: {other:?}"),
            }),
        }
    }
}
