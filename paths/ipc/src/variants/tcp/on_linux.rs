//! The role of the application on Linux's own TCP.

use tollway_core::{Actor, Address, Error, Place, Recorder, Result, Tally, Window};

use super::super::SERVER;
use super::super::counted::Before;
use super::meeting::{Awaited, awaits};
use crate::engine::tcp::{By, LinuxServer, Network, Served, Speaker};

pub(super) struct LinuxActor {
    by: By,
    ready: Option<(LinuxServer, Awaited)>,
    /// For as long as its client may be in it.
    network: Option<Network>,
    served: Served,
    tally: Tally,
}

impl LinuxActor {
    pub(super) fn new(by: By) -> LinuxActor {
        LinuxActor { by, ready: None, network: None, served: Served::default(), tally: Tally::default() }
    }
}

impl Actor for LinuxActor {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let network = Network::new(Speaker::Linux)?;
        let server = LinuxServer::start(&network, self.by, None)?;
        let (awaited, address) = awaits(&network)?;
        self.ready = Some((server, awaited));
        self.network = Some(network);
        Ok(address)
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let Some((server, awaited)) = self.ready.take() else { return Ok(()) };
        let before = Before::now();
        awaited.until_it_has_done()?;
        let used = before.since();
        self.served = server.stop()?;
        self.tally = used.counted(Tally::default().counter("server_waits", self.served.waits), SERVER);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        if self.served.replies > 0 { Ok(()) } else { Err(Error::Wrong("no message was answered".into())) }
    }

    fn tally(&mut self) -> Tally {
        std::mem::take(&mut self.tally)
    }
}
