//! The server's end: it answers each request, until its client is gone, and tells it how many there were.

use std::io::Write;
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;

use tollway_channel::linux::{Server, plain};
use tollway_core::{Actor, Address, Error, Place, Recorder, Result, Tally, Window};
use tollway_host::clock::RunClock;
use tollway_host::descriptor;

use super::SERVER;
use super::counted::{self, Before, Used};
use crate::engine::ping_pong::{ring, tasks, threads};
use crate::engine::service::Service;
use crate::setting::{Setting, Way};

/// A server of a trial.
pub(super) struct ServerActor {
    setting: Setting,
    meeting: Option<JoinHandle<Result<Met>>>,
    service: Option<Service>,
    served: u64,
    tally: Tally,
}

/// What it has when its client has connected.
struct Met {
    /// To tell how many requests it has answered.
    link: UnixStream,
    ends: Ends,
}

enum Ends {
    Ring(Box<Server>),
    Plain(Vec<plain::Server>),
}

impl ServerActor {
    pub(super) fn new(setting: Setting) -> ServerActor {
        ServerActor { setting, meeting: None, service: None, served: 0, tally: Tally::default() }
    }
}

fn meet(listener: &UnixListener, setting: &Setting) -> Result<Met> {
    let link = descriptor::accept(listener)?;
    let ends = if setting.way.is_synchronous() {
        let limits = setting.plain_limits();
        let one = |_| plain::Server::over(descriptor::accept(listener)?, &limits);
        Ends::Plain((0..setting.requests).map(one).collect::<Result<_>>()?)
    } else {
        Ends::Ring(Box::new(Server::over(descriptor::accept(listener)?, &setting.limits())?))
    };
    Ok(Met { link, ends })
}

impl Actor for ServerActor {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        self.setting.has_descriptors(0)?;
        let (listener, name) = descriptor::listen_anonymously()?;
        let setting = self.setting;
        self.meeting = Some(std::thread::spawn(move || meet(&listener, &setting)));
        self.service = Some(Service::new(setting.load, RunClock::chosen())?);
        Ok(Address(name))
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let (Some(meeting), Some(service)) = (self.meeting.take(), &mut self.service) else { return Ok(()) };
        let panicked =
            |_| Error::Tenant { tenant: SERVER.into(), reason: "meeting its client panicked".into() };
        let Met { mut link, ends } = meeting.join().map_err(panicked)??;
        let before = Before::now();
        let (tally, served) = match (ends, self.setting.way) {
            (Ends::Plain(servers), _) => {
                let refused = |e| Error::system("starting a server's threads", e);
                let (served, counts, failed) = threads::serve(servers, service).map_err(refused)?;
                if let Some(failed) = failed {
                    return Err(Error::Wrong(failed.to_string()));
                }
                (counted::of_plain(Tally::default(), SERVER, &counts), served)
            }
            (Ends::Ring(mut server), Way::Ring) => {
                ring::serve(&mut server, service).map_err(|violation| Error::Wrong(violation.to_string()))?;
                (counted::of_ring(Tally::default(), SERVER, &server.counts()), service.served())
            }
            (Ends::Ring(server), _) => {
                let counts = tasks::serve(*server, self.setting.size, service);
                (counted::of_ring(Tally::default(), SERVER, &counts), service.served())
            }
        };
        let used: Used = before.since();
        self.tally = used.counted(tally, SERVER).counter("served", served);
        self.served = served;
        link.write_all(&served.to_le_bytes()).map_err(|e| Error::system("telling the client the count", e))
    }

    fn verify(&mut self) -> Result<()> {
        if self.served > 0 { Ok(()) } else { Err(Error::Wrong("no request was served".into())) }
    }

    fn tally(&mut self) -> Tally {
        self.tally.clone()
    }
}
