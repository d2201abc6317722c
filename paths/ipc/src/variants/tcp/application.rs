//! The role of the application: it answers requests of another process, until that is gone.

use tollway_core::{Actor, Address, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::descriptor;

use super::super::SERVER;
use super::super::counted::{Before, NOTICES};
use crate::engine::tcp::{Application, Style};
use crate::setting::Setting;

pub(super) struct ApplicationActor {
    style: Style,
    connections: usize,
    ready: Option<Application>,
    tally: Option<Tally>,
}

impl ApplicationActor {
    pub(super) fn new(style: Style, connections: usize) -> ApplicationActor {
        ApplicationActor { style, connections, ready: None, tally: None }
    }
}

impl Actor for ApplicationActor {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        Setting::of_connections(self.style, self.connections).has_descriptors(0)?;
        let (listener, name) = descriptor::listen_anonymously()?;
        let links = self.style.links(self.connections);
        self.ready = Some(Application::start(listener, self.style, links, None)?);
        Ok(Address(name))
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let Some(application) = self.ready.take() else { return Ok(()) };
        let before = Before::now();
        let notices = application.served()?;
        let tally =
            Tally::default().counter(NOTICES, notices).counter(format!("{SERVER}_{NOTICES}"), notices);
        self.tally = Some(before.since().counted(tally, SERVER));
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        match self.tally {
            Some(_) => Ok(()),
            None => Err(Error::Wrong("the application served nobody".into())),
        }
    }

    fn tally(&mut self) -> Tally {
        self.tally.take().unwrap_or_default()
    }
}
