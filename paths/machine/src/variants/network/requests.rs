//! `tcp-requests`: how long a request and its reply take over TCP.

use tollway_core::{
    Actor, Address, Axis, Domain, Error, Params, Place, Plan, Recorder, Result, Tally, Unit, Value, Variant,
    Window, Yield,
};
use tollway_host::clock::RunClock;
use tollway_load::repeat;

use super::between::{Between, Site, found};
use super::{CLIENT, SERVER, no_such_role, not_ready, outcome, with_common_caveats};
use crate::engine::network::Listener;
use crate::engine::network::requests::{Asker, answer};
use crate::surroundings;

pub(super) struct TcpRequests;

impl Variant for TcpRequests {
    fn name(&self) -> &str {
        "tcp-requests"
    }

    fn about(&self) -> &str {
        "a request over TCP and its reply, one at a time"
    }

    fn caveats(&self) -> &str {
        with_common_caveats!(
            "The reply is as long as the request. Both ends sleep while they wait, and send at once (TCP_NODELAY)."
        )
    }

    fn axes(&self) -> Vec<Axis> {
        super::axes([Axis {
            name: "size",
            about: "bytes of a request, and of its reply",
            domain: Domain::Whole(1, 1 << 20),
            default: Value::Int(64),
        }])
    }

    fn plan(&self, params: &Params) -> Result<Plan> {
        super::plan(params, "request and reply".into(), CLIENT)
    }

    fn title(&self, params: &Params) -> Option<String> {
        let bytes = params.int("size").ok()?;
        let what = format!("TCP request and reply of {bytes} B, {}", params.word("between").ok()?);
        surroundings::titled_besides(what, &["size", "between"], &self.axes(), params)
    }

    fn yields(&self, _: &Params) -> Vec<Yield> {
        vec![Yield::one(Unit::Requests)]
    }

    fn actor(&self, role: &str, params: &Params) -> Result<Box<dyn Actor>> {
        let (between, bytes) = (Between::of(params)?, params.int("size")? as usize);
        Ok(match role {
            SERVER => Box::new(Answering { between, bytes, ready: None, answered: None }),
            CLIENT => Box::new(Asking { between, bytes, ready: None, answered: None }),
            _ => return Err(no_such_role(role, self.name())),
        })
    }
}

struct Answering {
    between: Between,
    bytes: usize,
    ready: Option<(Site, Listener)>,
    answered: Option<u64>,
}

impl Actor for Answering {
    fn ready(&mut self, _: &Place) -> Result<Address> {
        let site = Site::of(self.between)?;
        let listener = Listener::at(site.ip())?;
        let address = site.address(listener.address());
        self.ready = Some((site, listener));
        Ok(address)
    }

    fn run(&mut self, _: &Window, _: &mut Recorder) -> Result<()> {
        let (_, listener) = self.ready.as_ref().ok_or_else(|| not_ready(SERVER))?;
        self.answered = Some(answer(listener, self.bytes)?);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        outcome(&self.answered).map(drop)
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("answered", self.answered.unwrap_or_default())
    }
}

struct Asking {
    between: Between,
    bytes: usize,
    ready: Option<Asker>,
    answered: Option<u64>,
}

impl Actor for Asking {
    fn ready(&mut self, place: &Place) -> Result<Address> {
        self.ready = Some(Asker::come(found(self.between, place)?, self.bytes)?);
        Ok(Address::none())
    }

    fn run(&mut self, window: &Window, recorder: &mut Recorder) -> Result<()> {
        let mut asker = self.ready.take().ok_or_else(|| not_ready(CLIENT))?;
        let mut failure: Option<Error> = None;
        repeat(RunClock::chosen(), window, recorder, &mut || {
            if failure.is_none() {
                failure = asker.ask().err();
            }
        });
        if let Some(error) = failure {
            return Err(error);
        }
        self.answered = Some(asker.finish()?);
        Ok(())
    }

    fn verify(&mut self) -> Result<()> {
        // Every reply has been compared, and both ends' counts.
        outcome(&self.answered).map(drop)
    }

    fn tally(&mut self) -> Tally {
        Tally::default().counter("asked", self.answered.unwrap_or_default())
    }
}
