//! A variant of two actors that exchange something: a caller, which is measured, and a server.
//!
//! The server is made ready first and listens on a Unix socket in the abstract name space. The caller makes every
//! descriptor, connects and sends the server's ends over that socket. When the window has closed the caller tells the
//! server to stop, and the server says over the socket how many requests it answered: the two counts must agree.

use std::io::{Read, Write};
use std::marker::PhantomData;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Crossing, Error, Gate, Params, Place, Plan, Recorder, Requirement, Result, Role, Tally,
    Variant, Visits, Window,
};
use tollway_core::{Placement, TenantKind};
use tollway_host::clock::RunClock;
use tollway_host::descriptor;
use tollway_load::repeat;

use crate::engine::{Caller, Exchange, Server};
use crate::params;

/// How long one end waits for the other to say how it went.
const PATIENCE: Duration = Duration::from_secs(5);

/// A caller and a server that exchange `E`.
pub struct Duo<E> {
    crossing: Crossing,
    caveats: &'static str,
    axes: Vec<Axis>,
    requires: Vec<Requirement>,
    of: PhantomData<fn() -> E>,
}

impl<E: Exchange> Duo<E> {
    /// A variant named like the crossing, with the axes `placement` and `tenant`.
    pub fn new(crossing: Crossing) -> Self {
        Duo {
            crossing,
            caveats: "",
            axes: vec![params::placement(), params::tenant()],
            requires: Vec::new(),
            of: PhantomData,
        }
    }

    /// What a reader of the figure must know.
    pub fn caveats(mut self, caveats: &'static str) -> Self {
        self.caveats = caveats;
        self
    }

    /// One more requirement.
    pub fn requires(mut self, requirement: Requirement) -> Self {
        self.requires.push(requirement);
        self
    }
}

impl<E: Exchange> Variant for Duo<E> {
    fn name(&self) -> &str {
        self.crossing.name()
    }

    fn about(&self) -> &str {
        self.crossing.title()
    }

    fn caveats(&self) -> &str {
        self.caveats
    }

    fn axes(&self) -> Vec<Axis> {
        self.axes.clone()
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let threads = params.word("tenant")? == "thread";
        let mut key = super::key_of(self.crossing, params)?;
        if threads {
            key = key.kind("threads");
        }
        let tenant = if threads { TenantKind::Thread } else { TenantKind::Process };
        let mut requires = self.requires.clone();
        let server_core = match params.placement()? {
            Placement::Same => 0,
            Placement::Across => {
                requires.push(Requirement::Cores(2));
                1
            }
        };
        Ok(Plan {
            operation: "round trip".into(),
            roles: vec![
                Role::serving("server").tenant(tenant).core(server_core),
                Role::measured("caller").tenant(tenant),
            ],
            gates: vec![Gate {
                name: self.crossing.name().into(),
                role: "caller".into(),
                visits: Visits::Fixed(1.0),
                toll: Some(key.clone()),
            }],
            provides: Some(key),
            needs: Vec::new(),
            requires,
        })
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let params = params.clone();
        match role {
            "server" => Ok(Box::new(ServerActor::<E> { params, listener: None, served: 0, of: PhantomData })),
            "caller" => Ok(Box::new(CallerActor::<E> { params, end: None, asked: 0 })),
            other => Err(Error::Input {
                place: format!("role `{other}`"),
                reason: format!("`{}` has no such role", self.crossing),
                remedy: "it has: server, caller".into(),
            }),
        }
    }
}

struct ServerActor<E> {
    params: Params,
    listener: Option<UnixListener>,
    served: u64,
    of: PhantomData<fn() -> E>,
}

impl<E: Exchange> Actor for ServerActor<E> {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let (listener, name) = descriptor::listen_anonymously()?;
        self.listener = Some(listener);
        Ok(Address(name))
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let Some(listener) = self.listener.take() else { return Ok(()) };
        let (mut caller, _) = listener.accept().map_err(|e| Error::system("waiting for the caller", e))?;
        let descriptors = descriptor::receive(&caller)?;
        self.served = E::server(&self.params, descriptors)?.serve()?;
        caller.write_all(&self.served.to_le_bytes()).map_err(|e| Error::system("telling the caller the count", e))
    }

    fn verify(&mut self) -> Result<()> {
        if self.served > 0 { Ok(()) } else { Err(Error::Wrong("no request was served".into())) }
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("served", self.served)
    }
}

struct CallerActor<E: Exchange> {
    params: Params,
    end: Option<(E::Caller, UnixStream)>,
    asked: u64,
}

impl<E: Exchange> Actor for CallerActor<E> {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let Some(server) = place.peers.first() else {
            return Err(Error::Tenant { tenant: "caller".into(), reason: "it was told of no server".into() });
        };
        let link = descriptor::connect(&server.0)?;
        let (end, for_server) = E::caller(&self.params)?;
        descriptor::send(&link, &for_server)?;
        self.end = Some((end, link));
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some((end, _)) = &mut self.end else { return Ok(()) };
        self.asked = repeat(RunClock::chosen(), window, recorder, || end.ask());
        end.stop()
    }

    fn verify(&mut self) -> Result<()> {
        let Some((end, link)) = &mut self.end else {
            return Err(Error::Wrong("the caller was never made ready".into()));
        };
        let mut served = [0; 8];
        link.set_read_timeout(Some(PATIENCE))
            .and_then(|()| link.read_exact(&mut served))
            .map_err(|e| Error::system("hearing from the server how many it served", e))?;
        let served = u64::from_le_bytes(served);
        if served != self.asked {
            return Err(Error::Wrong(format!("{} requests were made and {served} served", self.asked)));
        }
        end.verify(self.asked)
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("asked", self.asked)
    }
}
