//! The toll of messages alone: a request and its reply, of which so many are on their way, between ends that never sleep.

use std::os::unix::net::UnixStream;

use tollway_channel::linux::{Client, Server};
use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Params, Place, Placement, Plan, Recorder, Result, Tally, Variant,
    Window,
};
use tollway_host::clock::RunClock;
use tollway_load::wait_until;

use super::client::verified;
use super::course::Course;
use super::{CLIENT, ping_pong};
use crate::engine::ping_pong::{Outcome, alone};
use crate::engine::service::Service;
use crate::params;
use crate::setting::{Setting, Way};
use crate::tolls;

/// Messages by themselves.
pub(super) struct Message;

fn way(params: &Params) -> Result<Way> {
    Ok(if params.word("kind")? == "futures" { Way::Tasks } else { Way::Ring })
}

fn setting(params: &Params) -> Result<Setting> {
    Ok(Setting::awake(way(params)?, params.int("depth")? as usize, params.int("size")? as usize))
}

impl Variant for Message {
    fn name(&self) -> &str {
        Crossing::Message.name()
    }

    fn about(&self) -> &str {
        Crossing::Message.title()
    }

    fn caveats(&self) -> &str {
        "On the same core both ends are one thread, which takes turns: no switch is in it, and every line is in its cache. Across cores both look without \
         end; with one on its way that is two passages of a cache line, with many the pace of the slower end. Writing, answering, reading and \
         comparing each message are in it."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            params::words("kind", "by rings alone, or each request a future", &["ring", "futures"]),
            params::placement(),
            params::size(),
            params::depth(),
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let (setting, placement) = (setting(params)?, params.placement()?);
        let key = tolls::message(setting.way, placement, setting.size, setting.requests as u32);
        let mut plan = ping_pong::toll("request and reply", placement, key);
        if placement == Placement::Same {
            plan.roles.retain(|role| role.measured);
        }
        Ok(plan)
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let setting = setting(params)?;
        match params.placement()? {
            Placement::Same => {
                Ok(Box::new(Alone { setting, ends: None, outcome: Outcome::default(), served: 0 }))
            }
            Placement::Across => ping_pong::actor(self.name(), role, setting),
        }
    }
}

/// Both ends in one thread.
struct Alone {
    setting: Setting,
    ends: Option<(Box<Client>, Box<Server>)>,
    outcome: Outcome,
    served: u64,
}

impl Actor for Alone {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let (here, there) = UnixStream::pair().map_err(|e| Error::system("making a pair of sockets", e))?;
        let limits = self.setting.limits();
        let meeting = std::thread::spawn(move || Server::over(there, &limits));
        let client = Client::over(here, &self.setting.options())?;
        let panicked = |_| Error::Tenant { tenant: CLIENT.into(), reason: "its other end panicked".into() };
        let server = meeting.join().map_err(panicked)??;
        self.ends = Some((Box::new(client), Box::new(server)));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((mut client, mut server)) = self.ends.take() else { return Ok(()) };
        let clock = RunClock::chosen();
        let (demand, mut service) = (self.setting.demand(), Service::new(self.setting.load, clock)?);
        wait_until(clock, window.warm);
        let mut course = Course::new(clock, window, recorder, demand.requests, 1);
        self.outcome = match self.setting.way {
            Way::Tasks => alone::tasks(*client, *server, &demand, &mut service, &mut course),
            _ => alone::ring(&mut client, &mut server, &demand, &mut service, &mut course),
        };
        self.served = service.served();
        match self.outcome.lost {
            Some(lost) => Err(Error::Wrong(lost.to_string())),
            None => Ok(()),
        }
    }

    fn verify(&mut self) -> Result<()> {
        verified(&self.outcome, self.served)
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.outcome.done)
    }
}
