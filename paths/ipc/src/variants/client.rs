//! The client's end: it keeps requests on their way for as long as the window is open, and looks at every reply.

use std::io::Read;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use tollway_channel::linux::{Client, plain};
use tollway_core::{Actor, Address, Error, Place, Recorder, Result, Spread, Tally, Window};
use tollway_host::clock::RunClock;
use tollway_host::descriptor;
use tollway_load::wait_until;

use super::CLIENT;
use super::counted::{self, Before};
use super::course::{Course, timed};
use crate::engine::ping_pong::{Demand, Outcome, ring, tasks, threads};
use crate::setting::{Setting, Way};

/// How long it waits for its server to say how many requests there were.
const PATIENCE: Duration = Duration::from_secs(20);

/// A client of a trial.
pub(super) struct ClientActor {
    setting: Setting,
    ready: Option<Ready>,
    link: Option<UnixStream>,
    outcome: Outcome,
    latencies: Spread,
    tally: Tally,
}

struct Ready {
    ends: Ends,
    demand: Demand,
}

enum Ends {
    Ring(Box<Client>),
    Plain(Vec<plain::Client>),
}

impl ClientActor {
    pub(super) fn new(setting: Setting) -> ClientActor {
        ClientActor {
            setting,
            ready: None,
            link: None,
            outcome: Outcome::default(),
            latencies: Spread::default(),
            tally: Tally::default(),
        }
    }
}

impl Actor for ClientActor {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let Some(server) = place.peers.first() else {
            return Err(Error::Tenant { tenant: CLIENT.into(), reason: "it was told of no server".into() });
        };
        self.setting.has_descriptors(0)?;
        self.link = Some(descriptor::connect(&server.0)?);
        let setting = &self.setting;
        let ends = if setting.way.is_synchronous() {
            let options = setting.plain_options();
            let one = |_| plain::Client::over(descriptor::connect(&server.0)?, &options);
            Ends::Plain((0..setting.requests).map(one).collect::<Result<_>>()?)
        } else {
            Ends::Ring(Box::new(Client::over(descriptor::connect(&server.0)?, &setting.options())?))
        };
        self.ready = Some(Ready { ends, demand: self.setting.demand() });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(Ready { ends, demand }) = self.ready.take() else { return Ok(()) };
        let clock = RunClock::chosen();
        wait_until(clock, window.warm);
        let before = Before::now();
        let fellows = self.setting.way.channels(demand.requests);
        let mut course = Course::new(clock, window, recorder, demand.requests, fellows);
        let (outcome, tally) = match (ends, self.setting.way) {
            (Ends::Plain(clients), _) => {
                let refused = |e| Error::system("starting a client's threads", e);
                let (outcome, counts) = threads::ask(clients, &demand, &mut course).map_err(refused)?;
                (outcome, counted::of_plain(Tally::default(), CLIENT, &counts))
            }
            (Ends::Ring(mut client), Way::Ring) => {
                let outcome = ring::ask(&mut client, &demand, &mut course);
                (outcome, counted::of_ring(Tally::default(), CLIENT, &client.counts()))
            }
            (Ends::Ring(client), _) => {
                let (outcome, counts) = tasks::ask(*client, &demand, &mut course);
                (outcome, counted::of_ring(Tally::default(), CLIENT, &counts))
            }
        };
        self.latencies = course.latencies().spread();
        self.outcome = outcome;
        self.tally = before.since().counted(tally, CLIENT);
        match outcome.lost {
            Some(lost) => Err(Error::Tenant { tenant: super::SERVER.into(), reason: lost.to_string() }),
            None => Ok(()),
        }
    }

    fn verify(&mut self) -> Result<()> {
        let Some(link) = &mut self.link else {
            return Err(Error::Wrong("the client was never made ready".into()));
        };
        let mut served = [0; 8];
        link.set_read_timeout(Some(PATIENCE))
            .and_then(|()| link.read_exact(&mut served))
            .map_err(|e| Error::system("hearing from the server how many it served", e))?;
        verified(&self.outcome, u64::from_le_bytes(served))
    }

    fn tally(&mut self) -> Tally {
        let tally = std::mem::take(&mut self.tally).counter("operations", self.outcome.done);
        timed(tally, "request to reply", &self.latencies)
    }
}

/// Whether every request was answered once, and rightly.
pub(super) fn verified(outcome: &Outcome, served: u64) -> Result<()> {
    let Outcome { asked, done, wrong, .. } = *outcome;
    if done == 0 {
        Err(Error::Wrong("no request was done".into()))
    } else if asked != done || served != done || wrong > 0 {
        Err(Error::Wrong(format!(
            "of {asked} requests {served} were served, {done} came back, and {wrong} of these wrong"
        )))
    } else {
        Ok(())
    }
}
