//! The generator's end: opened in the namespace of the cable, run in the window, its count left on the capture's page.

use std::sync::atomic::AtomicBool;

use tollway_core::{Actor, Address, Clock, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::RunClock;
use tollway_wire::Cable;

use super::GENERATOR;
use super::meeting::{Note, Sent, meet};
use super::setting::Setting;
use crate::engine::generate::{Ended, Generator, Method, Ready, Sizes, Traffic};
use crate::variants::gates::SEED;

pub(super) struct Sender {
    setting: Setting,
    ready: Option<(Ready, Note)>,
    sent: Sent,
    /// Whether it began when all was over: a machine that is busy with something else.
    too_late: bool,
}

impl Sender {
    pub(super) fn new(setting: Setting) -> Sender {
        Sender { setting, ready: None, sent: Sent::default(), too_late: false }
    }
}

impl Actor for Sender {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let (namespace, note) = meet::<Note>(place)?;
        let generator = Generator {
            interface: Cable::LEFT.into(),
            traffic: Traffic::Made {
                flows: self.setting.flows()?,
                sizes: Sizes::Fixed(self.setting.size),
                schedule: self.setting.schedule(),
                seed: SEED,
            },
            count: None,
            time: None,
            method: Method::default(),
        };
        self.ready = Some((namespace.run(|| generator.open())??, note));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, _: &mut Recorder) -> Result<()> {
        let Some((ready, note)) = self.ready.take() else { return Ok(()) };
        self.too_late = RunClock::chosen().now() >= window.close;
        let report = ready.until(window.close).run(&AtomicBool::new(false));
        self.sent = Sent { taken: report.sent, refused: report.refused() };
        note.write(self.sent);
        match report.ended {
            Ended::Lost(error) => Err(error.into()),
            _ => Ok(()),
        }
    }

    fn verify(&mut self) -> Result<()> {
        match self.sent.taken {
            0 if self.too_late => Err(Error::Tenant {
                tenant: GENERATOR.into(),
                reason: "it got no processor before the window had closed".into(),
            }),
            0 => Err(Error::Wrong("no frame was sent".into())),
            _ => Ok(()),
        }
    }

    fn tally(&mut self) -> Tally {
        let Sent { taken, refused } = self.sent;
        Tally::default().counter("sent", taken).counter("refused", refused)
    }
}
