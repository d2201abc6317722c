//! A variant of two actors that exchange something: a caller, which is measured, and a server.
//!
//! The server is made ready first and listens on a Unix socket in the abstract name space. The caller makes every
//! descriptor, connects and sends the server's ends over that socket. When the window has closed the caller tells the
//! server to stop, and the server says over the socket how many requests it answered, for the caller to compare. The
//! socket stays open between the two; when one of them finds it closed it ends what it is doing, so neither outlives
//! the other for long.

use std::io::{Read, Write};
use std::marker::PhantomData;
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use tollway_core::{
    Actor, Address, Axis, Crossing, Domain, Error, Gate, Params, Place, Placement, Plan, Recorder,
    Requirement, Result, Role, Tally, TenantKind, Value, Variant, Window,
};
use tollway_host::descriptor;
use tollway_host::watch::Watch;

use super::tenancy::settled;
use crate::engine::{Caller, Exchange, Server};
use crate::params;

/// How long one end waits for the other to say how it went.
const PATIENCE: Duration = Duration::from_secs(5);

/// A caller and a server that exchange `E`.
pub struct Duo<E> {
    crossing: Crossing,
    operation: &'static str,
    caveats: &'static str,
    axes: Vec<Axis>,
    requires: Vec<Requirement>,
    settles: fn(&Params) -> Duration,
    /// Doorbells of the micro-guest in which the caller lives, if it does.
    guest: Option<u32>,
    of: PhantomData<fn() -> E>,
}

impl<E: Exchange> Duo<E> {
    /// A variant named like the crossing: the server's process and the caller's, with the axes `placement` and
    /// `tenant`.
    pub fn new(crossing: Crossing) -> Self {
        Duo {
            crossing,
            operation: "round trip",
            caveats: "",
            axes: vec![params::placement(), params::tenant_with_kernel()],
            requires: Vec::new(),
            settles: |_| Duration::ZERO,
            guest: None,
            of: PhantomData,
        }
    }

    /// A variant whose caller is a micro-guest with so many doorbells, on another core than the server's process.
    pub fn from_micro_guest(crossing: Crossing, doorbells: u32) -> Self {
        Duo { axes: Vec::new(), guest: Some(doorbells), ..Duo::new(crossing) }
    }

    /// What is repeated, where that is no round trip.
    pub fn operation(mut self, operation: &'static str) -> Self {
        self.operation = operation;
        self
    }

    /// What a reader of the figure must know.
    pub fn caveats(mut self, caveats: &'static str) -> Self {
        self.caveats = caveats;
        self
    }

    /// One more parameter.
    pub fn axis(mut self, axis: Axis) -> Self {
        self.axes.push(axis);
        self
    }

    /// Makes sense at one placement only: the axis refuses the other.
    pub fn only(mut self, placement: Placement) -> Self {
        let words: &[_] = match placement {
            Placement::Same => &["same"],
            Placement::Across => &["across"],
        };
        for axis in self.axes.iter_mut().filter(|a| a.name == "placement") {
            axis.domain = Domain::Words(words);
            axis.default = Value::Text(placement.name().into());
        }
        self
    }

    /// The caller makes no system call, so that it can live in a micro-guest as well; the server then has a process.
    pub fn without_kernel(mut self) -> Self {
        for axis in self.axes.iter_mut().filter(|a| a.name == "tenant") {
            *axis = params::tenant_without_kernel();
        }
        self
    }

    /// How long it takes at a point until it is what is to be measured.
    pub fn settles(mut self, after: fn(&Params) -> Duration) -> Self {
        self.settles = after;
        self
    }

    /// One more requirement.
    pub fn requires(mut self, requirement: Requirement) -> Self {
        self.requires.push(requirement);
        self
    }

    /// Where the two actors live, the caller's name among the roles, and whether they share a core.
    fn setting(&self, params: &Params) -> Result<(Role, Role, Placement)> {
        let (server, caller) = (Role::serving("server"), Role::measured("caller"));
        if let Some(doorbells) = self.guest {
            let guest = Role::measured("guest").tenant(TenantKind::MicroGuest).doorbells(doorbells);
            return Ok((server, guest, Placement::Across));
        }
        let tenant = params.tenant()?;
        let servers = if tenant == TenantKind::MicroGuest { TenantKind::Process } else { tenant };
        Ok((server.tenant(servers), caller.tenant(tenant), params.placement()?))
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

    fn settles(&self, params: &Params) -> Duration {
        (self.settles)(params)
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        let (server, caller, placement) = self.setting(params)?;
        let key = super::key_of(self.crossing, params)?;
        let mut requires = self.requires.clone();
        let server = match placement {
            Placement::Same => server,
            Placement::Across => {
                requires.push(Requirement::Cores(2));
                server.core(1)
            }
        };
        Ok(settled(Plan {
            operation: self.operation.into(),
            gates: vec![Gate::new(self.crossing.name(), &caller.name, key.clone())],
            roles: vec![server, caller],
            provides: Some(key),
            needs: Vec::new(),
            requires,
            guests: Vec::new(),
        }))
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let params = params.clone();
        let (server, caller, _) = self.setting(&params)?;
        match role {
            role if role == server.name => {
                Ok(Box::new(ServerActor::<E> { params, listener: None, served: 0, of: PhantomData }))
            }
            role if role == caller.name => Ok(Box::new(CallerActor::<E> { params, ready: None, asked: 0 })),
            other => Err(Error::Input {
                place: format!("role `{other}`"),
                reason: format!("`{}` has no such role", self.crossing),
                remedy: format!("it has: {}, {}", server.name, caller.name),
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
        let mut caller = descriptor::accept(&listener)?;
        let mut server = E::server(&self.params, descriptor::receive(&caller)?)?;
        let _watch = Watch::over(&caller, server.release())?;
        self.served = server.serve()?;
        caller
            .write_all(&self.served.to_le_bytes())
            .map_err(|e| Error::system("telling the caller the count", e))
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
    ready: Option<Ready<E::Caller>>,
    asked: u64,
}

/// What a caller has once it is ready.
struct Ready<C> {
    end: C,
    link: UnixStream,
    _watch: Watch,
}

impl<E: Exchange> Actor for CallerActor<E> {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        let Some(server) = place.peers.first() else {
            return Err(Error::Tenant { tenant: "caller".into(), reason: "it was told of no server".into() });
        };
        let link = descriptor::connect(&server.0)?;
        let (end, for_server) = E::caller(&self.params, place)?;
        descriptor::send(&link, &for_server)?;
        let _watch = Watch::over(&link, end.release())?;
        self.ready = Some(Ready { end, link, _watch });
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let Some(Ready { end, .. }) = &mut self.ready else { return Ok(()) };
        end.begin();
        self.asked = end.repeat(window, recorder);
        end.stop()
    }

    fn verify(&mut self) -> Result<()> {
        let Some(Ready { end, link, .. }) = &mut self.ready else {
            return Err(Error::Wrong("the caller was never made ready".into()));
        };
        let mut served = [0; 8];
        link.set_read_timeout(Some(PATIENCE))
            .and_then(|()| link.read_exact(&mut served))
            .map_err(|e| Error::system("hearing from the server how many it served", e))?;
        end.verify(self.asked, u64::from_le_bytes(served))
    }

    fn tally(&mut self) -> Tally {
        self.ready.as_ref().map(|r| r.end.tally(self.asked)).unwrap_or_default()
    }
}
