//! The toll of a wake-up as a channel has it, there and back: by its own doorbells, with nothing in the rings.
//!
//! An end sleeps by two words at once (futex_waitv(2)), or by descriptors of which one is told by edges; a bare futex is neither.

use std::io::{Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::thread::JoinHandle;
use std::time::Duration;

use tollway_channel::linux::{Client, Limits, Notice, Options, Server};
use tollway_channel::wait::{Gone, Patience};
use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Params, Place, Plan, Recorder, Result, Tally, Variant, Window,
};
use tollway_host::clock::RunClock;
use tollway_host::descriptor;
use tollway_load::repeat;

use super::{CLIENT, SERVER, ping_pong};
use crate::params;
use crate::tolls;

/// How long a client waits for its server to say how often it was nudged.
const PATIENCE: Duration = Duration::from_secs(20);

/// Neither end looks.
const ASLEEP: Patience = Patience { spin: 0, yields: 0 };

/// A wake-up by itself.
pub(super) struct Wakeup;

fn notice(params: &Params) -> Result<Notice> {
    Ok(if params.word("kind")? == "eventfd" { Notice::Eventfd } else { Notice::Futex })
}

impl Variant for Wakeup {
    fn name(&self) -> &str {
        Crossing::Notice.name()
    }

    fn about(&self) -> &str {
        Crossing::Notice.title()
    }

    fn caveats(&self) -> &str {
        "Client and server are processes. Each nudges the other, which wakes it, and sleeps: two of each in a sample. No message is in it. As with \
         messages, who is nudged before it lies down neither sleeps nor is woken: on one core where the scheduler has the woken one run at once, before its \
         waker goes on."
    }

    fn axes(&self) -> Vec<Axis> {
        vec![
            params::words("kind", "by what an end that sleeps is woken", &["futex", "eventfd"]),
            params::placement(),
        ]
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let placement = params.placement()?;
        Ok(ping_pong::toll("wake-up there and back", placement, tolls::notice(notice(params)?, placement)))
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let notice = notice(params)?;
        match role {
            SERVER => Ok(Box::<Woken>::default()),
            CLIENT => Ok(Box::new(Waking { notice, client: None, link: None, woken: 0, is_lost: false })),
            other => Err(ping_pong::no_such_role(self.name(), other)),
        }
    }
}

/// The end that wakes first.
struct Waking {
    notice: Notice,
    client: Option<Client>,
    /// By which the server says how often it was nudged.
    link: Option<UnixStream>,
    woken: u64,
    is_lost: bool,
}

impl Actor for Waking {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let Some(server) = place.peers.first() else {
            return Err(Error::Tenant { tenant: CLIENT.into(), reason: "it was told of no server".into() });
        };
        self.link = Some(descriptor::connect(&server.0)?);
        let options = Options { notice: self.notice, patience: Some(ASLEEP), ..Options::default() };
        self.client = Some(Client::over(descriptor::connect(&server.0)?, &options)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        // Dropped at the end of this, which ends its server.
        let Some(mut client) = self.client.take() else { return Ok(()) };
        let mut exchange = || match client.nudge() {
            Ok(()) => self.woken += 1,
            Err(Gone) => self.is_lost = true,
        };
        repeat(RunClock::chosen(), window, recorder, &mut exchange);
        if self.is_lost {
            return Err(Error::Tenant { tenant: SERVER.into(), reason: Gone.to_string() });
        }
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        let Some(link) = &mut self.link else {
            return Err(Error::Wrong("the client was never made ready".into()));
        };
        let mut times = [0; 8];
        link.set_read_timeout(Some(PATIENCE))
            .and_then(|()| link.read_exact(&mut times))
            .map_err(|e| Error::system("hearing from the server how often it was nudged", e))?;
        match u64::from_le_bytes(times) {
            times if times == self.woken && times > 0 => Ok(()),
            times => Err(Error::Wrong(format!(
                "the server was nudged {times} times, and nudged its client {} times",
                self.woken
            ))),
        }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("operations", self.woken)
    }
}

/// The end that is woken first, and wakes the other.
#[derive(Default)]
struct Woken {
    meeting: Option<JoinHandle<Result<(UnixStream, Server)>>>,
    times: u64,
}

fn meet(listener: &UnixListener) -> Result<(UnixStream, Server)> {
    let link = descriptor::accept(listener)?;
    let limits = Limits { patience: Some(ASLEEP), ..Limits::default() };
    Ok((link, Server::over(descriptor::accept(listener)?, &limits)?))
}

impl Actor for Woken {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let (listener, name) = descriptor::listen_anonymously()?;
        self.meeting = Some(std::thread::spawn(move || meet(&listener)));
        Ok(Address(name))
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let Some(meeting) = self.meeting.take() else { return Ok(()) };
        let panicked =
            |_| Error::Tenant { tenant: SERVER.into(), reason: "meeting its client panicked".into() };
        let (mut link, mut server) = meeting.join().map_err(panicked)??;
        self.times = server.nudged();
        link.write_all(&self.times.to_le_bytes())
            .map_err(|e| Error::system("telling the client how often it was nudged", e))
    }

    fn verify(&mut self) -> Result<()> {
        if self.times > 0 { Ok(()) } else { Err(Error::Wrong("nobody nudged the server".into())) }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("served", self.times)
    }
}
